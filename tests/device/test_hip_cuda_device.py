"""The whole way to an NVIDIA GPU and back, through HIP on CUDA: real kernels that work, fail, crash and hang.

Where there is no GPU, no driver or no NVRTC, these are skipped with the runtime's own sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
import pytest
from nvidia import child, reason_to_skip

from pytest_kernelperf.errors import CompileError, DeviceError, WorkerHung
from pytest_kernelperf.measure.request import Arm, MeasureRequest
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

SOURCE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void add_one(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}
extern "C" __global__ void sums(const float* x, float* y, int n) {  // y[workgroup] = the sum of its values
    extern __shared__ float part[];
    float value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) value += x[i];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down(value, offset);
    if (threadIdx.x % warpSize == 0) part[threadIdx.x / warpSize] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int wave = 1; wave < blockDim.x / warpSize; ++wave) value += part[wave];
        y[blockIdx.x] = value;
    }
}
extern "C" __global__ void wild(float* x, long long offset) { x[offset] = 1.0f; }
extern "C" __global__ void crooked(float* x) { *(int*)((char*)x + 1) = 1; }
extern "C" __global__ void endless(volatile float* x) { while (x[0] < 1e30f) { } }
"""
NAMES = ("add_one", "sums", "wild", "crooked", "endless")

CASE = CaseId("kernel", "variant", 64)
COUNT = 1000
X, Y = BufferArgument("x"), BufferArgument("y")


def scalar(dtype: str, value: int) -> ScalarArgument:
    array = np.array(value, dtype)
    return ScalarArgument(dtype, array.tobytes(), array.dtype.itemsize)


ADD_ONE = LaunchStep("add_one", (16, 1, 1), (64, 1, 1), (X, scalar("<i4", COUNT)))
WILD = LaunchStep("wild", (1, 1, 1), (1, 1, 1), (X, scalar("<i8", 1 << 44)))
CROOKED = LaunchStep("crooked", (1, 1, 1), (1, 1, 1), (X,))
ENDLESS = LaunchStep("endless", (1, 1, 1), (1, 1, 1), (X,))


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    reason = reason_to_skip()
    if reason:
        pytest.skip(reason)
    with WorkerPool("cuda", limits=Limits(start_s=120.0, compile_s=120.0, run_s=60.0, measure_s=120.0)) as workers:
        yield workers


@pytest.fixture(scope="module")
def code(pool: WorkerPool) -> CodeObject:
    return pool.compile(SourceBundle("kernels.hip", {"kernels.hip": SOURCE}), NAMES, case=CASE)


@pytest.fixture(scope="module")
def inputs() -> Iterator[InputSet]:
    with InputSet.create({"x": np.arange(COUNT, dtype=np.float32), "y": np.zeros(COUNT, np.float32)}) as arrays:
        yield arrays


def run(pool: WorkerPool, code: CodeObject, inputs: InputSet, *steps: LaunchStep | FillStep | CopyStep) -> np.ndarray:
    """``x`` after some steps."""
    return pool.run(CASE, Plan(steps), code, inputs, ("x",))["x"]


def test_facts_are_the_gpus(pool: WorkerPool) -> None:
    """Key and units by multiprocessors, figures that a GPU can have, and who compiles and drives."""
    facts = pool.facts()

    assert facts.runtime == "cuda"
    assert facts.architecture.startswith("sm_")
    assert facts.key == f"{facts.architecture.replace('_', '')}-{facts.compute_units}sm"
    assert facts.compute_units == facts.hip_compute_units > 0
    assert (facts.warp_size, facts.max_threads_per_block) == (32, 1024)
    assert facts.total_memory_bytes > 1 << 30
    assert facts.max_shared_bytes >= 48 * 1024
    assert facts.peak_gb_per_s is None or 50 < facts.peak_gb_per_s < 20_000
    assert facts.compiler.startswith("nvrtc 1")
    assert facts.library.endswith("hip_cuda/lib/libamdhip64.so")


