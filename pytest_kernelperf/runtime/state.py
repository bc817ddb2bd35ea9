"""A function that says how an open device is: clock, power, what holds the clock down. It never raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pytest_kernelperf.machine import GpuState
from pytest_kernelperf.runtime import nvml_state
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.sysfs import cards, find_card

DRM = Path("/sys/class/drm")


def open_state(device: Device, drm: Path = DRM) -> Callable[[], GpuState | None]:
    """For the GPU that ``device`` is: NVML's or amdgpu's word; None each time where there is none."""
    if device.chosen.name == "cuda":
        return nvml_state.open_state(device.text("hipDeviceGetPCIBusId"))
    if device.chosen.name == "rocm":
        return amd_state(device.text("hipDeviceGetPCIBusId").lower(), drm)
    return lambda: None


def amd_state(place: str, drm: Path) -> Callable[[], GpuState | None]:
    """The state of the card at a PCI address, read anew each time."""

    def read() -> GpuState | None:
        card = find_card(cards(drm), place)
        return card.state if card is not None else None

    return read
