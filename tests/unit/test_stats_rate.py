"""How often something happens at most: exact bounds, clustered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.stats.rate import Rate, upper_bound

counts = st.integers(1, 5000).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


@given(counts, st.sampled_from([0.9, 0.95, 0.99]))
def test_the_bound_is_scipys_exact_one(count: tuple[int, int], confidence: float) -> None:
    """Claim: Clopper and Pearson's one-sided bound."""
    hit, trials = count
    exact = stats.binomtest(hit, trials, alternative="less").proportion_ci(confidence, method="exact").high
    assert upper_bound(hit, trials, confidence) == pytest.approx(exact, rel=1e-9)


def test_none_of_many_is_the_rule_of_three() -> None:
    """Claim: 0 of 20,000 is at most 0.015 % with 95 % confidence."""
    assert upper_bound(0, 20_000) == pytest.approx(3 / 20_000, rel=0.002)


@given(counts)
def test_one_more_event_never_lowers_the_bound(count: tuple[int, int]) -> None:
    """Claim: an alarm cannot make a calibration look better."""
    hit, trials = count
    if hit < trials:
        assert upper_bound(hit + 1, trials) > upper_bound(hit, trials)


def test_nothing_was_tried_so_anything_may_be() -> None:
    """Claim: no checks bound nothing, and no rate is made of them."""
    rate = Rate(0, 0, 0, 0)
    assert (rate.share, rate.most_share) == (None, 1.0)


def test_the_bound_counts_clusters_not_checks() -> None:
    """Claim: ninety checks in ten groups of processes are ten trials, however many copies were compared in each."""
    assert Rate(0, 90, 0, 10).most_share == upper_bound(0, 10)


@pytest.mark.parametrize("count", [(-1, 3), (4, 3)])
def test_impossible_counts_are_refused(count: tuple[int, int]) -> None:
    """Claim: one sentence."""
    with pytest.raises(KernelperfError, match="cannot be"):
        upper_bound(*count)
