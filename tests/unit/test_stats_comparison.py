"""Measurements of several processes become one comparison."""

from __future__ import annotations

import math

import msgspec
import pytest

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Comparison, Measurement, Mode, Sample
from pytest_kernelperf.stats.comparison import compare, middle_time_us, pair_samples, process_medians_us
from pytest_kernelperf.stats.policy import Policy

BLOCKS = 29


def measurement(
    process: int,
    change: float = 1.0,
    *,
    mode: Mode = "graph",
    base_us: float = 2.0,
    blocks: int = BLOCKS,
    first: int = 0,
) -> Measurement:
    """A process in which head takes ``change`` times as long as the baseline, give or take a thousandth."""
    samples = []
    for block in range(first, first + blocks):
        wobble = 1 + 0.001 * math.sin(block + process)
        samples.append(Sample("baseline", block, block % 2, base_us, 0.1))
        samples.append(Sample("head", block, 1 - block % 2, base_us * change * wobble, 0.1))
    return Measurement(process, mode, 200, 1, tuple(samples))


def compared(*changes: float, policy: Policy = Policy()) -> Comparison:  # noqa: B008 - frozen
    """The comparison of processes with these changes."""
    return compare([measurement(place, change) for place, change in enumerate(changes)], "head", "baseline", policy)


def test_a_comparison_holds_what_a_report_needs() -> None:
    """Change, interval, agreement, times, and the terms on which they were judged."""
    found = compared(1.33, 1.331, 1.332, 1.329, 1.328)
    assert found.change_ratio == pytest.approx(1.33, abs=0.002)
    assert found.low_ratio is not None
    assert found.high_ratio is not None
    assert found.low_ratio < found.change_ratio < found.high_ratio
    assert (found.processes, found.needed, found.slower, found.faster, found.not_slower) == (5, 3, 5, 0, 0)
    assert (found.arm, found.against, found.mode, found.blocks) == ("head", "baseline", "graph", BLOCKS)
    assert (found.tolerance_ratio, found.alpha, found.confidence) == (1.01, 1e-5, 0.95)
    assert found.against_us == pytest.approx(2.0)
    assert found.time_us == pytest.approx(2.66, abs=0.01)
    assert len(found.per_process_ratio) == 5
    assert found.process_numbers == (0, 1, 2, 3, 4)
    assert (found.p_slower, found.p_faster, found.p_not_slower) == (
        pytest.approx(0, abs=1e-6),
        pytest.approx(1.0),
        pytest.approx(1.0),
    )
    assert found.agreement_alpha == Policy().agreement
    assert found.look_alpha == Policy().alpha_per_look
    assert msgspec.json.decode(msgspec.json.encode(found), type=Comparison) == found


def test_a_look_with_less_error_of_its_own_asks_more_of_each_process() -> None:
    """All 29 blocks point one way, which is 1.9e-9: that shows a slowdown at 2e-9, and nothing at 1e-9."""
    taken = [measurement(place, 1.33) for place in range(5)]
    for alpha, slower in ((2e-9, 5), (1e-9, 0)):
        found = compare(taken, "head", "baseline", Policy(), look_alpha=alpha)
        assert (found.slower, found.look_alpha) == (slower, alpha)
        assert bool(found.per_process_shown_ratio) is (found.detectable_ratio is not None) is bool(slower)
    same = [measurement(place, 1.0) for place in range(5)]
    for alpha, within in ((2e-9, 5), (1e-9, 0)):
        assert compare(same, "head", "baseline", Policy(), look_alpha=alpha).not_slower == within


def test_each_process_counts_once() -> None:
    """One process that is 30 % slower does not outvote four that are not."""
    found = compared(1.0, 1.0, 1.0, 1.0, 1.3)
    assert (found.slower, found.not_slower) == (1, 4)


def test_the_smallest_slowdown_shown_includes_the_spread_between_processes() -> None:
    """Steady processes show little more than the tolerance; where they scatter by 2 %, it takes far more."""
    steady, scattered = compared(1.0, 1.0, 1.0, 1.0, 1.0), compared(0.96, 0.98, 1.0, 1.02, 1.04)
    assert steady.detectable_ratio is not None
    assert scattered.detectable_ratio is not None
    assert 1.01 < steady.detectable_ratio < 1.015
    assert scattered.detectable_ratio > steady.detectable_ratio + 0.015
    assert scattered.per_process_shown_ratio == pytest.approx(steady.per_process_shown_ratio)


def test_two_processes_agree_on_nothing() -> None:
    """At least three are needed, however large the slowdown."""
    found = compared(2.0, 2.0)
    assert (found.slower, found.needed, found.detectable_ratio) == (2, 3, None)
    assert compared(2.0).low_ratio is None


def test_a_rerun_of_the_same_process_adds_its_pairs() -> None:
    """Two looks of 10 blocks reject together where one alone cannot."""
    first = [measurement(process, 1.1, blocks=10) for process in range(5)]
    second = [measurement(process, 1.1, blocks=10, first=0) for process in range(5)]
    assert compare(first, "head", "baseline", Policy()).slower == 0
    both = compare(first + second, "head", "baseline", Policy())
    assert (both.slower, both.processes, both.blocks) == (5, 5, 20)


def test_samples_are_paired_by_block_not_by_order() -> None:
    """A block that lacks an arm is left out; the order within a block does not matter."""
    samples = (
        Sample("head", 2, 0, 5.0, 0.0),
        Sample("baseline", 1, 1, 2.0, 0.0),
        Sample("head", 1, 0, 3.0, 0.0),
        Sample("baseline", 0, 0, 1.0, 0.0),
        Sample("replaced", 2, 1, 9.0, 0.0),
    )
    assert pair_samples([Measurement(0, "graph", 1, 0, samples)], "head", "baseline") == ([3.0], [2.0])


def test_a_process_without_usable_pairs_agrees_with_nothing() -> None:
    """It still counts, so that 2 of 4 processes that answered are not 2 of 2."""
    blank = [measurement(3, math.nan), measurement(4, math.nan)]
    found = compare([measurement(p, 1.3) for p in range(3)] + blank, "head", "baseline", Policy())
    assert (found.processes, found.slower, found.needed) == (5, 3, 3)
    assert found.process_numbers == (0, 1, 2)
    two = compare([measurement(p, 1.3) for p in range(2)] + blank, "head", "baseline", Policy())
    assert (two.processes, two.slower, two.needed) == (4, 2, 3)
    assert math.isfinite(found.change_ratio)


def test_no_usable_pair_at_all_is_an_error() -> None:
    """Nothing measured is never unchanged."""
    with pytest.raises(KernelperfError, match="no process has a usable pair of samples of head and baseline"):
        compare([measurement(0, math.nan)], "head", "baseline", Policy())
    with pytest.raises(KernelperfError, match="no process has a usable pair"):
        compare([], "head", "baseline", Policy())


def test_modes_are_never_compared() -> None:
    """Graph and queued times of the same kernel differ by the gaps between launches."""
    with pytest.raises(ValueError, match="modes are never compared"):
        compare([measurement(0), measurement(1, mode="queued")], "head", "baseline", Policy())


def test_middle_times_are_over_processes() -> None:
    """The median of medians, without what is no time."""
    runs = [measurement(process, base_us=base_us) for process, base_us in ((2, 3.0), (0, 1.0), (1, 2.0))]
    assert process_medians_us(runs, "baseline") == (1.0, 2.0, 3.0)
    assert middle_time_us(runs, "baseline") == 2.0
    assert middle_time_us(runs, "toolchain") is None
    assert middle_time_us([measurement(0, math.nan)], "head") is None
