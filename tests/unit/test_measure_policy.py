"""Stopping rules and the order of the arms."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.measure.order import order_arms
from pytest_kernelperf.measure.policy import BatchSize, SampleCheck, WarmUp


def test_warming_up_ends_when_every_arm_is_steady() -> None:
    """Three batches within 3 % of each other, for every arm, and not before."""
    warm = WarmUp(limit_us=1e9)
    assert not warm.over
    for time_us in (30.0, 10.0, 10.1, 10.2):
        assert not warm.over
        warm.add("head", time_us, 100.0)
    assert warm.over
    warm.add("baseline", 20.0, 100.0)
    assert not warm.over


def test_warming_up_ends_when_time_is_up() -> None:
    """A machine whose clocks never settle is measured all the same."""
    warm = WarmUp(limit_us=1000.0)
    warm.add("head", 10.0, 600.0)
    assert not warm.over
    warm.add("head", 20.0, 600.0)
    assert warm.over


def test_warming_up_ends_when_the_clock_stands_still() -> None:
    """A clock that says zero reaches no time limit, so the number of batches is limited too."""
    warm = WarmUp(limit_us=1000.0)
    for number in range(1000):
        if warm.over:
            break
        warm.add("head", float(number % 7), 0.0)
    assert warm.over


def test_the_slowest_arm_sizes_the_batch() -> None:
    """Its last batches count, since the first are cold."""
    warm = WarmUp(limit_us=1e9)
    for time_us in (500.0, 10.0, 11.0, 12.0):
        warm.add("head", time_us, 1.0)
    warm.add("baseline", 4.0, 1.0)
    assert warm.time_us() == 11.0


@pytest.mark.parametrize(
    ("time_us", "steps", "queued", "rounds"),
    [(10.0, 1, False, 100), (1.0, 1, False, 200), (5000.0, 1, False, 1), (1.0, 10, True, 49), (1.0, 1000, True, 1)],
)
def test_a_batch_is_bounded_by_rounds_time_and_queue(time_us: float, steps: int, queued: bool, rounds: int) -> None:
    """Never more than 200 rounds, about the target time, what fits the queue, and at least one round."""
    assert BatchSize(1000.0, 200, 496).rounds(time_us, steps, queued) == rounds


@pytest.mark.parametrize(
    ("time_us", "copies", "rounds"),
    [(10.0, 1, 100), (10.0, 8, 96), (10.0, 100, 100), (10.0, 150, 100), (1.0, 150, 150)],
)
def test_copies_are_taken_equally_often(time_us: float, copies: int, rounds: int) -> None:
    """A batch is whole turns of the copies; a shorter one uses none twice."""
    size = BatchSize(1000.0, 200, 496, copies)
    assert size.rounds(time_us, 1, True) == rounds
    assert size.even(rounds) == rounds


@pytest.mark.parametrize("time_us", [0.0, -1.0, float("nan"), float("inf")])
def test_nonsense_times_size_a_batch_without_failing(time_us: float) -> None:
    """The sample check deals with them."""
    assert 1 <= BatchSize(1000.0, 200, 496).rounds(time_us, 1, False) <= 200


def test_too_many_impossible_times_exhaust_the_patience() -> None:
    """Some are discarded, not any number."""
    check = SampleCheck(expected_us=10.0, max_discarded=2)
    assert check.accepts(9.0)
    assert not check.accepts(-1.0)
    assert not check.accepts(10_001.0)
    assert not check.exhausted
    assert not check.accepts(float("nan"))
    assert check.exhausted


@given(st.integers(1, 5), st.integers(0, 2**32), st.integers(0, 9))
def test_within_a_group_of_blocks_every_arm_is_in_every_place_once(count: int, seed: int, process: int) -> None:
    """Balance: as many blocks as arms, each arm once per block and once per place."""
    arms = tuple(f"arm{number}" for number in range(count))
    for first in (0, count, 7 * count):
        orders = [order_arms(arms, block, seed, process) for block in range(first, first + count)]
        assert all(sorted(order) == sorted(arms) for order in orders)
        assert all(sorted(column) == sorted(arms) for column in zip(*orders, strict=True))


def test_the_order_is_random_and_the_same_for_the_same_seed() -> None:
    """Neither strict alternation nor one order for all: all patterns of two pairs occur among few seeds."""
    seen = {tuple(order_arms(("a", "b"), block, seed, 0)[0] for block in range(4)) for seed in range(64)}
    assert seen == {tuple(f + s) for f, s in itertools.product((("a", "b"), ("b", "a")), repeat=2)}
    assert order_arms(("a", "b"), 3, 1, 0) == order_arms(("a", "b"), 3, 1, 0)
    assert len({tuple(order_arms(("a", "b"), b, 1, process)[0] for b in range(20)) for process in range(5)}) == 5
    firsts = {"".join(order_arms(("a", "b", "c"), block, seed, 0)[0] for block in range(3)) for seed in range(64)}
    assert firsts == {"".join(order) for order in itertools.permutations("abc")}
    seconds = {
        order_arms(("a", "b", "c"), 1, seed, 0)
        for seed in range(64)
        if order_arms(("a", "b", "c"), 0, seed, 0)[0] == "a"
    }
    assert {order[0] for order in seconds if order in {("b", "c", "a"), ("c", "a", "b")}} == {"b", "c"}
