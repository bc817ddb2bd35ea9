"""What holds a device's speed where it is besides its hardware: firmware, clock policy, power limit.

Recorded with what is measured, so that a later run can say which of them changed. Read once when a device is opened,
from amdgpu's files, from NVIDIA's management library (NVML) or from /proc and /sys for the host's processor. What is
missing or refuses is left out.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

from pytest_kernelperf.machine import SpeedPolicy
from pytest_kernelperf.runtime.nvml import LIBRARY
from pytest_kernelperf.runtime.sysfs import cards, find_card, read_number, read_text, read_word

# Firmware that decides how work is queued, run and clocked: compute queues, their scheduler, copies, power.
_AMD_FIRMWARE = ("mec", "mes", "rlc", "sdma", "smc")

_GRAPHICS_CLOCK, _MEMORY_CLOCK = 0, 2


def amd_policy(place: str, root: Path = Path("/")) -> SpeedPolicy:
    """Read the files of the AMD card at a PCI address (``0000:c5:00.0``), or of the only card there is."""
    drm = root / "sys/class/drm"
    card = find_card(cards(drm), place.lower())
    if card is None:
        return SpeedPolicy()
    device = drm / card.state.source / "device"
    firmware = {name: read_word(device / "fw_version" / f"{name}_fw_version") for name in _AMD_FIRMWARE}
    firmware = {"vbios": read_word(device / "vbios_version"), **firmware}
    profile = read_word(root / "sys/firmware/acpi/platform_profile")  # an APU's power limits follow it
    clocks = [card.state.performance_level, f"platform profile {profile}" if profile else ""]
    return SpeedPolicy(_list(firmware), ", ".join(filter(None, clocks)), card.state.power_limit_w)


def nvidia_policy(place: str, library: str = LIBRARY) -> SpeedPolicy:
    """Ask NVML about the GPU at a PCI address; it never raises."""
    try:
        nvml, device = ctypes.CDLL(library), ctypes.c_void_p()
        if nvml.nvmlInit_v2() != 0:
            return SpeedPolicy()
        if nvml.nvmlDeviceGetHandleByPciBusId_v2(place.encode(), ctypes.byref(device)) != 0:
            return SpeedPolicy()
    except (OSError, AttributeError):
        return SpeedPolicy()
    firmware = {"vbios": _text(nvml, "VbiosVersion", device, 32), "gsp": _text(nvml, "GspFirmwareVersion", device)}
    clocks = {
        "graphics": _number(nvml, "ApplicationsClock", device, _GRAPHICS_CLOCK),
        "memory": _number(nvml, "ApplicationsClock", device, _MEMORY_CLOCK),
    }
    stated = ", ".join(f"{name} {mhz} MHz" for name, mhz in clocks.items() if mhz)
    limit_mw = _number(nvml, "EnforcedPowerLimit", device)
    return SpeedPolicy(
        _list(firmware),
        f"application clocks {stated}" if stated else "",
        None if limit_mw is None else limit_mw / 1e3,
    )


def processor_policy(root: Path = Path("/")) -> SpeedPolicy:
    """Read the host processor's microcode, governor and boost."""
    folder = root / "sys/devices/system/cpu"
    microcode = re.search(r"^microcode\s*:\s*(\S{1,40})$", read_text(root / "proc/cpuinfo"), re.MULTILINE)
    boost, no_turbo = read_number(folder / "cpufreq/boost"), read_number(folder / "intel_pstate/no_turbo")
    allowed = bool(boost) if boost is not None else None if no_turbo is None else not no_turbo
    clocks = {
        "governor": read_word(folder / "cpu0/cpufreq/scaling_governor"),
        "preference": read_word(folder / "cpu0/cpufreq/energy_performance_preference"),
        "boost": "" if allowed is None else "on" if allowed else "off",
        "platform profile": read_word(root / "sys/firmware/acpi/platform_profile"),
    }
    return SpeedPolicy(f"microcode {microcode[1]}" if microcode else "", _list(clocks))


def _list(named: dict[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in named.items() if text)


def _number(nvml: Any, what: str, device: ctypes.c_void_p, *arguments: int) -> int | None:
    value = ctypes.c_uint()
    try:
        code = getattr(nvml, f"nvmlDeviceGet{what}")(device, *arguments, ctypes.byref(value))
    except AttributeError:
        return None
    return value.value if code == 0 else None


def _text(nvml: Any, what: str, device: ctypes.c_void_p, *length: int) -> str:
    room = ctypes.create_string_buffer(80)
    try:
        code = getattr(nvml, f"nvmlDeviceGet{what}")(device, room, *length)
    except AttributeError:
        return ""
    said = room.value.decode(errors="replace").strip() if code == 0 else ""
    return "".join(letter if letter.isprintable() else "?" for letter in said)
