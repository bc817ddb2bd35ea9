"""What goes wrong in a kernel on the cpu runtime is one sentence, and the next launch runs."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from hip_cpu_calls import ASSERT, ILLEGAL_ADDRESS, LAUNCH_FAILURE, HipCpu

GOOD = """
extern "C" __global__ void good(int* out) {
    __shared__ int all[64];
    all[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = all[63 - threadIdx.x];
}
"""


@pytest.fixture
def hip() -> HipCpu:
    """The runtime, with nothing wrong yet."""
    runtime = HipCpu()
    runtime.problem()
    return runtime


def check_still_works(hip: HipCpu) -> None:
    """A kernel of several waves gives the right answer, and no error is left."""
    for _ in range(3):
        (out,) = hip.run(GOOD, "good", (1,), (64,), np.zeros(64, np.int32))
        assert out.tolist() == list(range(63, -1, -1))
    assert hip.problem() == (0, "")


HALF_REACHED = {
    "half a wave ended": (
        "if (threadIdx.x % 32 < 16) return; __syncthreads();", "16 threads of wave 0", "the others have ended",
    ),
    "a thread skips the barrier": (
        "if (threadIdx.x != 40) __syncthreads();", "31 threads of wave 1", "the others have ended",
    ),
    "lanes wait at two barriers": (
        "if (threadIdx.x & 1) __syncthreads(); else __syncthreads();", "16 threads of wave 0",
        "the others wait at another one",
    ),
    "a loop of unequal length": (
        "for (int i = 0; i < (int)threadIdx.x; ++i) __syncthreads();", "31 threads of wave 0", "the others have ended",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HALF_REACHED)
def test_a_half_reached_barrier_fails_the_launch(hip: HipCpu, case: str) -> None:
    """Where a GPU hangs or goes wrong in silence, the kernel, workgroup and wave are named; no later launch suffers."""
    body, who, why = HALF_REACHED[case]
    module = hip.load(hip.compile(f'extern "C" __global__ void broken(int* out) {{ {body} out[threadIdx.x] = 1; }}'))
    out = hip.upload(np.zeros(64, np.int32))
    hip.launch(hip.function(module, "broken"), (3,), (64,), out)
    code, sentence = hip.problem()
    assert code == LAUNCH_FAILURE
    assert sentence.startswith("kernel broken, workgroup (")
    assert who in sentence
    assert why in sentence
    assert "all threads that have not ended must reach the same __syncthreads" in sentence
    check_still_works(hip)


@pytest.mark.parametrize("body", ["", "__syncthreads();"])
def test_an_assert_fails_the_launch(hip: HipCpu, body: str) -> None:
    """Condition, thread, file and line are named; with NDEBUG nothing happens."""
    source = f"""
    #include <cassert>
    extern "C" __global__ void checks(int* out) {{ {body}
        assert(threadIdx.x < 37);
        out[threadIdx.x] = 1;
    }}"""
    out = hip.upload(np.zeros(64, np.int32))
    hip.launch(hip.function(hip.load(hip.compile(source, name="mine.hip")), "checks"), (1,), (64,), out)
    code, sentence = hip.problem()
    assert code == ASSERT
    assert sentence.startswith(
        "kernel checks, workgroup (0, 0, 0): assert(threadIdx.x < 37) does not hold in thread 37, mine.hip:4"
    )
    hip.launch(hip.function(hip.load(hip.compile(source, "-DNDEBUG")), "checks"), (1,), (64,), out)
    assert hip.problem() == (0, "")
    check_still_works(hip)


@pytest.mark.parametrize("count", [1, 25, 1000, 1023])
def test_a_write_just_past_a_buffer_is_noticed(hip: HipCpu, count: int) -> None:
    """One element too many, where no page ends: the error names the buffer's size, once."""
    source = 'extern "C" __global__ void k(float* x, int at) { if (threadIdx.x == 0) x[at] = 3; }'
    function = hip.function(hip.load(hip.compile(source)), "k")
    buffer, other = hip.upload(np.zeros(count, np.float32)), hip.upload(np.zeros(500, np.float32))
    hip.launch(function, (1,), (1,), buffer, ctypes.c_int(count - 1))
    assert hip.problem() == (0, "")
    hip.launch(function, (1,), (1,), buffer, ctypes.c_int(count))
    code, sentence = hip.problem()
    assert code == ILLEGAL_ADDRESS
    assert f"past the end of a buffer of {4 * count} bytes" in sentence
    assert hip.problem() == (0, "")
    hip("hipFree", buffer)
    hip("hipFree", other)
    check_still_works(hip)


def test_a_write_before_a_buffer_is_noticed(hip: HipCpu) -> None:
    """An index of -1."""
    source = 'extern "C" __global__ void k(float* x) { x[(int)threadIdx.x - 1] = 3; }'
    buffer = hip.upload(np.zeros(25, np.float32))
    hip.launch(hip.function(hip.load(hip.compile(source)), "k"), (1,), (1,), buffer)
    assert hip.problem() == (ILLEGAL_ADDRESS, "something was written before the beginning of a buffer of 100 bytes")
    check_still_works(hip)


def test_a_write_past_a_buffer_is_noticed_when_it_is_freed(hip: HipCpu) -> None:
    """Nobody has waited, but freeing does."""
    source = 'extern "C" __global__ void k(char* x, int at) { x[at] = 3; }'
    function = hip.function(hip.load(hip.compile(source)), "k")
    buffer = hip.upload(np.zeros(300, np.uint8))
    hip.launch(function, (1,), (1,), buffer, ctypes.c_int(310))
    assert hip.code("hipFree", buffer) == ILLEGAL_ADDRESS
    assert (
        hip.amdhip64.kernelperf_cpu_last_problem()
        == b"something was written 11 bytes past the end of a buffer of 300 bytes"
    )
    check_still_works(hip)


def run_alone(program: str) -> subprocess.CompletedProcess[bytes]:
    """Run a Python program with the helpers in a process of its own."""
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, check=False, timeout=120)


