"""Device facts: what the library says, put right by KFD on AMD GPUs and by /proc and /sys on the host."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from pytest_kernelperf.machine import KNOWN_PEAKS
from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.runtime import kfd
from pytest_kernelperf.runtime.cpu_facts import device_key, read_processor
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.speed_policy import amd_policy, nvidia_policy, processor_policy

_HBM2 = {"gfx906", "gfx908", "gfx90a"}

# Last-level cache beyond what KFD lists: AMD's Infinity Cache.
_LAST_LEVEL_BYTES = {"gfx1151": 32 * 1024 * 1024}


def read_facts(device: Device, root: Path = Path("/"), environment: Mapping[str, str] = os.environ) -> DeviceFacts:
    """Facts of an open device; ``root`` is where /proc and /sys are.

    Raises:
        DeviceError: the library refuses to say.
    """
    if device.chosen.name == "cpu":
        return _cpu_facts(device, root)
    return _gpu_facts(device, root, environment)


def _cpu_facts(device: Device, root: Path) -> DeviceFacts:
    processor = read_processor(root)
    compiler, policy = _cpu_compiler(device), processor_policy(root)
    return DeviceFacts(
        runtime="cpu",
        library=str(device.chosen.amdhip64),
        key=device_key(processor, compiler),
        name=processor.name,
        architecture=processor.architecture,
        compute_units=processor.cores,
        compute_units_source="physical cores that this process may use",
        last_level_bytes=processor.last_level_bytes,
        l2_bytes=processor.l2_bytes,
        total_memory_bytes=processor.memory_bytes,
        compiler=compiler,
        driver=f"Linux {os.uname().release}",
        firmware=policy.firmware,
        clock_policy=policy.clock_policy,
        **_common(device),
    )


def _gpu_facts(device: Device, root: Path, environment: Mapping[str, str]) -> DeviceFacts:
    architecture = device.architecture
    common = _common(device)
    node = _node(device, architecture, root) if device.chosen.name == "rocm" else None
    if node is not None:
        units, source = node.compute_units, f"KFD node {node.node}: simd_count / simd_per_cu"
    elif device.chosen.name == "rocm":
        units = kfd.compute_units_from_hip(architecture, common["hip_compute_units"], environment)
        source = "hipDeviceAttributeMultiprocessorCount, as KFD could not be matched"
    else:
        units, source = common["hip_compute_units"], "hipDeviceAttributeMultiprocessorCount"
    prefix, unit = (architecture.replace("_", ""), "sm") if device.chosen.name == "cuda" else (architecture, "cu")
    (total,) = device.call("hipDeviceTotalMem", device.index)
    place = device.text("hipDeviceGetPCIBusId").strip()
    policy = nvidia_policy(place) if device.chosen.name == "cuda" else amd_policy(place, root)
    return DeviceFacts(
        runtime=device.chosen.name,
        library=str(device.chosen.amdhip64),
        key=f"{prefix}-{units}{unit}",
        name=device.text("hipDeviceGetName"),
        architecture=architecture,
        compute_units=units,
        compute_units_source=source,
        total_memory_bytes=int(total),
        peak_gb_per_s=_peak(device, architecture),
        l2_bytes=device.attribute("L2CacheSize") or None,
        last_level_bytes=last_level_bytes(node, architecture),
        compiler=_hiprtc_version(device),
        driver=_driver(device, root),
        firmware=policy.firmware,
        clock_policy=policy.clock_policy,
        power_limit_w=policy.power_limit_w,
        **common,
    )


class _Common(TypedDict):
    hip_compute_units: int
    warp_size: int
    max_threads_per_block: int
    max_shared_bytes: int
    hip_version: str
    hip_python_version: str


def _common(device: Device) -> _Common:
    """What HIP itself says, alike on every runtime."""
    bindings = device.selected.bindings
    return {
        "hip_compute_units": device.attribute("MultiprocessorCount"),
        "warp_size": device.attribute("WarpSize"),
        "max_threads_per_block": device.attribute("MaxThreadsPerBlock"),
        # CUDA's limit is higher for kernels that ask for more, which our library does for them.
        "max_shared_bytes": device.attribute(
            "SharedMemPerBlockOptin" if device.chosen.name == "cuda" else "MaxSharedMemoryPerBlock"
        ),
        "hip_version": _version(int(device.call("hipRuntimeGetVersion")[0])),
        "hip_python_version": bindings.version,
    }


def _node(device: Device, architecture: str, root: Path) -> kfd.Accelerator | None:
    domain, location = _place(device.text("hipDeviceGetPCIBusId"))
    return kfd.match(kfd.accelerators(root / "sys/class/kfd/kfd"), architecture, domain, location)


def _place(bus_id: str) -> tuple[int | None, int | None]:
    """PCI domain and KFD location (bus << 8 | device << 3 | function) of ``0000:c5:00.0``."""
    found = re.fullmatch(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{1,2}):([0-9a-fA-F]{1,2})(?:\.([0-7]))?", bus_id.strip())
    if found is None:
        return None, None
    domain, bus, slot, function = (int(part or "0", 16) for part in found.groups())
    return domain, bus << 8 | slot << 3 | function


def _peak(device: Device, architecture: str) -> float | None:
    """Theoretical memory bandwidth in GB/s: known, or twice the clock times the width where that is right.

    It is for NVIDIA GPUs and for HBM2. Elsewhere the clock that AMD reports is a fraction of the transfer rate that
    differs by kind of memory (GDDR6, HBM3, LPDDR5X), so nothing is said rather than something wrong.
    """
    if architecture in KNOWN_PEAKS:
        return KNOWN_PEAKS[architecture][0]
    clock_khz, width_bits = device.attribute("MemoryClockRate"), device.attribute("MemoryBusWidth")
    trusted = device.chosen.name == "cuda" or architecture in _HBM2
    if not trusted or clock_khz <= 0 or width_bits <= 0:
        return None
    return 2 * clock_khz * 1000 * width_bits / 8 / 1e9


def last_level_bytes(node: kfd.Accelerator | None, architecture: str) -> int | None:
    """Bytes of the cache before memory: what KFD lists as its third level, else what is known of the architecture."""
    listed = node.cache_bytes(3) if node is not None else None
    return listed or _LAST_LEVEL_BYTES.get(architecture)


def _version(number: int) -> str:
    """``7.2.53211`` for HIP's 70253211."""
    return f"{number // 10_000_000}.{number // 100_000 % 100}.{number % 100_000}"


def _hiprtc_version(device: Device) -> str:
    compiler = "nvrtc" if device.chosen.name == "cuda" else "hiprtc"  # whose version the call gives
    code, outputs = device.selected.bindings.compile_call("hiprtcVersion")
    return f"{compiler} {outputs[0]}.{outputs[1]}" if code == 0 and len(outputs) == 2 else compiler


def _driver(device: Device, root: Path) -> str:
    name = "nvidia" if device.chosen.name == "cuda" else "amdgpu"
    try:
        return f"{name} {(root / 'sys/module' / name / 'version').read_text(encoding='utf-8').strip()}"
    except OSError:
        pass
    if name == "nvidia":
        (version,) = device.call("hipDriverGetVersion")
        return f"CUDA {int(version) // 1000}.{int(version) % 1000 // 10}"
    return f"Linux {os.uname().release}"


def _cpu_compiler(device: Device) -> str:
    """What the cpu runtime's library says it compiles with: ``g++ 12.2.0``."""
    try:
        function = device.selected.handle.kernelperf_cpu_compiler
    except AttributeError:
        return ""
    function.restype, function.argtypes = ctypes.c_char_p, []
    return (function() or b"").decode(errors="replace")
