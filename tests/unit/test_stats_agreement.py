"""What several processes say together, against scipy and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_kernelperf.model import Comparison
from pytest_kernelperf.stats.agreement import Finding, find, majority, may_oppose, p_over_processes, ruling_out

BASE: dict[str, Any] = {
    "arm": "head",
    "against": "baseline",
    "mode": "graph",
    "change_ratio": 1.02,
    "low_ratio": 1.01,
    "high_ratio": 1.03,
    "confidence": 0.95,
    "processes": 5,
    "slower": 0,
    "faster": 0,
    "blocks": 29,
    "alpha": 1e-5,
    "tolerance_ratio": 1.01,
    "floor_us": 0.0,
    "time_us": 2.0,
    "against_us": 2.0,
    "needed": 3,
    "p_slower": 1.0,
    "p_faster": 1.0,
    "p_not_slower": 1.0,
    "agreement_alpha": 0.1,
}


@pytest.mark.parametrize(("processes", "needed"), [(1, 3), (2, 3), (3, 3), (4, 3), (5, 3), (6, 4), (8, 5), (64, 33)])
def test_most_processes_must_show_a_change(processes: int, needed: int) -> None:
    """And never fewer than three: one or two say nothing about the code."""
    assert majority(processes) == needed


@pytest.mark.parametrize(("processes", "needed"), [(1, 3), (2, 3), (3, 3), (4, 4), (5, 4), (6, 5), (10, 8), (64, 52)])
def test_four_of_five_processes_must_rule_a_slowdown_out(processes: int, needed: int) -> None:
    """Nothing is called unchanged because most of it is."""
    assert ruling_out(processes) == needed


@pytest.mark.parametrize(("processes", "opposed"), [(3, 0), (5, 0), (9, 0), (10, 1), (19, 1), (64, 6)])
def test_only_among_many_processes_may_one_in_ten_show_the_opposite(processes: int, opposed: int) -> None:
    """Fewer than ten have to be of one mind."""
    assert may_oppose(processes) == opposed
    for contrary, finding in ((opposed, Finding.SLOWER), (opposed + 1, Finding.OPEN)):
        slower = processes - contrary
        details = {"processes": processes, "needed": majority(processes), "slower": slower, "faster": contrary}
        assert find(Comparison(**{**BASE, **details, "p_slower": 0.01})) is (
            finding if slower >= majority(processes) else Finding.OPEN
        )


@pytest.mark.parametrize(
    ("details", "finding"),
    [
        ({"slower": 3, "not_slower": 2, "p_slower": 0.1}, Finding.SLOWER),
        ({"slower": 3, "not_slower": 2, "p_slower": 0.101}, Finding.OPEN),
        ({"slower": 2, "not_slower": 3, "p_slower": 0.01}, Finding.OPEN),
        ({"slower": 4, "faster": 1, "not_slower": 1, "p_slower": 0.01}, Finding.OPEN),
        ({"faster": 3, "not_slower": 5, "p_faster": 0.1}, Finding.FASTER),
        ({"faster": 3, "not_slower": 5, "p_faster": 0.101}, Finding.UNCHANGED),
        ({"faster": 4, "slower": 1, "not_slower": 4, "p_faster": 0.01}, Finding.OPEN),
        ({"not_slower": 4}, Finding.UNCHANGED),
        ({"not_slower": 3}, Finding.OPEN),
        ({"slower": 1, "not_slower": 4, "p_not_slower": 0.101}, Finding.OPEN),
        ({"slower": 1, "not_slower": 4, "p_not_slower": 0.1}, Finding.UNCHANGED),
        ({"not_slower": 0, "p_not_slower": 0.005}, Finding.UNCHANGED),
        ({"not_slower": 0, "p_not_slower": 0.0051}, Finding.OPEN),
        ({"not_slower": 0, "p_not_slower": 0.005, "agreement_alpha": 0.004}, Finding.OPEN),
        ({"not_slower": 2, "slower": 1, "p_not_slower": 0.0}, Finding.OPEN),
        ({"processes": 4, "not_slower": 0, "p_not_slower": 0.0}, Finding.OPEN),
        ({"not_slower": 0, "p_not_slower": float("nan")}, Finding.OPEN),
        ({"processes": 2, "slower": 2, "p_slower": 0.0}, Finding.OPEN),
        ({"slower": 3, "not_slower": 2, "p_slower": float("nan")}, Finding.OPEN),
        ({"slower": 3, "p_slower": None}, Finding.SLOWER),
    ],
)
def test_a_change_needs_most_processes_none_against_it_and_the_mean(details: dict[str, Any], finding: Finding) -> None:
    """Slower and faster by the same rule; a record of an earlier version, without the mean's test, by counts alone."""
    assert find(Comparison(**{**BASE, **details})) is finding


@pytest.mark.parametrize("margins", [[0.01, 0.02, 0.03], [-0.01, 0.02, 0.05, 0.04, 0.01], [-0.2, -0.1, 0.01]])
def test_the_test_over_processes_is_scipys(margins: list[float]) -> None:
    """Student's t, one-sided, one number per process."""
    assert p_over_processes(margins) == pytest.approx(stats.ttest_1samp(margins, 0, alternative="greater").pvalue)


def test_one_far_slower_process_does_not_hide_that_all_are_slower() -> None:
    """The t-test of five slower ones is lost to the outlier's spread; that all are slower is not."""
    margins = [0.01, 0.01, 0.011, 0.012, 1.0]
    assert stats.ttest_1samp(margins, 0, alternative="greater").pvalue > 0.15
    assert p_over_processes(margins) == 2.0**-5


@pytest.mark.parametrize(
    ("margins", "p_value"),
    [([], 1.0), ([0.5], 1.0), ([0.1, 0.1, 0.1], 0.0), ([0.0, 0.0, 0.0], 1.0), ([-0.1] * 5, 1.0), ([0.1, np.nan], 1.0)],
)
def test_without_spread_the_sign_decides(margins: list[float], p_value: float) -> None:
    """A scripted clock's processes are all alike; fewer than two have no spread at all."""
    assert p_over_processes(margins) == p_value


def test_code_at_the_tolerance_is_blamed_no_more_often_than_the_error_over_processes() -> None:
    """Effects that vary normally round the tolerance itself, the worst there is: 10 % of 20,000 groups of five.

    The sign test adds what it must: p is at most alpha in alpha + 2**-5 of them at most, and here in hardly more
    than alpha, since five positive numbers have a small t too.
    """
    random = np.random.default_rng(11)
    groups = random.normal(0.0, 0.01, (4_000, 5))
    rejected = sum(p_over_processes(group.tolist()) <= 0.1 for group in groups)
    assert rejected <= stats.binom.ppf(0.9999, len(groups), 0.1)


def test_code_at_the_tolerance_is_seldom_called_unchanged_for_its_mean() -> None:
    """Effects that vary round the tolerance itself: half a percent of 4,000 groups, where no process says anything."""
    random = np.random.default_rng(12)
    groups = random.normal(0.0, 0.01, (4_000, 5))
    silent = {**BASE, "slower": 0, "not_slower": 0}
    called = sum(
        find(Comparison(**{**silent, "p_not_slower": p_over_processes(group.tolist())})) is Finding.UNCHANGED
        for group in groups
    )
    assert 0 < called <= stats.binom.ppf(0.9999, len(groups), 0.005)
