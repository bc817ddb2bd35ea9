"""Confidence bounds of a rate whose checks share processes.

Checks of the same processes are not independent: what one process has for all its cases, all of them have. So the
spread comes from leaving out one process at a time (the delete-one jackknife), and the interval is the exact binomial
one at the number of checks that would give this spread if they were independent (E. L. Korn, B. I. Graubard, 1998).
Where no check alarmed, or all did, there is no spread to see: the units are then groups of processes that share none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

CONFIDENCE = 0.95


class Outcome(NamedTuple):
    """One check: which processes it rests on, and whether it alarmed."""

    processes: tuple[tuple[Any, ...], ...]
    alarmed: bool


class Rate(NamedTuple):
    """How many of how many, and the two-sided 95 % interval of the rate, clustered by process."""

    hits: int
    checks: int
    low: float
    high: float


def rate_of(outcomes: Sequence[Outcome]) -> Rate:
    """Count outcomes and bound their rate; an empty sequence is bounded by nothing."""
    checks, hits = len(outcomes), sum(outcome.alarmed for outcome in outcomes)
    if not checks:
        return Rate(0, 0, 0.0, 1.0)
    if hits in (0, checks):
        units = float(count_units(outcomes))
    else:
        rate = hits / checks
        variance = jackknife_variance(outcomes)
        units = min(float(checks), rate * (1 - rate) / variance) if variance > 0 else float(checks)
    return Rate(hits, checks, *exact_interval(hits / checks * units, units))


def jackknife_variance(outcomes: Sequence[Outcome]) -> float:
    """Variance of the rate, from leaving out one process, and with it all checks that rest on it."""
    hits, checks = sum(outcome.alarmed for outcome in outcomes), len(outcomes)
    of_process: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0])
    for outcome in outcomes:
        for process in set(outcome.processes):
            of_process[process][0] += outcome.alarmed
            of_process[process][1] += 1
    left = [(hits - a) / (checks - n) for a, n in of_process.values() if checks > n]
    if len(left) < 2:
        return 0.25  # everything rests on the same processes: one unit
    return float((len(left) - 1) / len(left) * np.sum((np.array(left) - np.mean(left)) ** 2))


def count_units(outcomes: Sequence[Outcome]) -> int:
    """How many groups of processes that share none: as many as can be taken one after the other, at least 1."""
    used: set[tuple[Any, ...]] = set()
    units = 0
    for outcome in outcomes:
        if used.isdisjoint(outcome.processes):
            used.update(outcome.processes)
            units += 1
    return max(1, units)


def exact_interval(hits: float, checks: float) -> tuple[float, float]:
    """Clopper and Pearson's interval; both may be fractions."""
    tail = (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(tail, hits, checks - hits + 1)) if hits > 0 else 0.0
    high = float(stats.beta.ppf(1 - tail, hits + 1, checks - hits)) if hits < checks else 1.0
    return low, high
