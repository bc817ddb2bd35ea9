"""From what was found to findings: when something is fine, a warning or a problem, and that a step follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from examinations import CPU, H200, NO_COMPILER, NO_ROCM, STRIX, STRIX_GPU, WITHOUT_COMPILER

from pytest_kernelperf.doctor.diagnosis import FINDERS, diagnose
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.finding import TOPICS, Finding
from pytest_kernelperf.machine import (
    ActivityReading,
    CompileReading,
    GateReading,
    GpuState,
    GpuUser,
    QueueReading,
    Runtime,
    TimerReading,
)


def changed(found: Examination, **changes: Any) -> Examination:
    """The examination with other fields; ``machine_…`` and ``facts_…`` change those records' fields."""
    for record in ("machine", "facts"):
        named = [name for name in changes if name.startswith(f"{record}_")]
        inner = {name.removeprefix(f"{record}_"): changes.pop(name) for name in named}
        if inner:
            changes[record] = msgspec.structs.replace(getattr(found, record), **inner)
    return msgspec.structs.replace(found, **changes)


def with_state(found: Examination, **changes: Any) -> Examination:
    """The Strix Halo box with another state of its GPU."""
    assert STRIX_GPU.state is not None
    gpu = msgspec.structs.replace(STRIX_GPU, state=msgspec.structs.replace(STRIX_GPU.state, **changes))
    return changed(found, machine_gpus=(gpu,))


def finding(found: Examination, topic: str) -> Finding:
    """The finding of a topic."""
    (one,) = [each for each in diagnose(found).findings if each.topic == topic]
    return one


NOTHING = Examination("0.1.0", "3.12.3", "auto")
TREE = changed(
    STRIX, machine_root="/trees/strix", machine_runtimes=(), requested="", facts=None, answering=None, compiled=None,
    gate=None, queue=None, timer=None, activity=None, recorder=None,
)  # fmt: skip
BUSY = ActivityReading(0.5, 1.9, 0.4, "pid 7 (make)", "pid 7 (make)", ())

