"""A machine by its files alone: GPUs, who has them open, clocks and power, which runtimes are installed.

No device is opened, so that a GPU's busy share is not our own context's, and so that it works on files that were
written out on another machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.machine import KNOWN_PEAKS, Gpu, GpuUser, Machine, Runtime
from pytest_kernelperf.model import RuntimeName
from pytest_kernelperf.runtime import gate, kfd, nvml_state
from pytest_kernelperf.runtime.cpu_facts import read_processor
from pytest_kernelperf.runtime.facts import last_level_bytes
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.sysfs import Card, cards, find_card, place_of, read_word
from pytest_kernelperf.runtime.toolchain import find_toolchain

HERE = Path("/")

# What changes which device answers, what it is taken for, or how launches work.
_VARIABLES = (
    "HSA_OVERRIDE_GFX_VERSION",
    "GPU_ENABLE_WGP_MODE",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "CUDA_VISIBLE_DEVICES",
)


def read_machine(root: Path = HERE, environment: Mapping[str, str] = os.environ) -> Machine:
    """Describe the machine whose ``/sys`` and ``/proc`` lie below ``root`` (or that is ``/sys`` itself).

    On a written-out tree the environment and the runtimes installed here mean nothing and are left out.
    """
    here = root == HERE
    environment = environment if here else {}
    sys_folder = root / "sys" if here or (root / "sys").is_dir() else root
    found = _amd_gpus(sys_folder, environment)
    processor = read_processor(root) if here else read_processor(root, _listed_processors(sys_folder))
    return Machine(
        root=str(root),
        kernel=read_word(root / "proc/sys/kernel/osrelease"),
        processor=processor.name,
        cores=processor.cores,
        memory_bytes=processor.memory_bytes,
        governor=read_word(sys_folder / "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        gpus=found + (nvml_state.gpus() if here else ()),
        users=_users(root, sys_folder / "class/kfd/kfd"),
        runtimes=tuple(_runtime(name) for name in get_args(RuntimeName)) if here else (),
        environment=_settings(environment),
    )


def _amd_gpus(sys_folder: Path, environment: Mapping[str, str]) -> tuple[Gpu, ...]:
    found = cards(sys_folder / "class/drm")
    nodes = kfd.accelerators(sys_folder / "class/kfd/kfd")
    if nodes:
        return tuple(_gpu(node, find_card(found, _place(node)), environment) for node in nodes)
    # Without KFD nothing can compute, but the card is worth naming: its compute driver may be missing.
    return tuple(Gpu("AMD", f"AMD GPU {card.state.source}", card.place, state=card.state) for card in found)


def _place(node: kfd.Accelerator) -> str:
    return place_of(node.domain, node.location) if node.location else ""


def _gpu(node: kfd.Accelerator, card: Card | None, environment: Mapping[str, str]) -> Gpu:
    return Gpu(
        vendor="AMD",
        name=node.architecture,
        place=_place(node) or (card.place if card else ""),
        architecture=node.architecture,
        key=f"{node.architecture}-{node.compute_units}cu",
        compute_units=node.compute_units,
        hip_compute_units=kfd.compute_units_by_hip(node.architecture, node.compute_units, environment),
        compute_units_source=f"KFD node {node.node}: simd_count / simd_per_cu",
        peak_gb_per_s=KNOWN_PEAKS.get(node.architecture, (None,))[0],
        l2_bytes=node.cache_bytes(2),
        last_level_bytes=last_level_bytes(node, node.architecture),
        state=card.state if card is not None else None,
    )


def _users(root: Path, kfd_root: Path) -> tuple[GpuUser, ...] | None:
    if not kfd.lists_processes(kfd_root):
        return None
    places = {node.gpu_id: _place(node) for node in kfd.accelerators(kfd_root) if node.gpu_id}
    return tuple(_user(root, kfd_root, pid, places) for pid in kfd.processes(kfd_root))


def _user(root: Path, kfd_root: Path, pid: int, places: Mapping[int, str]) -> GpuUser:
    queues = kfd.queues(kfd_root, pid)
    used = sorted({places[gpu_id] for gpu_id in queues or () if places.get(gpu_id)})
    count = None if queues is None else len(queues)
    return GpuUser(pid, read_word(root / "proc" / str(pid) / "comm"), count, tuple(used))


def _runtime(name: RuntimeName) -> Runtime:
    library = problem = compiler = lacking = ""
    try:
        library = str(choose(name).amdhip64)
    except RuntimeUnavailable as error:
        problem = str(error)
    try:
        compiler = find_toolchain(name).program
    except RuntimeUnavailable as error:
        lacking = str(error)
    return Runtime(name, library, problem, compiler, lacking)


def _settings(environment: Mapping[str, str]) -> tuple[str, ...]:
    named = [f"{name}={environment[name]}" for name in _VARIABLES if environment.get(name)]
    blocking = gate.blocking_variable(environment)
    return (*named, blocking) if blocking else tuple(named)


def _listed_processors(sys_folder: Path) -> set[int]:
    """The logical processors of a written-out tree."""
    folder = sys_folder / "devices/system/cpu"
    return {number for number in range(1024) if (folder / f"cpu{number}").is_dir()} or {0}
