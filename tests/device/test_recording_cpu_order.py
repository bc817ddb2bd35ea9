"""The cpu runtime's recording, started, stopped and taken in any order, and while others launch."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import numpy as np
import pytest

from pytest_kernelperf.errors import DeviceError, RuntimeUnavailable
from pytest_kernelperf.model import BufferArgument, LaunchStep, Plan, SourceBundle
from pytest_kernelperf.native import native_path
from pytest_kernelperf.recording import Dispatches
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Device, Module, Stream
from pytest_kernelperf.runtime.library import Chosen, choose
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.runtime.recorder import Recorder

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void add(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }
"""


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device(choose("cpu")) as opened:
        yield opened


@pytest.fixture(scope="module")
def module(device: Device) -> Iterator[Module]:
    with device.load(compile_bundle(device, SourceBundle("add.hip", {"add.hip": SOURCE})).data) as loaded:
        yield loaded


class Work:
    """One small launch on a stream, as often as asked."""

    def __init__(self, device: Device, module: Module, stack: ExitStack) -> None:
        self.stream: Stream = stack.enter_context(device.stream())
        self._loop = stack.enter_context(Loop(device, self.stream))
        buffers = {"x": stack.enter_context(device.upload(np.ones(2560, np.float32)))}
        step = LaunchStep("add", (10, 1, 1), (256, 1, 1), (BufferArgument("x"),))
        functions = {"add": module.function("add")}
        self._rounds = stack.enter_context(self._loop.prepare(Plan((step,)), functions, buffers))

    def __call__(self, count: int) -> None:
        self._loop.run(self._rounds, count)


@pytest.fixture
def work(device: Device, module: Module) -> Iterator[Work]:
    with ExitStack() as stack:
        yield Work(device, module, stack)


def taken(recorder: Recorder, device: Device) -> Dispatches:
    return recorder.take(device.facts()).dispatches


def test_what_was_not_recorded_is_not_there(device: Device, work: Work) -> None:
    """Launches before and after, and an earlier recording that nobody took, are forgotten."""
    recorder = Recorder(device)
    with recorder:
        work(5000)
    work(7)
    with recorder:
        work(3)
    work(2)
    assert len(taken(recorder, device)) == 3
    assert len(taken(recorder, device)) == 0


def test_memory_is_bounded_and_what_is_lost_is_counted(device: Device, work: Work) -> None:
    """Of 10,000 launches 9,000 are kept, the first; the next recording begins anew."""
    recorder = Recorder(device, most_dispatches=9000)
    with recorder:
        work(10_000)
    recording = recorder.take(device.facts())
    assert (len(recording.dispatches), recording.lost) == (9000, 1000)
    assert (np.diff(recording.dispatches["correlation"].astype(np.int64)) == 1).all()
    with recorder:
        work(4)
    assert (len(taken(recorder, device)), recorder.lost) == (4, 0)


def test_steps_out_of_order_are_one_sentence_each(device: Device, work: Work) -> None:
    """Stopping what was not started, starting twice, taking meanwhile: said, and nothing is spoiled."""
    recorder = Recorder(device)
    with pytest.raises(DeviceError, match="cannot stop recording: launches are not being recorded: start that first"):
        recorder.stop()
    recorder.start()
    with pytest.raises(DeviceError, match="cannot start recording: launches are being recorded already"):
        recorder.start()
    work(3)
    assert len(taken(recorder, device)) == 0
    recorder.stop()
    assert len(taken(recorder, device)) == 3


def test_a_failure_ends_the_recording(device: Device, work: Work) -> None:
    """What was recorded until then can be taken, and the next recording starts."""
    recorder = Recorder(device)

    def fail() -> None:
        with recorder:
            work(2)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(taken(recorder, device)) == 2
    with recorder:
        work(1)
    assert len(taken(recorder, device)) == 1


def test_recordings_may_come_and_go_while_others_launch(device: Device, module: Module) -> None:
    """Two threads launch all the time; each of many short recordings holds whole records, in order by stream."""
    ending = threading.Event()
    problems: list[BaseException] = []

    def launch(one: Work) -> None:
        try:
            while not ending.is_set():
                one(20)
        except BaseException as problem:
            problems.append(problem)

    with ExitStack() as stack:
        works = [Work(device, module, stack) for _ in range(2)]
        threads = [threading.Thread(target=launch, args=(one,)) for one in works]
        for thread in threads:
            thread.start()
        recorder = Recorder(device)
        counts: list[int] = []
        try:
            while len(counts) < 30 or sum(counts) < 100:
                with recorder:
                    pass
                made = taken(recorder, device)
                counts.append(len(made))
                assert (made["end_ns"] >= made["start_ns"]).all()
                assert np.isin(made["workgroups"][:, 0], (10,)).all()
                for number in np.unique(made["stream"]):
                    own = made[made["stream"] == number]
                    assert (own["start_ns"][1:] >= own["end_ns"][:-1]).all()
        finally:
            ending.set()
            for thread in threads:
                thread.join()
    assert problems == []


def test_the_c_functions_bear_what_python_never_asks() -> None:
    """No place to copy to, chunks of one, numbers of no kernel, taking before anything was started."""
    library = ctypes.CDLL(str(native_path("hip_cpu/lib/libamdhip64.so")))
    library.kernelperfTraceTake.restype = ctypes.c_size_t
    library.kernelperfTraceTake.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    library.kernelperfTraceKernelName.restype = ctypes.c_char_p
    library.kernelperfTraceKernelName.argtypes = [ctypes.c_uint64]
    library.kernelperfTraceProblem.restype = ctypes.c_char_p
    assert library.kernelperfTraceTake(None, 0) == 0
    assert library.kernelperfTraceProblem() == b""
    assert library.kernelperfTraceTake(None, 5) == 0
    assert library.kernelperfTraceProblem() == b"there is no place to copy dispatches to"
    assert library.kernelperfTraceKernelName(0) is None
    assert library.kernelperfTraceKernelName(2**64 - 1) is None


def test_amds_own_runtime_is_left_to_rocprofv3(device: Device) -> None:
    """One sentence, without a look into the library."""
    other = Device(Chosen("rocm", device.chosen.amdhip64, device.chosen.hiprtc))
    with pytest.raises(RuntimeUnavailable, match=r"the rocm runtime does not record launches itself: .* rocprofv3"):
        Recorder(other)
