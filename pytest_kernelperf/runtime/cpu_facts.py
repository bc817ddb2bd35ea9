"""The host's processor as /proc and /sys describe it: model, instruction level, cores, caches, device key.

The key names what decides how fast a kernel runs on the cpu runtime: the processor's model, the instruction
level that ``-march=native`` gives, the cores this process may use, and the compiler. No host name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 8 * 1024 * 1024

# The x86-64 micro-architecture levels' flags as /proc/cpuinfo spells them (x86-64 psABI).
_LEVEL_2 = {"cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"}
_LEVEL_3 = _LEVEL_2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"}
_LEVEL_4 = _LEVEL_3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


@dataclass(frozen=True)
class Processor:
    """The host's processor. ``cores``: physical cores among those this process may use; ``level``: 1 to 4.

    ``family``, ``model`` are the numbers of /proc/cpuinfo (x86), or implementer and part (Arm).
    """

    name: str
    family: str
    model: str
    level: int
    cores: int
    threads: int
    l2_bytes: int | None
    last_level_bytes: int | None
    memory_bytes: int
    machine: str

    @property
    def architecture(self) -> str:
        """``x86-64-v4``, or the machine's name elsewhere (``aarch64``)."""
        return f"x86-64-v{self.level}" if self.machine == "x86_64" else self.machine


def read_processor(root: Path = Path("/"), allowed: Iterable[int] | None = None, machine: str = "") -> Processor:
    """Read the processor below a root folder.

    ``allowed``: the logical processors this process may use (default: its affinity mask).
    """
    mask = set(os.sched_getaffinity(0) if allowed is None else allowed)
    first, flags = _first_processor(_text(root / "proc/cpuinfo"))
    folders = {number: root / f"sys/devices/system/cpu/cpu{number}" for number in sorted(mask)}
    caches = _caches(next(iter(folders.values()), root))
    return Processor(
        name=_model_name(first),
        family=first.get("cpu family") or first.get("CPU implementer", "0"),
        model=first.get("model") or first.get("CPU part", "0"),
        level=_level(flags),
        cores=len({_siblings(folder, number) for number, folder in folders.items()}) or 1,
        threads=len(mask) or 1,
        l2_bytes=caches.get(2),
        last_level_bytes=caches[max(caches)] if caches else None,
        memory_bytes=_memory_bytes(_text(root / "proc/meminfo")),
        machine=machine or os.uname().machine,
    )


def device_key(processor: Processor, compiler: str) -> str:
    """``cpu-amd-epyc-f26m2-v4-2c-gcc12.2``: model, family and model number, level, cores, compiler."""
    level = f"v{processor.level}" if processor.machine == "x86_64" else _slug(processor.machine)
    return (
        f"cpu-{_slug(processor.name)}-f{_slug(processor.family)}m{_slug(processor.model)}"
        f"-{level}-{processor.cores}c-{compiler_slug(compiler)}"
    )


def compiler_slug(compiler: str) -> str:
    """``gcc12.2`` for ``g++ 12.2.0``, ``clang19.1`` for ``clang++-19 19.1.7``."""
    version = re.search(r"(\d+)\.(\d+)(?:\.\d+)*\s*$", compiler) or re.search(r"(\d+)\.(\d+)", compiler)
    number = f"{version.group(1)}.{version.group(2)}" if version else ""
    name = "clang" if "clang" in compiler else "gcc" if re.search(r"\bg(\+\+|cc)", compiler) else _slug(compiler)
    return f"{name}{number}" if name in ("clang", "gcc") else name or "unknown"


def _first_processor(text: str) -> tuple[dict[str, str], set[str]]:
    """Fields of the first logical processor; a later ``model name`` counts where the first has none (Arm)."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip() not in fields:
            fields[name.strip()] = value.strip()
    return fields, set((fields.get("flags") or fields.get("Features", "")).split())


def _model_name(fields: dict[str, str]) -> str:
    """The model's name without trade marks, clocks and core counts, which other fields say."""
    name = fields.get("model name") or fields.get("Hardware") or "unknown"
    name = re.sub(r"\((R|TM|tm|r)\)|\bCPU\b|@.*$|\b\d+-Core Processor\b|\bProcessor\b", " ", name)
    return " ".join(name.split()) or "unknown"


def _level(flags: set[str]) -> int:
    for level, needed in ((4, _LEVEL_4), (3, _LEVEL_3), (2, _LEVEL_2)):
        if needed <= flags:
            return level
    return 1


def _siblings(folder: Path, number: int) -> str:
    """What the logical processors of one core have in common."""
    for name in ("core_cpus_list", "thread_siblings_list"):
        listed = _text(folder / "topology" / name).strip()
        if listed:
            return listed
    return str(number)


def _caches(folder: Path) -> dict[int, int]:
    """Bytes of the data or unified cache of each level, of one logical processor."""
    found: dict[int, int] = {}
    for index in range(16):
        entry = folder / "cache" / f"index{index}"
        level, size = _text(entry / "level").strip(), _text(entry / "size").strip()
        match = re.fullmatch(r"(\d{1,9})([KMG]?)", size)
        if level in ("1", "2", "3", "4") and match and _text(entry / "type").strip() != "Instruction":
            found[int(level)] = int(match.group(1)) * {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}[match.group(2)]
    return found


def _memory_bytes(text: str) -> int:
    match = re.search(r"^MemTotal:\s*(\d{1,15}) kB$", text, re.MULTILINE)
    return int(match.group(1)) * 1024 if match else 0


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
