"""Which looks are planned, what follows from each, and what they may cost together."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import numpy as np
import pytest

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Comparison
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import compare_pairs
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.sequence import Action, Look, Schedule, follow, next_step, plan
from pytest_kernelperf.stats.signed_rank import MOST_PAIRS

POLICY = Policy(tolerance=0.01)
SCHEDULE = plan(POLICY)


def pairs(
    *changes: float, blocks: int = 58, noise: float = 0.001, seed: int = 1
) -> list[tuple[list[float], list[float]]]:
    """Processes whose head takes so many times the baseline's 2 us, each sample give or take ``noise``."""
    random = np.random.default_rng(seed)
    return [
        (
            (2.0 * change * np.exp(random.normal(0, noise, blocks))).tolist(),
            (2.0 * np.exp(random.normal(0, noise, blocks))).tolist(),
        )
        for change in changes
    ]


def look_at(look: Look, *changes: float, noise: float = 0.001) -> Comparison:
    """The comparison at a look of processes with these changes."""
    return compare_pairs(
        dict(enumerate(pairs(*changes, blocks=look.blocks, noise=noise))), POLICY, look.agreement_alpha
    )


def test_a_case_starts_with_three_processes_and_may_take_eight() -> None:
    """Three, five and eight, each at the fewest blocks that can reject with one against it, and at twice as many."""
    assert [(look.processes, look.blocks) for look in SCHEDULE.looks] == [
        (3, 29), (3, 58), (5, 29), (5, 58), (8, 29), (8, 58)
    ]  # fmt: skip
    assert SCHEDULE.first == SCHEDULE.looks[0]
    assert SCHEDULE.most == SCHEDULE.looks[-1]


@pytest.mark.parametrize(
    ("processes", "most", "counts"),
    [(3, None, [3, 5]), (5, 5, [3, 5]), (3, 3, [3]), (10, None, [3, 10, 16]), (8, 5, [3, 5])],
)
def test_the_processes_asked_for_decide_the_looks(processes: int, most: int | None, counts: list[int]) -> None:
    """Never more than the most, and each number once."""
    schedule = plan(POLICY, processes, most_processes=most, looks_at_blocks=1)
    assert [look.processes for look in schedule.looks] == counts


@pytest.mark.parametrize(
    "policy", [POLICY, Policy(agreement=0.01), Policy(looks=1), Policy(looks=3), Policy(further=0.4), Policy(further=0)]
)
@pytest.mark.parametrize("most", [3, 5, 8, 20])
@pytest.mark.parametrize("blocks", [None, 40, 75, 100])
def test_both_errors_are_spent_once_over_all_looks(policy: Policy, most: int, blocks: int | None) -> None:
    """Together they cost what the policy allows, further ones included; a usual look never less than one at fewer
    processes."""
    schedule = plan(policy, most_processes=most, blocks=blocks)
    looks, further = schedule.looks, schedule.further
    assert sum(look.agreement_alpha for look in (*looks, *further)) == pytest.approx(policy.agreement)
    assert [look.agreement_alpha for look in looks] == sorted(look.agreement_alpha for look in looks)
    # A process's samples are looked at once for each number of blocks, over which its own alpha is split.
    alphas = {look.blocks: policy.alpha_per_look if look.alpha is None else look.alpha for look in (*looks, *further)}
    assert len(alphas) == policy.looks + len(further)
    assert all(look.alpha is None for look in looks)
    whole = policy.alpha if further else policy.alpha * (1 - policy.further)
    assert sum(alphas.values()) == pytest.approx(whole)
    assert bool(further) is (policy.further > 0 and looks[-1].blocks < MOST_PAIRS)


