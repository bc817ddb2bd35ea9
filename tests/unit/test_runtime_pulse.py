"""The device's clock from its counters."""

from __future__ import annotations

import pytest

from pytest_kernelperf.runtime.pulse import pulse_bundle, rate_mhz


@pytest.mark.parametrize(
    ("cycles", "ticks", "wall_khz", "mhz"),
    [
        (198_000, 100_000, 1_000_000, 1980.0),  # CUDA: nanoseconds
        (290_000, 10_000, 100_000, 2900.0),  # AMD: 10 ns
        (0, 100, 1_000_000, None),
        (100, 0, 1_000_000, None),
        (100, 100, 0, None),
    ],
)
def test_the_rate_is_cycles_by_the_wall_clock(cycles: int, ticks: int, wall_khz: int, mhz: float | None) -> None:
    """A counter that stands still, as after the kernel's own limit, says nothing."""
    assert rate_mhz(cycles, ticks, wall_khz) == mhz


def test_a_counter_of_twenty_bits_is_allowed_for() -> None:
    """RDNA 3's wraps every 0.4 ms."""
    assert "0xfffff" in pulse_bundle().files["pulse.hip"]
