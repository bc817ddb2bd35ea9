"""What several processes say together: each has spoken from its own samples, and now the process is the unit.

The same instructions cost different processes differently: 100 added cycles took 0 to 7 % of one case, in processes
whose own samples were sharp to 0.1 %. So a slowdown has to be shown three times over: by most processes, each from
its own samples; with none of fewer than ten that shows the opposite; and beyond the tolerance on average, by a test
in which each process is one number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np

from pytest_kernelperf.model import Comparison

FEWEST_PROCESSES = 3
"""One process says nothing about the code, and two cannot tell which of them is the odd one."""

RULED_OUT = 0.8
"""Share of the processes that must each rule a slowdown out: 4 of 5."""

CERTAIN = 0.005
"""Error at which the mean over processes alone rules a slowdown out.

Samples that scatter by several percent (a kernel of two speeds) rule nothing out in a single process that scatters so,
whatever it does on average, while five processes that agree on no change to 0.3 % do.
"""

FEWEST_FOR_CERTAIN = 5
"""From three numbers a t-test infers too much."""


class Finding(str, Enum):
    """What a comparison shows; ``OPEN`` where it shows neither a change nor that there is none."""

    SLOWER = "slower"
    FASTER = "faster"
    UNCHANGED = "unchanged"
    OPEN = "open"


def find(comparison: Comparison) -> Finding:
    """Decide from the counts of processes and the tests over them; nothing else in this package does.

    Unchanged: four in five processes rule out a slowdown beyond the tolerance, and none shows one, or their mean is
    below it; or none shows one, and the mean of five or more is below it for certain.
    """
    needed, alpha = max(1, comparison.needed), comparison.agreement_alpha
    opposed = may_oppose(comparison.processes)
    if comparison.slower >= needed and comparison.faster <= opposed and _is_shown(comparison.p_slower, alpha):
        return Finding.SLOWER
    if comparison.faster >= needed and comparison.slower <= opposed and _is_shown(comparison.p_faster, alpha):
        return Finding.FASTER
    rules_out = comparison.not_slower >= max(needed, ruling_out(comparison.processes))
    below = comparison.p_not_slower is not None and comparison.p_not_slower <= alpha
    if rules_out and (not comparison.slower or below):
        return Finding.UNCHANGED
    return Finding.UNCHANGED if is_ruled_out_by_mean(comparison) else Finding.OPEN


def is_ruled_out_by_mean(comparison: Comparison) -> bool:
    """Whether no process shows a slowdown, and the mean over processes is below the tolerance for certain."""
    if comparison.slower or comparison.p_not_slower is None or comparison.processes < FEWEST_FOR_CERTAIN:
        return False
    return comparison.p_not_slower <= min(CERTAIN, comparison.agreement_alpha)


def majority(processes: int) -> int:
    """How many of ``processes`` must each show a change: more than half, and never fewer than 3."""
    return max(FEWEST_PROCESSES, processes // 2 + 1)


def may_oppose(processes: int) -> int:
    """How many of ``processes`` may show the opposite of what is called: none of fewer than ten, then one in ten.

    Of 64 processes whose effects scatter some are likely to lie on the other side, whatever the rest show.
    """
    return processes // 10


def ruling_out(processes: int) -> int:
    """How many of ``processes`` must each rule a slowdown out: 4 in 5, rounded up, and never fewer than 3."""
    return max(FEWEST_PROCESSES, math.ceil(RULED_OUT * processes - 1e-9))


def p_over_processes(margins: Sequence[float]) -> float:
    """P-value for "these lie above 0 on average", one number per process; 1.0 for fewer than 2.

    Student's one-sided t-test, or, where all of them lie above 0, the sign test's 2**-n if that is smaller: one
    process that is far slower than the rest must not hide that every one is slower.

    Args:
        margins: by how much each process exceeds what is allowed, as log ratios.
    """
    values = np.asarray(margins, dtype=np.float64)
    if len(values) < 2 or not np.all(np.isfinite(values)):
        return 1.0
    p_value = 2.0 ** -len(values) if np.all(values > 0) else 1.0
    mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
    # A scripted clock gives equal numbers, whose spread is 0 or what rounding leaves of it.
    if spread <= 1e-12 * max(1.0, abs(mean)):
        return 0.0 if mean > 1e-12 else 1.0
    # Imported here: a run in which nothing changed needs none of it. scipy.stats.ttest_1samp gives the same number,
    # after a second of importing and a hundred times as slowly.
    from scipy import special

    statistic = mean / (spread / math.sqrt(len(values)))
    return min(p_value, float(special.stdtr(len(values) - 1, -statistic)))


def _is_shown(p_value: float | None, alpha: float) -> bool:
    """Records of earlier versions have no test over processes."""
    return p_value is None or p_value <= alpha
