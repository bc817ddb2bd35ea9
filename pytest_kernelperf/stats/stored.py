"""The accepted binary today against its own stored times: did the machine move?

Process against process, since samples of one process are not independent. A stored number alone cannot guard a
kernel to 1 %: identical code in two processes lies 0.7 to 13 % apart. So this shows, and gates only with enough
processes from enough days for its test to reject at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Frozen, StoredComparison
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.units import format_counted, format_probability

FEWEST_STORED = 10
FEWEST_DAYS = 3


class Drift(Frozen, frozen=True):
    """Whether the machine moved, from all cases together: the middle change and the test's p-value."""

    change_ratio: float
    p_value: float
    cases: int
    moved: bool


def compare_stored(
    today_us: Sequence[float], stored_us: Sequence[float], stored_days: int, policy: Policy
) -> StoredComparison:
    """Compare the accepted binary's process medians of today with the stored ones (Mann-Whitney, exact, two-sided).

    Args:
        today_us: its median time in us in each process of this run.
        stored_us: its median time in us in each stored process.
        stored_days: on how many different days those were measured.
        policy: alpha and tolerance.

    Raises:
        KernelperfError: a side without processes, or a time that is not positive and finite.
    """
    for name, times in (("today's", today_us), ("the stored", stored_us)):
        if not times or not all(0 < time < math.inf for time in times):
            raise KernelperfError(
                f"{name} times of the accepted binary must be one or more positive numbers of us, not {list(times)!r}; "
                "measure it anew with --update-baselines=REASON"
            )
    change_ratio = float(np.median(today_us) / np.median(stored_us))
    # Imported here: it takes a second, and a run in which nothing changed needs none of it.
    from scipy import stats

    p_value = float(stats.mannwhitneyu(today_us, stored_us, alternative="two-sided", method="exact").pvalue)
    reason = _why_not_gated(len(today_us), len(stored_us), stored_days, policy)
    return StoredComparison(
        change_ratio=change_ratio,
        p_value=p_value,
        processes=len(today_us),
        stored_processes=len(stored_us),
        stored_days=stored_days,
        gated=not reason,
        reason=reason,
        slower=not reason and p_value <= policy.alpha and change_ratio > 1 + policy.tolerance,
    )


def smallest_rank_p(first: int, second: int) -> float:
    """The smallest two-sided p-value of a rank test of so many against so many: complete separation."""
    return min(1.0, 2 / math.comb(first + second, first))


def find_drift(comparisons: Sequence[StoredComparison], policy: Policy) -> Drift | None:
    """Ask all cases at once whether the machine moved, at ``policy.alpha``; None where there is nothing to ask.

    Each case is one number, and a Wilcoxon signed-rank test asks whether they lie to one side of no change. Moved
    also needs a middle change beyond the tolerance.
    """
    changes = np.log([comparison.change_ratio for comparison in comparisons])
    if not len(changes):
        return None
    middle = float(np.exp(np.median(changes)))
    # Imported here: it takes a second, and a run in which nothing changed needs none of it.
    from scipy import stats

    p_value = float(stats.wilcoxon(changes).pvalue) if np.any(changes != 0) else 1.0
    beyond = max(middle, 1 / middle) > 1 + policy.tolerance
    return Drift(middle, p_value, len(changes), moved=beyond and p_value <= policy.alpha)


def _why_not_gated(today: int, stored: int, days: int, policy: Policy) -> str:
    """The reason for which the stored test may only show; empty where it may gate."""
    if stored < FEWEST_STORED or days < FEWEST_DAYS:
        return (
            f"not gated: {format_counted(stored, 'stored process', 'stored processes')} from "
            f"{format_counted(days, 'day')}, at least {FEWEST_STORED} from {FEWEST_DAYS} days are needed"
        )
    if smallest_rank_p(today, stored) > policy.alpha:
        alpha, smallest = format_probability(policy.alpha), format_probability(smallest_rank_p(today, stored))
        return (
            f"not gated: {today} processes against {stored} stored cannot reject at alpha {alpha}, "
            f"the smallest p is {smallest}"
        )
    return ""
