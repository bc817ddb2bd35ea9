"""NVIDIA GPUs as the management library (NVML) describes them: name, place, clock, power, what holds the clock down.

Opened by ctypes as in :mod:`pytest_kernelperf.runtime.nvml`. Where it is missing or refuses, nothing is said.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from pytest_kernelperf.machine import Gpu, GpuState
from pytest_kernelperf.runtime.nvml import LIBRARY

_MOST_GPUS = 64
_SM_CLOCK, _GPU_TEMPERATURE = 1, 0

# Bits of nvmlDeviceGetCurrentClocksThrottleReasons that mean a limit; idle (1) and settings (2) are none.
_REASONS = {
    0x4: "the power limit",
    0x8: "a hardware slowdown",
    0x20: "the software's temperature limit",
    0x40: "the hardware's temperature limit",
    0x80: "the power brake",
}


class _Pci(ctypes.Structure):
    _fields_ = (
        ("legacy", ctypes.c_char * 16),
        ("domain", ctypes.c_uint),
        ("bus", ctypes.c_uint),
        ("device", ctypes.c_uint),
        ("device_id", ctypes.c_uint),
        ("subsystem_id", ctypes.c_uint),
        ("bus_id", ctypes.c_char * 32),
    )


class _Utilisation(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


def gpus(library: str = LIBRARY) -> tuple[Gpu, ...]:
    """The NVIDIA GPUs of this machine; it never raises."""
    try:
        nvml = ctypes.CDLL(library)
        if nvml.nvmlInit_v2() != 0:
            return ()
        count = ctypes.c_uint()
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return ()
        return tuple(gpu for index in range(min(count.value, _MOST_GPUS)) if (gpu := _gpu(nvml, index)) is not None)
    except (OSError, AttributeError):
        return ()


def open_state(bus_id: str, library: str = LIBRARY) -> Callable[[], GpuState | None]:
    """A function that says what holds down the clock of the GPU at a PCI address, asked anew each time.

    It never raises, and asks for no more than that: some questions take milliseconds, and it is asked between samples.
    """
    try:
        nvml = ctypes.CDLL(library)
        handle = ctypes.c_void_p()
        started = nvml.nvmlInit_v2() == 0
        if not started or nvml.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), ctypes.byref(handle)) != 0:
            return lambda: None
        limit_mw = _ask(nvml, "EnforcedPowerLimit", handle)
        _reasons(nvml, handle)
    except (OSError, AttributeError):  # not installed, or too old to say
        return lambda: None
    limit_w = None if limit_mw is None else limit_mw / 1e3
    return lambda: GpuState("NVML", power_limit_w=limit_w, throttled_by=_reasons(nvml, handle))


def _gpu(nvml: Any, index: int) -> Gpu | None:
    handle, name, pci = ctypes.c_void_p(), ctypes.create_string_buffer(96), _Pci()
    if nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) != 0:
        return None
    nvml.nvmlDeviceGetName(handle, name, len(name))
    known = nvml.nvmlDeviceGetPciInfo_v3(handle, ctypes.byref(pci)) == 0
    place = f"{pci.domain:04x}:{pci.bus:02x}:{pci.device:02x}.0" if known else ""
    return Gpu("NVIDIA", name.value.decode(errors="replace"), place, state=_state(nvml, handle))


def _state(nvml: Any, handle: ctypes.c_void_p) -> GpuState:
    power_mw, limit_mw = _ask(nvml, "PowerUsage", handle), _ask(nvml, "EnforcedPowerLimit", handle)
    level, used = _ask(nvml, "PerformanceState", handle), _Utilisation()
    busy = used.gpu if nvml.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(used)) == 0 else None
    return GpuState(
        source="NVML",
        clock_mhz=_ask(nvml, "ClockInfo", handle, _SM_CLOCK),
        most_clock_mhz=_ask(nvml, "MaxClockInfo", handle, _SM_CLOCK),
        power_w=None if power_mw is None else power_mw / 1e3,
        power_limit_w=None if limit_mw is None else limit_mw / 1e3,
        temperature_c=_ask(nvml, "Temperature", handle, _GPU_TEMPERATURE),
        performance_level="" if level is None or level > 15 else f"P{level}",
        busy_percent=busy,
        throttled_by=_reasons(nvml, handle),
    )


def _ask(nvml: Any, what: str, handle: ctypes.c_void_p, *arguments: int) -> int | None:
    value = ctypes.c_uint()
    code = getattr(nvml, f"nvmlDeviceGet{what}")(handle, *arguments, ctypes.byref(value))
    return value.value if code == 0 else None


def _reasons(nvml: Any, handle: ctypes.c_void_p) -> str:
    bits = ctypes.c_ulonglong()
    if nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(bits)) != 0:
        return ""
    return ", ".join(words for bit, words in _REASONS.items() if bits.value & bit)