CASES: Mapping[str, tuple[Examination, str, str, str]] = {
    "answers": (CPU, "runtime", "ok", "cpu, answered by /site/hip_cpu/lib/libamdhip64.so, hiprtc by /site"),
    "one file": (
        changed(CPU, answering=msgspec.structs.replace(CPU.answering, hiprtc=CPU.answering.hip)),
        "runtime",
        "ok",
        "libamdhip64.so",
    ),
    "no runtime": (changed(NOTHING, problems={"runtime": NO_ROCM}), "runtime", "problem", "install ROCm"),
    "answered by nobody": (changed(CPU, answering=None), "runtime", "problem", "nobody says"),
    "tree alone": (TREE, "runtime", "left out", "no device was opened"),
    "tree and runtime": (changed(CPU, machine_root="/trees/strix"), "runtime", "ok", "not the one below /trees/strix"),
    "versions": (STRIX, "versions", "ok", "hip-python 10.0.0.0.1.2, HIP 7.0.0, driver amdgpu 6.16.6, Linux 6.12.0"),
    "no driver twice": (CPU, "versions", "ok", "HIP 7.0.0, Linux 6.12.0"),
    "device": (STRIX, "device", "ok", "AMD Radeon 8060S Graphics, gfx1151; baselines in gfx1151-40cu/"),
    "device of files": (TREE, "device", "ok", "gfx1151 at 0000:c5:00.0; baselines in gfx1151-40cu/"),
    "no KFD": (
        changed(TREE, machine_gpus=(msgspec.structs.replace(STRIX_GPU, compute_units=None),)),
        "device",
        "problem",
        "KFD",
    ),
    "no GPU in the tree": (
        changed(TREE, machine_gpus=()),
        "device",
        "problem",
        "no GPU is described below /trees/strix",
    ),
    "files hang": (changed(NOTHING, problems={"machine": "no answer"}), "device", "problem", "no answer"),
    "half by HIP": (
        STRIX,
        "compute units",
        "ok",
        "40 (KFD node 1: simd_count / simd_per_cu); HIP counts 20: it counts work",
    ),
    "half in files": (TREE, "compute units", "ok", "40 (KFD node 1: simd_count / simd_per_cu); HIP would count 20: it"),
    "all by HIP": (H200, "compute units", "ok", "HIP counts 132"),
    "no KFD match": (
        changed(STRIX, facts_compute_units_source="hipDeviceAttribute…"),
        "compute units",
        "warning",
        "HIP counts 20",
    ),
    "peak": (H200, "bandwidth", "ok", "4,814.3 GB/s"),
    "peak of files": (TREE, "bandwidth", "ok", "256.0 GB/s"),
    "no peak": (CPU, "bandwidth", "left out", "not known"),
    "MALL": (STRIX, "caches", "ok", "L2 2 MB, last level 32 MB (MALL"),
    "CPU's caches": (CPU, "caches", "ok", "L2 1 MB, last level 16 MB: smaller"),
    "no caches": (changed(CPU, facts_l2_bytes=None, facts_last_level_bytes=None), "caches", "left out", "not known"),
    "compiler": (CPU, "compiler", "ok", "clang++ 19.1.7; files with host code: no hipcc"),
    "two compilers": (STRIX, "compiler", "ok", "hiprtc 7.2; files with host code: /opt/rocm/bin/amdclang++"),
    "no compiler": (WITHOUT_COMPILER, "compiler", "problem", NO_COMPILER),
    "repeatable": (H200, "compiling twice", "ok", "the same instructions, 2 kernels"),
    "names differ": (CPU, "compiling twice", "ok", "names and paths alone"),
    "not repeatable": (changed(CPU, compiled=CompileReading(2, ("mix",), False)), "compiling twice", "warning", "mix"),
    "no kernel to probe with": (WITHOUT_COMPILER, "gate", "left out", "none compiles here"),
    "gate": (
        CPU,
        "gate",
        "ok",
        "holds the queue, opens, leaves by itself after 250.4 ms, is opened by a second thread",
    ),
    "blocking": (changed(CPU, gate=GateReading("HIP_LAUNCH_BLOCKING=1")), "gate", "warning", "HIP_LAUNCH_BLOCKING=1"),
    "never opens": (changed(CPU, gate=GateReading("", True, False, 250.0, True)), "gate", "problem", "does not run"),
    "holds nothing": (
        changed(CPU, gate=GateReading("", False, True, 250.0, True)),
        "gate",
        "warning",
        "while it is closed",
    ),
    "never leaves": (
        changed(CPU, gate=GateReading("", True, True, None, True)),
        "gate",
        "warning",
        "only one works: it is opened",
    ),
    "no second thread": (
        changed(CPU, gate=GateReading("", True, True, 250.0)),
        "gate",
        "warning",
        "only one works: it leaves",
    ),
    "endless": (changed(CPU, gate=GateReading("", True, True)), "gate", "problem", "nothing ends it"),
    "gate hung": (changed(CPU, gate=None, problems={"gate": "no answer"}), "gate", "problem", "no answer"),
    "queue": (H200, "queue", "ok", "1,021 launches wait behind a closed gate; the guard queues at most 512"),
    "queue without end": (CPU, "queue", "ok", "at least 4,096 launches"),
    "short queue": (changed(CPU, queue=QueueReading(63, True, 512)), "queue", "warning", "63 launches"),
    "exactly enough": (changed(CPU, queue=QueueReading(512, True, 512)), "queue", "ok", "512 launches"),
    "slow host": (changed(CPU, queue=QueueReading(300, False, 512)), "queue", "ok", "at least 300 launches"),
    "no gate": (changed(CPU, queue=None, gate=GateReading("HIP_LAUNCH_BLOCKING=1")), "queue", "left out", "no gate"),
    "timer": (H200, "timer", "ok", "steps of 32.00 ns; two events with nothing in between are 1.79 us apart"),
    "coarse timer": (changed(CPU, timer=TimerReading(1500.0, 1500.0, 63)), "timer", "warning", "1.50 us"),
    "stopped timer": (changed(CPU, timer=TimerReading(None, None, 63)), "timer", "problem", "the same time"),
    "untraced": (CPU, "tracing", "ok", "no profiler"),
    "traced": (changed(CPU, profilers=("LD_PRELOAD=x.so",)), "tracing", "problem", "LD_PRELOAD=x.so"),
    "records itself": (CPU, "recorder", "ok", "by the cpu runtime: /site/hip_cpu/lib/libamdhip64.so"),
    "CUPTI": (H200, "recorder", "ok", "by CUPTI: /usr/local/cuda/extras/CUPTI/lib64/libcupti.so.2025.3.1"),
    "rocprofv3": (
        STRIX,
        "recorder",
        "ok",
        "by rocprofv3 of ROCm 7.2.0: /opt/rocm/bin/rocprofv3 (a project's kernelperf_rocprofv3 goes before it)",
    ),
    "no CUPTI": (
        changed(H200, recorder=None, problems={"recorder": "CUPTI was found nowhere"}),
        "recorder",
        "warning",
        "no traces can be taken: CUPTI was found nowhere",
    ),
    "nobody records": (changed(H200, recorder=None), "recorder", "left out", "nobody says"),
    "recorder of files": (TREE, "recorder", "left out", "no device was opened"),
    "alone": (CPU, "others", "ok", "others kept 0.02 cores busy for 0.5 s"),
    "not alone": (H200, "others", "warning", "open kept 1.01 cores busy for 0.5 s, most of all pid 1160 (python3)"),
    "busy host": (changed(CPU, activity=BUSY), "others", "warning", "pid 7 (make); the hypervisor took 0.4"),
    "idle context": (
        changed(STRIX, activity=ActivityReading(0.5, 0.0, 0.0, "", "", ("pid 9 (ollama)",))),
        "others",
        "ok",
        "pid 9 (ollama)",
    ),
    "nobody in files": (TREE, "others", "ok", "nobody"),
    "others in files": (
        changed(TREE, machine_users=(GpuUser(42, "llama-server", 2), GpuUser(43, "", 1))),
        "others",
        "warning",
        "pid 42 (llama-server, 2 queues), pid 43 (unknown, 1 queue)",
    ),
    "clocks": (
        STRIX,
        "clocks",
        "ok",
        "613 MHz of 2,900, 15.08 W, power limit 120.0 W, 38 °C, performance level auto, 0 % busy",
    ),
    "clocks of files": (TREE, "clocks", "ok", "(as written out; card1)"),
    "held low": (with_state(STRIX, performance_level="low"), "clocks", "warning", "performance level low"),
    "hot": (with_state(STRIX, temperature_c=95.0), "clocks", "warning", "95 °C"),
    "throttled": (
        with_state(STRIX, throttled_by="the power limit"),
        "clocks",
        "warning",
        "held down by the power limit",
    ),
    "silent sensors": (
        changed(STRIX, machine_gpus=(msgspec.structs.replace(STRIX_GPU, state=GpuState("card1")),)),
        "clocks",
        "left out",
        "nothing can be read",
    ),
    "CPU's policy": (CPU, "clocks", "ok", "powersave"),
    "settings": (CPU, "settings", "ok", "no environment variable"),
    "harmless setting": (
        changed(CPU, machine_environment=("HIP_VISIBLE_DEVICES=1",)),
        "settings",
        "ok",
        "HIP_VISIBLE_DEVICES=1",
    ),
    "disguised": (
        changed(CPU, machine_environment=("HSA_OVERRIDE_GFX_VERSION=11.0.0",)),
        "settings",
        "warning",
        "taken for another",
    ),
    "nothing missing": (CPU, "missing", "ok", "no GPU here"),
    "no ROCm": (changed(CPU, machine_gpus=(STRIX_GPU,)), "missing", "warning", NO_ROCM),
    "unused GPU": (
        changed(CPU, machine_gpus=STRIX.machine.gpus, machine_runtimes=STRIX.machine.runtimes),
        "missing",
        "warning",
        "the cpu runtime was used",
    ),
    "no NVRTC": (
        changed(H200, machine_runtimes=(Runtime("cuda", "", "NVRTC (libnvrtc.so) was found nowhere"),)),
        "missing",
        "warning",
        "NVRTC",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_found_is_judged(name: str) -> None:
    """Claim: the state is right, the words hold the figures, and a warning or problem names a step."""
    found, topic, state, words = CASES[name]

    one = finding(found, topic)

    assert (one.topic, one.state) == (topic, state)
    assert words in one.says
    assert bool(one.next_step) == (state in ("warning", "problem"))


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("no compiler", "apt install g++"),
        ("no ROCm", "apt install hip-runtime-amd"),
        ("no NVRTC", "pip install nvidia-cuda-nvrtc (drivers of CUDA 12"),
        ("blocking", "unset HIP_LAUNCH_BLOCKING"),
        ("held low", "echo auto | sudo tee /sys/class/drm/card1/device/power_dpm_force_performance_level"),
        ("no runtime", "kernelperf doctor --runtime=cpu"),
        ("stopped timer", "-o kernelperf_mode=loop"),
    ],
)
def test_the_step_is_a_command_where_there_is_one(name: str, step: str) -> None:
    """Claim: what is missing comes with what to type."""
    found, topic, _, _ = CASES[name]
    assert step in finding(found, topic).next_step


def test_every_topic_is_found_once_and_in_order() -> None:
    """Claim: the list is closed: no finding is missing, whatever was found."""
    assert tuple(FINDERS) == TOPICS
    for found, _, _, _ in CASES.values():
        assert tuple(each.topic for each in diagnose(found).findings) == TOPICS


def test_the_guard_can_run_unless_there_is_a_problem() -> None:
    """Claim: warnings do not make it unable, each problem does."""
    for found, _, _, _ in CASES.values():
        diagnosis = diagnose(found)
        assert diagnosis.able == all(each.state != "problem" for each in diagnosis.findings)
    assert diagnose(H200).able
    assert diagnose(TREE).able
    assert not diagnose(WITHOUT_COMPILER).able


def test_nothing_found_at_all_is_still_a_diagnosis() -> None:
    """Claim: with every part missing there is a finding for each topic, and none invents a figure."""
    findings = diagnose(NOTHING).findings
    assert {each.state for each in findings} == {"ok", "left out", "problem"}
    assert [each.topic for each in findings if each.state == "ok"] == ["versions"]
