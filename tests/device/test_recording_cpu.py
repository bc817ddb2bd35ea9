"""The cpu runtime's recording: what ran where, when and by which call, for launches and for graphs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rocpd_rules import broken_rules

from pytest_kernelperf.model import BufferArgument, LaunchStep, Plan, ScalarArgument, SourceBundle
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Device, Module
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.runtime.recorder import Recorder
from pytest_kernelperf.trace.summary import summarise_trace
from pytest_kernelperf.trace.write import write_trace

LESSON = Path(__file__).parents[2] / "kernels" / "moe_add_inject" / "moe_add_inject.hip"
COLUMNS, THREADS = 2560, 256
WORKGROUPS = {"add_kernel": 10, "inject_kernel": 40, "fused_one_block_per_token": 1}
SCALE = """#include <hip/hip_runtime.h>
namespace ns { template <class T> __global__ void scale(T* p) {
    __shared__ T kept[32];
    extern __shared__ char more[];
    kept[threadIdx.x % 32] = 2;
    __syncthreads();
    p[blockIdx.x * blockDim.x + threadIdx.x] *= kept[0];
} }
"""
BUFFERS = {"moe": COLUMNS, "shared": COLUMNS, "y": COLUMNS, "weights": 4, "x": 4 * COLUMNS}


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    with Device(choose("cpu")) as opened:
        yield opened


@pytest.fixture(scope="module")
def lesson(device: Device) -> Iterator[Module]:
    bundle = SourceBundle(LESSON.name, {LESSON.name: LESSON.read_text(encoding="utf-8")})
    with device.load(compile_bundle(device, bundle).data) as module:
        yield module


@pytest.fixture(scope="module")
def recorded(device: Device, lesson: Module) -> Recorded:
    """The lesson's kernels: two warm-up rounds that are not recorded, five rounds, and a graph of three, twice."""
    return Recorded(device, lesson)


class Recorded:
    """A recording of the lesson's kernels, in order of their start."""

    def __init__(self, device: Device, lesson: Module) -> None:
        one = ScalarArgument("<i4", (1).to_bytes(4, "little"), 4)
        arguments: dict[str, tuple[Any, ...]] = {
            "add_kernel": (one, *map(BufferArgument, ("moe", "shared", "y"))),
            "inject_kernel": (one, *map(BufferArgument, ("y", "weights", "x"))),
            "fused_one_block_per_token": tuple(map(BufferArgument, ("moe", "shared", "weights", "x"))),
        }
        self.plan = Plan(tuple(LaunchStep(name, (count, 1, 1), (THREADS, 1, 1), arguments[name])
                               for name, count in WORKGROUPS.items()))  # fmt: skip
        functions = {name: lesson.function(name) for name in WORKGROUPS}
        with ExitStack() as stack:
            buffers = {
                name: stack.enter_context(device.upload(np.ones(size, np.float32))) for name, size in BUFFERS.items()
            }
            loop = stack.enter_context(Loop(device))
            rounds = stack.enter_context(loop.prepare(self.plan, functions, buffers))
            loop.run(rounds, 2)
            loop.capture(rounds, 3)
            with Recorder(device) as recorder:
                loop.run(rounds, 5)
                loop.time_graph(rounds, 3)
                loop.time_graph(rounds, 3)
            self.recording = recorder.take(device.facts(), "test")
            self.again = recorder.take(device.facts())
        self.dispatches = self.recording.dispatches
        self.names = [self.recording.kernels[int(one)].name for one in self.dispatches["kernel"]]


def test_every_launch_is_recorded_in_order(recorded: Recorded) -> None:
    """Five rounds and twice three in a graph, one by one, as the plan says; nothing of before; nothing twice."""
    assert recorded.names == list(WORKGROUPS) * 11
    assert (recorded.recording.lost, len(recorded.again.dispatches)) == (0, 0)
    assert (recorded.recording.origin, recorded.recording.device.runtime) == ("cpu", "cpu")


def test_workgroups_are_the_plans(recorded: Recorded) -> None:
    """Grid in workgroups and block in threads, as launched."""
    counts = [math.prod(one.tolist()) for one in recorded.dispatches["workgroups"]]
    assert counts == [step.workgroups for step in recorded.plan.launches] * 11
    assert recorded.dispatches["block"].tolist() == [[THREADS, 1, 1]] * 33


def test_nothing_overlaps_within_a_stream(recorded: Recorded) -> None:
    """A stream's kernels run one after the other, each for some time."""
    dispatches = recorded.dispatches
    assert len(np.unique(dispatches["stream"])) == 1
    assert (dispatches["end_ns"] >= dispatches["start_ns"]).all()
    assert (dispatches["start_ns"][1:] >= dispatches["end_ns"][:-1]).all()


