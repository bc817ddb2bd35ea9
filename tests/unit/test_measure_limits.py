"""What holds a clock down, sorted into power and all else."""

from __future__ import annotations

import pytest

from pytest_kernelperf.machine import GpuState
from pytest_kernelperf.measure.limits import Limits, NoLimits, StateLimits, limits_of


@pytest.mark.parametrize(
    ("state", "limits"),
    [
        (GpuState("NVML"), Limits()),
        (GpuState("NVML", throttled_by="the power limit"), Limits("", "the power limit")),
        (
            GpuState("NVML", power_limit_w=700.0, throttled_by="the power limit, the hardware's temperature limit"),
            Limits("the hardware's temperature limit", "the power limit (700 W)"),
        ),
        (GpuState("card0", power_w=119.0, power_limit_w=120.0), Limits("", "the power limit (120 W)")),
        (GpuState("card0", power_w=110.0, power_limit_w=120.0), Limits()),
        (GpuState("card0", power_w=110.0, power_limit_w=None), Limits()),
    ],
)
def test_power_is_told_from_heat(state: GpuState, limits: Limits) -> None:
    """Where the driver names reasons they count; where it only gives watts, 97 % of the limit is being held by it."""
    assert limits_of(state) == limits


def test_where_nobody_says_nothing_is_held_down() -> None:
    """A driver that does not answer, and the host's cores."""
    for probe in (StateLimits(lambda: None), NoLimits()):
        probe.start()
        assert probe.stop() == Limits()


def test_the_driver_is_asked_anew_at_each_end_of_a_window() -> None:
    """Heat comes and goes."""
    states = iter([GpuState("NVML", throttled_by="a hardware slowdown"), GpuState("NVML")])
    probe = StateLimits(lambda: next(states))
    assert [probe.stop().throttled_by, probe.stop().throttled_by] == ["a hardware slowdown", ""]
