"""The whole way to a device and back, on the cpu runtime: real kernels that work, fail, crash and hang."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

from pytest_kernelperf.errors import (
    CompileError,
    DeviceError,
    KernelperfError,
    RuntimeUnavailable,
    UsageError,
    WorkerCrashed,
    WorkerHung,
)
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.model import (
    BufferArgument,
    CaseId,
    CodeObject,
    CopyStep,
    FillStep,
    LaunchStep,
    Plan,
    ScalarArgument,
    SourceBundle,
)
from pytest_kernelperf.worker.array import InputSet
from pytest_kernelperf.worker.pool import Limits, WorkerPool
from pytest_kernelperf.worker.process import worker_environment

SOURCE = """
#include <csignal>
#include <hip/hip_runtime.h>
extern "C" __global__ void add_one(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}
extern "C" __global__ void grow(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 1e9f;
}
extern "C" __global__ void wild(float* x, long long offset) { if (offset != 0) raise(SIGSEGV); }
extern "C" __global__ void endless(volatile float* x) { while (x[0] < 1e30f) { } }
"""

CASE = CaseId("kernel", "variant", 64)
COUNT = 1000
PATIENT = Limits(start_s=300.0, compile_s=300.0, run_s=300.0, measure_s=300.0)

# All processes descend from the first one: with it as our own root, nobody is foreign, so that no load of the machine
# that these tests run on can spoil a measurement.
EVERYBODY = 1


def int32(value: int) -> ScalarArgument:
    """An int argument."""
    return ScalarArgument("<i4", np.int32(value).tobytes(), 4)


def launch(kernel: str, *arguments: BufferArgument | ScalarArgument, threads: int = 64) -> LaunchStep:
    """A launch that covers all values."""
    return LaunchStep(kernel, (-(-COUNT // threads), 1, 1), (threads, 1, 1), arguments)


X = BufferArgument("x")
ADD_ONE = launch("add_one", X, int32(COUNT))
WILD = LaunchStep("wild", (1, 1, 1), (1, 1, 1), (X, ScalarArgument("<i8", np.int64(1 << 44).tobytes(), 8)))
ENDLESS = LaunchStep("endless", (1, 1, 1), (1, 1, 1), (X,))


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    """A pool on the cpu runtime, patient enough for a machine under load."""
    with WorkerPool("cpu", limits=PATIENT) as workers:
        yield workers


@pytest.fixture(scope="module")
def code(pool: WorkerPool) -> CodeObject:
    """The compiled kernels."""
    return pool.compile(SourceBundle("kernels.hip", {"kernels.hip": SOURCE}), ("add_one", "wild", "endless"), case=CASE)


@pytest.fixture(scope="module")
def inputs() -> Iterator[InputSet]:
    """Buffers ``x`` and ``y``."""
    with InputSet.create({"x": np.arange(COUNT, dtype=np.float32), "y": np.zeros(COUNT, np.float32)}) as arrays:
        yield arrays


def run(pool: WorkerPool, code: CodeObject, inputs: InputSet, *steps: LaunchStep | FillStep | CopyStep) -> np.ndarray:
    """``x`` after some steps."""
    return pool.run(CASE, Plan(steps), code, inputs, ("x",))["x"]


def test_a_plan_runs_and_its_outputs_come_back(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """Launches, fills and copies in order; every run starts from the inputs."""
    for _ in range(2):
        np.testing.assert_array_equal(run(pool, code, inputs, ADD_ONE, ADD_ONE), np.arange(COUNT, dtype=np.float32) + 2)
    copy = CopyStep("y", "x", 0, 0, 4 * COUNT)
    got = pool.run(CASE, Plan((ADD_ONE, copy, FillStep("x", 0, 0, 4 * COUNT))), code, inputs, ("y", "x"))
    np.testing.assert_array_equal(got["y"], np.arange(COUNT, dtype=np.float32) + 1)
    np.testing.assert_array_equal(got["x"], np.zeros(COUNT, np.float32))


def test_other_inputs_are_other_inputs(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """A worker keeps the last inputs by their digest, and takes new ones where that differs."""
    with InputSet.create({"x": np.full(COUNT, 5, np.float32)}) as fives:
        np.testing.assert_array_equal(run(pool, code, fives, ADD_ONE), np.full(COUNT, 6, np.float32))
    assert run(pool, code, inputs, ADD_ONE)[3] == 4


def test_a_worker_that_dies_is_one_sentence_and_the_next_case_runs_in_a_fresh_one(
    pool: WorkerPool, code: CodeObject, inputs: InputSet
) -> None:
    """It names case, signal, step and kernel; another process's worker is not touched."""
    pool.run(CASE, Plan((ADD_ONE,)), code, inputs, ("x",), process=1)
    run(pool, code, inputs, ADD_ONE)
    first, second = pool.pids
    with pytest.raises(WorkerCrashed) as failure:
        run(pool, code, inputs, ADD_ONE, WILD)
    sentence = str(failure.value)
    assert sentence.startswith("kernel variant at 64 tokens: the device worker died of SIGSEGV")
    assert "while running step 2 of 2, wild" in sentence
    assert "\n" not in sentence
    assert run(pool, code, inputs, ADD_ONE)[0] == 1
    assert first not in pool.pids
    assert second in pool.pids


