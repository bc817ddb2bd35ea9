"""The smallest slowdown that would have been caught, against simulated cases that are measured again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_kernelperf.stats.agreement import Finding, find, majority, may_oppose, p_over_processes, ruling_out
from pytest_kernelperf.stats.comparison import compare_pairs
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.power import CAUGHT, Sharpness, caught_from, smallest_caught
from pytest_kernelperf.stats.schedule import Look, plan
from pytest_kernelperf.stats.sequence import follow

POLICY = Policy(tolerance=0.01)
SCHEDULE = plan(POLICY, looks_at_blocks=1)
ALLOWED = math.log(1.01)

Array = np.ndarray[Any, np.dtype[np.float64]]
Pairs = tuple[list[float], list[float]]


def processes(
    random: np.random.Generator, slowdown: float, between: float, within: float, count: int = 8
) -> list[Pairs]:
    """Processes whose effects scatter by ``between`` and whose samples by ``within``, in 29 blocks."""
    effects = slowdown + random.normal(0, between, count)
    head = 2 * np.exp(effects[:, None] + random.normal(0, within, (count, 29)))
    baseline = 2 * np.exp(random.normal(0, within, (count, 29)))
    return list(zip(head.tolist(), baseline.tolist(), strict=True))


def limit(pairs: list[Pairs]) -> float:
    """The smallest slowdown these processes say they would have caught, as a log ratio."""
    found = compare_pairs(dict(enumerate(pairs)), POLICY, schedule=SCHEDULE).detectable_ratio
    assert found is not None
    return math.log(found)


@pytest.mark.parametrize(
    ("between", "within", "known"),
    [(0.0003, 0.0005, 3), (0.003, 0.001, 3), (0.003, 0.001, 5), (0.0003, 0.004, 5), (0.01, 0.002, 8)],
)
def test_the_slowdown_said_is_caught_when_the_case_is_measured_again(between: float, within: float, known: int) -> None:
    """In 95 of 100 cases, each with its own limit from its own few processes, over all planned looks.

    Bounds: what 1 in 10,000 simulations of 60 cases would fall below; half of what the limit adds to the tolerance is
    caught less often, so that no larger figure passes for honest.
    """
    random = np.random.default_rng(4)
    caught = half = 0
    for _ in range(60):
        slowdown = limit(processes(random, 0.0, between, within, known))
        assert slowdown > ALLOWED
        caught += find(follow(processes(random, slowdown, between, within), POLICY, SCHEDULE)) is Finding.SLOWER
        part = (slowdown + ALLOWED) / 2
        half += find(follow(processes(random, part, between, within), POLICY, SCHEDULE)) is Finding.SLOWER
    assert caught >= stats.binom.ppf(0.0001, 60, CAUGHT)
    assert half < caught


def sharp(*changes: float, shown: float = 0.011) -> list[Sharpness]:
    """Processes that would each have shown as much."""
    return [Sharpness(change, shown, ALLOWED) for change in changes]


FIVE = (Look(5, 29, 0.1),)


def is_called(effects: Array, shown: Array, looks: Sequence[Look], slowdown: float) -> bool:
    """The rule, look by look, as it stands in words."""
    for look in looks:
        changes, shows = slowdown + effects[: look.processes], shown[: look.processes]
        slower, faster = int(np.sum(changes >= shows)), int(np.sum(changes <= -shows))
        if slower >= majority(look.processes) and faster <= may_oppose(look.processes):
            if p_over_processes((changes - ALLOWED).tolist()) <= look.agreement_alpha:
                return True
        elif np.sum(changes - ALLOWED <= ALLOWED - shows) >= ruling_out(look.processes):
            return False
    return False


@pytest.mark.parametrize("spread", [0.002, 0.01, 0.05])
def test_each_draws_limit_is_where_the_rule_begins_to_call_it(spread: float) -> None:
    """Just above it is called, and nowhere on a grid below it."""
    random = np.random.default_rng(6)
    looks = plan(POLICY, most_processes=12, looks_at_blocks=1).looks
    effects = random.standard_t(2, (60, 12)) * spread
    shown = ALLOWED + random.uniform(0.0005, 0.02, (60, 12))
    limits = caught_from(effects, shown, ALLOWED, looks)
    for effect, shows, smallest in zip(effects, shown, limits, strict=True):
        assert is_called(effect, shows, looks, smallest + 1e-9)
        below = smallest - np.geomspace(1e-6, 10 * spread, 60)
        assert not any(is_called(effect, shows, looks, slowdown) for slowdown in below)


def test_a_look_that_would_have_stopped_as_unchanged_lets_nothing_through() -> None:
    """Three processes that hardly slow down end it, though the five after them would have called it."""
    effects = np.array([[-0.05, -0.05, -0.05, 0.03, 0.03, 0.03, 0.03, 0.03]])
    shown = np.full((1, 8), ALLOWED + 0.001)
    five_to_eight, looks = (Look(8, 29, 0.4),), (Look(3, 29, 0.01), Look(8, 29, 0.4))
    alone = float(caught_from(effects, shown, ALLOWED, five_to_eight)[0])
    after_three = float(caught_from(effects, shown, ALLOWED, looks)[0])
    assert alone < after_three
    assert after_three == pytest.approx(0.05 + ALLOWED - 0.001)


def test_without_any_spread_the_limit_is_what_a_process_shows() -> None:
    """Nothing is drawn then that differs."""
    assert smallest_caught(sharp(0, 0, 0, 0, 0), FIVE) == pytest.approx(0.011)


@pytest.mark.parametrize("worse", [sharp(0, 0.004, 0.008, 0.012), sharp(0, 0.001, 0.002, 0.003, shown=0.02)])
def test_more_spread_or_duller_processes_raise_the_limit(worse: list[Sharpness]) -> None:
    """Between processes and within them."""
    plain, raised = smallest_caught(sharp(0, 0.001, 0.002, 0.003), FIVE), smallest_caught(worse, FIVE)
    assert plain is not None
    assert raised is not None
    assert raised > plain + 0.001


def test_fewer_known_processes_raise_the_limit_at_the_same_spread() -> None:
    """A spread of three numbers is hardly known."""
    three = smallest_caught(sharp(-0.001, 0, 0.001), FIVE)
    eight = smallest_caught(sharp(*(0.001 * value for value in stats.norm.ppf((np.arange(8) + 0.5) / 8))), FIVE)
    assert three is not None
    assert eight is not None
    assert three > eight + 0.0005


def test_more_looks_lower_the_limit() -> None:
    """What five processes leave open eight may show."""
    known = sharp(-0.002, 0, 0.001, 0.002, 0.004)
    alone = smallest_caught(known, (Look(5, 29, 0.01),))
    more = smallest_caught(known, (Look(5, 29, 0.01), Look(8, 29, 0.09)))
    assert alone is not None
    assert more is not None
    assert more < alone


def test_what_could_never_be_called_has_no_limit() -> None:
    """Fewer than two processes have no spread, fewer than three agree on nothing, and too few blocks show nothing."""
    assert smallest_caught(sharp(0), FIVE) is None
    assert smallest_caught(sharp(0, 0), (Look(2, 29, 0.1),)) is None
    assert smallest_caught(sharp(0, 0, 0), ()) is None
    random = np.random.default_rng(0)
    few = [(head[:10], base[:10]) for head, base in processes(random, 0.5, 0.0, 0.001, 5)]
    assert compare_pairs(dict(enumerate(few)), POLICY).detectable_ratio is None


def test_the_limit_is_the_same_in_every_run() -> None:
    """Drawn from a fixed seed."""
    known = sharp(-0.001, 0, 0.003)
    assert smallest_caught(known, FIVE) == smallest_caught(known, FIVE)
