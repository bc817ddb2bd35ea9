"""All accepted binaries of a run today against their own stored times: did the machine move?

One test over all cases, and the process is its unit: what a process does to its times (where buffers and code lie, its
clocks, its heat) it does to all cases that it measured, so cases are pooled into one number per process and these are
compared. A case's own level is taken out by its median over all processes, stored and today's alike, so that the
numbers of both sides are exchangeable where nothing moved, and the rank test over them is exact.

A case with two speeds (27 % apart in one of an H200's) is one voice among the others: the number of a process is the
median over cases, and fewer than three cases say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Drift, Frozen
from pytest_kernelperf.stats.stored import smallest_rank_p
from pytest_kernelperf.units import format_counted

ALPHA = 0.01
"""Error of the drift test. It only warns, and five processes against five cannot have a p-value below 0.0079."""

ALPHA_FEW = ALPHA / 10
"""Error where ranks cannot reject at all (three processes against five): then both sides must lie apart completely,
and differ by a t-test, which takes the numbers for normally distributed. On an H200's samples of identical code that
erred in none of 1,500 splits in graph mode."""

FEWEST_PROCESSES = 3

FEWEST_CASES = 3
"""Cases that must have been timed: a middle of two is one of the two."""

Array = np.ndarray[Any, np.dtype[np.float64]]


class CaseTimes(Frozen, frozen=True):
    """One case's accepted binary: its median time in us in each process of today and in each stored one, by name.

    Processes of the same name measured several cases; names of the two sides have nothing to do with each other.
    """

    today_us: Mapping[str, float]
    stored_us: Mapping[str, float]


def find_drift(cases: Sequence[CaseTimes], tolerance: float, alpha: float = ALPHA) -> Drift | None:
    """Ask all cases at once whether the machine moved; None where no case has both sides.

    Args:
        cases: the accepted binaries that were timed today.
        tolerance: the smallest change that counts, as a share (0.01 = 1 %); the change is that of the middle case.
        alpha: error of the test over processes (Mann-Whitney, exact, two-sided; ``ALPHA_FEW`` where there are too few).

    Raises:
        KernelperfError: a time that is not positive and finite.
    """
    known = [case for case in cases if case.today_us and case.stored_us]
    if not known:
        return None
    for case in known:
        for time_us in (*case.today_us.values(), *case.stored_us.values()):
            if not 0 < time_us < math.inf:
                raise KernelperfError(f"times must be positive numbers of us, not {time_us!r}: measure again")
    levels = [_level(case) for case in known]
    today = _per_process([case.today_us for case in known], levels)
    stored = _per_process([case.stored_us for case in known], levels)
    change = float(np.median([_change(case) for case in known]))
    reason = _why_silent(len(known), len(today), len(stored))
    few = smallest_rank_p(len(today), len(stored)) > alpha
    p_value = 1.0 if reason else _t_p(today, stored) if few else _rank_p(today, stored)
    alpha = ALPHA_FEW if few else alpha
    return Drift(
        change_ratio=math.exp(change),
        p_value=p_value,
        alpha=alpha,
        tolerance_ratio=1 + tolerance,
        cases=len(known),
        processes=len(today),
        stored_processes=len(stored),
        per_process_ratio=tuple(float(ratio) for ratio in np.exp(today - np.median(stored))),
        moved=not reason and p_value <= alpha and abs(change) > math.log1p(tolerance),
        reason=reason,
    )


def _level(case: CaseTimes) -> float:
    """A case's middle over all its processes, whichever side they are on."""
    return float(np.median(np.log([*case.today_us.values(), *case.stored_us.values()])))


def _change(case: CaseTimes) -> float:
    return float(np.median(np.log(list(case.today_us.values()))) - np.median(np.log(list(case.stored_us.values()))))


def _per_process(times: Sequence[Mapping[str, float]], levels: Sequence[float]) -> Array:
    """One number for each process: the middle over its cases of how far it lies from the case's level."""
    offsets: dict[str, list[float]] = {}
    for of_case, level in zip(times, levels, strict=True):
        for process, time_us in of_case.items():
            offsets.setdefault(process, []).append(math.log(time_us) - level)
    return np.array([np.median(offsets[process]) for process in sorted(offsets)], dtype=np.float64)


def _rank_p(today: Array, stored: Array) -> float:
    # Imported here: it takes a second, and a run in which nothing changed needs none of it.
    from scipy import stats

    return float(stats.mannwhitneyu(today, stored, alternative="two-sided", method="exact").pvalue)


def _t_p(today: Array, stored: Array) -> float:
    """Student's t-test; 1 where the two sides overlap."""
    if today.min() <= stored.max() and today.max() >= stored.min():
        return 1.0
    from scipy import stats

    if len(set(today)) == len(set(stored)) == 1:
        return 0.0  # a clock without noise
    return float(stats.ttest_ind(today, stored).pvalue)


def _why_silent(cases: int, today: int, stored: int) -> str:
    if cases < FEWEST_CASES:
        return f"{format_counted(cases, 'case')} timed, at least {FEWEST_CASES} are needed"
    if min(today, stored) < FEWEST_PROCESSES:
        return (
            f"{format_counted(today, 'process', 'processes')} against {stored} stored, at least {FEWEST_PROCESSES} of "
            "each are needed"
        )
    return ""