def test_further_looks_are_at_most_processes_and_many_more_blocks() -> None:
    """Twice as many as the last usual one, and as many as the exact test takes."""
    assert [(look.processes, look.blocks) for look in SCHEDULE.further] == [(8, 116), (8, 300)]
    assert SCHEDULE.most_blocks == 300
    # 5 % of alpha and a fifth of the last processes' share of the agreement, a third of both for the first of them.
    assert [look.alpha for look in SCHEDULE.further] == pytest.approx([0.05 * 1e-5 / 3, 0.05 * 1e-5 * 2 / 3])
    kept = 0.1 * (1 - (5 / 8) ** 3) * 0.2
    assert [look.agreement_alpha for look in SCHEDULE.further] == pytest.approx([kept / 3, kept * 2 / 3])


@pytest.mark.parametrize(("blocks", "further"), [(74, [296, 300]), (75, [300]), (100, [300]), (149, [300]), (150, [])])
def test_no_further_look_goes_beyond_the_exact_test(blocks: int, further: list[int]) -> None:
    """However many blocks were asked for; one look alone has all that is kept."""
    found = plan(POLICY, blocks=blocks).further
    assert [look.blocks for look in found] == further
    assert sum(look.alpha or 0.0 for look in found) == pytest.approx(0.05e-5 if further else 0.0)


def test_samples_that_are_all_there_are_have_no_further_look() -> None:
    """Where the looks at them are counted, none is left to take; and nothing is kept where nothing is asked for."""
    assert not plan(POLICY, looks_at_blocks=1).further
    assert not plan(POLICY, looks_at_blocks=2).further
    none = Policy(further=0.0)
    assert not plan(none).further
    assert none.alpha_per_look == none.alpha / 2


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"processes": 2}, "2 processes cannot agree on anything: take at least 3"),
        ({"most_processes": 1}, "1 processes cannot agree on anything"),
        ({"blocks": 7}, "7 blocks at alpha 1e-05 cannot reject: the smallest p is 0.0078, and each of 2 looks needs"),
        ({"blocks": 200}, "200 blocks in each of 2 looks are more than the exact test takes"),
        ({"looks_at_blocks": 3}, "3 looks at a process's samples are not planned for: alpha is split over 2"),
    ],
)
def test_a_plan_that_cannot_reject_is_refused_with_the_arithmetic(asked: dict[str, Any], complaint: str) -> None:
    """Nobody should measure for an hour to learn nothing."""
    with pytest.raises(UsageError, match=re.escape(complaint)):
        plan(POLICY, **asked)


def test_a_clear_case_stops_at_the_first_look() -> None:
    """Three that agree closely suffice, either way."""
    look = SCHEDULE.first
    for changes, action in (
        ((1.05, 1.051, 1.0505), Action.SLOWER),
        ((0.95, 0.951, 0.9505), Action.FASTER),
        ((1.0, 1.001, 0.999), Action.UNCHANGED),
    ):
        step = next_step(look_at(look, *changes), look, SCHEDULE)
        assert (step.action, step.look) == (action, None)


def test_processes_that_disagree_are_joined_by_more() -> None:
    """Their own samples are sharp, so more of those would say the same again."""
    look = SCHEDULE.first
    step = next_step(look_at(look, 1.0, 1.05, 1.03), look, SCHEDULE)
    assert step.action is Action.MORE_PROCESSES
    assert step.look is not None
    assert (step.look.processes, step.look.blocks) == (5, 29)


def test_processes_that_all_slow_down_unequally_are_joined_by_more() -> None:
    """Three that are slower by 3, 8 and 20 % are not yet code that is slower by more than 1 % on average."""
    look = SCHEDULE.first
    comparison = look_at(look, 1.03, 1.08, 1.20)
    assert comparison.slower == 3
    assert next_step(comparison, look, SCHEDULE).action is Action.MORE_PROCESSES