def test_a_graphs_launches_say_which_graph_node_and_call(recorded: Recorded) -> None:
    """Launches outside of graphs have a call each; a graph's share its own, and have their nodes in order."""
    plain, first, second = np.split(recorded.dispatches, [15, 24])
    assert len(np.unique(plain["correlation"])) == 15
    assert (plain["graph_exec"] == 0).all()
    assert (plain["graph_node"] == 0).all()
    for launched in (first, second):
        assert len(np.unique(launched["correlation"])) == 1
        assert launched["graph_node"].tolist() == list(range(1, 10))
    assert first["correlation"][0] < second["correlation"][0]
    assert first["graph_exec"][0] == second["graph_exec"][0] > 0
    assert np.unique(recorded.dispatches["thread"]).tolist() == [threading.get_native_id()]


def test_the_recording_becomes_a_trace(recorded: Recorded, tmp_path: Path) -> None:
    """By AMD's rules, and as our reader sums it up: calls, workgroups, compute units of this machine."""
    write_trace(tmp_path / "a.db", recorded.recording)
    assert broken_rules(tmp_path / "a.db") == []
    (process,) = summarise_trace(tmp_path / "a.db").processes
    assert {one.name: (one.calls, one.workgroups) for one in process.kernels} == {
        name: (11, (count,)) for name, count in WORKGROUPS.items()
    }
    assert process.device.compute_units == recorded.recording.device.compute_units


def test_streams_have_numbers_of_their_own(device: Device, lesson: Module) -> None:
    """Two streams' launches are told apart and each stays in order; a template's kernel is named as written."""
    bundle = SourceBundle("scale.hip", {"scale.hip": SCALE}, name_expressions=("ns::scale<float>",))
    code = compile_bundle(device, bundle)
    with ExitStack() as stack:
        module = stack.enter_context(device.load(code.data, code.lowered_names))
        functions = {"ns::scale<float>": module.function("ns::scale<float>")}
        buffer = stack.enter_context(device.upload(np.ones(4 * 64, np.float32)))
        step = LaunchStep("ns::scale<float>", (2, 2, 1), (32, 2, 1), (BufferArgument("p"),), shared_bytes=96)
        streams = [stack.enter_context(device.stream()) for _ in range(2)]
        loops = [stack.enter_context(Loop(device, stream)) for stream in streams]
        prepared = [stack.enter_context(loop.prepare(Plan((step,)), functions, {"p": buffer})) for loop in loops]
        with Recorder(device) as recorder:
            for _ in range(3):
                for loop, rounds in zip(loops, prepared, strict=True):
                    loop.run(rounds, wait=False)
        recording = recorder.take(device.facts())
    assert [(one.symbol, one.name) for one in recording.kernels.values()] == [
        ("_ZN2ns5scaleIfEEvPT_", "void ns::scale<float>(float*)")
    ]
    numbers = np.unique(recording.dispatches["stream"]).tolist()
    assert len(numbers) == 2
    assert 0 not in numbers
    for number in numbers:
        own = recording.dispatches[recording.dispatches["stream"] == number]
        assert len(own) == 3
        assert (own["start_ns"][1:] >= own["end_ns"][:-1]).all()
        assert (np.diff(own["correlation"].astype(np.int64)) == 2).all()
    shared = recording.dispatches[["static_shared_bytes", "dynamic_shared_bytes"]]
    assert np.unique(shared).tolist() == [(128, 96)]


def test_the_interval_is_the_kernels_own(device: Device) -> None:
    """A kernel that looks at the clock when it begins and before it ends takes no longer than its record says."""
    source = """#include <hip/hip_runtime.h>
extern "C" __global__ void look(long long* ticks, int again) {
    ticks[0] = wall_clock64();
    for (int i = 0; i < again; ++i) ticks[1] = wall_clock64();
}
"""
    code = compile_bundle(device, SourceBundle("look.hip", {"look.hip": source}))
    ticks = np.zeros(2, np.int64)
    arguments = (BufferArgument("ticks"), ScalarArgument("<i4", (1000).to_bytes(4, "little"), 4))
    with ExitStack() as stack:
        functions = {"look": stack.enter_context(device.load(code.data)).function("look")}
        buffers = {"ticks": stack.enter_context(device.upload(ticks))}
        loop = stack.enter_context(Loop(device))
        plan = Plan((LaunchStep("look", (1, 1, 1), (1, 1, 1), arguments),))
        rounds = stack.enter_context(loop.prepare(plan, functions, buffers))
        with Recorder(device) as recorder:
            loop.run(rounds)
        (one,) = recorder.take(device.facts()).dispatches
        ticks = buffers["ticks"].download(np.int64, (2,))
    ticks_per_ns = device.attribute("WallClockRate") / 1e6
    assert (ticks[1] - ticks[0]) / ticks_per_ns <= int(one["end_ns"]) - int(one["start_ns"])
    assert ticks[1] > ticks[0]


def test_times_are_the_boot_times_clock(recorded: Recorded) -> None:
    """Records lie between the machine's start and now, on the clock that AMD's profiler uses."""
    assert int(recorded.dispatches["start_ns"].min()) > 0
    assert int(recorded.dispatches["end_ns"].max()) <= time.clock_gettime_ns(time.CLOCK_BOOTTIME)
