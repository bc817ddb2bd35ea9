"""Honest limits: the smallest slowdown that a case would have caught, and what would decide one that is open.

How far processes lie apart is known from a handful of them, so it is not taken as known: what other processes of the
same case would have shown is drawn from Student's predictive distribution of theirs (normal effects, spread unknown).
How large an effect each must have to show it is taken from its own samples. Of each draw the smallest slowdown that
the planned looks would have called is exact, not searched for: every part of the rule is a threshold.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pytest_kernelperf.model import Frozen
from pytest_kernelperf.stats.agreement import FEWEST_PROCESSES, majority, may_oppose, ruling_out
from pytest_kernelperf.stats.schedule import Look

CAUGHT = 0.95
"""The probability with which the smallest slowdown is caught."""

DRAWS = 1_000
"""Its 95 % quantile then scatters by less than one part in ten of what it adds to the tolerance."""

SEED = 5

Array = np.ndarray[Any, np.dtype[np.float64]]


class Sharpness(Frozen, frozen=True):
    """One process: its change, how large a change it would have shown as slower, and what is allowed; log ratios."""

    change: float
    shown: float
    allowed: float


def smallest_caught(processes: Sequence[Sharpness], looks: Sequence[Look]) -> float | None:
    """The smallest slowdown, as a log ratio, that ``looks`` would have called slower with probability ``CAUGHT``.

    Args:
        processes: at least two of the case at hand, all that could have shown something.
        looks: all that are planned, by number of processes, at the blocks that were taken. A look is reached unless an
            earlier one calls the case slower, or unchanged; those at fewer than three processes call nothing.

    Returns:
        None with fewer processes, or where not even a slowdown of any size would be called.
    """
    looks = [look for look in looks if look.processes >= FEWEST_PROCESSES]
    if len(processes) < 2 or not looks:
        return None
    most = looks[-1].processes
    random = _draws(len(processes), most)
    spread = float(np.std([process.change for process in processes], ddof=1))
    effect = spread * random.standard
    shown = np.array([process.shown for process in processes])[random.which]
    allowed = float(np.median([process.allowed for process in processes]))
    caught = caught_from(effect, shown, allowed, looks)
    smallest = float(np.quantile(caught, CAUGHT, method="higher"))
    return smallest if math.isfinite(smallest) else None


def caught_from(effect: Array, shown: Array, allowed: float, looks: Sequence[Look]) -> Array:
    """From which slowdown on each draw is called slower, at whichever look, shape (draws,); log ratios.

    Args:
        effect: each process's own, which the slowdown is added to, shape (draws, processes).
        shown: from which change on each process says slower, of the same shape.
        allowed: the tolerance.
        looks: at the first so many processes each.
    """
    caught = np.full(len(effect), math.inf)
    reached_from = np.full(len(effect), -math.inf)
    for look in looks:
        first = slice(0, look.processes)
        slower = _slower_from(effect[:, first], shown[:, first], allowed, look)
        caught = np.minimum(caught, np.maximum(slower, reached_from))
        # Up to here this look would have called it unchanged, and no later one been taken.
        rules_out = np.sort(2 * allowed - shown[:, first] - effect[:, first], axis=1)
        reached_from = np.maximum(reached_from, rules_out[:, look.processes - ruling_out(look.processes)])
    return caught


def _slower_from(effect: Array, shown: Array, allowed: float, look: Look) -> Array:
    """From which slowdown on each draw's processes would be called slower at a look, shape (draws,)."""
    # Imported here: a run in which nothing changed needs none of it.
    from scipy import special

    count = look.processes
    enough = np.sort(shown - effect, axis=1)[:, majority(count) - 1]
    unopposed = np.sort(-shown - effect, axis=1)[:, count - 1 - may_oppose(count)]
    error = np.std(effect, axis=1, ddof=1) / math.sqrt(count)
    on_average = allowed - np.mean(effect, axis=1) + float(special.stdtrit(count - 1, 1 - look.agreement_alpha)) * error
    if 2.0**-count <= look.agreement_alpha:
        on_average = np.minimum(on_average, np.max(allowed - effect, axis=1))
    called: Array = np.maximum(np.maximum(enough, unopposed), on_average)
    return called


class _Draws(Frozen, frozen=True):
    """Standard effects of other processes, and which of the known ones each is as sharp as; shape (draws, most)."""

    standard: Array
    which: np.ndarray[Any, np.dtype[np.int64]]


@functools.lru_cache
def _draws(known: int, most: int) -> _Draws:
    """The same numbers in every run, so that a case's limit is as reproducible as its samples."""
    random = np.random.default_rng(SEED)
    spread = np.sqrt((known - 1) / random.chisquare(known - 1, DRAWS))
    standard = random.standard_normal((DRAWS, most)) * spread[:, None]
    return _Draws(standard, random.integers(0, known, (DRAWS, most)))
