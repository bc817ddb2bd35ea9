"""The gate in front of a batch: compiled here, opened by the native loop, bounded three times.

The queue is filled behind a kernel that spins on a word of coherent host memory, then released, so that the
device never waits for the host in between. The spin ends when the host opens the door; else when the kernel's
own 250 ms of device clock are over; else when the loop library's second thread opens it after 500 ms. A batch
behind a gate that was not opened in time is thrown away (``Timing.timed_out``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING

from pytest_kernelperf.model import SourceBundle

if TYPE_CHECKING:
    from pytest_kernelperf.runtime.hip import Device

KERNEL = "kernelperf_gate"
DEVICE_LIMIT_MS = 250
HOST_LIMIT_NS = 500_000_000

# Entries that may wait behind a closed gate, all told. CUDA's queue takes 1,024, after which a launch blocks
# until the gate opens, which the launching thread would have to do; AMD's default queues are longer.
QUEUE_DEPTH = 512
QUEUE_MARGIN = 16  # the gate, two events, and what a runtime adds (barriers, markers)

_BLOCKING = ("HIP_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY")


def blocking_variable(environment: Mapping[str, str] = os.environ) -> str:
    """The variable (``NAME=value``) that makes launches wait for their kernel, or an empty text.

    Behind a gate such a launch would wait for ever for a door that only its own thread opens.
    """
    for name in _BLOCKING:
        value = environment.get(name, "").strip()
        if value and value.lower() not in ("0", "false", "off", "no"):
            return f"{name}={value}"
    return ""


def gate_bundle() -> SourceBundle:
    """The gate kernel's source."""
    text = resources.files("pytest_kernelperf.runtime").joinpath("gate.hip").read_text(encoding="utf-8")
    return SourceBundle("gate.hip", {"gate.hip": text})


def limit_ticks(device: Device) -> int:
    """The kernel's own time limit in ticks of the clock that it reads."""
    return DEVICE_LIMIT_MS * max(wall_clock_khz(device), 1)


def wall_clock_khz(device: Device) -> int:
    """The rate of the device's wall clock; CUDA's global timer counts nanoseconds, the others say theirs."""
    return 1_000_000 if device.chosen.name == "cuda" else device.attribute("WallClockRate")
