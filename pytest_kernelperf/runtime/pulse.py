"""The device's clock, counted by the device itself: cycles against its own wall clock, for a tenth of a millisecond.

Drivers round their clock readings, are late with them or, on some APUs, wrong; the counter is what kernels run by.
"""

from __future__ import annotations

import ctypes
from importlib import resources
from typing import TYPE_CHECKING

from pytest_kernelperf.errors import CompileError
from pytest_kernelperf.model import SourceBundle
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.gate import wall_clock_khz
from pytest_kernelperf.runtime.hip import Owner
from pytest_kernelperf.runtime.loop_native import LAUNCH, Step
from pytest_kernelperf.runtime.rounds import Rounds

if TYPE_CHECKING:
    from pytest_kernelperf.runtime.loop import Loop

KERNEL = "kernelperf_pulse"
PULSE_US = 100
MOST_LOOKS = 1_000_000
"""The kernel leaves after so many looks, should the wall clock stand still."""

_WORD = 8


class Pulse(Owner):
    """The pulse kernel on a loop's stream, with its result in mapped memory.

    Raises:
        CompileError: this compiler does not take it.
        DeviceError: a HIP call failed.
    """

    def __init__(self, loop: Loop) -> None:
        device = loop.device
        self._loop = loop
        self._owned: list[Owner] = []
        super().__init__(self._close_owned)
        try:
            self._khz = wall_clock_khz(device)
            self._counted = device.mapped(2 * _WORD)
            self._owned.append(self._counted)
            module = device.load(compile_bundle(device, pulse_bundle()).data)
            self._owned.append(module)
            values = (self._counted.address, PULSE_US * self._khz // 1000, MOST_LOOKS)
            packed = b"".join(value.to_bytes(_WORD, "little") for value in values)
            self._arguments = ctypes.create_string_buffer(packed, len(packed))
            step = Step(kind=LAUNCH, function=module.function(KERNEL).handle)
            step.grid[:] = step.block[:] = (1, 1, 1)
            step.arguments, step.argument_bytes = ctypes.addressof(self._arguments), len(packed)
            self._rounds = Rounds((Step * 1)(step), (), (KERNEL,))
        except BaseException:
            self._close_owned()
            raise

    def clock_mhz(self) -> float | None:
        """The clock's rate now; None where the counters do not say. Raises ``DeviceError``."""
        self._loop.run(self._rounds)
        cycles, ticks = (ctypes.c_uint64.from_address(self._counted.host_address + n * _WORD).value for n in (0, 1))
        return rate_mhz(cycles, ticks, self._khz)

    def _close_owned(self) -> None:
        while self._owned:
            self._owned.pop().close()


def rate_mhz(cycles: int, ticks: int, wall_khz: int) -> float | None:
    """Cycles per microsecond, None where one of the counters stood still."""
    if not cycles or not ticks or not wall_khz:
        return None
    return cycles * wall_khz / ticks / 1000


def open_pulse(loop: Loop) -> Pulse | None:
    """A pulse where the device has a cycle counter: not on the cpu runtime, nor where its kernel does not compile."""
    if loop.device.chosen.name == "cpu":
        return None
    try:
        return Pulse(loop)
    except CompileError:
        return None


def pulse_bundle() -> SourceBundle:
    """The pulse kernel's source."""
    text = resources.files("pytest_kernelperf.runtime").joinpath("pulse.hip").read_text(encoding="utf-8")
    return SourceBundle("pulse.hip", {"pulse.hip": text})