def test_processes_that_cannot_tell_take_more_blocks_first() -> None:
    """Samples that scatter by 15 % show nothing of 1 %: the same processes go on, then others join them."""
    look = SCHEDULE.first
    comparison = look_at(look, 1.0, 1.0, 1.0, noise=0.15)
    assert find(comparison) is Finding.OPEN
    seen = []
    while True:
        step = next_step(comparison, look, SCHEDULE)
        if step.look is None:
            break
        look = step.look
        seen.append((look.processes, look.blocks))
        comparison = look_at(look, *([1.0] * look.processes), noise=0.15)
    assert seen == [(3, 58), (5, 58), (8, 58)]
    assert step.action is Action.UNDECIDED


def test_processes_of_which_none_can_tell_are_unchanged_together() -> None:
    """Samples that scatter by 5 %, as those of two speeds do: the mean over eight processes is sharp enough."""
    comparison = look_at(SCHEDULE.most, *([1.0] * SCHEDULE.most.processes), noise=0.05)
    assert comparison.not_slower < comparison.needed
    assert next_step(comparison, SCHEDULE.most, SCHEDULE).action is Action.UNCHANGED
    slower = look_at(SCHEDULE.most, *([1.01] * SCHEDULE.most.processes), noise=0.05)
    assert next_step(slower, SCHEDULE.most, SCHEDULE).action is not Action.UNCHANGED


def test_processes_that_disagree_are_joined_by_more_even_if_one_cannot_tell() -> None:
    """What that one would say settles nothing between the others."""
    look = SCHEDULE.first
    for step in (0.05, -0.05):
        taken = {0: pairs(1.0)[0], 1: pairs(1.0 + step)[0], 2: pairs(1.0 + step / 2, noise=0.05)[0]}
        comparison = compare_pairs(taken, POLICY, look.agreement_alpha)
        assert comparison.slower + comparison.not_slower == 2
        assert next_step(comparison, look, SCHEDULE).action is Action.MORE_PROCESSES


def test_a_gain_is_worth_as_many_processes_as_a_slowdown() -> None:
    """Three faster ones rule a slowdown out already, and whether they are an improvement takes two more."""
    look = SCHEDULE.first
    comparison = look_at(look, 0.97, 0.92, 0.80)
    assert find(comparison) is Finding.UNCHANGED
    assert next_step(comparison, look, SCHEDULE).action is Action.MORE_PROCESSES
    last = SCHEDULE.most
    comparison = msgspec.structs.replace(comparison, p_faster=1.0)
    assert next_step(comparison, last, SCHEDULE).action is Action.UNCHANGED


def test_samples_that_are_there_are_followed_look_by_look() -> None:
    """The comparison is that of the look at which the guard would have stopped."""
    assert follow(pairs(*[1.05] * 8), POLICY, SCHEDULE).processes == 3
    divided = follow(pairs(1.0, 1.05, 1.03, 1.04, 1.05, 1.04, 1.05, 1.04), POLICY, SCHEDULE)
    assert (divided.processes, divided.blocks, find(divided)) == (8, 29, Finding.SLOWER)
    noisy = follow(pairs(*[1.0] * 8, noise=0.05), POLICY, SCHEDULE)
    assert (noisy.processes, noisy.blocks) == (8, 58)


def test_a_look_that_the_samples_do_not_suffice_for_is_refused() -> None:
    """Rather than taken with what is there: its alpha was planned for all of it."""
    with pytest.raises(UsageError, match="the look at 5 processes cannot be taken: there are 4"):
        follow(pairs(1.0, 1.05, 1.03, 1.05), POLICY, SCHEDULE)
    with pytest.raises(UsageError, match="the look at 29 blocks cannot be taken: a process has 20"):
        follow(pairs(*[1.0] * 8, blocks=20), POLICY, SCHEDULE)


def test_no_look_follows_the_last_one() -> None:
    """Whatever the samples say."""
    one = Schedule((Look(5, 29, 0.1),))
    for changes, action in (((1.0, 1.05, 1.0, 1.05, 0.95), Action.UNDECIDED), ((1.05,) * 5, Action.SLOWER)):
        step = next_step(look_at(one.first, *changes), one.first, one)
        assert (step.action, step.look) == (action, None)
