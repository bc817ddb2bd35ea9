"""What must hold of the interleaved test for any samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.judge import Evidence, decide, verdict_of
from pytest_kernelperf.model import CaseId, Comparison, Measurement, Sample, Verdict
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import compare
from pytest_kernelperf.stats.paired import compare_process
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.sequence import Action, follow, next_step, plan
from pytest_kernelperf.stats.signed_rank import signed_rank_p

Times = list[list[tuple[float, float]]]
"""Per process, head's and the baseline's time in us in each block."""

# Best to worst; a verdict that fails is worse than the same one that only warns.
ORDER = [Verdict.IMPROVED, Verdict.UNCHANGED, Verdict.UNDECIDED, Verdict.REGRESSED]

# Few different values, so that ties, zeros and equal samples are common.
ticks = st.integers(90, 110).map(lambda tick: tick / 50)
loose = st.floats(0.01, 1e4, allow_nan=False)
near = st.floats(1.9, 2.1)


@st.composite
def runs(draw: st.DrawFn) -> Times:
    """Three to six processes of 18 to 32 blocks; the arms scatter much, little, or by a timer's ticks."""
    one = draw(st.sampled_from([ticks, loose, near]))
    blocks, processes = draw(st.integers(18, 32)), draw(st.integers(3, 6))
    centres = draw(st.lists(st.sampled_from([0.9, 0.985, 1.0, 1.012, 1.1]), min_size=processes, max_size=processes))
    pairs = st.lists(st.tuples(one, one), min_size=blocks, max_size=blocks)
    return [[(head * centre, baseline) for head, baseline in draw(pairs)] for centre in centres]


policies = st.builds(
    Policy,
    tolerance=st.sampled_from([0.0, 0.0025, 0.01, 0.05]),
    floor_us=st.sampled_from([0.0, 0.02, 0.5]),
    alpha=st.sampled_from([1e-5, 1e-3, 0.05]),
    looks=st.sampled_from([1, 2]),
)


def compared(times: Times, policy: Policy, head_by: float = 1.0, both_by: float = 1.0) -> Comparison:
    """Compare head with the baseline, with head's times or all times multiplied."""
    measurements = [
        Measurement(
            process,
            "graph",
            200,
            0,
            tuple(
                Sample(arm, block, place, time_us, 0.0)
                for block, (head, baseline) in enumerate(pairs)
                for place, (arm, time_us) in enumerate(
                    [("head", head * head_by * both_by), ("baseline", baseline * both_by)]
                )
            ),
        )
        for process, pairs in enumerate(times)
    ]
    return compare(measurements, "head", "baseline", policy)


def badness(comparison: Comparison) -> tuple[int, bool]:
    """Where a comparison's verdict stands between improved and regressed, and whether it fails."""
    case = CaseId("kernel", "variant", 1)
    decision = decide(Evidence(case, has_baseline=True, time_us=1.0, comparison=comparison))
    return ORDER.index(decision.verdict), decision.fails


@settings(max_examples=25)
@given(runs(), policies)
def test_a_comparison_with_itself_never_regresses(times: Times, policy: Policy) -> None:
    """Equal times, however they scatter, are unchanged, or with no tolerance at all not proven so."""
    same = [[(head, head) for head, _ in pairs] for pairs in times]
    comparison = compared(same, policy)
    assert comparison.change_ratio == 1.0
    allowed = policy.tolerance > 0 or policy.floor_us > 0
    assert verdict_of(comparison) is (Verdict.UNCHANGED if allowed else Verdict.UNDECIDED)


@settings(max_examples=25)
@given(runs(), policies)
def test_swapping_the_arms_swaps_slower_and_faster(times: Times, policy: Policy) -> None:
    """Neither arm is favoured."""
    forward = compared(times, policy)
    backward = compared([[(baseline, head) for head, baseline in pairs] for pairs in times], policy)
    assert (forward.slower, forward.faster) == (backward.faster, backward.slower)
    assert (forward.p_slower, forward.p_faster) == pytest.approx((backward.p_faster, backward.p_slower), abs=1e-6)
    if abs((forward.p_slower or 0) - forward.agreement_alpha) > 1e-6:
        assert (find(forward) is Finding.SLOWER) == (find(backward) is Finding.FASTER)
    assert forward.change_ratio * backward.change_ratio == pytest.approx(1.0)


@settings(max_examples=25)
@given(runs(), policies, st.integers(-8, 8))
def test_scaling_both_sides_changes_nothing(times: Times, policy: Policy, exponent: int) -> None:
    """A slower clock is no slower kernel; the floor is scaled along, being a time."""
    by = 2.0**exponent  # a power of two, so that no ratio is rounded anew
    scaled_policy = Policy(policy.tolerance, policy.floor_us * by, policy.alpha, policy.looks)
    plain, scaled = compared(times, policy), compared(times, scaled_policy, both_by=by)
    for name in (
        *("change_ratio", "low_ratio", "high_ratio", "slower", "faster", "not_slower"),
        *("detectable_ratio", "p_slower", "p_faster", "p_not_slower"),
    ):
        assert getattr(plain, name) == getattr(scaled, name), name
    assert badness(plain) == badness(scaled)


