"""AMD's compute driver (KFD) as its files say it: GPUs, compute units, and who uses them.

HIP's ``multiProcessorCount`` counts work-group processors on RDNA (gfx10 to gfx12), which is half the
compute units; so does ``hipDeviceAttributePhysicalMultiProcessorCount``. KFD counts SIMDs whatever the
mode, so ``simd_count // simd_per_cu`` is right everywhere; it is what rocminfo prints.
No HIP here: all functions read files below a root folder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KFD_ROOT = Path("/sys/class/kfd/kfd")

MOST_NODES = 1024
MOST_PROPERTY_BYTES = 65536


@dataclass(frozen=True)
class Cache:
    """One cache that KFD lists: its level (1 to 3) and size in bytes."""

    level: int
    size_bytes: int


@dataclass(frozen=True)
class Accelerator:
    """A GPU as a KFD topology node describes it.

    ``location`` is bus << 8 | device << 3 | function in PCI ``domain``.
    """

    node: int
    gpu_id: int
    architecture: str
    compute_units: int
    simd_per_compute_unit: int
    wave_size: int
    max_waves_per_simd: int
    lds_bytes: int
    domain: int
    location: int
    max_clock_mhz: int
    memory_width_bits: int
    memory_clock_mhz: int
    caches: tuple[Cache, ...]

    def cache_bytes(self, level: int) -> int | None:
        """Size of the largest cache of a level, in bytes; None if KFD lists none."""
        return max((cache.size_bytes for cache in self.caches if cache.level == level), default=None)


def accelerators(root: Path = KFD_ROOT) -> tuple[Accelerator, ...]:
    """The GPUs in KFD's topology below ``root``, by node number; nodes that cannot be read are left out."""
    nodes = root / "topology" / "nodes"
    try:
        numbers = sorted(int(entry.name) for entry in nodes.iterdir() if re.fullmatch(r"\d{1,6}", entry.name))
    except OSError:
        return ()
    found = (_read_node(nodes / str(number), number) for number in numbers[:MOST_NODES])
    return tuple(node for node in found if node is not None)


def architecture_name(target_version: int) -> str:
    """``gfx1151`` for KFD's 110501: major * 10000 + minor * 100 + step, the step written in hexadecimal."""
    major, minor, step = target_version // 10000, target_version // 100 % 100, target_version % 100
    return f"gfx{major}{minor:x}{step:x}"


def match(
    gpus: tuple[Accelerator, ...], architecture: str, domain: int | None = None, location: int | None = None
) -> Accelerator | None:
    """The node that a HIP device is: by PCI place where HIP tells it, else the only one of its architecture.

    ``architecture`` may carry HIP's features (``gfx90a:sramecc+:xnack-``). None: no node, or several fit.
    """
    bare = architecture.split(":", 1)[0]
    same = [gpu for gpu in gpus if gpu.architecture == bare]
    if domain is not None and location is not None:
        placed = [gpu for gpu in same if (gpu.domain, gpu.location) == (domain, location)]
        if placed:
            # A partitioned card (CPX) is several nodes at one place, all alike.
            return placed[0] if len({gpu.compute_units for gpu in placed}) == 1 else None
    return same[0] if same and len({gpu.compute_units for gpu in same}) == 1 else None


def compute_units_from_hip(architecture: str, multiprocessors: int, environment: Mapping[str, str]) -> int:
    """Compute units by HIP's own count, where KFD cannot be read.

    gfx10 to gfx12 report work-group processors, two compute units each, unless ``GPU_ENABLE_WGP_MODE=0``;
    gfx125x has compute-unit mode only.
    """
    return multiprocessors * 2 if _counts_pairs(architecture, environment) else multiprocessors


def compute_units_by_hip(architecture: str, compute_units: int, environment: Mapping[str, str]) -> int:
    """What HIP would report on a device of so many compute units: 20 on gfx1151, which has 40."""
    return compute_units // 2 if _counts_pairs(architecture, environment) else compute_units


