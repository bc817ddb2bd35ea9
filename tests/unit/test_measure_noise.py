"""What the samples show of themselves: drifts and two speeds, and nothing where there is neither."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.measure.noise import Patience, find_noise, find_ramp, find_speeds
from pytest_kernelperf.model import Sample


def samples_of(time_of: Callable[[str, int], float], blocks: int = 30) -> tuple[Sample, ...]:
    """Two arms' samples over some blocks."""
    return tuple(
        Sample(arm, block, place, time_of(arm, block), 1.0)
        for block in range(blocks)
        for place, arm in enumerate(("head", "baseline"))
    )


def noisy(spread: float, seed: int = 1) -> Callable[[str, int], float]:
    """Times of a spread round 10 us."""
    draw = random.Random(seed)
    return lambda arm, block: 10.0 * math.exp(draw.gauss(0.0, spread))


def kinds(samples: tuple[Sample, ...]) -> list[str]:
    """The codes of what is found."""
    return [noise.kind for noise in find_noise(samples)]


@pytest.mark.parametrize("spread", [0.0, 0.0005, 0.01, 0.1])
def test_noise_alone_is_neither_ramp_nor_two_speeds(spread: float) -> None:
    """However wide one heap of times is."""
    assert [kinds(samples_of(noisy(spread, seed))) for seed in range(40)] == [[]] * 40


def test_times_that_rise_all_along_are_a_ramp() -> None:
    """A device that heats up, by 0.2 % a block; each arm at its own level."""
    noise = noisy(0.002)
    samples = samples_of(lambda arm, block: noise(arm, block) * (1 + 0.002 * block) * (1.3 if arm == "head" else 1))
    assert find_ramp(samples) == pytest.approx(1.04, abs=0.01)
    (found,) = find_noise(samples)
    assert found.kind == "clock_ramp"
    assert found.sentence.startswith("times still moved while they were taken: the last third was 4")
    assert found.sentence.endswith("slower")


def test_a_clock_that_still_rises_is_a_ramp_that_gets_faster() -> None:
    """The first samples of a cold device."""
    assert (find_ramp(samples_of(lambda arm, block: 10 + 10 / (1 + block))) or 1) < 0.97


def test_a_small_or_ragged_drift_is_no_ramp() -> None:
    """1 % over all blocks moves no comparison; one slow stretch in the middle is no drift."""
    assert find_ramp(samples_of(lambda arm, block: 10 + 0.003 * block)) is None
    assert find_ramp(samples_of(lambda arm, block: 13.0 if 10 <= block < 20 else 10.0)) is None
    assert find_ramp(samples_of(lambda arm, block: 10.0 + block, blocks=5)) is None


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_two_speeds_are_found_with_their_distance_and_shares(share: float) -> None:
    """27 % apart, as one case on an H200; which sample gets which is chance."""
    noise, chance = noisy(0.003), random.Random(3)
    samples = samples_of(lambda arm, block: noise(arm, block) * (1.27 if chance.random() < share else 1.0), 90)
    speeds = find_speeds(samples)
    assert speeds is not None
    assert speeds.ratio == pytest.approx(1.27, abs=0.01)
    slow = sum(sample.time_us > 11 for sample in samples if sample.arm == "head")
    assert speeds.slow_share["head"] == slow / 90
    (found,) = find_noise(samples)
    assert found.kind == "two_speeds"
    assert "apart, in one process; at the slower: baseline" in found.sentence


def test_a_few_stragglers_are_no_second_speed() -> None:
    """Two late samples of thirty, however late."""
    noise = noisy(0.003)
    assert find_speeds(samples_of(lambda arm, block: noise(arm, block) * (3.0 if block in (7, 19) else 1.0))) is None


def test_a_true_difference_of_the_arms_is_not_two_speeds() -> None:
    """Each arm has one speed: that is what the guard is to find."""
    noise = noisy(0.002)
    assert kinds(samples_of(lambda arm, block: noise(arm, block) * (1.3 if arm == "head" else 1.0))) == []


@given(
    times=st.lists(st.floats(0.5, 1e6), min_size=2, max_size=80),
    scale=st.sampled_from([0.125, 2.0, 1024.0]),
)
def test_what_is_found_does_not_hang_on_the_unit(times: list[float], scale: float) -> None:
    """Scaling every time changes nothing, and nothing is found where all are equal."""
    samples = tuple(Sample("head", block, 0, time, 1.0) for block, time in enumerate(times))
    scaled = tuple(Sample("head", block, 0, time * scale, 1.0) for block, time in enumerate(times))
    assert kinds(samples) == kinds(scaled)
    assert kinds(tuple(Sample("head", block, 0, times[0], 1.0) for block in range(len(times)))) == []


def test_patience_ends() -> None:
    """So many blocks and pauses, and no more."""
    patience = Patience(10, (0.1, 0.2))
    assert [patience.allows(4), patience.allows(7), patience.allows(6), patience.allows(1)] == [
        True,
        False,
        True,
        False,
    ]
    assert [patience.wait_s(), patience.wait_s(), patience.wait_s()] == [0.1, 0.2, None]
