"""The whole path on the cpu runtime: compile, load, move, launch, capture, fail."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import CompileError, DeviceError, UsageError
from pytest_kernelperf.model import (
    BufferArgument,
    CodeObject,
    CopyStep,
    FillStep,
    LaunchStep,
    Parameter,
    Plan,
    ScalarArgument,
    SourceBundle,
    digest_of_bytes,
)
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop

N = 1000
SOURCE = """
#include "sub/offset.h"
extern "C" __global__ void scale(float* p, int n, double by) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = (float)(p[i] * by) + OFFSET;
}
namespace deep { __global__ void negate(float* p) { p[threadIdx.x] = -p[threadIdx.x]; } }
template <class T> __global__ void twice(T* p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = p[i] + p[i];
}
"""
BUNDLE = SourceBundle(
    "kernels.hip",
    {"kernels.hip": SOURCE, "sub/offset.h": '#include "value.h"\n', "sub/value.h": "#define OFFSET VALUE\n"},
    options=("-DVALUE=1.0f", "-std=c++17"),
    name_expressions=("twice<float>", "twice<int>"),
)


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device(choose("cpu")) as opened:
        yield opened


@pytest.fixture(scope="module")
def code(device: Device) -> CodeObject:
    return compile_bundle(device, BUNDLE, kernels=("scale", "twice<float>"))


def scalar(dtype: str, value: float) -> ScalarArgument:
    array = np.array(value, dtype)
    return ScalarArgument(dtype, array.tobytes(), array.dtype.itemsize)


def launch(kernel: str, *arguments: ScalarArgument | BufferArgument) -> LaunchStep:
    return LaunchStep(kernel, (-(-N // 256), 1, 1), (256, 1, 1), arguments)


PLAN = Plan(
    (
        FillStep("y", 0, 0, 4 * N),
        CopyStep("y", "x", 0, 0, 4 * N),
        launch("scale", BufferArgument("y"), scalar("<i4", N), scalar("<f8", 3.0)),
        launch("twice<float>", BufferArgument("y"), scalar("<i4", N)),
    )
)


def test_facts_come_from_library_and_processor(device: Device) -> None:
    """Name, key, cores and limits; the file that answers."""
    facts = device.facts()

    assert facts.runtime == "cpu"
    assert facts.key.startswith("cpu-")
    assert facts.key.endswith(f"{facts.compute_units}c-{facts.key.rsplit('-', 1)[1]}")
    assert facts.compute_units == facts.hip_compute_units > 0
    assert facts.library.endswith("hip_cpu/lib/libamdhip64.so")
    assert facts.compiler
    assert facts.max_threads_per_block >= 1024


def test_arrays_come_back_as_they_went(device: Device) -> None:
    """Upload and download keep type, shape and bits; an empty array is one too."""
    for array in (
        np.arange(24, dtype=np.int16).reshape(2, 3, 4),
        np.array([np.nan, -0.0], np.float64),
        np.empty(0, "<f4"),
    ):
        with device.upload(array) as buffer:
            back = buffer.download(array.dtype, array.shape)
        assert back.tobytes() == array.tobytes()
        assert back.shape == array.shape


def test_a_strided_array_is_uploaded_in_order(device: Device) -> None:
    """What goes to the device is the array's values, not the memory that it is a view of."""
    array = np.arange(12, dtype=np.int32).reshape(3, 4)[:, ::2]
    with device.upload(array) as buffer:
        assert (buffer.download("<i4", (3, 2)) == array).all()


def test_a_transfer_of_another_size_is_refused(device: Device) -> None:
    """Sizes must agree, or memory beside the buffer would be read or written."""
    with device.allocate(16) as buffer:
        with pytest.raises(DeviceError, match="upload of 8 bytes, but the buffer has 16"):
            buffer.upload(np.zeros(2, np.float32))
        with pytest.raises(DeviceError, match="download of 32 bytes"):
            buffer.download("<f8", (4,))


def test_kernels_templates_and_headers_compile(code: CodeObject) -> None:
    """Facts by plain name, name expression and lowered name; parameters from the object itself."""
    assert code.digest == digest_of_bytes(code.data)
    assert set(code.lowered_names) == {"twice<float>", "twice<int>", "deep::negate"}
    assert code.kernels["twice<float>"] == code.kernels[code.lowered_names["twice<float>"]]
    assert code.kernels["scale"].parameters == (
        Parameter("pointer", 8, "float", 4),
        Parameter("signed", 4),
        Parameter("float", 8),
    )


