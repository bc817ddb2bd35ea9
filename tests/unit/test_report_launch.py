"""What of a launch plan is not as it was accepted, in words."""

from __future__ import annotations

import pytest

from pytest_kernelperf.model import BufferArgument, Floor, LaunchStep, Plan
from pytest_kernelperf.report.launch import dimensions_text, launches_changed

ADD = LaunchStep("add", (40, 1, 1), (64, 1, 1), (BufferArgument("x"),))


@pytest.mark.parametrize(
    ("size", "text"), [((10, 1, 1), "10"), ((10, 5120, 1), "10 × 5,120"), ((1, 1, 3), "1 × 1 × 3"), ((1, 1, 1), "1")]
)
def test_sizes_leave_out_the_ones_behind(size: tuple[int, int, int], text: str) -> None:
    """Claim: a direction is named where it or a later one is more than 1."""
    assert dimensions_text(size) == text


def test_a_changed_launch_says_what_was_and_what_is() -> None:
    """Claim: workgroups, threads and LDS, each with both values; what did not change is not named."""
    wide = LaunchStep("add", (10, 2, 1), (256, 1, 1), (BufferArgument("y"),), 1024, Floor(10, "ten tiles"))
    assert launches_changed(Plan((ADD,)), Plan((wide,))) == (
        "add: workgroups 40 → 20 (grid 40 → 10 × 2), threads 64 → 256, dynamic LDS 0 → 1,024 bytes (accepted → now)",
    )
    other = LaunchStep("add", (40, 1, 1), (64, 1, 1), (BufferArgument("y"),), 0, Floor(10, "ten tiles"))
    assert launches_changed(Plan((ADD,)), Plan((other,))) == ()


def test_other_launches_are_one_sentence() -> None:
    """Claim: a fused pair, and a long plan, name what was launched and what is."""
    pair = Plan((ADD, LaunchStep("inject", (160, 1, 1), (64, 1, 1))))
    fused = Plan((LaunchStep("fused", (10, 1, 1), (256, 1, 1)),))
    assert launches_changed(pair, fused) == ("launches add, inject → fused (accepted → now)",)
    assert launches_changed(Plan((ADD,) * 6), Plan(())) == (
        "launches add, add, add, add … (6) → none (accepted → now)",
    )


def test_the_same_change_in_many_layers_is_said_once_and_many_changes_are_counted() -> None:
    """Claim: 48 equal launches make one sentence; 20 different ones make eight and a count."""
    halved = LaunchStep("add", (20, 1, 1), (64, 1, 1))
    assert len(launches_changed(Plan((ADD,) * 48), Plan((halved,) * 48))) == 1
    many = [Plan(tuple(LaunchStep(f"k{n}", (size, 1, 1), (64, 1, 1)) for n in range(20))) for size in (1, 2)]
    found = launches_changed(*many)
    assert (len(found), found[-1]) == (9, "12 more launches changed")
