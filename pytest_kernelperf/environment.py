"""What else decides speed on this machine: facts that a run records, so that a change of them can be seen later.

No host name and no user name: a run file is passed on to strangers.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from pytest_kernelperf.model import DeviceFacts

# Variables that change how kernels are launched, compiled or counted.
VARIABLES = (
    "AMD_SERIALIZE_KERNEL",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "GPU_ENABLE_WGP_MODE",
    "GPU_MAX_HW_QUEUES",
    "HIP_LAUNCH_BLOCKING",
    "HIP_VISIBLE_DEVICES",
    "HSA_OVERRIDE_GFX_VERSION",
    "KERNELPERF_CXX",
    "ROCR_VISIBLE_DEVICES",
)


def describe_environment(facts: DeviceFacts, variables: dict[str, str], root: Path = Path("/")) -> dict[str, str]:
    """Return name -> text of the facts that may explain a change of speed.

    Args:
        facts: the device's facts.
        variables: the process's environment.
        root: where ``proc`` and ``sys`` are, so that written-out files can be read instead.
    """
    found = {
        "kernel_release": platform.release(),
        "cpu_governor": _text(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "driver": facts.driver,
        "hip_version": facts.hip_version,
        "hip_python_version": facts.hip_python_version,
        "compiler": facts.compiler,
        "firmware": facts.firmware,
        "clock_policy": facts.clock_policy,
        "power_limit": f"{facts.power_limit_w:g} W" if facts.power_limit_w is not None else "",
        **{name: variables[name] for name in VARIABLES if name in variables},
    }
    return {name: value for name, value in found.items() if value}


def differing_environment(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Name what changed: ``compiler: g++ 12.2.0 -> g++ 13.1.0``.

    A variable that is missing was not set. Another fact that one side lacks was not known there, which is no change.
    """
    return [
        f"{name}: {then.get(name, 'not set')} -> {now.get(name, 'not set')}"
        for name in sorted({*then, *now})
        if then.get(name) != now.get(name) and (name in VARIABLES or (name in then and name in now))
    ]


def process_environment() -> dict[str, str]:
    """Return this process's environment variables."""
    return dict(os.environ)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()[:200]
    except OSError:
        return ""