def test_a_compiled_kernel_changes_alone(device: Device, code: CodeObject) -> None:
    """The same source gives the same digests; a change shows in its kernel only, a comment in none."""
    changed = compile_bundle(device, _edited("p[i] + p[i]", "p[i] * 3"))
    commented = compile_bundle(device, _edited("template", "// moved\n\n/* here */ template"))

    assert {name: facts.instruction_digest for name, facts in commented.kernels.items()} == {
        name: facts.instruction_digest for name, facts in code.kernels.items()
    }
    assert changed.kernels["scale"] == code.kernels["scale"]
    assert changed.kernels["twice<float>"].instruction_digest != code.kernels["twice<float>"].instruction_digest
    assert changed.kernels["twice<int>"].instruction_digest != code.kernels["twice<int>"].instruction_digest


def test_a_code_object_is_read_from_its_bytes_alone(code: CodeObject) -> None:
    """What a stored object says needs no compiler and no library."""
    facts = read_kernels(code.data)

    assert facts["scale"] == code.kernels["scale"]


def test_an_error_names_file_and_line(device: Device) -> None:
    """The first error of the log is the sentence; the log has all."""
    with pytest.raises(CompileError, match=r"kernels\.hip does not compile: kernels\.hip:5: .*missing") as caught:
        compile_bundle(device, _edited("+ OFFSET", "+ missing"))

    assert "missing" in caught.value.log


def test_an_error_in_a_header_names_the_header(device: Device) -> None:
    """A header's line is counted in the header."""
    files = BUNDLE.files | {"sub/value.h": "\n#error no value\n"}
    with pytest.raises(CompileError, match=r"does not compile: value\.h:2: .*no value"):
        compile_bundle(device, SourceBundle("kernels.hip", files))


def test_a_header_above_the_sources_folder_is_found(device: Device) -> None:
    """``kernels/x/x.hip`` that includes ``../common.h`` is an ordinary layout."""
    source = '#include "../common.h"\nextern "C" __global__ void k(float* x) { x[0] = COMMON; }\n'
    bundle = SourceBundle("x/x.hip", {"x/x.hip": source, "common.h": "#define COMMON 3.0f\n"})
    assert "k" in compile_bundle(device, bundle).kernels


def test_kernels_that_give_up_and_kernels_that_are_alike_keep_their_names(device: Device) -> None:
    """g++ moves unlikely code into functions of its own, and folds functions of equal instructions into one."""
    body = "{ if (threadIdx.x == 5000) abort(); x[threadIdx.x] = 1; }"
    source = "".join(f'extern "C" __global__ void {name}(float* x) {body}\n' for name in ("one", "two"))
    code = compile_bundle(device, SourceBundle("k.hip", {"k.hip": source}))
    assert set(code.kernels) == {"one", "two"}
    assert code.kernels["one"].instruction_digest == code.kernels["two"].instruction_digest


def test_a_header_that_is_not_in_the_bundle_is_missing(device: Device) -> None:
    """Head is compiled from its bundle alone."""
    with pytest.raises(CompileError, match=r"offset\.h"):
        compile_bundle(device, SourceBundle("kernels.hip", {"kernels.hip": SOURCE}))


def test_a_kernel_that_is_missing_is_named_with_those_that_are_there(device: Device) -> None:
    """A plan's kernel must be in the object."""
    with pytest.raises(CompileError, match=r"no kernel is called 'scales'; near it is scale"):
        compile_bundle(device, BUNDLE, kernels=("scales",))


def test_a_module_says_which_kernel_it_lacks(device: Device, code: CodeObject) -> None:
    """A name that is not in a loaded object is one sentence."""
    with (
        device.load(code.data) as module,
        pytest.raises(DeviceError, match="kernel 'nothing' is not in the code object"),
    ):
        module.function("nothing")


