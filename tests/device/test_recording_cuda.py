"""Kernels of an NVIDIA GPU, recorded through CUPTI; skipped with the runtime's own sentence where there is none.

Each recording runs in a process of its own: a process that recorded is never timed again.
"""

from __future__ import annotations

import ast
from typing import Any

import pytest
from nvidia import child, reason_to_skip

PROGRAM = """
import numpy as np
from pytest_kernelperf.measure.untraced import find_profilers
from pytest_kernelperf.model import LaunchStep, Plan, BufferArgument, SourceBundle
from pytest_kernelperf.runtime.code import make_code
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.runtime.recorder import Recorder

SOURCE = '''
#include <hip/hip_runtime.h>
extern "C" __global__ void first(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] += 1.0f; }
template <class T> __global__ void second(T* x) {
    __shared__ T part[64];
    part[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = part[63 - threadIdx.x];
}
extern "C" __global__ void wild(float* x) { x[1ll << 44] = 1.0f; }
'''
X = BufferArgument("x")
NAMES = ("first", "second<float>", "wild")
SHAPES = {"first": (40, 256), "second<float>": (1, 64), "wild": (1, 1)}
STEPS = [LaunchStep(name, (grid, 1, 1), (block, 1, 1), (X,)) for name, (grid, block) in SHAPES.items()]
PLAN, WILD = Plan(tuple(STEPS[:2])), Plan(tuple(STEPS[2:]))

def told(recording):
    found = []
    for d in recording.dispatches:
        found.append((recording.kernels[int(d["kernel"])].symbol, d["workgroups"].tolist(), d["block"].tolist(),
                      int(d["static_shared_bytes"]), int(d["dynamic_shared_bytes"]), bool(d["registers"] > 0)))
    return found

device = Device(choose("cuda")).__enter__()
loop = Loop(device)
bundle = SourceBundle("user.hip", {"user.hip": SOURCE}, name_expressions=("second<float>",))
code = make_code(device, bundle, NAMES)
module = device.load(code.data, code.lowered_names)
functions = {name: module.function(name) for name in NAMES}
buffers = {"x": device.upload(np.zeros(40 * 256, np.float32))}
rounds = loop.prepare(PLAN, functions, buffers)
"""

STARTED = """
try:
    Recorder(device).start()
    print(repr(""))
except Exception as error:
    print(repr(str(error)))
"""

FIRST = ("first", [40, 1, 1], [256, 1, 1], 0, 0, True)
SECOND = ("_Z6secondIfEvPT_", [1, 1, 1], [64, 1, 1], 256, 0, True)


@pytest.fixture(scope="module", autouse=True)
def gpu() -> None:
    """Skip where there is no GPU, or no CUPTI."""
    reason = reason_to_skip() or recorded(STARTED)
    if reason:
        pytest.skip(reason)


def recorded(program: str) -> Any:
    """The value that a child prints which has the lesson of two kernels ready."""
    return ast.literal_eval(child(PROGRAM + program))


def test_each_launch_is_recorded_with_its_shape_and_needs() -> None:
    """In order, without overlap in its stream, on the boot-time clock; nothing is lost."""
    dispatches, lost, ordered, timed = recorded("""
import time
loop.run(rounds)
before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
with Recorder(device) as recorder:
    loop.run(rounds, 3)
after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
recording = recorder.take(device.facts())
d = recording.dispatches
start, end = d["start_ns"].astype(int), d["end_ns"].astype(int)
slack = 1_000_000
print((told(recording), recording.lost, bool((end > start).all() and (start[1:] >= end[:-1]).all()),
       bool(before - slack < start.min() and end.max() < after + slack)))
""")

    assert (dispatches, lost, ordered, timed) == ([FIRST, SECOND] * 3, 0, True, True)


@pytest.mark.parametrize("captured", ["before", "after"])
def test_a_graphs_launches_are_recorded_one_by_one(captured: str) -> None:
    """Each node by its number, the same at each replay, whether the graph was made before the recording or in it."""
    dispatches, lost, graphs, nodes = recorded(f"""
recorder = Recorder(device)
if {captured == "before"}:
    graph = loop.capture(rounds, 2)
    recorder.start()
else:
    recorder.start()
    graph = loop.capture(rounds, 2)
for _ in range(2):
    device.check("hipGraphLaunch", loop._launch_graph(graph))
recorder.stop()
recording = recorder.take(device.facts())
in_graph = recording.dispatches[recording.dispatches["graph_node"] != 0]
last = in_graph[-8:]
print((told(recording)[-8:], recording.lost, len(set(last["graph_exec"].tolist())), last["graph_node"].tolist()))
""")

    assert (dispatches, lost, graphs) == ([FIRST, SECOND] * 4, 0, 1)
    assert len(set(nodes[:4])) == 4
    assert nodes[:4] == nodes[4:]


def test_a_second_recording_of_a_process_works_too() -> None:
    """And between them nothing is recorded."""
    assert recorded("""
recorder = Recorder(device)
counts = []
for _ in range(2):
    with recorder:
        loop.run(rounds, 2)
    loop.run(rounds, 5)
    counts.append(len(recorder.take(device.facts()).dispatches))
print(counts)
""") == [4, 4]


def test_a_kernel_that_fails_while_recorded_is_an_error_and_no_hang() -> None:
    """The sentence names what happened."""
    said = recorded("""
from pytest_kernelperf.errors import DeviceError
wild = loop.prepare(WILD, functions, buffers)
try:
    with Recorder(device):
        loop.run(wild)
except DeviceError as error:
    print(repr(str(error)))
import os, sys
sys.stdout.flush()
os._exit(0)
""")

    assert "hipErrorIllegalAddress" in said


def test_a_process_that_recorded_counts_as_traced() -> None:
    """Before it does not, after it does, by CUPTI's name."""
    before, after = recorded("""
before = find_profilers()
with Recorder(device):
    loop.run(rounds)
print((before, find_profilers()))
""")

    assert before == ()
    assert [name for name in after if name.startswith("libcupti.so")]
