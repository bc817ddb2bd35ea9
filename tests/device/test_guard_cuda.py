"""``pytest --kernelperf`` on a real NVIDIA GPU, as a user meets it: kernels that fail, each kind of code, busy devices.

Where there is no GPU, no driver or no NVRTC, these are skipped with the runtime's own sentence.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nvidia import reason_to_skip

import pytest_kernelperf

SEARCH = [*(str(Path(path).parent) for path in pytest_kernelperf.__path__), *filter(None, sys.path)]

KERNELS = """
#include <hip/hip_runtime.h>
extern "C" __global__ void twice(int n, const float* x, float* y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2.0f * x[i];
}
extern "C" __global__ void wild(int n, const float* x, float* y) { y[(1ll << 40) + n] = x[0]; }
extern "C" __global__ void endless(int n, const float* x, volatile float* y) { while (y[0] < 1e30f) { } }
"""

TEST = """
import numpy as np
import pytest
from pytest_kernelperf import Kernel, Launch

kernel = Kernel({name!r}, source={source!r}, tokens=(1,){more})
COUNT = 1 << 20


@kernel.inputs
def inputs(tokens):
    return {{"x": np.arange(COUNT, dtype=np.float32), "y": np.zeros(COUNT, np.float32)}}


@kernel.reference
def reference(tokens, x):
    return {{"y": 2 * x}}

{variants}

@pytest.mark.kernelperf(kernel{marker})
def test_{name}(kernelperf):
    kernelperf.check()
"""

VARIANT = """
@kernel.variant
def {name}(tokens, device):
    return [Launch({kernel!r}, grid=1024, block=256, args=[np.int32(COUNT), "x", "y"]) for _ in range({launches})]
"""


def variant(name: str, kernel: str = "twice", launches: int = 1) -> str:
    return VARIANT.format(name=name, kernel=kernel, launches=launches)


def module(name: str, source: str, *variants: str, marker: str = "", more: str = "") -> str:
    return TEST.format(
        name=name,
        source=source,
        variants="\n".join(variants),
        marker=marker and f", {marker}",
        more=more and f", {more}",
    )


class Project:
    """A child project whose kernels run on the GPU; everything is real, the clock too."""

    def __init__(self, child: Any) -> None:
        self.child = child
        self.path: Path = child.path

    def write(self, name: str, text: str) -> None:
        self.child.write(name, text)

    def guard(self, *arguments: str) -> pytest.RunResult:
        """Run ``pytest --kernelperf`` on the cuda runtime."""
        result: pytest.RunResult = self.child.run("--kernelperf", "--kernelperf-runtime=cuda", *arguments)
        return result

    def records(self) -> dict[str, Any]:
        """The last run's records by variant."""
        run = json.loads((self.path / ".kernelperf" / "run.json").read_text())
        return {record["case"]["variant"]: record for record in run["records"]}

    def verdicts(self) -> dict[str, str]:
        return {name: record["decision"]["verdict"] for name, record in self.records().items()}

    def reason(self, name: str) -> str:
        return str(self.records()[name]["decision"]["reason"])