def processes(root: Path = KFD_ROOT) -> tuple[int, ...]:
    """Processes that have a KFD context open, idle or not (numbers of the host's namespace)."""
    try:
        return tuple(sorted(int(entry.name) for entry in (root / "proc").iterdir() if entry.name.isdecimal()))
    except OSError:
        return ()


def lists_processes(root: Path = KFD_ROOT) -> bool:
    """Whether KFD says who has it open: without a GPU it does not, nor do files that were copied without it."""
    try:
        next((root / "proc").iterdir(), None)
    except OSError:
        return False
    return True


def queues(root: Path, pid: int) -> tuple[int, ...] | None:
    """The queues that a process made, each by its GPU's ``gpu_id`` (0: not said); None if KFD does not say."""
    try:
        folders = sorted((root / "proc" / str(pid) / "queues").iterdir())
    except OSError:
        return None
    return tuple(_read_number(folder / "gpuid") for folder in folders[:MOST_NODES])


def _counts_pairs(architecture: str, environment: Mapping[str, str]) -> bool:
    """Whether HIP counts work-group processors, which are two compute units each."""
    parts = re.fullmatch(r"gfx(\d+)([0-9a-f])([0-9a-f])", architecture.split(":", 1)[0])
    if parts is None or environment.get("GPU_ENABLE_WGP_MODE", "").strip().lower() in ("0", "false"):
        return False
    major, minor = int(parts.group(1)), int(parts.group(2), 16)
    return 10 <= major <= 12 and not (major == 12 and minor == 5)


def _read_node(folder: Path, number: int) -> Accelerator | None:
    values = _read_properties(folder / "properties")
    simds, per_unit = values.get("simd_count", 0), values.get("simd_per_cu", 0)
    if simds <= 0 or per_unit <= 0 or simds < per_unit or values.get("gfx_target_version", 0) <= 0:
        return None  # a CPU, or a node that says nothing usable
    memory = _listed(folder / "mem_banks")
    return Accelerator(
        node=number,
        gpu_id=_read_number(folder / "gpu_id"),
        architecture=architecture_name(values["gfx_target_version"]),
        compute_units=simds // per_unit,
        simd_per_compute_unit=per_unit,
        wave_size=values.get("wave_front_size", 0),
        max_waves_per_simd=values.get("max_waves_per_simd", 0),
        lds_bytes=values.get("lds_size_in_kb", 0) * 1024,
        domain=values.get("domain", 0),
        location=values.get("location_id", 0),
        max_clock_mhz=values.get("max_engine_clk_fcompute", 0),
        memory_width_bits=max((bank.get("width", 0) for bank in memory), default=0),
        memory_clock_mhz=max((bank.get("mem_clk_max", 0) for bank in memory), default=0),
        caches=tuple(
            Cache(cache["level"], cache["size"] * 1024)
            for cache in _listed(folder / "caches")
            if cache.get("level", 0) > 0 and cache.get("size", 0) > 0
        ),
    )


def _listed(folder: Path) -> list[dict[str, int]]:
    """The properties of numbered entries (caches, memory banks), in order; those KFD writes, others skipped."""
    try:
        names = sorted((entry.name for entry in folder.iterdir() if entry.name.isdecimal()), key=int)
    except OSError:
        return []
    return [_read_properties(folder / name / "properties") for name in names[:MOST_NODES]]


def _read_properties(path: Path) -> dict[str, int]:
    """Lines ``name value`` with whole values; anything else is skipped, a missing file is empty."""
    values: dict[str, int] = {}
    for line in _read_text(path).splitlines():
        fields = line.split()
        if len(fields) == 2 and re.fullmatch(r"[0-9]{1,20}", fields[1]):
            values[fields[0]] = int(fields[1])
    return values


def _read_number(path: Path) -> int:
    text = _read_text(path).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,20}", text) else 0


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_PROPERTY_BYTES).decode("ascii", errors="replace")
    except OSError:
        return ""
