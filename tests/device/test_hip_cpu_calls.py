"""Streams, events, graphs, memory and errors of the cpu runtime behave as HIP's."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hip_cpu_calls import (
    CAPTURE_INVALIDATED,
    CAPTURE_UNJOINED,
    CAPTURE_UNSUPPORTED,
    INVALID_CONFIGURATION,
    INVALID_HANDLE,
    INVALID_IMAGE,
    INVALID_VALUE,
    NOT_FOUND,
    NOT_READY,
    HipCpu,
)

SOURCE = """
extern "C" __global__ void add(int* x, int by) { x[blockIdx.x * blockDim.x + threadIdx.x] += by; }
extern "C" __global__ void times(int* x, int by) { x[blockIdx.x * blockDim.x + threadIdx.x] *= by; }
extern "C" __global__ void gate(unsigned* door) {
    while (__hip_atomic_load(door, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(8);
}
"""
MAX_THREADS, MULTIPROCESSORS, SHARED_BYTES, WARP_SIZE, WALL_CLOCK_KHZ = 56, 63, 74, 87, 10017
REFUSED_SHAPES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((0,), (1,)), ((1,), (0,)), ((1, 0), (1,)), ((1,), (1, 1, 0)),  # zero
    ((1,), (1025,)), ((1,), (32, 33)), ((1, 70000), (1,)), ((1 << 31,), (1,)), ((1 << 30,), (2,)),  # too many
)  # fmt: skip


class Bench:
    """A module's kernels, a buffer of 512 integers, two streams and a gate that holds a stream back."""

    def __init__(self) -> None:
        self.hip = HipCpu()
        self.module = self.hip.load(self.hip.compile(SOURCE))
        self.kernels = {name: self.hip.function(self.module, name) for name in ("add", "times", "gate")}
        self.x = self.hip.upload(np.zeros(512, np.int32))
        self.first, self.second = (self.hip.handle("hipStreamCreateWithFlags", 1) for _ in range(2))
        self.door = self.hip.handle("hipHostMalloc", ctypes.c_size_t(4), 0)
        self.close_door()

    def close_door(self) -> None:
        """The next gate holds its stream."""
        ctypes.c_uint.from_address(self.door.value or 0).value = 0

    def open_door(self) -> None:
        """Let the stream go on."""
        ctypes.c_uint.from_address(self.door.value or 0).value = 1

    def change(self, kernel: str, by: int, stream: ctypes.c_void_p | None) -> None:
        """x += by or x *= by, for all 512."""
        self.hip.launch(self.kernels[kernel], (4,), (128,), self.x, ctypes.c_int(by), stream=stream)

    def hold(self, stream: ctypes.c_void_p | None) -> None:
        """A gate on a stream."""
        self.hip.launch(self.kernels["gate"], (1,), (1,), self.door, stream=stream)

    def values(self) -> set[int]:
        """The distinct values of the buffer."""
        return set(self.hip.download(self.x, np.zeros(512, np.int32)).tolist())


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A fresh bench; its door is open in the end."""
    made = Bench()
    yield made
    made.open_door()
    made.hip("hipDeviceSynchronize")


def test_the_device_is_this_machines_cores() -> None:
    """Compute units are physical cores in the affinity mask; the rest is what HIP programs look at."""
    hip = HipCpu()
    value = ctypes.c_int()
    cores = set()
    for processor in os.sched_getaffinity(0):
        siblings = Path(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list")
        cores.add(siblings.read_text() if siblings.exists() else str(processor))
    facts = {
        MULTIPROCESSORS: len(cores),
        WARP_SIZE: 32,
        WALL_CLOCK_KHZ: 1_000_000,
        MAX_THREADS: 1024,
        SHARED_BYTES: 65536,
    }
    for which, want in facts.items():
        hip("hipDeviceGetAttribute", ctypes.byref(value), which, 0)
        assert value.value == want
    assert hip.code("hipDeviceGetAttribute", ctypes.byref(value), MULTIPROCESSORS, 1) == 101
    assert hip.code("hipDeviceGetAttribute", ctypes.byref(value), 12345, 0) == INVALID_VALUE
    name = ctypes.create_string_buffer(256)
    hip("hipDeviceGetName", name, 256, 0)
    assert name.value
    hip("hipGetDeviceCount", ctypes.byref(value))
    assert value.value == 1
    assert hip.code("hipSetDevice", 1) == 101
    assert hip.amdhip64.kernelperf_cpu_compiler().decode().split()[0] in ("g++", "clang++", "c++")


def test_a_stream_keeps_its_order(bench: Bench) -> None:
    """Launches, copies and fills of one stream run one after the other."""
    twin = bench.hip.handle("hipMalloc", ctypes.c_size_t(2048))
    for step in range(50):
        bench.change("add", 1, bench.first)
        bench.change("times", 2, bench.first)
        if step == 40:
            bench.hip("hipMemsetD32Async", bench.x, 7, ctypes.c_size_t(512), bench.first)
        bench.hip("hipMemcpyDtoDAsync", twin, bench.x, ctypes.c_size_t(2048), bench.first)
        bench.hip("hipMemcpyDtoDAsync", bench.x, twin, ctypes.c_size_t(2048), bench.first)
    bench.hip("hipStreamSynchronize", bench.first)
    want = 7
    for _ in range(9):
        want = (want + 1) * 2
    assert bench.values() == {want}


def test_streams_wait_for_each_others_events_only(bench: Bench) -> None:
    """A held stream holds those that wait for its event, and no other."""
    event = bench.hip.handle("hipEventCreate")
    bench.hold(bench.first)
    bench.change("add", 5, bench.first)
    bench.hip("hipEventRecord", event, bench.first)
    bench.hip("hipStreamWaitEvent", bench.second, event, 0)
    bench.change("times", 3, bench.second)
    third = bench.hip.handle("hipStreamCreateWithFlags", 1)
    bench.hip("hipStreamSynchronize", third)
    assert bench.hip.code("hipStreamQuery", bench.first) == NOT_READY
    assert bench.hip.code("hipStreamQuery", bench.second) == NOT_READY
    assert bench.hip.code("hipEventQuery", event) == NOT_READY
    bench.open_door()
    bench.hip("hipStreamSynchronize", bench.second)
    assert bench.hip.code("hipEventQuery", event) == 0
    assert bench.values() == {15}


def test_the_null_stream_waits_for_blocking_streams_and_they_for_it(bench: Bench) -> None:
    """The legacy null stream is ordered with streams made without the non-blocking flag."""
    blocking = bench.hip.handle("hipStreamCreate")
    bench.hold(blocking)
    bench.change("add", 1, blocking)
    bench.change("times", 10, None)
    bench.change("add", 2, blocking)
    bench.hip("hipStreamSynchronize", bench.first)
    assert bench.hip.code("hipStreamQuery", None) == NOT_READY
    bench.open_door()
    bench.hip("hipStreamSynchronize", blocking)
    assert bench.values() == {12}


def test_events_are_timed_by_the_stream(bench: Bench) -> None:
    """Times are taken when the stream gets there, in order; a missing or unfinished one is an error."""
    start, stop = bench.hip.handle("hipEventCreate"), bench.hip.handle("hipEventCreate")
    bare = bench.hip.handle("hipEventCreateWithFlags", 2)
    elapsed = ctypes.c_float(-1)
    assert bench.hip.code("hipEventElapsedTime", ctypes.byref(elapsed), start, stop) == INVALID_HANDLE
    bench.hip("hipEventRecord", start, bench.first)
    bench.hold(bench.first)
    bench.hip("hipEventRecord", stop, bench.first)
    bench.hip("hipEventRecord", bare, bench.first)
    assert bench.hip.code("hipEventElapsedTime", ctypes.byref(elapsed), start, stop) == NOT_READY
    bench.open_door()
    bench.hip("hipEventSynchronize", stop)
    bench.hip("hipEventElapsedTime", ctypes.byref(elapsed), start, stop)
    forward = elapsed.value
    bench.hip("hipEventElapsedTime", ctypes.byref(elapsed), stop, start)
    assert forward > 0
    assert elapsed.value == -forward
    bench.hip("hipEventSynchronize", bare)
    assert bench.hip.code("hipEventElapsedTime", ctypes.byref(elapsed), start, bare) == INVALID_HANDLE
    bench.hip("hipEventDestroy", start)
    assert bench.hip.code("hipEventDestroy", start) == INVALID_HANDLE


def test_a_captured_graph_runs_when_it_is_launched_only(bench: Bench) -> None:
    """Capturing runs nothing; a graph keeps its order, its arguments, and can be launched many times."""
    hip = bench.hip
    status = ctypes.c_int()
    hip("hipStreamBeginCapture", bench.first, 0)
    hip("hipMemsetAsync", bench.x, 0, ctypes.c_size_t(1024), bench.first)
    bench.change("add", 3, bench.first)
    bench.change("times", 2, bench.first)
    hip("hipStreamIsCapturing", bench.first, ctypes.byref(status))
    assert status.value == 1
    graph = hip.graph(bench.first)
    assert bench.values() == {0}
    count = ctypes.c_size_t()
    hip("hipGraphGetNodes", graph, None, ctypes.byref(count))
    nodes = (ctypes.c_void_p * count.value)()
    hip("hipGraphGetNodes", graph, nodes, ctypes.byref(count))
    kinds = []
    for node in nodes:
        hip("hipGraphNodeGetType", ctypes.c_void_p(node), ctypes.byref(status))
        kinds.append(status.value)
    assert kinds == [2, 0, 0]
    executable = hip.handle("hipGraphInstantiate", graph, None, None, ctypes.c_size_t(0))
    hip("hipGraphDestroy", graph)
    hip("hipGraphUpload", executable, bench.first)
    for _ in range(3):
        hip("hipGraphLaunch", executable, bench.first)
    hip("hipGraphExecDestroy", executable)
    hip("hipStreamSynchronize", bench.first)
    found = hip.download(bench.x, np.zeros(512, np.int32))
    assert set(found[:256].tolist()) == {6}
    assert set(found[256:].tolist()) == {42}
    assert hip.code("hipGraphLaunch", executable, bench.first) == INVALID_VALUE


@pytest.mark.parametrize(("rounds", "odd_one"), [(1, False), (7, False), (300, False), (300, True)])
def test_a_graph_of_many_rounds_keeps_their_order_from_its_first_launch_on(
    bench: Bench, rounds: int, odd_one: bool
) -> None:
    """However its first rounds are spread over cores, each runs once and in its place."""
    hip = bench.hip
    hip("hipStreamBeginCapture", bench.first, 0)
    for _ in range(rounds):
        bench.change("add", 7, bench.first)
        bench.change("times", 3, bench.first)
    if odd_one:
        bench.change("add", 1, bench.first)
    graph = hip.graph(bench.first)
    executable = hip.handle("hipGraphInstantiate", graph, None, None, ctypes.c_size_t(0))
    want = 0
    for _ in range(12):
        hip("hipGraphLaunch", executable, bench.first)
        for _ in range(rounds):
            want = (want + 7) * 3 % 2**32
        want = (want + odd_one) % 2**32
        hip("hipStreamSynchronize", bench.first)
        assert {value % 2**32 for value in bench.values()} == {want}


def test_a_capture_follows_events_into_another_stream_and_back(bench: Bench) -> None:
    """Fork and join by events keep the order they were issued in; a fork that is not joined is refused."""
    hip = bench.hip
    fork, join = hip.handle("hipEventCreate"), hip.handle("hipEventCreate")
    for joined in (True, False):
        hip("hipStreamBeginCapture", bench.first, 0)
        bench.change("add", 1, bench.first)
        hip("hipEventRecord", fork, bench.first)
        hip("hipStreamWaitEvent", bench.second, fork, 0)
        bench.change("times", 5, bench.second)
        hip("hipEventRecord", join, bench.second)
        if joined:
            hip("hipStreamWaitEvent", bench.first, join, 0)
            bench.change("add", 2, bench.first)
            graph = hip.graph(bench.first)
            executable = hip.handle("hipGraphInstantiateWithFlags", graph, ctypes.c_ulonglong(0))
            hip("hipGraphLaunch", executable, bench.second)
            hip("hipStreamSynchronize", bench.second)
            assert bench.values() == {7}
        else:
            nothing = ctypes.c_void_p()
            assert hip.code("hipStreamEndCapture", bench.first, ctypes.byref(nothing)) == CAPTURE_UNJOINED
    bench.change("add", 1, bench.second)
    hip("hipStreamSynchronize", bench.second)
    assert bench.values() == {8}


def test_waiting_for_a_capturing_stream_spoils_the_capture(bench: Bench) -> None:
    """A stream cannot be waited for while it captures, nor can the null stream be captured."""
    hip = bench.hip
    assert hip.code("hipStreamBeginCapture", None, 0) == CAPTURE_UNSUPPORTED
    hip("hipStreamBeginCapture", bench.first, 0)
    assert hip.code("hipStreamSynchronize", bench.first) == CAPTURE_UNSUPPORTED
    nothing = ctypes.c_void_p()
    assert hip.code("hipStreamEndCapture", bench.first, ctypes.byref(nothing)) == CAPTURE_INVALIDATED
    assert nothing.value is None
    hip("hipStreamSynchronize", bench.first)


def test_launches_that_cannot_be_are_refused_with_hips_codes(bench: Bench) -> None:
    """Dimensions of zero or too many, a null or foreign function, missing arguments, a kernel that is not there."""
    hip, add = bench.hip, bench.kernels["add"]
    one = ctypes.c_int(1)
    for grid, block in REFUSED_SHAPES:
        assert hip.launch_code(add, grid, block, bench.x, one) == INVALID_CONFIGURATION
    assert hip.launch_code(add, (1,), (1,), bench.x, one, shared=65537) == INVALID_VALUE
    assert hip.launch_code(ctypes.c_void_p(), (1,), (1,), bench.x, one) == INVALID_IMAGE
    assert hip.launch_code(bench.x, (1,), (1,), bench.x, one) == INVALID_HANDLE
    assert hip.launch_code(add, (1,), (1,), bench.x, one, stream=bench.x) == INVALID_HANDLE
    assert hip.code("hipModuleLaunchKernel", add, 1, 1, 1, 1, 1, 1, 0, None, None, None) == INVALID_VALUE
    size = ctypes.c_size_t(8)
    extra = (ctypes.c_void_p * 5)(1, bench.x.value, 2, ctypes.addressof(size), 3)
    assert hip.code("hipModuleLaunchKernel", add, 1, 1, 1, 1, 1, 1, 0, None, None, extra) == INVALID_VALUE
    found = ctypes.c_void_p()
    assert hip.code("hipModuleGetFunction", ctypes.byref(found), bench.module, b"subtract") == NOT_FOUND
    assert found.value is None
    assert hip.code("hipModuleGetFunction", ctypes.byref(found), bench.x, b"add") == INVALID_HANDLE
    assert hip.code("hipModuleLoadData", ctypes.byref(found), b"\x7fELF" + bytes(100)) == INVALID_IMAGE
    assert hip.amdhip64.hipGetErrorName(hip.code("hipGetLastError")) == b"hipErrorInvalidImage"
    assert hip.code("hipGetLastError") == 0
    assert bench.values() == {0}


def test_memory_is_checked_where_it_is_known(bench: Bench) -> None:
    """Null pointers, copies over a buffer's end, and freeing what was never allocated are refused."""
    hip = bench.hip
    host = np.zeros(1024, np.int32)
    pointer = host.ctypes.data_as(ctypes.c_void_p)
    assert hip.code("hipMemcpy", None, pointer, ctypes.c_size_t(4), 1) == INVALID_VALUE
    assert hip.code("hipMemcpy", bench.x, pointer, ctypes.c_size_t(2052), 1) == INVALID_VALUE
    assert hip.code("hipMemset", bench.x, 0, ctypes.c_size_t(2049)) == INVALID_VALUE
    assert hip.code("hipMemset", None, 0, ctypes.c_size_t(1)) == INVALID_VALUE
    assert hip.code("hipFree", pointer) == INVALID_VALUE
    assert hip.code("hipHostFree", bench.x) == INVALID_VALUE
    hip("hipFree", None)
    hip("hipMemcpy", None, None, ctypes.c_size_t(0), 1)
    nothing = ctypes.c_void_p(1)
    assert hip.code("hipMalloc", ctypes.byref(nothing), ctypes.c_size_t(1 << 50)) == 2
    hip("hipMalloc", ctypes.byref(nothing), ctypes.c_size_t(0))
    assert nothing.value is None
    device = ctypes.c_void_p()
    hip("hipHostGetDevicePointer", ctypes.byref(device), bench.door, 0)
    assert device.value == bench.door.value
    assert (bench.x.value or 0) % 256 == 0


def test_many_threads_use_the_runtime_at_once() -> None:
    """Streams fed from several threads share the cores without losing or mixing up work."""
    program = """
    import ctypes, threading
    import numpy as np
    from hip_cpu_calls import HipCpu
    hip = HipCpu()
    source = '''extern "C" __global__ void add(int* x, int n) {
        for (int i = 0; i < n; ++i) x[blockIdx.x * blockDim.x + threadIdx.x] += i % 7;
    }'''
    module = hip.load(hip.compile(source))
    add = hip.function(module, "add")
    wrong = []
    def work(seed):
        stream = hip.handle("hipStreamCreateWithFlags", 1)
        x = hip.upload(np.zeros(64 * 64, np.int32))
        sizes = np.random.default_rng(seed).integers(1, 400, 200)
        for n in sizes:
            hip.launch(add, (64,), (64,), x, ctypes.c_int(n), stream=stream)
        hip("hipStreamSynchronize", stream)
        want = sum(sum(i % 7 for i in range(n)) for n in sizes)
        found = np.zeros(64 * 64, np.int32)
        hip("hipMemcpyAsync", found.ctypes.data_as(ctypes.c_void_p), x, ctypes.c_size_t(found.nbytes), 2, stream)
        hip("hipStreamSynchronize", stream)
        if set(found.tolist()) != {want}:
            wrong.append(seed)
        hip("hipStreamDestroy", stream)
        hip("hipFree", x)
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong, wrong
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment, check=False, timeout=300)
    assert done.returncode == 0