def test_an_endless_kernel_is_one_sentence_and_is_killed(
    pool: WorkerPool, code: CodeObject, inputs: InputSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the limit and the kernel."""
    run(pool, code, inputs, ADD_ONE)
    monkeypatch.setattr(pool, "_limits", Limits(run_s=5.0))
    with pytest.raises(WorkerHung) as failure:
        run(pool, code, inputs, ENDLESS)
    assert str(failure.value) == (
        "kernel variant at 64 tokens: no answer within 5 s while running step 1 of 1, endless; "
        "the device worker was killed"
    )
    monkeypatch.setattr(pool, "_limits", PATIENT)
    assert run(pool, code, inputs, ADD_ONE)[0] == 1


def test_a_kernel_that_crashes_or_hangs_while_timed_is_named_too(
    pool: WorkerPool, code: CodeObject, inputs: InputSet
) -> None:
    """With the arm it belongs to."""
    arm = Arm("head", code, Plan((WILD,)))
    with pytest.raises(WorkerCrashed, match=r"SIGSEGV .* while running head \(wild\) for the first time"):
        pool.measure(0, MeasureRequest(CASE, "loop", (arm,), blocks=1, root_pid=EVERYBODY), inputs)


def test_source_that_does_not_compile_is_one_sentence_and_the_worker_lives(pool: WorkerPool) -> None:
    """The compiler's words are in the log."""
    pool.facts()
    before = pool.pids
    bad = SourceBundle("bad.hip", {"bad.hip": 'extern "C" __global__ void k(float* x) { undeclared_thing = 1; }'})
    with pytest.raises(CompileError) as failure:
        pool.compile(bad, ("k",), case=CASE)
    assert str(failure.value).startswith("kernel variant at 64 tokens, bad.hip does not compile: bad.hip:1:")
    assert "\n" not in str(failure.value)
    assert "undeclared_thing" in failure.value.log
    assert set(before) <= set(pool.pids)


def test_a_kernel_that_is_not_in_the_source_is_said_by_name(pool: WorkerPool) -> None:
    """With what is there instead."""
    with pytest.raises(CompileError, match=r"no kernel is called 'subtract_one'; there are add_one"):
        pool.compile(SourceBundle("kernels.hip", {"kernels.hip": SOURCE}), ("subtract_one",), case=CASE)


def test_a_failing_hip_call_names_step_and_kernel(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """A block that is too large is HIP's own error; the next request has a fresh worker."""
    with pytest.raises(
        DeviceError, match=r"kernel variant at 64 tokens: step 2 of 2, add_one: .*hipModuleLaunchKernel"
    ):
        run(pool, code, inputs, ADD_ONE, launch("add_one", X, int32(COUNT), threads=100_000))
    assert run(pool, code, inputs, ADD_ONE)[0] == 1


def test_what_a_plan_cannot_mean_is_refused(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """Unknown buffers and outputs, by name."""
    with pytest.raises(UsageError, match="'z'"):
        run(pool, code, inputs, launch("add_one", BufferArgument("z"), int32(COUNT)))
    with pytest.raises(UsageError, match="the output 'z' is none of the buffers x, y"):
        pool.run(CASE, Plan((ADD_ONE,)), code, inputs, ("z",))


def test_samples_of_two_arms_come_in_complete_blocks(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """In every mode, on the real clock, with times that can be times."""
    arms = (Arm("head", code, Plan((ADD_ONE,))), Arm("baseline", code, Plan((ADD_ONE, ADD_ONE))))
    for mode in ("graph", "queued", "loop"):
        request = MeasureRequest(
            CASE, mode, arms, blocks=3, target_us=300.0, warm_up_us=1e3, check_outputs=("x",), root_pid=EVERYBODY
        )
        measured = pool.measure(1, request, inputs)
        assert (measured.process, measured.mode, measured.fallback, measured.invalid) == (1, mode, "", "")
        assert sorted((s.block, s.arm) for s in measured.samples) == sorted(
            (block, arm.name) for block in range(3) for arm in arms
        )
        assert all(s.time_us > 0 for s in measured.samples)
        assert 1 <= measured.rounds <= 2000


class Onlooker:
    """Follows a measurement, and looks at what the worker does meanwhile."""

    watched = True

    def __init__(self) -> None:
        self.pool: WorkerPool | None = None
        self.told: list[Told] = []
        self.busy_ns: list[int] = []

    def follow(self, told: Told) -> None:
        """Take a moment for drawing; note the time on a core that the worker's threads have had in it."""
        self.told.append(told)
        assert self.pool is not None
        (pid,) = self.pool.pids
        before = _time_on_core_ns(pid)
        time.sleep(0.02)
        self.busy_ns.append(_time_on_core_ns(pid) - before)


def _time_on_core_ns(pid: int) -> int:
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir())


def test_while_somebody_draws_the_worker_times_nothing(
    code: CodeObject, inputs: InputSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told of every window; while it is shown, the worker's threads sleep: a batch would keep them busy."""
    looking = Onlooker()
    arms = (Arm("head", code, Plan((ADD_ONE,))), Arm("baseline", code, Plan((ADD_ONE,))))
    request = MeasureRequest(CASE, "loop", arms, 40, seed=1, target_us=10_000.0, max_rounds=20_000, root_pid=EVERYBODY)
    with WorkerPool("cpu", limits=PATIENT, watcher=looking) as workers:
        looking.pool = workers
        measurement = workers.measure(0, request, inputs)
        assert measurement.invalid == ""
    assert [told.taken for told in looking.told] == sorted({told.taken for told in looking.told})
    assert looking.told[-1].taken == looking.told[-1].blocks == 40
    assert len(looking.told) >= 2
    assert set(looking.told[0].median_us) == {"head", "baseline"}
    # Going to sleep may take a part of the first moment, and a stranger may hold the core of one that wants to.
    assert sorted(looking.busy_ns)[len(looking.busy_ns) // 2] < 500_000


def test_a_plan_that_overflows_when_repeated_is_repeated_less_often(
    pool: WorkerPool, code: CodeObject, inputs: InputSet
) -> None:
    """A value of 999 times 1e9 is finite three times in a row, and not five; infinities are not what is to be timed."""
    arm = Arm("head", code, Plan((launch("grow", X, int32(COUNT)),)))
    request = MeasureRequest(CASE, "graph", (arm,), blocks=1, check_outputs=("x",), root_pid=EVERYBODY)
    measured = pool.measure(0, request, inputs)
    assert measured.invalid == ""
    assert measured.rounds in (1, 2, 3)
    fixed = pool.measure(0, msgspec.structs.replace(request, rounds=20), inputs)
    assert fixed.invalid.startswith("arm head leaves 999 values of x infinite or NaN after 20 rounds")


def test_a_worker_that_forgot_a_code_object_is_sent_it_again(
    pool: WorkerPool, code: CodeObject, inputs: InputSet
) -> None:
    """The parent leaves the bytes out where it sent them before; the worker keeps a bounded number."""
    run(pool, code, inputs, ADD_ONE)
    for number in range(40):
        other = CodeObject(f"{number:064}", code.data, {})
        run(pool, other, inputs, ADD_ONE)
    assert run(pool, code, inputs, ADD_ONE)[0] == 1


def test_several_workers_work_at_the_same_time(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """Threads may use different processes, and share one."""
    wrong: list[object] = []

    def work(process: int) -> None:
        try:
            for _ in range(3):
                got = pool.run(CASE, Plan((ADD_ONE,)), code, inputs, ("x",), process=process)["x"]
                assert got[7] == 8
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(process,)) for process in (0, 1, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_facts_are_the_cpu_runtimes(pool: WorkerPool) -> None:
    """The library that answers is the package's own."""
    facts = pool.facts()
    assert facts.runtime == "cpu"
    assert facts.key.startswith("cpu-")
    assert "_native" in facts.library


def test_a_worker_that_died_between_cases_is_replaced_and_no_case_blamed(
    pool: WorkerPool, code: CodeObject, inputs: InputSet
) -> None:
    """The kernel's out-of-memory killer does that to an idle one."""
    run(pool, code, inputs, ADD_ONE)
    dead = pool.pids[0]
    os.kill(dead, signal.SIGKILL)
    os.waitid(os.P_PID, dead, os.WEXITED | os.WNOWAIT)
    assert run(pool, code, inputs, ADD_ONE)[0] == 1
    assert dead not in pool.pids


def test_workers_start_together_and_what_is_wrong_with_one_is_said_when_it_is_asked(
    code: CodeObject, inputs: InputSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that live are left alone; a start that fails ends nothing."""
    with WorkerPool("cpu", limits=PATIENT) as pool:
        pool.run(CASE, Plan((ADD_ONE,)), code, inputs, ("x",), process=1)
        (first,) = pool.pids
        pool.start(3)
        assert len(pool.pids) == 3
        assert first in pool.pids
        before = pool.pids
        pool.start(3)
        assert pool.pids == before
    with WorkerPool("nonsense", limits=PATIENT) as pool:
        pool.start(2)
        with pytest.raises(KernelperfError, match="nonsense"):
            pool.facts()


def test_closing_ends_every_worker(code: CodeObject, inputs: InputSet) -> None:
    """Nothing is left after the session."""
    pool = WorkerPool("cpu", limits=PATIENT)
    for process in (0, 3):
        pool.run(CASE, Plan((ADD_ONE,)), code, inputs, ("x",), process=process)
    pids = pool.pids
    pool.close()
    pool.close()
    assert len(pids) == 2
    assert pool.pids == ()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_preloaded_library_makes_samples_invalid_and_is_named(
    code: CodeObject, inputs: InputSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it is: nobody can know what it does to times."""
    monkeypatch.setenv("LD_PRELOAD", "libm.so.6")
    with WorkerPool("cpu", limits=PATIENT) as pool:
        request = MeasureRequest(CASE, "graph", (Arm("head", code, Plan((ADD_ONE,))),), blocks=1)
        measured = pool.measure(0, request, inputs)
        assert measured.invalid.startswith("not untraced: LD_PRELOAD=libm.so.6")
        assert measured.samples == ()
        assert pool.profilers == ("LD_PRELOAD=libm.so.6",)


def test_a_scripted_clock_replaces_times_and_nothing_else(code: CodeObject, inputs: InputSet, tmp_path: Path) -> None:
    """Outputs stay real, times are the script's, and the script's crash names what was timed."""
    script = tmp_path / "clock.json"
    script.write_text(
        '{"version": 1, "rules": ['
        '{"match": {"arm": "head"}, "us": 133.0},'
        '{"match": {"arm": "doomed"}, "us": 1.0, "fault": "crash"},'
        '{"match": {}, "us": 100.0, "contended_by": "pid 3 (make)"}]}'
    )
    plan = Plan((ADD_ONE,))
    with WorkerPool("cpu", limits=PATIENT, clock_script=script) as pool:
        assert run(pool, code, inputs, ADD_ONE)[0] == 1
        arms = (Arm("head", code, plan), Arm("baseline", code, plan))
        measured = pool.measure(0, MeasureRequest(CASE, "graph", arms, blocks=2), inputs)
        assert measured.times_us("head") == (133.0, 133.0)
        assert measured.times_us("baseline") == (100.0, 100.0)
        assert measured.contended_by == ""
        alone = pool.measure(0, MeasureRequest(CASE, "graph", arms[1:], blocks=2), inputs)
        assert alone.contended_by == "pid 3 (make)"
        with pytest.raises(WorkerCrashed, match=r"died of SIGSEGV .* while .* doomed \(add_one\)"):
            pool.measure(0, MeasureRequest(CASE, "graph", (Arm("doomed", code, plan),), blocks=2), inputs)


def test_a_runtime_that_is_not_here_is_one_sentence() -> None:
    """No worker can start; the sentence says what is missing."""
    with WorkerPool("none") as pool, pytest.raises(RuntimeUnavailable, match="'none'"):
        pool.facts()
    with WorkerPool("none") as pool:
        assert pool.pids == ()


def test_a_worker_that_cannot_import_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broken installation is not a crashed kernel."""
    (tmp_path / "msgspec").mkdir()
    (tmp_path / "msgspec" / "__init__.py").write_text("raise ImportError('this msgspec is broken')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with WorkerPool("cpu", limits=PATIENT) as pool, pytest.raises(RuntimeUnavailable) as failure:
        pool.facts()
    assert "this msgspec is broken" in str(failure.value)
    assert "\n" not in str(failure.value)


def test_a_clock_script_that_is_none_is_said_at_the_start(tmp_path: Path) -> None:
    """By its path, before anything is measured."""
    with (
        WorkerPool("cpu", limits=PATIENT, clock_script=tmp_path / "none.json") as pool,
        pytest.raises(UsageError, match=r"none\.json cannot be read"),
    ):
        pool.facts()


COMPILING_PARENT = """
import os, sys
from pytest_kernelperf.model import SourceBundle
from pytest_kernelperf.worker.pool import WorkerPool
pool = WorkerPool("cpu")
pool.facts()
print(pool.pids[0], flush=True)
slow = '#include <hip/hip_runtime.h>\\n#include <regex>\\n#include <map>\\n#include <functional>\\n#include <random>\\n'
slow += "// %d\\n" % os.getpid() + 'extern "C" __global__ void k(float* x) { x[0] = 1; }'
pool.compile(SourceBundle("slow.hip", {"slow.hip": slow}), ("k",))
"""


def test_kill_9_of_pytest_while_it_compiles_leaves_neither_worker_nor_compiler() -> None:
    """The compiler is the worker's child's child; nobody waits for it any more."""
    parent = subprocess.Popen(
        [sys.executable, "-c", COMPILING_PARENT],
        stdout=subprocess.PIPE,
        text=True,
        env=worker_environment(dict(os.environ)),
    )
    assert parent.stdout is not None
    session = int(parent.stdout.readline())
    deadline = time.monotonic() + 60
    while not (compilers := session_members(session) - {"python", "python3"}):
        assert parent.poll() is None, "it compiled before it could be killed"
        assert time.monotonic() < deadline
    parent.kill()
    parent.communicate()
    assert compilers
    while session_members(session):
        assert time.monotonic() < deadline + 60
        time.sleep(0.01)


def session_members(session: int) -> set[str]:
    """Names of a session's processes that are not zombies."""
    names = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                head, _, rest = Path(entry.path, "stat").read_text().rpartition(")")
                fields = rest.split()
                if int(fields[3]) == session and fields[0] not in "ZX":
                    names.add(head.partition("(")[2])
    return names