@pytest.mark.parametrize("name", ["deep::negate", "twice<float>", "twice< int >", "&twice<int>"])
def test_a_stored_object_finds_kernels_by_their_cpp_names(device: Device, code: CodeObject, name: str) -> None:
    """Without the compiler's list of lowered names, the object's own symbols are enough."""
    with device.load(code.data) as module:
        assert module.function(name).handle != 0


@pytest.mark.parametrize("damage", [b"", b"KPCPUOBJ", b"no code object at all" * 10])
def test_what_is_no_code_object_is_refused(device: Device, damage: bytes) -> None:
    """Loading rubbish is HIP's error, in one sentence."""
    with pytest.raises(DeviceError, match="hipModuleLoadData failed"):
        device.load(damage)


def test_a_plan_runs_in_every_way_with_the_same_result(device: Device, code: CodeObject) -> None:
    """Untimed, in a loop, behind the gate and as a graph: the outputs are the same, the figures are times."""
    x = np.arange(N, dtype=np.float32)
    expected = (x * 3 + 1) * 2
    with (
        device.load(code.data, code.lowered_names) as module,
        device.upload(x) as source,
        device.upload(np.zeros(N, np.float32)) as target,
        Loop(device) as loop,
    ):
        functions = {step.kernel: module.function(step.kernel) for step in PLAN.launches}
        with loop.prepare(PLAN, functions, {"x": source, "y": target}) as rounds:
            for way in (loop.run, loop.time_loop, loop.time_queued, loop.time_graph):
                target.upload(np.full(N, np.nan, np.float32))
                timing = way(rounds, 5)
                assert (target.download("<f4", (N,)) == expected).all()
                if timing is not None:
                    assert timing.rounds == 5
                    assert timing.total_us > 0
                    assert timing.round_us == timing.total_us / 5
            assert loop.time_queued(rounds, 3).gated
            assert not loop.time_graph(rounds, 3).gated


def test_rounds_follow_each_other_in_order(device: Device, code: CodeObject) -> None:
    """Each round sees what the one before it wrote: 2 to the number of rounds, in each mode."""
    plan = Plan((launch("twice<int>", BufferArgument("y"), scalar("<i4", N)),))
    with (
        device.load(code.data, code.lowered_names) as module,
        device.allocate(4 * N) as buffer,
        Loop(device) as loop,
        loop.prepare(plan, {"twice<int>": module.function("twice<int>")}, {"y": buffer}) as rounds,
    ):
        loop.run(rounds)  # the first launch is never timed; it would double once more
        loop.capture(rounds, 6)  # so is a graph's first
        for way in (loop.run, loop.time_loop, loop.time_queued, loop.time_graph):
            buffer.upload(np.ones(N, np.int32))
            way(rounds, 6)
            assert set(buffer.download("<i4", (N,)).tolist()) == {2**6}


def test_the_gate_holds_back_what_is_behind_it(device: Device, code: CodeObject) -> None:
    """While the door is shut, nothing queued behind the gate runs; the gate gives up after its own limit."""
    with Loop(device) as loop, device.upload(np.zeros(4, np.uint8)) as target:
        gate = loop._gate
        assert gate is not None
        loop._library.kernelperf_gate_close(gate.handle)
        loop.run(gate.rounds, wait=False)
        loop.stream.fill(target, 7)
        held = target.download("u1", (4,)).tolist()
        loop.stream.synchronise()  # nobody opens: the kernel's own 250 ms end it

        assert held == [0] * 4
        assert target.download("u1", (4,)).tolist() == [7] * 4
        assert loop._library.kernelperf_gate_timed_out(gate.handle) == 1


