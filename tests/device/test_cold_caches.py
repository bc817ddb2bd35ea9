"""Cold caches on the cpu runtime: a kernel notes which copy of its buffer each round was given."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from pytest_kernelperf.errors import DeviceError, UsageError
from pytest_kernelperf.measure.buffers import SharedBuffers
from pytest_kernelperf.measure.clock import LoopStopwatch
from pytest_kernelperf.measure.cold import ColdBuffers, plan_rotation
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import BufferArgument, CaseId, CodeObject, LaunchStep, Mode, Plan, SourceBundle
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Device, Module
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.worker.array import InputSet
from pytest_kernelperf.worker.pool import WorkerPool

# seen[0]: how many rounds this copy was given; then the number of each. rounds: counts over all copies.
SOURCE = """
extern "C" __device__ int rounds = 0;
extern "C" __global__ void note(int* seen) { seen[0] += 1; seen[seen[0]] = rounds; rounds += 1; }
extern "C" __global__ void begin(int* seen) { rounds = 0; }
"""
BUNDLE = SourceBundle("note.hip", {"note.hip": SOURCE})
ROOM = 64
BYTES = 4 * ROOM
COPIES = 4
SEEN = BufferArgument("seen")


def a_launch(kernel: str) -> LaunchStep:
    """One thread that gets the buffer."""
    return LaunchStep(kernel, (1, 1, 1), (1, 1, 1), (SEEN,))


NOTE, BEGIN = Plan((a_launch("note"),)), Plan((a_launch("begin"),))


class Notes:
    """Arms on copies of one buffer, and what their kernel noted in them."""

    def __init__(self, device: Device, loop: Loop, code: CodeObject, module: Module) -> None:
        inputs = {"seen": np.zeros(ROOM, np.int32)}
        self.shared = SharedBuffers(device, loop.stream, inputs)
        sizes = {"seen": BYTES}
        rotation = plan_rotation([NOTE], sizes, BYTES * COPIES // 2, 200, device.free_memory_bytes())
        self.cold = ColdBuffers(device, loop.stream, self.shared, rotation)
        self.clock = LoopStopwatch(loop, lambda _: module, self.cold.copies)
        self.arms = tuple(Arm(name, code, NOTE) for name in ("head", "baseline"))
        self._begin = Arm("begin", code, BEGIN)

    def start(self) -> None:
        """Nothing is noted, and the next round is number 0."""
        self.clock.run(self._begin, 1)
        self.cold.restore(frozenset({"seen"}))

    def read(self) -> list[list[int]]:
        """The rounds that each copy was given."""
        noted = [copy["seen"].download("<i4", (ROOM,)).tolist() for copy in self.cold.copies]
        return [numbers[1 : 1 + numbers[0]] for numbers in noted]

    def close(self) -> None:
        for owned in (self.clock, self.cold, self.shared):
            owned.close()


@pytest.fixture(scope="module")
def notes() -> Iterator[Notes]:
    with Device(choose("cpu")) as device:
        code = compile_bundle(device, BUNDLE, kernels=("note", "begin"))
        with device.load(code.data) as module, Loop(device) as loop:
            notes = Notes(device, loop, code, module)
            yield notes
            notes.close()


@pytest.mark.parametrize("mode", ["loop", "queued", "graph"])
@pytest.mark.parametrize("count", [1, 3, 4, 12, 14])
def test_each_round_takes_the_next_copy(notes: Notes, mode: Mode, count: int) -> None:
    """In every mode, whatever the number of rounds; every sample begins with the first copy, for every arm."""
    expected = [list(range(first, count, COPIES)) for first in range(COPIES)]
    for arm in notes.arms:
        assert notes.clock.prepare(arm, mode, count) == ""  # a graph's first launch is untimed
        notes.clock.run(arm, 1)  # as is a plan's
        notes.start()
        timing = notes.clock.time(arm, mode, count, 0)
        assert timing.time_us > 0
        assert notes.read() == expected


def test_untimed_rounds_take_the_copies_in_turn_too(notes: Notes) -> None:
    """Warming up and verifying see what is measured."""
    notes.start()
    notes.clock.run(notes.arms[0], 6)
    assert notes.read() == [[0, 4], [1, 5], [2], [3]]


def test_warm_rounds_take_the_same_buffer(notes: Notes) -> None:
    """With one copy nothing rotates."""
    notes.start()
    clock = LoopStopwatch(notes.clock._loop, notes.clock._load, notes.shared.copies)
    try:
        clock.run(notes.arms[0], 6)
    finally:
        clock.close()
    assert notes.read() == [[0, 1, 2, 3, 4, 5], [], [], []]


def test_a_step_that_fails_is_named_whichever_copy_it_takes(notes: Notes) -> None:
    """The steps of all copies lie behind one another; the sentence names the kernel all the same."""
    impossible = msgspec.structs.replace(a_launch("note"), block=(4096, 1, 1))
    code = notes.arms[0].code
    with pytest.raises(DeviceError, match=r"hipModuleLaunchKernel.*\(note\)"):
        notes.clock.run(Arm("impossible", code, Plan((impossible,))), 6)


@pytest.fixture(scope="module")
def pool() -> Iterator[WorkerPool]:
    with WorkerPool("cpu") as workers:
        yield workers


def a_request(code: CodeObject, mode: Mode, **changes: object) -> MeasureRequest:
    """Two arms of a kernel that changes what it is given."""
    arms = tuple(Arm(name, code, Plan((a_launch("step"),))) for name in ("head", "baseline"))
    request = MeasureRequest(
        CaseId("k", "v", 1), mode, arms, 2, cold_bytes=5 * BYTES, warm_up_us=1e3, target_us=1e3, root_pid=1,
        check_outputs=("seen",),
    )  # fmt: skip
    return msgspec.structs.replace(request, **changes)


@pytest.mark.parametrize("mode", ["loop", "queued", "graph"])
def test_a_worker_measures_cold_in_every_mode(pool: WorkerPool, mode: Mode) -> None:
    """Ten copies where ten exceed twice the caches, each taken equally often; and warm again afterwards."""
    source = 'extern "C" __global__ void step(float* seen) { seen[0] = seen[1] + 1; }'
    code = pool.compile(SourceBundle("step.hip", {"step.hip": source}), ("step",), case=CaseId("k", "v", 1))
    with InputSet.create({"seen": np.ones(ROOM, np.float32)}) as inputs:
        cold = pool.measure(0, a_request(code, mode), inputs)
        assert (cold.invalid, cold.mode, cold.fallback, cold.copies) == ("", mode, "", 10)
        assert cold.rounds % 10 == 0 or cold.rounds < 10
        assert len(cold.samples) == 4
        warm = pool.measure(0, a_request(code, mode, cold_bytes=0), inputs)
        assert (warm.invalid, warm.copies) == ("", 1)
        with pytest.raises(UsageError, match="cold caches take"):
            pool.measure(0, a_request(code, mode, cold_bytes=1 << 50), inputs)