FAULTS = {
    "past a buffer that ends with its page": 'extern "C" __global__ void k(float* x) { x[1024] = 1; }',
    "past dynamic shared memory": """
        extern "C" __global__ void k(float* x) {
            extern __shared__ float all[];
            all[64 + threadIdx.x] = x[0];
            __syncthreads();
            x[1] = all[3];
        }""",
    "a stack that is too large": """
        extern "C" __global__ void k(float* x) {
            volatile float mine[100000];
            mine[int(x[0])] = 1;
            __syncthreads();
            x[1] = mine[5];
        }""",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_ends_the_process(fault: str) -> None:
    """Unmapped pages catch what no pattern can; the worker dies, as it does of a GPU's memory fault."""
    program = f"""
from hip_cpu_calls import HipCpu
import numpy as np
hip = HipCpu()
x = hip.upload(np.zeros(1024, np.float32))
hip.launch(hip.function(hip.load(hip.compile({FAULTS[fault]!r})), "k"), (1,), (32,), x, shared=256)
hip("hipDeviceSynchronize")
"""
    ended = run_alone(program)
    assert ended.returncode in (-11, -7), ended.stderr.decode()


def test_printf_comes_out_when_work_is_waited_for() -> None:
    """Text from kernels with and without barriers, complete at the next wait."""
    program = """
from hip_cpu_calls import HipCpu
import os
hip = HipCpu()
source = '''
extern "C" __global__ void plain(int n) { if (threadIdx.x < n) printf("plain %d\\\\n", (int)threadIdx.x); }
extern "C" __global__ void waits(float x) {
    __syncthreads();
    if (threadIdx.x == 33) printf("waits %.2f %s\\\\n", x, "text");
}
'''
import ctypes
module = hip.load(hip.compile(source))
hip.launch(hip.function(module, "plain"), (1,), (64,), ctypes.c_int(2))
hip.launch(hip.function(module, "waits"), (1,), (64,), ctypes.c_float(1.5))
hip("hipDeviceSynchronize")
os._exit(0)
"""
    ended = run_alone(program)
    assert ended.stdout.decode().splitlines() == ["plain 0", "plain 1", "waits 1.50 text"], ended.stderr.decode()


def test_constant_memory_is_set_by_name(hip: HipCpu) -> None:
    """hipModuleGetGlobal finds __constant__ and __device__ variables, initialised or not."""
    source = """
    __constant__ float scale[4] = {1, 2, 3, 4};
    __constant__ int offset;
    __device__ int counter = 5;
    extern "C" __global__ void k(float* x) {
        x[threadIdx.x] = scale[threadIdx.x] + offset;
        atomicAdd(&counter, 1);
    }"""
    module = hip.load(hip.compile(source))
    x = hip.upload(np.zeros(4, np.float32))

    def find(name: str) -> tuple[ctypes.c_void_p, int]:
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        hip("hipModuleGetGlobal", ctypes.byref(address), ctypes.byref(size), module, name.encode())
        return address, size.value

    function = hip.function(module, "k")
    hip.launch(function, (1,), (4,), x)
    assert hip.download(x, np.zeros(4, np.float32)).tolist() == [1, 2, 3, 4]
    address, size = find("scale")
    assert size == 16
    hip(
        "hipMemcpy", address, np.array([9, 8, 7, 6], np.float32).ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(16), 1
    )
    hip("hipMemcpy", find("offset")[0], ctypes.byref(ctypes.c_int(100)), ctypes.c_size_t(4), 1)
    hip.launch(function, (1,), (4,), x)
    assert hip.download(x, np.zeros(4, np.float32)).tolist() == [109, 108, 107, 106]
    assert hip.download(find("counter")[0], np.zeros(1, np.int32)).tolist() == [13]
