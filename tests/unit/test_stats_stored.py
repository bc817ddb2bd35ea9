"""The accepted binary today against its stored times."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.stored import compare_stored, find_drift, smallest_rank_p

TODAY = [2.31, 2.32, 2.30, 2.33, 2.34]
STORED = [2.20, 2.21, 2.19, 2.22, 2.23]


def test_the_p_value_is_scipys_exact_rank_test_of_processes() -> None:
    """Each process is one number; the change is that of the medians."""
    found = compare_stored(TODAY, STORED, 1, Policy())
    assert found.change_ratio == pytest.approx(2.32 / 2.21)
    assert found.p_value == pytest.approx(stats.mannwhitneyu(TODAY, STORED, method="exact").pvalue)
    assert (found.processes, found.stored_processes, found.stored_days) == (5, 5, 1)


@pytest.mark.parametrize(
    ("stored", "days", "reason"),
    [
        (5, 1, "not gated: 5 stored processes from 1 day, at least 10 from 3 days are needed"),
        (30, 2, "not gated: 30 stored processes from 2 days, at least 10 from 3 days are needed"),
        (9, 3, "not gated: 9 stored processes from 3 days, at least 10 from 3 days are needed"),
        (10, 3, "not gated: 5 processes against 10 stored cannot reject at alpha 1e-05, the smallest p is 0.00067"),
    ],
)
def test_too_little_is_shown_but_not_gated(stored: int, days: int, reason: str) -> None:
    """However far today's times lie off, and with the reason."""
    found = compare_stored([9.0, 9.1, 9.2, 9.3, 9.4], list(np.linspace(2, 2.1, stored)), days, Policy())
    assert (found.gated, found.slower, found.reason) == (False, False, reason)


def test_enough_processes_from_enough_days_gate() -> None:
    """Slower beyond the tolerance fails; faster, or within the tolerance, does not."""
    stored = list(np.linspace(2.0, 2.02, 30))
    assert compare_stored(list(np.linspace(2.2, 2.21, 5)), stored, 3, Policy()).slower
    for today_us in (1.8, 2.021):
        found = compare_stored(list(np.linspace(today_us, today_us + 0.001, 5)), stored, 3, Policy())
        assert (found.gated, found.slower) == (True, False)


def test_the_smallest_rank_p_is_scipys_for_separated_sides() -> None:
    """What says whether a test of so many against so many can reject."""
    for first, second in ((5, 5), (5, 10), (3, 7)):
        separated = stats.mannwhitneyu(range(first), range(100, 100 + second), method="exact").pvalue
        assert smallest_rank_p(first, second) == pytest.approx(separated)


@pytest.mark.parametrize("bad", [[], [2.0, math.nan], [0.0], [math.inf]])
def test_times_that_are_none_are_refused(bad: list[float]) -> None:
    """A NaN in a baseline must not compare as equal."""
    with pytest.raises(KernelperfError, match="today's times"):
        compare_stored(bad, STORED, 1, Policy())
    with pytest.raises(KernelperfError, match="the stored times"):
        compare_stored(TODAY, bad, 1, Policy())


def test_all_cases_together_show_that_the_machine_moved() -> None:
    """Twenty cases that are all 5 % off are no coincidence; twenty that scatter, or lie 0.1 % off, are no move."""
    shift = [compare_stored([t * (1.05 + 0.001 * case) for t in STORED], STORED, 1, Policy()) for case in range(20)]
    drift = find_drift(shift, Policy())
    assert drift is not None
    assert drift.moved
    assert drift.change_ratio == pytest.approx(1.06, abs=0.002)
    assert drift.cases == 20
    for changes in ([1.05, 0.95] * 10, [1.001] * 20, [1.0] * 20):
        still = find_drift([compare_stored([t * c for t in STORED], STORED, 1, Policy()) for c in changes], Policy())
        assert still is not None
        assert not still.moved
    assert find_drift([], Policy()) is None
