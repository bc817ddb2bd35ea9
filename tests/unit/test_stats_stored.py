"""Times of today against stored ones, process against process."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.stored import FEWEST_STORED, compare_stored, needed_today, smallest_rank_p

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
        (5, 1, "too little stored: 5 stored processes from 1 day, at least 10 from 3 days are needed"),
        (
            30,
            2,
            "too little stored: 30 stored processes from 2 days, at least 10 from 3 days are needed",
        ),
        (9, 3, "too little stored: 9 stored processes from 3 days, at least 10 from 3 days are needed"),
        (
            10,
            3,
            "too little stored: 5 processes against 10 stored cannot reject at alpha 1e-05, the smallest p is 0.00033",
        ),
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


def test_slower_is_tested_against_the_tolerance_and_the_floor() -> None:
    """As scipy's one-sided exact test says of today's times with the allowance taken off."""
    stored = list(np.linspace(2.0, 2.02, 30))
    for today_us, floor_us, slower in ((2.06, 0.0, True), (2.06, 0.1, False), (2.03, 0.0, False)):
        today = [today_us + 0.001 * process for process in range(5)]
        policy = Policy(floor_us=floor_us)
        found = compare_stored(today, stored, 3, policy)
        allowed = [min(time / 1.01, time - floor_us) for time in today]
        p_value = stats.mannwhitneyu(allowed, stored, alternative="greater", method="exact").pvalue
        assert (found.gated, found.slower) == (True, slower)
        assert (p_value <= policy.alpha) == slower


@pytest.mark.parametrize(("stored", "today"), [(9, None), (10, 10), (15, 7), (20, 6), (30, 5), (60, 4), (1000, 3)])
def test_as_many_processes_are_taken_as_can_reject(stored: int, today: int | None) -> None:
    """And one fewer could not; below ten stored ones none could."""
    assert needed_today(stored, 1e-5) == today
    if today is not None:
        gated = compare_stored([9.0] * today, [2.0 + 0.001 * n for n in range(stored)], 3, Policy())
        assert (gated.gated, gated.slower) == (True, True)
        if today > 3:
            assert not compare_stored([9.0] * (today - 1), [2.0] * stored, 3, Policy()).gated
    assert FEWEST_STORED == 10


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
