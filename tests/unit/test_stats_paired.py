"""What one process says of two arms, and the interval over several."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_kernelperf.stats.interval import interval_over_processes
from pytest_kernelperf.stats.paired import (
    Outcome,
    ProcessResult,
    allowance,
    compare_process,
    smallest_shown,
    usable_pairs,
)
from pytest_kernelperf.stats.policy import Policy

BLOCKS = 29
POLICY = Policy(tolerance=0.01)


def arms(
    change: float, noise: float = 0.001, seed: int = 0, base_us: float = 2.0, drift: float = 0.1
) -> tuple[list[float], list[float]]:
    """Times of head and baseline whose ratio is ``change``, with a clock that drifts under both."""
    random = np.random.default_rng(seed)
    clock = np.linspace(1.0, 1.0 + drift, BLOCKS)
    baseline = base_us * clock * np.exp(random.normal(0, noise, BLOCKS))
    return list(change * base_us * clock * np.exp(random.normal(0, noise, BLOCKS))), list(baseline)


def result_of(change: float, policy: Policy = POLICY, **details: Any) -> ProcessResult:
    """The result of a process that has one."""
    result = compare_process(*arms(change, **details), policy)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (1.0, Outcome.WITHIN),
        (1.005, Outcome.WITHIN),
        (0.995, Outcome.WITHIN),
        (1.01, Outcome.NEITHER),
        (1 / 1.01, Outcome.NEITHER),
        (1.03, Outcome.SLOWER),
        (0.97, Outcome.FASTER),
    ],
)
def test_a_change_is_called_by_its_size(change: float, outcome: Outcome) -> None:
    """Beyond the tolerance slower or faster, well below it within, at it neither."""
    assert result_of(change).outcome is outcome


def test_the_p_values_are_scipys_against_the_tolerance() -> None:
    """A one-sided Wilcoxon signed-rank test of the log ratios less log(1.01), each way."""
    head, baseline = arms(1.011)
    result = compare_process(head, baseline, POLICY)
    assert result is not None
    change = np.log(head) - np.log(baseline)
    for p_value, differences in (
        (result.p_slower, change - math.log(1.01)),
        (result.p_not_slower, math.log(1.01) - change),
        (result.p_faster, -change - math.log(1.01)),
        (result.p_not_faster, change + math.log(1.01)),
    ):
        scipys = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
        assert p_value == pytest.approx(scipys, abs=1e-12)
    assert result.ratio == pytest.approx(math.exp(float(np.median(change))))


def test_a_slowdown_shared_by_both_arms_is_none() -> None:
    """What disturbs both samples of a block cancels in it."""
    head, baseline = arms(1.0)
    disturbance = np.where(np.arange(BLOCKS) % 3 == 0, 5.0, 1.0)
    result = compare_process(list(np.array(head) * disturbance), list(np.array(baseline) * disturbance), POLICY)
    assert result is not None
    assert result.outcome is Outcome.WITHIN


def test_a_difference_below_the_floor_is_neither_slower_nor_faster() -> None:
    """10 % of 0.1 us are 0.01 us, which a timer cannot tell from nothing."""
    policy = Policy(tolerance=0.01, floor_us=0.02)
    assert result_of(1.1, policy, base_us=0.1).outcome is Outcome.WITHIN
    assert result_of(0.9, policy, base_us=0.1).outcome is Outcome.WITHIN
    assert result_of(0.82, policy, base_us=0.1, noise=1e-4, drift=0.0).outcome is Outcome.WITHIN  # 0.018 us
    assert result_of(0.79, policy, base_us=0.1, noise=1e-4, drift=0.0).outcome is Outcome.FASTER  # 0.021 us
    assert result_of(1.3, policy, base_us=0.1).outcome is Outcome.SLOWER
    assert result_of(0.7, policy, base_us=0.1).outcome is Outcome.FASTER
    assert result_of(1.1, policy, base_us=10.0).outcome is Outcome.SLOWER


def test_the_allowance_is_the_larger_of_tolerance_and_floor() -> None:
    """0.02 us are 20 % of 0.1 us and 0.2 % of 10 us."""
    policy = Policy(tolerance=0.01, floor_us=0.02)
    np.testing.assert_allclose(allowance(np.array([0.1, 10.0]), policy), np.log([1.2, 1.01]))


def test_one_contrary_block_does_not_hide_a_slowdown() -> None:
    """An interrupt in one baseline sample makes its block point the other way, as far out as it likes."""
    head, baseline = arms(1.03)
    baseline[4] *= 10
    result = compare_process(head, baseline, POLICY)
    assert result is not None
    assert result.outcome is Outcome.SLOWER


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("spoil", [0, 1])
def test_pairs_without_two_times_are_left_out(bad: float, spoil: int) -> None:
    """Both samples of the pair go, so that the others stay paired."""
    both = ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0])
    both[spoil][1] = bad
    arm, against = usable_pairs(*both)
    assert (arm.tolist(), against.tolist()) == ([1.0, 3.0], [10.0, 30.0])


def test_too_few_pairs_prove_nothing() -> None:
    """However large the difference; and no pair is no result."""
    for pairs, outcome in ((17, Outcome.NEITHER), (18, Outcome.SLOWER)):
        result = compare_process([2.0] * pairs, [1.0] * pairs, POLICY)
        assert result is not None
        assert result.outcome is outcome
    assert compare_process([math.nan], [1.0], POLICY) is None
    with pytest.raises(ValueError, match="cannot be paired"):
        compare_process([1.0], [1.0, 2.0], POLICY)


@pytest.mark.parametrize("seed", range(20))
def test_the_smallest_slowdown_shown_is_where_slower_begins(seed: int) -> None:
    """Just above it the process says slower, just below it does not."""
    head, baseline = arms(1.0, noise=0.004, seed=seed)
    change = np.log(head) - np.log(baseline)
    shift = smallest_shown(change, allowance(np.array(baseline), POLICY), POLICY.alpha_per_look)
    assert shift is not None
    for beside, slower in ((0.0, True), (-1e-10, False)):
        result = compare_process([time * math.exp(shift + beside) for time in head], baseline, POLICY)
        assert result is not None
        assert (result.outcome is Outcome.SLOWER) is slower
    assert smallest_shown(change[:17], np.full(17, 0.01), POLICY.alpha_per_look) is None


def test_the_interval_is_scipys_over_processes() -> None:
    """Student's t of the mean log ratio, one number per process."""
    ratios = [1.02, 1.03, 1.01, 1.05, 1.04]
    interval = interval_over_processes(ratios, 0.95)
    logs = np.log(ratios)
    low, high = stats.t.interval(0.95, 4, loc=logs.mean(), scale=stats.sem(logs))
    assert interval.change_ratio == pytest.approx(math.exp(logs.mean()))
    assert (interval.low_ratio, interval.high_ratio) == (pytest.approx(math.exp(low)), pytest.approx(math.exp(high)))


def test_one_process_has_no_interval_and_equal_ones_have_no_width() -> None:
    """The spread between processes is unknown from one, and nil where a scripted clock makes it so."""
    alone = interval_over_processes([1.02], 0.95)
    assert (alone.low_ratio, alone.high_ratio) == (None, None)
    equal = interval_over_processes([1.02] * 5, 0.95)
    assert equal.low_ratio == pytest.approx(1.02)
    assert equal.high_ratio == pytest.approx(1.02)


@pytest.mark.parametrize("ratios", [[], [1.0, math.nan], [0.0], [-1.0, 1.0]])
def test_an_interval_of_no_numbers_is_refused(ratios: list[float]) -> None:
    """NaN would compare false with every limit and pass."""
    with pytest.raises(ValueError, match="positive, finite ratios"), np.errstate(all="ignore"):
        interval_over_processes(ratios, 0.95)
