"""Who goes on to many more blocks: what is likely to be shown slower by them, and nothing else."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import pytest

from pytest_kernelperf.model import Comparison
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import Pairs, compare_pairs
from pytest_kernelperf.stats.further import further_look
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.sequence import Action, Look, follow, next_step, plan

POLICY = Policy(tolerance=0.005)
SCHEDULE = plan(POLICY)
FIRST, LAST = SCHEDULE.further
SCATTER = 0.0043
"""Of the blocks of the one case on the H200 whose slowdowns of 1.5 times the tolerance stayed open."""

Array = np.ndarray[Any, np.dtype[np.float64]]


def blocks_of(count: int, scatter: float) -> Array:
    """Log ratios of so many blocks round 0, as regular as normal ones can be, in an order that shows nothing."""
    # Imported here as the package does: the quantiles of a normal distribution.
    from scipy import special

    values = scatter * special.ndtri((np.arange(count) + 0.5) / count)
    return np.random.default_rng(3).permutation(values)


def look_at(look: Look, *slower: float, scatter: float = SCATTER, policy: Policy = POLICY) -> Comparison:
    """The comparison at a look of processes that are slower by these shares."""
    pairs = {
        process: (np.exp(math.log1p(share) + blocks_of(look.blocks, scatter)).tolist(), [1.0] * look.blocks)
        for process, share in enumerate(slower)
    }
    return compare_pairs(pairs, policy, look.agreement_alpha, look_alpha=look.alpha)


def wanted(look: Look, *slower: float, scatter: float = SCATTER) -> Look | None:
    """The look that follows an open one."""
    comparison = look_at(look, *slower, scatter=scatter)
    assert find(comparison) is Finding.OPEN
    step = next_step(comparison, look, SCHEDULE)
    assert step.look == further_look(comparison, look, SCHEDULE)
    assert (step.action is Action.UNDECIDED) is (step.look is None)
    return step.look


def test_twice_the_blocks_are_taken_where_they_would_show_it() -> None:
    """0.75 % at a tolerance of 0.5 %, blocks that scatter by 0.45 %: open at 58 blocks, shown at 116."""
    assert wanted(SCHEDULE.most, *[0.0075] * 8, scatter=0.0045) == FIRST
    assert find(look_at(FIRST, *[0.0075] * 8, scatter=0.0045)) is Finding.SLOWER


def test_as_many_as_there_are_are_taken_where_twice_do_not_suffice() -> None:
    """Blocks that scatter by twice as much are shown at 300 alone: at once, or after the look at 116."""
    for look in (SCHEDULE.most, FIRST):
        assert wanted(look, *[0.0075] * 8, scatter=0.007) == LAST
    assert find(look_at(LAST, *[0.0075] * 8, scatter=0.007)) is Finding.SLOWER


def test_nothing_is_taken_after_the_last_look() -> None:
    """Nor where no further one is planned."""
    assert wanted(LAST, *[0.0075] * 8, scatter=0.03) is None
    open_ = look_at(SCHEDULE.most, *[0.0075] * 8, scatter=0.0045)
    assert next_step(open_, SCHEDULE.most, plan(Policy(tolerance=0.005, further=0.0))).look is None


@pytest.mark.parametrize("scatter", [0.02, 0.3])
def test_samples_that_no_blocks_sharpen_enough_end_where_they_are(scatter: float) -> None:
    """300 blocks would not show it either."""
    assert wanted(SCHEDULE.most, *[0.0075] * 8, scatter=scatter) is None


@pytest.mark.parametrize("share", [0.005, 0.0051, 0.004, 0.0])
def test_what_does_not_look_slower_than_allowed_ends_where_it_is(share: float) -> None:
    """Proving that it is not slower is not worth as much."""
    comparison = msgspec.structs.replace(look_at(SCHEDULE.most, *[share] * 8, scatter=0.005), p_not_slower=1.0)
    assert further_look(comparison, SCHEDULE.most, SCHEDULE) is None


def test_a_gain_is_not_gone_after() -> None:
    """Processes that are faster by half as much again as the tolerance, and have not shown it."""
    comparison = look_at(SCHEDULE.most, *[-0.0075] * 8, scatter=0.0045)
    assert comparison.faster < comparison.needed
    assert further_look(comparison, SCHEDULE.most, SCHEDULE) is None


def test_two_speeds_end_where_they_are() -> None:
    """Half of the processes will never show what the others have; the mean of them looks slower all the same."""
    assert wanted(SCHEDULE.most, *[0.0001, 0.0130] * 4, scatter=0.006) is None
    assert wanted(SCHEDULE.most, *[0.0060, 0.0130] * 4, scatter=0.008) is None
    assert wanted(SCHEDULE.most, *[0.0095] * 8, scatter=0.008) is not None


def slower_by(*excess: float) -> list[float]:
    """Shares by which processes are slower that exceed the tolerance by these log ratios."""
    return [math.expm1(math.log1p(POLICY.tolerance) + each) for each in excess]


def test_as_many_processes_as_must_agree_must_look_slower() -> None:
    """Four of eight are less than five, however much slower they are on average."""
    four = [-0.0020, -0.0015, -0.0010, -0.0005, 0.0040, 0.0090, 0.0140, 0.0200]
    assert wanted(SCHEDULE.most, *slower_by(*four), scatter=0.018) is None
    five = [*four[:3], 0.0005, *four[4:]]
    assert wanted(SCHEDULE.most, *slower_by(*five), scatter=0.018) == LAST


def test_processes_that_have_said_no_do_not_count() -> None:
    """Once four of eight rule a slowdown out, five can never show it; nor is any called slower against the faster."""
    open_ = look_at(SCHEDULE.most, *[0.0075] * 8, scatter=0.0045)
    assert further_look(open_, SCHEDULE.most, SCHEDULE) == FIRST
    for said in ({"not_slower": 4, "slower": 0}, {"faster": 1}):
        assert further_look(msgspec.structs.replace(open_, **said), SCHEDULE.most, SCHEDULE) is None


def test_what_differs_between_processes_is_not_measured_away() -> None:
    """Effects so unlike that their mean would not stand out if all of it but a root's share stayed."""
    unlike = [-0.0090, -0.0080, 0.0010, 0.0020, 0.0050, 0.0100, 0.0113, 0.0350]
    assert wanted(SCHEDULE.most, *slower_by(*unlike), scatter=0.02) is None
    alike = [float(np.mean(unlike)) + 0.5 * (each - float(np.mean(unlike))) for each in unlike]
    assert wanted(SCHEDULE.most, *slower_by(*alike), scatter=0.02) == LAST