def test_launches_that_block_are_never_gated(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a blocking environment there is no gate, and the reason is kept."""
    monkeypatch.setenv("HIP_LAUNCH_BLOCKING", "1")

    with Loop(device) as loop:
        assert loop._gate is None
        assert loop.no_gate_because == "HIP_LAUNCH_BLOCKING=1"


@pytest.mark.parametrize(
    ("grid", "block", "error"),
    [
        ((0, 1, 1), (256, 1, 1), "hipErrorInvalid"),
        ((1, 1, 1), (0, 1, 1), "hipErrorInvalid"),
        ((1, 1, 1), (4096, 1, 1), "hipErrorInvalid"),
    ],
)
def test_an_impossible_launch_is_hips_own_error(
    device: Device, code: CodeObject, grid: tuple[int, int, int], block: tuple[int, int, int], error: str
) -> None:
    """Zero workgroups, zero threads, too many threads: the call, the kernel and the code's name."""
    step = LaunchStep("twice<int>", grid, block, (BufferArgument("y"), scalar("<i4", 1)))
    with (
        device.load(code.data, code.lowered_names) as module,
        device.allocate(64) as buffer,
        Loop(device) as loop,
        loop.prepare(Plan((step,)), {"twice<int>": module.function("twice<int>")}, {"y": buffer}) as rounds,
        pytest.raises(DeviceError, match=rf"hipModuleLaunchKernel \(twice<int>\) failed: {error}"),
    ):
        loop.run(rounds)


def test_too_many_rounds_for_the_queue_are_refused(device: Device, code: CodeObject) -> None:
    """More than fits behind the gate would block the launching thread."""
    plan = Plan((FillStep("y", 1, 0, 4),))
    with device.allocate(4) as buffer, Loop(device) as loop, loop.prepare(plan, {}, {"y": buffer}) as rounds:
        most = loop.most_rounds(rounds)
        loop.time_queued(rounds, most)
        with pytest.raises(UsageError, match="do not fit the queue"):
            loop.time_queued(rounds, most + 1)


def test_a_plan_longer_than_the_queue_is_never_gated(device: Device) -> None:
    """One round that does not fit behind the gate runs without it."""
    plan = Plan(tuple(FillStep("y", step % 256, 0, 4) for step in range(600)))
    with device.allocate(4) as buffer, Loop(device) as loop, loop.prepare(plan, {}, {"y": buffer}) as rounds:
        timing = loop.time_queued(rounds, loop.most_rounds(rounds))

        assert (timing.rounds, timing.gated) == (1, False)
        assert buffer.download("u1", (4,)).tolist() == [599 % 256] * 4


def test_a_gated_graph_gives_the_same_results(device: Device, code: CodeObject) -> None:
    """A graph that fits the queue can be held back too; one that does not fit is not."""
    plan = Plan((launch("twice<int>", BufferArgument("y"), scalar("<i4", N)),))
    with (
        device.load(code.data, code.lowered_names) as module,
        device.allocate(4 * N) as buffer,
        Loop(device, gate_graphs=True) as loop,
        loop.prepare(plan, {"twice<int>": module.function("twice<int>")}, {"y": buffer}) as rounds,
    ):
        loop.capture(rounds, 6)
        buffer.upload(np.ones(N, np.int32))

        assert loop.time_graph(rounds, 6).gated
        assert set(buffer.download("<i4", (N,)).tolist()) == {2**6}
        assert not loop.time_graph(rounds, 1000).gated


def test_events_take_times_of_the_device(device: Device) -> None:
    """Two events round some work are apart, in microseconds."""
    with device.stream() as stream, device.event() as start, device.event() as stop, device.allocate(1 << 22) as buffer:
        start.record(stream)
        stream.fill(buffer, 3)
        stop.record(stream)
        stop.synchronise()

        assert stop.elapsed_us(start) > 0


def test_a_capture_that_fails_leaves_the_stream_usable(device: Device) -> None:
    """An error while capturing ends the capture."""
    with device.stream() as stream, device.allocate(16) as buffer:

        def fail() -> None:
            raise DeviceError("on purpose")

        with pytest.raises(DeviceError, match="on purpose"):
            stream.capture(fail)
        stream.fill(buffer, 9)
        stream.synchronise()

        assert set(buffer.download("u1", (16,)).tolist()) == {9}


def test_mapped_memory_is_seen_by_both(device: Device) -> None:
    """Host and device addresses lead to the same bytes, which start as zero."""
    with device.mapped(64) as memory:
        assert memory.host_address != 0
        assert memory.address != 0


def test_an_owner_is_given_back_once(device: Device) -> None:
    """Closing twice does nothing the second time."""
    buffer = device.allocate(16)
    buffer.close()
    buffer.close()


def _edited(old: str, new: str) -> SourceBundle:
    assert old in SOURCE
    return SourceBundle(
        BUNDLE.main, BUNDLE.files | {BUNDLE.main: SOURCE.replace(old, new)}, BUNDLE.options, BUNDLE.name_expressions
    )
