"""Whether the machine is fit for a measurement: idle, cool, with its power limit and its clock policy.

Reads amdgpu's and KFD's files and nothing else, so that a written-out tree can stand for a box.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from kernelperf_runner.document import Refusal
from kernelperf_runner.rules import Limits

CARDS = "sys/class/drm/card[0-9]*/device"
USERS = "sys/class/kfd/kfd/proc"
AMD = "0x1002"


def gpu_folder(root: Path) -> Path:
    """Return the folder of the one AMD GPU below ``root`` (``/`` on the box)."""
    found = [folder for folder in sorted(root.glob(CARDS)) if _text(folder / "vendor") == AMD]
    if len(found) != 1:
        raise Refusal(f"the box must have one AMD GPU in {root / 'sys/class/drm'}; {len(found)} are there")
    return found[0]


def unfit(root: Path, limits: Limits) -> str:
    """Return what is wrong with the machine now, as a sentence, or nothing."""
    gpu = gpu_folder(root)
    level = _text(gpu / "power_dpm_force_performance_level")
    if level != limits.performance_level:
        return f"the GPU's performance level is {level or 'not known'}, not {limits.performance_level}"
    cap_w = _whole(_sensor(gpu, "power1_cap"), 1_000_000)
    if limits.power_cap_w is not None and cap_w != limits.power_cap_w:
        return f"the GPU's power limit is {'not known' if cap_w is None else f'{cap_w} W'}, not {limits.power_cap_w} W"
    users = sorted(folder.name for folder in (root / USERS).glob("[0-9]*") if any(folder.glob("queues/*")))
    if users:
        names = ", ".join(f"{_text(root / 'proc' / user / 'comm') or 'a process'} ({user})" for user in users)
        return f"the GPU has queues of {names}"
    busy = _whole(_text(gpu / "gpu_busy_percent"))
    if busy is None or busy > limits.idle_percent:
        return f"the GPU is {'at work, as far as can be told' if busy is None else f'{busy} % busy'}"
    temperature_c = _whole(_sensor(gpu, "temp1_input"), 1000)
    if limits.temperature_c is not None and (temperature_c is None or temperature_c > limits.temperature_c):
        return f"the GPU is at {'a temperature not known' if temperature_c is None else f'{temperature_c} °C'}"
    return ""


def wait_until_fit(
    root: Path,
    limits: Limits,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Wait until the machine is fit, at most ``limits.wait_s`` seconds; then ``Refusal`` with what is wrong."""
    ends = clock() + limits.wait_s
    while problem := unfit(root, limits):
        if clock() >= ends:
            raise Refusal(f"after {limits.wait_s} s of waiting {problem}: no measurement would mean anything")
        sleep(2)


def set_performance_level(root: Path, level: str) -> None:
    """Write the GPU's clock policy (needs root), and look whether it holds."""
    file = gpu_folder(root) / "power_dpm_force_performance_level"
    try:
        file.write_text(level + "\n", encoding="ascii")
    except OSError as problem:
        raise Refusal(f"the performance level {level} cannot be set: {problem}") from None
    if _text(file) != level:
        raise Refusal(f"the GPU does not take the performance level {level}: it stays at {_text(file)}")


def _sensor(gpu: Path, name: str) -> str:
    for folder in sorted(gpu.glob("hwmon/hwmon*")):
        if _text(folder / "name") == "amdgpu":
            return _text(folder / name)
    return ""


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace").strip()[:200]
    except OSError:
        return ""


def _whole(text: str, divisor: int = 1) -> int | None:
    return round(int(text) / divisor) if text.isascii() and text.removeprefix("-").isdigit() else None