@pytest.fixture(scope="module")
def gpu() -> None:
    reason = reason_to_skip()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def project(gpu: None, child_project: Any, monkeypatch: pytest.MonkeyPatch) -> Project:
    for name in ("CI", "GITHUB_ACTIONS", "KERNELPERF_CLOCK_SCRIPT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("KERNELPERF_LOCK", str(child_project.path / "machine.lock"))
    found = Project(child_project)
    found.write("kernels.hip", KERNELS)
    found.write("pytest.ini", "[pytest]\nkernelperf_case_timeout_s = 6\nkernelperf_processes = 3\n")
    return found


def test_what_fails_is_one_sentence_and_the_next_case_runs(project: Project) -> None:
    """A wild store, an endless kernel, a file that does not compile; between and after them all goes well."""
    project.write(
        "test_faults.py",
        module(
            "faults", "kernels.hip", variant("first"), variant("out_of_bounds", "wild"), variant("second"),
            variant("never_ends", "endless"), variant("third"),
        ),
    )  # fmt: skip
    project.write("broken.hip", KERNELS.replace("2.0f * x[i]", "2.0f * z[i]"))
    project.write("test_no_compile.py", module("no_compile", "broken.hip", variant("uncompiled")))
    project.write("test_sound.py", module("sound", "kernels.hip", variant("last")))
    result = project.guard()
    assert result.ret == 1
    verdicts = project.verdicts()
    assert {name: verdicts[name] for name in ("first", "second", "third", "last")} == dict.fromkeys(
        ("first", "second", "third", "last"), "new"
    )
    assert verdicts["never_ends"] == "hung"
    assert "endless" in project.reason("never_ends")
    assert "no answer within 6 s" in project.reason("never_ends")
    assert "wild" in project.reason("out_of_bounds")
    assert "hipErrorIllegalAddress" in project.reason("out_of_bounds")
    assert 'broken.hip:4: identifier "z" is undefined' in project.reason("uncompiled")
    assert all("\n" not in project.reason(name) for name in ("never_ends", "out_of_bounds", "uncompiled"))
    result.assert_outcomes(passed=4, failed=3)


ENGINE = """
#include <hip/hip_runtime.h>
#include <algorithm>
#include <stdexcept>
namespace {
template <int kThreads>
__global__ void __launch_bounds__(kThreads) doubled(int n, const float* x, float* y) {
    for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) y[i] = x[i] * 2;
}
}  // namespace
void launch(int n, const float* x, float* y, hipStream_t stream) {
    doubled<256><<<std::max(n / 256, 1), 256, 0, stream>>>(n, x, y);
    if (hipGetLastError() != hipSuccess) throw std::runtime_error("not launched");
}
"""
MORE_REGISTERS = """y[i] = x[i] * 2;
    float kept[48];
#pragma unroll
    for (int j = 0; j < 48; ++j) kept[j] = x[(j * 7919 + threadIdx.x) % n];
    __syncthreads();
    float sum = 0;
#pragma unroll
    for (int j = 47; j >= 0; --j) sum = sum * 0.5f + kept[j];
    if (sum == 123.456f) y[0] = sum;"""


def nvcc() -> str:
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not os.access(found, os.X_OK):
        pytest.skip("no nvcc here: install the CUDA toolkit")
    return found


def test_a_file_with_host_code_goes_through_nvcc_and_its_registers_are_compared(project: Project) -> None:
    """Stored, it is identical; changed, what it uses is said beside the verdict."""
    nvcc()
    project.write("engine.hip", ENGINE)
    project.write(
        "test_engine.py", module("engine", "engine.hip", variant("plain", "doubled<256>"), more='build="device"')
    )
    project.guard("--update-baselines=first")
    assert project.verdicts() == {"plain": "new"}
    project.guard()
    assert project.verdicts() == {"plain": "identical"}
    project.write("engine.hip", ENGINE.replace("y[i] = x[i] * 2;", MORE_REGISTERS))
    result = project.guard()
    assert project.verdicts()["plain"] in ("unchanged", "regressed", "undecided")
    assert "doubled<256>: registers " in result.stdout.str()


def test_a_cubin_is_taken_as_it_is(project: Project) -> None:
    """What another build made runs, and the same file again is identical."""
    project.write("kernels.cu", KERNELS.replace("#include <hip/hip_runtime.h>", ""))
    architecture = "native"
    build = [nvcc(), "-cubin", f"-arch={architecture}", "kernels.cu", "-o", "kernels.cubin"]
    subprocess.run(build, cwd=project.path, check=True)
    project.write("test_ready.py", module("ready", "kernels.cubin", variant("taken")))
    project.guard("--update-baselines=first")
    assert project.verdicts() == {"taken": "new"}
    project.guard()
    assert project.verdicts() == {"taken": "identical"}


def test_cold_caches_are_measured_in_every_mode(project: Project) -> None:
    """Each mode's figure is there, stored and compared under its own name; none is quicker than from warm caches."""
    modes = ("graph", "queued", "loop")
    for mode in modes:
        for cache in ("cold", "warm"):
            name = f"{cache}_{mode}"
            marker = f"cache={cache!r}, mode={mode!r}"
            project.write(f"test_{name}.py", module(name, "kernels.hip", variant(name), marker=marker))
    project.guard("--update-baselines=first")
    assert set(project.verdicts().values()) == {"new"}
    records = project.records()
    for mode in modes:
        cold, warm = records[f"cold_{mode}"], records[f"warm_{mode}"]
        assert all(m["copies"] > 1 for m in cold["measurements"])
        assert {m["mode"] for m in (*cold["measurements"], *warm["measurements"])} == {mode}
        assert cold["time_us"] > warm["time_us"]


BUSY = """
import numpy as np
from pytest_kernelperf.model import SourceBundle, Plan, LaunchStep, BufferArgument, ScalarArgument
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
source = open("kernels.hip").read()
with Device(choose("cuda")) as device, Loop(device) as loop:
    module = device.load(compile_bundle(device, SourceBundle("kernels.hip", {"kernels.hip": source})).data)
    x, y = device.upload(np.zeros(1 << 20, np.float32)), device.upload(np.zeros(1 << 20, np.float32))
    count = ScalarArgument("<i4", np.int32(1 << 20).tobytes(), 4)
    step = LaunchStep("twice", (1024, 1, 1), (256, 1, 1), (count, BufferArgument("x"), BufferArgument("y")))
    rounds = loop.prepare(Plan((step,)), {"twice": module.function("twice")}, {"x": x, "y": y})
    loop.run(rounds)
    print("busy", flush=True)
    while True:
        loop.run(rounds, 1000)
"""


@contextlib.contextmanager
def busy_device(folder: Path) -> Iterator[int]:
    """Another program that keeps the GPU at work, in a session of its own; its process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(SEARCH)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_leave_the_tree,
    )
    assert process.stdout is not None
    pid = int(process.stdout.readline())
    try:
        assert process.stdout.readline() == "busy\n"
        yield pid
    finally:
        os.kill(pid, 9)
        process.communicate()


def _leave_the_tree() -> None:
    """Fork once more: a program whose parent is gone is nobody's child, as another user's would be."""
    pid = os.fork()
    if pid:
        os._exit(0)
    os.write(1, f"{os.getpid()}\n".encode())


def test_a_busy_device_is_never_a_regression(project: Project) -> None:
    """Slower code beside another program: the record names that program and judges nothing; alone again it does."""
    project.write("test_one.py", module("one", "kernels.hip", variant("only")))
    assert project.guard("--update-baselines=first").ret == 0
    slower = "for (int k = 0; k < 4; ++k) { y[i] = 2.0f * x[i]; __threadfence(); }"
    project.write("kernels.hip", KERNELS.replace("y[i] = 2.0f * x[i];", slower))
    with busy_device(project.path) as pid:
        assert project.guard().ret == 1
        assert project.verdicts() == {"only": "invalid"}
        assert f"the device is busy (pid {pid} (" in project.reason("only")
    assert project.guard().ret == 1
    assert project.verdicts() == {"only": "regressed"}


INJECTED = "int InitializeInjection(void) { return 1; }\n"


def test_times_taken_beside_an_injected_profiler_are_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """CUPTI's way in: the driver loads the library that the environment names. Nothing hangs, nothing is judged."""
    (project.path / "injected.c").write_text(INJECTED)
    library = project.path / "libcupti_injected.so"
    subprocess.run(["cc", "-shared", "-fPIC", "injected.c", "-o", str(library)], cwd=project.path, check=True)
    project.write("test_one.py", module("one", "kernels.hip", variant("only")))
    monkeypatch.setenv("CUDA_INJECTION64_PATH", str(library))
    project.guard()
    assert project.verdicts() == {"only": "invalid"}
    assert f"CUDA_INJECTION64_PATH={library}" in project.reason("only")
    assert "libcupti_injected.so" in project.reason("only")


def test_a_plan_that_no_queue_holds_is_timed_in_a_mode_that_does(project: Project) -> None:
    """A graph of 900 launches needs no gate; no queue holds them behind one, so they are timed in loop mode."""
    project.write("test_graph.py", module("graph", "kernels.hip", variant("in_a_graph", launches=900)))
    project.write(
        "test_queued.py", module("queued", "kernels.hip", variant("in_a_queue", launches=900), marker='mode="queued"')
    )
    project.guard()
    assert project.verdicts() == {"in_a_graph": "new", "in_a_queue": "new"}
    modes = {name: {m["mode"] for m in record["measurements"]} for name, record in project.records().items()}
    assert modes == {"in_a_graph": {"graph"}, "in_a_queue": {"loop"}}
    assert "has 900 steps" in " ".join(project.records()["in_a_queue"]["notes"])


OVERFULL = """
import json, time
import numpy as np
from pytest_kernelperf.model import FillStep, Plan
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
with Device(choose("cuda")) as device, Loop(device) as loop, device.upload(np.zeros(4, np.uint8)) as x:
    rounds = loop.gate.rounds
    events = (loop._start.handle, loop._stop.handle)
    with loop.prepare(Plan((FillStep("x", 7, 0, 4),)), {}, {"x": x}) as fills:
        loop.run(fills)
        begin = time.monotonic()
        result = loop._native("kernelperf_time_queued", fills, *events, *fills.batch(5000), loop.gate.handle)
        took_s = time.monotonic() - begin
        after = loop.time_queued(fills, 100)
    print(json.dumps([result.timed_out, took_s, after.timed_out, after.total_us]))
"""

KILLED = """
import ctypes, sys, time
import numpy as np
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
with Device(choose("cuda")) as device, Loop(device) as loop, device.upload(np.zeros(4, np.uint8)) as x:
    loop._library.kernelperf_gate_close(loop.gate.handle)
    loop.run(loop.gate.rounds, wait=False)
    for _ in range(200):
        loop.stream.fill(x, 7)
    print("closed", flush=True)
    time.sleep(60)
"""


def child(program: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(SEARCH)}
    return subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)


def test_5000_launches_behind_the_gate_end_by_its_limit_and_are_discarded(gpu: None) -> None:
    """The queue is full, the launching thread waits for the gate, the gate for it: time ends that, and it is said."""
    output, _ = child(OVERFULL).communicate(timeout=60)
    timed_out, took_s, timed_out_again, total_us = json.loads(output)
    assert timed_out == 1
    assert took_s < 5
    assert (timed_out_again, total_us > 0) == (False, True)


def test_a_host_killed_while_the_gate_is_closed_leaves_no_device_behind(gpu: None) -> None:
    """The process goes at once, and the next one times a gated batch."""
    with child(KILLED) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "closed\n"
        killed.kill()
        assert killed.wait(timeout=30) == -9
    output, _ = child(OVERFULL).communicate(timeout=60)
    assert json.loads(output)[2] is False