@settings(max_examples=40)
@given(runs(), policies, st.sampled_from([1.0, 1.001, 1.01, 1.05, 1.5, 20.0]))
def test_slower_never_improves_a_verdict(times: Times, policy: Policy, by: float) -> None:
    """Nor turns a failure into a warning."""
    assert badness(compared(times, policy, head_by=by)) >= badness(compared(times, policy))


@settings(max_examples=25)
@given(runs(), policies)
def test_slower_faster_and_not_slower_exclude_each_other(times: Times, policy: Policy) -> None:
    """A process says one thing; whoever is faster is not slower either."""
    for pairs in times:
        result = compare_process(*map(list, zip(*pairs, strict=True)), policy)
        assert result is not None
        assert not (result.p_slower <= policy.alpha_per_look and result.not_slower)
        if result.p_faster <= policy.alpha_per_look:
            assert result.not_slower


@settings(max_examples=25)
@given(runs(), policies, st.sampled_from([0.9, 1.0, 1.02]))
def test_the_looks_end_where_the_plan_ends_and_equal_times_are_never_a_change(
    times: Times, policy: Policy, by: float
) -> None:
    """Whatever the samples, no look beyond the plan is asked for, and the last one's word counts."""
    count, blocks = len(times), len(times[0])
    try:
        # The samples are all that there are, so no further look is planned.
        usual = msgspec.structs.replace(policy, further=0.0)
        schedule = plan(usual, count, most_processes=count, blocks=blocks // policy.looks)
    except UsageError:
        return  # so few blocks can never reject, which is refused
    taken = [([head * by for head, _ in pairs], [base for _, base in pairs]) for pairs in times]
    found = follow(taken, usual, schedule)
    look = next(look for look in schedule.looks if (look.processes, look.blocks) == (found.processes, found.blocks))
    step = next_step(found, look, schedule)
    assert step.look is None
    assert step.action.value == find(found).value or step.action is Action.UNDECIDED
    same = follow([(base, base) for _, base in taken], usual, schedule)
    assert find(same) in (Finding.UNCHANGED, Finding.OPEN)


@settings(max_examples=200)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=30), st.integers(0, 2**32 - 1))
def test_ties_and_zeros_only_ever_raise_the_p_value(steps: list[int], seed: int) -> None:
    """However ties and zeros are broken by a finer timer, scipy's p-value of what it would see is no larger."""
    differences = np.array(steps, dtype=np.float64)
    finer = differences + np.random.default_rng(seed).uniform(-0.4, 0.4, len(steps))
    scipys = stats.wilcoxon(finer, alternative="greater", method="exact").pvalue
    assert signed_rank_p(differences) >= scipys - 1e-12


@settings(max_examples=100)
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.integers(0, 29), st.integers(0, 40))
def test_raising_a_difference_never_raises_the_p_value(steps: list[int], place: int, by: int) -> None:
    """What makes the smallest slowdown shown a single point, and every verdict monotone."""
    differences = np.array(steps, dtype=np.float64)
    raised = differences.copy()
    raised[place % len(raised)] += by
    assert signed_rank_p(raised) <= signed_rank_p(differences) + 1e-12


def _smooth(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return np.exp(random.standard_t(3, shape) * 0.01)


def _ticking(random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    return random.integers(100, 106, shape) / 50


@pytest.mark.parametrize("draw", [_smooth, _ticking])
def test_identical_arms_are_called_slower_no_more_often_than_alpha(
    draw: Callable[[np.random.Generator, tuple[int, ...]], Any],
) -> None:
    """Without any tolerance, over both looks together, heavy tails and a ticking timer included.

    2,000 simulated processes at alpha 5 %: more rejections than 1 in 10,000 such simulations would have are a fault.
    """
    policy = Policy(tolerance=0.0, alpha=0.05, looks=2)
    random = np.random.default_rng(20)
    rejected = 0
    for head, baseline in zip(draw(random, (2_000, 20)), draw(random, (2_000, 20)), strict=True):
        change = np.log(head / baseline)
        looks = (signed_rank_p(change[:10]), signed_rank_p(change))
        rejected += any(p_value <= policy.alpha_per_look for p_value in looks)
    assert rejected <= stats.binom.ppf(0.9999, 2_000, policy.alpha)


def test_a_true_slowdown_well_beyond_the_tolerance_is_called() -> None:
    """The power at the planned blocks: 3 % against a tolerance of 1 %, with samples that scatter by 1 %."""
    random = np.random.default_rng(3)
    called = 0
    for _ in range(20):
        baseline = 2.0 * np.exp(random.normal(0, 0.01, (5, 29)))
        head = 2.0 * 1.03 * np.exp(random.normal(0, 0.01, (5, 29)))
        times = [list(zip(h.tolist(), b.tolist(), strict=True)) for h, b in zip(head, baseline, strict=True)]
        called += verdict_of(compared(times, Policy())) is Verdict.REGRESSED
    assert called >= 18