def test_a_mean_within_the_tolerance_does_not_look_slower() -> None:
    """Five processes beyond it, and three as far below."""
    divided = [0.0020] * 5 + [-0.0120, -0.0060, -0.0090]
    assert wanted(SCHEDULE.most, *slower_by(*divided), scatter=0.0045) is None


def test_a_floor_is_allowed_for() -> None:
    """A slowdown beyond the tolerance but not beyond the floor is none that blocks could show."""
    floor = Policy(tolerance=0.005, floor_us=0.008)
    comparison = look_at(SCHEDULE.most, *[0.0075] * 8, scatter=0.0045, policy=floor)
    assert further_look(comparison, SCHEDULE.most, SCHEDULE) is None


def test_the_plan_is_followed_to_the_further_looks() -> None:
    """Each uses the error set aside for it and says so; what is open without them is called slower."""
    planned = {further.blocks: further for further in SCHEDULE.further}
    without = Policy(tolerance=0.005, further=0.0)
    random = np.random.default_rng(5)
    ends = set()
    for _ in range(10):
        ratios = np.exp(math.log1p(0.0075) + random.normal(0, 1.1 * SCATTER, (8, 300)))
        pairs: list[Pairs] = [(row.tolist(), [1.0] * 300) for row in ratios]
        found = follow(pairs, POLICY, SCHEDULE)
        assert find(found) is Finding.SLOWER
        ends.add(found.blocks)
        if found.blocks in planned:
            look = planned[found.blocks]
            used = (found.processes, found.look_alpha, found.agreement_alpha)
            assert used == (look.processes, look.alpha, look.agreement_alpha)
            usual = follow(pairs, without, plan(without))
            assert (find(usual), usual.blocks, usual.look_alpha) == (Finding.OPEN, 58, without.alpha_per_look)
    assert {116, 300} <= ends


def test_kernels_of_two_speeds_do_not_run_to_the_end_in_vain() -> None:
    """Identical code whose every batch runs at one of two speeds, 27 % apart, by a coin; and one whose processes do."""
    random = np.random.default_rng(8)
    gone_on = 0
    for _ in range(25):
        batches = np.log(1 + 0.27 * random.integers(0, 2, (2, 8, 300)))
        processes = np.log(1 + 0.27 * random.integers(0, 2, (2, 8, 1))) + random.normal(0, 0.0005, (2, 8, 300))
        for head, base in (batches, processes):
            ratios = np.exp(head - base)
            pairs: list[Pairs] = [(row.tolist(), [1.0] * 300) for row in ratios]
            gone_on += follow(pairs, POLICY, SCHEDULE).blocks > SCHEDULE.most.blocks
    assert gone_on <= 1
