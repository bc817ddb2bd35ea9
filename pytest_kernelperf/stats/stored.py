"""Times of today against stored ones, process against process, since samples of one process are not independent.

A stored number alone cannot guard a kernel to 1 %: identical code in two processes lies 0.7 to 13 % apart. So this
shows, and gates only where nothing can be replayed, with enough processes from enough days for its test to reject.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import StoredComparison
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.units import format_counted, format_probability

FEWEST_STORED = 10
"""Ten against ten is the smallest balanced test that can reject at 1e-5: 1 of 184,756 orders, 1 of 48,620 with nine."""

FEWEST_DAYS = 3
"""Processes of one day share its heat and clocks."""

MOST_TODAY = 64


def compare_stored(
    today_us: Sequence[float], stored_us: Sequence[float], stored_days: int, policy: Policy
) -> StoredComparison:
    """Compare process medians of today with the stored ones of the accepted binary (Mann-Whitney, exact).

    The p-value is two-sided: is there a difference? Slower and not slower, where it is gated, are tests of their own
    against the tolerance and the floor, one-sided at ``policy.alpha``. A case with two speeds has both
    among its stored processes, and ranks do not ask how far apart they are.

    Args:
        today_us: the median time in us in each process of this run, of the accepted binary or of the head.
        stored_us: the accepted binary's median time in us in each stored process.
        stored_days: on how many different days those were measured.
        policy: alpha and tolerance.

    Raises:
        KernelperfError: a side without processes, or a time that is not positive and finite.
    """
    for name, times in (("today's", today_us), ("the stored", stored_us)):
        if not times or not all(0 < time < math.inf for time in times):
            raise KernelperfError(
                f"{name} times must be one or more positive numbers of us, not {list(times)!r}; "
                "measure it anew with --update-baselines=REASON"
            )
    change_ratio = float(np.median(today_us) / np.median(stored_us))
    # Imported here: it takes a second, and a run in which nothing changed needs none of it.
    from scipy import stats

    p_value = float(stats.mannwhitneyu(today_us, stored_us, alternative="two-sided", method="exact").pvalue)
    reason = _why_not_gated(len(today_us), len(stored_us), stored_days, policy)
    allowed_us = [min(time / (1 + policy.tolerance), time - policy.floor_us) for time in today_us]
    p_slower, p_not_slower = (
        float(stats.mannwhitneyu(allowed_us, stored_us, alternative=side, method="exact").pvalue)
        for side in ("greater", "less")
    )
    return StoredComparison(
        change_ratio=change_ratio,
        p_value=p_value,
        processes=len(today_us),
        stored_processes=len(stored_us),
        stored_days=stored_days,
        gated=not reason,
        reason=reason,
        slower=not reason and p_slower <= policy.alpha,
        not_slower=not reason and p_not_slower <= policy.alpha,
    )


def needed_today(stored: int, alpha: float) -> int | None:
    """How many processes of today can show, beside so many stored ones, that they are slower; None: no number can.

    Args:
        stored: stored processes.
        alpha: error of the one-sided test.
    """
    if stored < FEWEST_STORED:
        return None
    fits = (today for today in range(3, MOST_TODAY + 1) if smallest_rank_p(today, stored) / 2 <= alpha)
    return next(fits, None)


def smallest_rank_p(first: int, second: int) -> float:
    """The smallest two-sided p-value of a rank test of so many against so many: complete separation."""
    return min(1.0, 2 / math.comb(first + second, first))


def _why_not_gated(today: int, stored: int, days: int, policy: Policy) -> str:
    """The reason for which the stored test may only show; empty where it may gate."""
    if stored < FEWEST_STORED or days < FEWEST_DAYS:
        return (
            f"too little stored: {format_counted(stored, 'stored process', 'stored processes')} from "
            f"{format_counted(days, 'day')}, at least {FEWEST_STORED} from {FEWEST_DAYS} days are needed"
        )
    if (one_sided := smallest_rank_p(today, stored) / 2) > policy.alpha:
        alpha, smallest = format_probability(policy.alpha), format_probability(one_sided)
        return (
            f"too little stored: {today} processes against {stored} stored cannot reject at alpha {alpha}, "
            f"the smallest p is {smallest}"
        )
    return ""
