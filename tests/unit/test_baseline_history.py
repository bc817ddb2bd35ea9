"""Creep: a case's first figure, the steps since, and what they add up to."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from pytest_kernelperf import reason
from pytest_kernelperf.baseline.entry import AcceptedStep, Anchor, BaselineCase
from pytest_kernelperf.baseline.format import decode
from pytest_kernelperf.baseline.history import creep_of
from pytest_kernelperf.model import CreepStep

GOLDEN = Path(__file__).parent.parent / "golden" / "baseline.json"


def accepted(*ratios: float | None) -> BaselineCase:
    """A case first accepted on 2026-01-01, and anew on the first of each month after it."""
    case = decode(GOLDEN.read_bytes(), "golden").cases[0]
    if not ratios:
        return case
    steps = tuple(AcceptedStep(f"2026-{month:02}-01", f"step {month}", r) for month, r in enumerate(ratios, start=2))
    return msgspec.structs.replace(case, anchor=Anchor("2026-01-01", 50.0, "graph"), steps=steps)


def test_a_case_that_was_accepted_once_has_no_creep() -> None:
    """Entries of older releases have no steps, and nothing is made up."""
    assert creep_of(accepted(), 0.05) is None


def test_small_steps_multiply() -> None:
    """Three of 2 % are more than 5 %, and each is named."""
    creep = creep_of(accepted(1.02, 1.02, 1.02), 0.05)
    assert creep is not None
    assert (creep.since, creep.exceeded) == ("2026-01-01", True)
    assert creep.change_ratio == pytest.approx(1.02**3)
    assert reason.creep(creep) == (
        "6.1 % slower than the figure accepted on 2026-01-01, in 3 accepted steps, beyond the budget of 5 %: "
        "+2 % on 2026-02-01 (step 2), +2 % on 2026-03-01 (step 3), +2 % on 2026-04-01 (step 4)"
    )


@pytest.mark.parametrize("ratios", [(1.02, 1.02), (1.049,), (1.04, 0.95, 1.04), (1.2, 0.8), (None, 1.04)])
def test_within_the_budget_nothing_is_exceeded(ratios: tuple[float | None, ...]) -> None:
    """Also where a step was given back again by the next; a step that was not compared counts as none."""
    creep = creep_of(accepted(*ratios), 0.05)
    assert creep is not None
    assert not creep.exceeded


def test_a_gain_that_is_given_away_again_counts() -> None:
    """Counted from the fastest accepted figure: 20 % won, half of it lost again: creep, though faster than at first."""
    creep = creep_of(accepted(0.8, 1.05, 1.05), 0.05)
    assert creep is not None
    assert (creep.since, creep.exceeded) == ("2026-02-01", True)
    assert creep.change_ratio == pytest.approx(1.05**2)
    assert [step.day for step in creep.steps] == ["2026-03-01", "2026-04-01"]


def test_the_change_that_is_being_judged_is_the_last_step() -> None:
    """It has no day yet; what could not be compared is named as such."""
    creep = creep_of(accepted(1.04, None), 0.05, 1.02)
    assert creep is not None
    assert creep.steps[-1] == CreepStep("", "", 1.02)
    assert reason.creep(creep).endswith(
        "+4 % on 2026-02-01 (step 2), not compared on 2026-03-01 (step 3), +2 % by this change"
    )
    alone = creep_of(accepted(), 0.05, 1.1)
    assert alone is not None
    assert (alone.since, alone.exceeded) == (accepted().accepted_at, True)


def test_the_budget_is_the_settings() -> None:
    """1.05 of 5 % is not beyond it; 4 % would be."""
    for allowed, exceeded in ((0.05, False), (0.04, True), (0.0, True)):
        creep = creep_of(accepted(1.05), allowed)
        assert creep is not None
        assert creep.exceeded == exceeded


def test_a_strangers_ratios_do_not_overflow() -> None:
    """A thousand steps of a billion are allowed by the file's limits."""
    creep = creep_of(accepted(*[1e9] * 1000), 0.05)
    assert creep is not None
    assert creep.exceeded
    assert math.isfinite(creep.change_ratio)