def test_a_plan_runs_and_its_outputs_come_back(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """Launches, fills and copies in order; every run starts from the inputs."""
    for _ in range(2):
        np.testing.assert_array_equal(run(pool, code, inputs, ADD_ONE, ADD_ONE), np.arange(COUNT, dtype=np.float32) + 2)
    copy = CopyStep("y", "x", 0, 0, 4 * COUNT)
    got = pool.run(CASE, Plan((ADD_ONE, copy, FillStep("x", 0, 0, 4 * COUNT))), code, inputs, ("y", "x"))
    np.testing.assert_array_equal(got["y"], np.arange(COUNT, dtype=np.float32) + 1)
    np.testing.assert_array_equal(got["x"], np.zeros(COUNT, np.float32))


@pytest.mark.parametrize("shared_bytes", [128, 48 * 1024, 64 * 1024])
def test_waves_and_dynamic_shared_memory_work(
    pool: WorkerPool, code: CodeObject, inputs: InputSet, shared_bytes: int
) -> None:
    """A reduction by HIP's shuffles and shared memory is exact for whole numbers, whatever shared memory it takes."""
    step = LaunchStep("sums", (2, 1, 1), (256, 1, 1), (X, Y, scalar("<i4", COUNT)), shared_bytes)
    sums = pool.run(CASE, Plan((step,)), code, inputs, ("y",))["y"]

    x = np.arange(1024, dtype=np.float32)
    x[COUNT:] = 0
    np.testing.assert_array_equal(sums[:2], x.reshape(2, 2, 256).sum(axis=(0, 2)))


def test_samples_come_in_every_mode(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """Queued, loop and graph: blocks of two arms with positive times."""
    for mode in ("queued", "loop", "graph"):
        arms = (Arm("head", code, Plan((ADD_ONE,))), Arm("baseline", code, Plan((ADD_ONE, ADD_ONE))))
        measured = pool.measure(0, MeasureRequest(CASE, mode, arms, blocks=7, root_pid=1), inputs)
        assert measured.invalid == ""
        assert {sample.arm for sample in measured.samples} == {"head", "baseline"}
        assert all(0 < sample.time_us < 1000 for sample in measured.samples)


def test_a_wild_store_is_one_sentence_and_the_next_case_runs(
    pool: WorkerPool, code: CodeObject, inputs: InputSet
) -> None:
    """The driver's error in HIP's words, with the kernel's name; the spoilt context goes with its worker."""
    with pytest.raises(DeviceError, match=r"step 2 of 2, wild: .*hipErrorIllegalAddress") as failure:
        run(pool, code, inputs, ADD_ONE, WILD)
    assert "\n" not in str(failure.value)
    assert run(pool, code, inputs, ADD_ONE)[0] == 1


def test_a_failure_that_hip_has_no_word_for_is_named_by_cudas(
    pool: WorkerPool, code: CodeObject, inputs: InputSet
) -> None:
    """A misaligned access is a launch failure in HIP; the sentence says which."""
    with pytest.raises(DeviceError, match=r"hipErrorLaunchFailure.*CUDA_ERROR_MISALIGNED_ADDRESS"):
        run(pool, code, inputs, CROOKED)
    assert run(pool, code, inputs, ADD_ONE)[0] == 1


def test_an_endless_kernel_is_killed_and_the_next_case_runs(
    pool: WorkerPool, code: CodeObject, inputs: InputSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the limit and the kernel."""
    run(pool, code, inputs, ADD_ONE)
    patient = pool._limits
    monkeypatch.setattr(pool, "_limits", Limits(run_s=5.0))
    with pytest.raises(WorkerHung, match="no answer within 5 s while running step 1 of 1, endless"):
        run(pool, code, inputs, ENDLESS)
    monkeypatch.setattr(pool, "_limits", patient)
    assert run(pool, code, inputs, ADD_ONE)[0] == 1


def test_source_that_does_not_compile_names_file_and_line(pool: WorkerPool) -> None:
    """NVRTC's words, the user's file."""
    bundle = SourceBundle(
        "broken.hip", {"broken.hip": "#include <hip/hip_runtime.h>\n__global__ void f() { x = 1; }\n"}
    )
    with pytest.raises(CompileError, match=r'broken\.hip:2: identifier "x" is undefined'):
        pool.compile(bundle, (), case=CASE)


def test_an_impossible_launch_is_hips_own_error(pool: WorkerPool, code: CodeObject, inputs: InputSet) -> None:
    """Too many threads in a workgroup."""
    step = LaunchStep("add_one", (1, 1, 1), (2048, 1, 1), (X, scalar("<i4", COUNT)))
    with pytest.raises(DeviceError, match="hipErrorInvalidConfiguration"):
        run(pool, code, inputs, step)


GATE = """
import numpy as np
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
with Device(choose("cuda")) as device, Loop(device) as loop, device.upload(np.zeros(4, np.uint8)) as target:
    gate = loop._gate
    loop._library.kernelperf_gate_close(gate.handle)
    with device.event() as start, device.event() as stop:
        start.record(loop.stream)
        loop.run(gate.rounds, wait=False)
        stop.record(loop.stream)
        loop.stream.fill(target, 7)
        loop.stream.synchronise()
        waited_ms = stop.elapsed_us(start) / 1000
    print([target.download("u1", (4,)).tolist(), loop._library.kernelperf_gate_timed_out(gate.handle), waited_ms])
"""


def test_the_gate_holds_the_queue_back_and_gives_up_by_itself(pool: WorkerPool) -> None:
    """Nobody opens it: after 250 ms of the device's clock (or the host's 500 ms) what is behind it runs."""
    filled, timed_out, waited_ms = ast.literal_eval(child(GATE))

    assert filled == [7] * 4
    assert timed_out == 1
    assert 240 < waited_ms < 600


ATTRIBUTES = f"""
import ctypes
from pytest_kernelperf.model import SourceBundle
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
with Device(choose("cuda")) as device:
    code = compile_bundle(device, SourceBundle("kernels.hip", {{"kernels.hip": {SOURCE!r}}}))
    with device.load(code.data) as module:
        function = ctypes.c_void_p(module.function("sums").handle)
        hip, values = device.selected.handle, []
        for which in (0, 4):
            value = ctypes.c_int()
            device.check("hipFuncGetAttribute", hip.hipFuncGetAttribute(ctypes.byref(value), which, function))
            values.append(value.value)
        occupancy = ctypes.c_int()
        device.check("occupancy", hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
            ctypes.byref(occupancy), function, 256, ctypes.c_size_t(0)))
        print([*values, occupancy.value])
"""


def test_a_function_says_what_it_needs(pool: WorkerPool) -> None:
    """Its most threads, its registers, and how many workgroups a multiprocessor holds."""
    most_threads, registers, occupancy = ast.literal_eval(child(ATTRIBUTES))

    assert most_threads == 1024
    assert 0 < registers <= 64
    assert 0 < occupancy <= 32
