"""What would decide a case that is open: more blocks, more processes, or neither, and how many."""

from __future__ import annotations

import math
from enum import Enum
from typing import Any

import numpy as np

from pytest_kernelperf.model import Comparison, Frozen
from pytest_kernelperf.stats.agreement import FEWEST_PROCESSES, RULED_OUT
from pytest_kernelperf.stats.signed_rank import MOST_PAIRS

MOST_PROCESSES = 64
"""As many as a setting may ask for."""

ENOUGH_PROCESSES = 8
"""Where so many are divided, more will be too."""

APART = 4.0
"""Two groups of processes are two speeds where the gap between them is so many times what each spans."""

Array = np.ndarray[Any, np.dtype[np.float64]]


class Remedy(str, Enum):
    """What would decide."""

    MORE_PROCESSES = "more_processes"
    MORE_BLOCKS = "more_blocks"
    QUIETER = "quieter"  # more blocks than the exact test takes: the samples scatter too much
    TWO_SPEEDS = "two_speeds"  # processes run it at one of two speeds
    DEPENDS = "depends"  # some processes slow down and some do not, and more would say the same
    AT_TOLERANCE = "at_tolerance"  # the change is as large as the tolerance, as far as anybody can tell


class Advice(Frozen, frozen=True):
    """A remedy and its amount: ``count`` of processes or of blocks per process in all; for two speeds both ratios."""

    remedy: Remedy
    count: int = 0
    low_ratio: float | None = None
    high_ratio: float | None = None


def would_decide(comparison: Comparison) -> Advice:
    """Say what would decide a comparison that is open, from its own spreads within and between processes."""
    changes = np.log(np.asarray(comparison.per_process_ratio, dtype=np.float64))
    allowed = allowed_log(comparison)
    count = len(changes)
    if count < FEWEST_PROCESSES:
        return Advice(Remedy.MORE_PROCESSES, FEWEST_PROCESSES + 2)
    excess = abs(float(np.mean(changes)) - allowed)
    unsure = comparison.processes - comparison.slower - comparison.not_slower
    if 2 * unsure >= comparison.processes:
        return _more_blocks(comparison, excess, allowed)
    speeds = find_two_speeds(changes, allowed)
    if speeds is not None:
        return Advice(Remedy.TWO_SPEEDS, 0, *speeds)
    divided = 1 - RULED_OUT < comparison.slower / comparison.processes <= 0.5
    if (comparison.faster and comparison.slower) or (divided and count >= ENOUGH_PROCESSES):
        return Advice(Remedy.DEPENDS)
    return _more_processes(comparison, excess, float(np.std(changes, ddof=1)))


def allowed_log(comparison: Comparison) -> float:
    """How large a change is allowed, as a log ratio: the tolerance, or the floor where that is more of the time."""
    return math.log(max(comparison.tolerance_ratio, 1 + comparison.floor_us / comparison.against_us))


def find_two_speeds(changes: Array, allowed: float) -> tuple[float, float] | None:
    """The two ratios round which the processes gather, at least two of them round each; None where they do not.

    Args:
        changes: one log ratio per process.
        allowed: a gap of less, as a log ratio, does not matter.
    """
    ordered = np.sort(changes)
    for cut in range(2, len(ordered) - 1):
        low, high = ordered[:cut], ordered[cut:]
        gap = float(high[0] - low[-1])
        if gap > allowed and gap > APART * max(float(np.ptp(low)), float(np.ptp(high))):
            return math.exp(float(np.median(low))), math.exp(float(np.median(high)))
    return None


def _more_blocks(comparison: Comparison, excess: float, allowed: float) -> Advice:
    """Noise falls with the root of the blocks, until the change stands out from the tolerance."""
    shown = [math.log(ratio) - allowed for ratio in comparison.per_process_shown_ratio]
    if not shown or excess <= 0:
        return Advice(Remedy.QUIETER if not shown else Remedy.AT_TOLERANCE)
    blocks = math.ceil(comparison.blocks * max(1.0, (float(np.median(shown)) / excess) ** 2))
    if blocks <= MOST_PAIRS:
        return Advice(Remedy.MORE_BLOCKS, max(blocks, comparison.blocks + 1))
    return Advice(Remedy.AT_TOLERANCE if excess < allowed / 10 else Remedy.QUIETER)


def _more_processes(comparison: Comparison, excess: float, spread: float) -> Advice:
    """The fewest processes at which a mean so far from the tolerance stands out from so much spread."""
    # Imported here: a run in which nothing changed needs none of it.
    from scipy import special

    for count in range(comparison.processes + 1, MOST_PROCESSES + 1):
        if excess >= float(special.stdtrit(count - 1, 1 - comparison.agreement_alpha)) * spread / math.sqrt(count):
            return Advice(Remedy.MORE_PROCESSES, count)
    return Advice(Remedy.AT_TOLERANCE)
