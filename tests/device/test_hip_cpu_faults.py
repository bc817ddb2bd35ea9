"""What goes wrong in a kernel on the cpu runtime is one sentence, and the next launch runs."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest
from hip_cpu_calls import ASSERT, ILLEGAL_ADDRESS, LAUNCH_FAILURE, NOT_SUPPORTED, HipCpu

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


# Body of a kernel of a workgroup of 32, given 4,096 bytes that end with a page, and 100 of dynamic shared memory.
FAULTS = {
    "past a buffer": ("x[1024] = 1;", "was written 1 byte past the end of a buffer of 4096 bytes"),
    "far past a buffer": ("x[10000] = 1;", "was written 35905 bytes past the end of a buffer of 4096 bytes"),
    "far before a buffer": ("x[-9999] = 1;", "was written 39996 bytes before the beginning of a buffer of 4096 bytes"),
    "a read past a buffer": ("x[0] = x[5000];", "was read 15905 bytes past the end of a buffer of 4096 bytes"),
    "where nothing is": ("*(float*)0x123456780000 = x[0];", "was written at 0x123456780000, where there is no buffer"),
    "an impossible address": (
        "*(volatile float*)(0x7123456780000000 + (long)x[0]) = 1;",
        "an address was used that no memory can have",
    ),
    "just past dynamic shared memory": (
        "extern __shared__ char all[]; all[100 + threadIdx.x % 2] = 1; __syncthreads(); x[0] = all[5];",
        "was written just past the end of dynamic shared memory of 100 bytes",
    ),
    "past dynamic shared memory": (
        "extern __shared__ char all[]; all[200] = 1; __syncthreads(); x[0] = all[5];",
        "was written 101 bytes past the end of dynamic shared memory of 100 bytes",
    ),
    "before dynamic shared memory": (
        "extern __shared__ char all[]; all[(int)threadIdx.x - 1] = 1; __syncthreads(); x[0] = all[5];",
        "was written just before the beginning of dynamic shared memory of 100 bytes",
    ),
    "a stack that is too small": (
        "volatile float mine[100000]; mine[int(x[0])] = 1; __syncthreads(); x[1] = mine[5];",
        "thread 0 needs more stack than the 128 KiB there are",
    ),
    "a function without end": ("x[0] = deep(1 << 30);", "a thread needs more stack than there is"),
    "a division by zero": (
        "int zero = x[0]; x[0] = 5 / zero;",
        "a whole number was divided by zero, or the quotient does not fit",
    ),
    "a trap": ("if (x[0] == 0) __builtin_trap();", "it stopped itself: __builtin_trap"),
    "abort": ("if (x[0] == 0) abort();", "it called abort, or threw what nobody catches"),
}
HARMLESS_TO_MEMORY = {"a division by zero", "a trap", "abort"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_sentence_and_the_next_launch_runs(hip: HipCpu, fault: str) -> None:
    """Signals of the processor: kernel, what happened and where, from the thread that ran it; nothing dies."""
    body, sentence = FAULTS[fault]
    source = """
    __device__ __noinline__ int deep(int n) {
        volatile char mine[1000];
        mine[n % 1000] = 1;
        return n ? deep(n - 1) + mine[n % 9] : 0;
    }
    template <class T> __global__ void faulty(T* x) { BODY }
    """.replace("BODY", body)
    compiled = hip.compile(source, expressions=["faulty<float>"])
    function = hip.function(hip.load(compiled), compiled.lowered["faulty<float>"])
    for groups in (1, 64):
        x = hip.upload(np.zeros(1024, np.float32))
        hip.launch(function, (groups,), (32,), x, shared=100)
        found, said = hip.problem()
        assert found == (LAUNCH_FAILURE if fault in HARMLESS_TO_MEMORY else ILLEGAL_ADDRESS), said
        assert said.startswith(("kernel void faulty<float>(float*): ", "kernel faulty < float >: ")), said
        assert sentence in said
        assert "\n" not in said
        check_still_works(hip)


SHARED = {
    "an array": ("float tile[64];", "tile", "tile[64 + threadIdx.x % 2] = x[0];", "past the end", 256),
    "two dimensions": ("short t[4][8];", "t", "t[3][8 + threadIdx.x % 4] = 1;", "past the end", 64),
    "a template": ("__align__(16) Four<int> v;", "v", "(&v)->of[4 + threadIdx.x % 2] = 1;", "past the end", 16),
    "before it": ("volatile int all[32];", "all", "all[(int)threadIdx.x - 1] = 1;", "before the beginning", 128),
}


@pytest.mark.parametrize("shape", SHARED)
def test_a_write_beside_a_shared_variable_is_noticed(hip: HipCpu, shape: str) -> None:
    """Of a kernel or a device function, by name and size; what stays within is let through."""
    declaration, name, write, where, size = SHARED[shape]
    source = f"""
    template <class T> struct Four {{ T of[4]; }};
    __device__ void work(float* x) {{ __shared__ {declaration} {write} __syncthreads(); x[0] = sizeof({name}); }}
    extern "C" __global__ void k(float* x) {{ work(x); }}"""
    function = hip.function(hip.load(hip.compile(source)), "k")
    x = hip.upload(np.zeros(32, np.float32))
    for _ in range(2):
        hip.launch(function, (3,), (32,), x)
        code, said = hip.problem()
        assert code == ILLEGAL_ADDRESS
        assert said == f"kernel k: something was written just {where} of the shared variable {name} of {size} bytes"
        assert hip.download(x, np.zeros(1, np.float32))[0] == size
        check_still_works(hip)


def test_shared_variables_are_found_by_name_only_where_they_are_meant(hip: HipCpu) -> None:
    """Members, inner variables, lambdas, several in one declaration, and a scope that ends."""
    source = """
    struct Has { float s; __device__ float get() const { return s; } };
    extern "C" __global__ void k(float* x) {
        float r = 0;
        {
            __shared__ float s[32], t;
            s[threadIdx.x] = x[threadIdx.x];
            t = 1;
            __syncthreads();
            r += s[31 - threadIdx.x] * t;
        }
        {
            __shared__ float s[32];
            auto put = [&](float v) { s[threadIdx.x] = v; };
            put(2 * x[threadIdx.x]);
            __syncthreads();
            r += s[31 - threadIdx.x] + sizeof s;
        }
        {
            __shared__ float s;
            s = 3;
            { float s = 5; r += s; }
            Has has{7};
            r += has.s + has.get() + s;
        }
        float s = 11;
        __syncthreads();
        x[threadIdx.x] = r + s;
    }"""
    x = np.arange(32, dtype=np.float32)
    (found,) = hip.run(source, "k", (1,), (32,), x)
    np.testing.assert_array_equal(found, 3 * x[::-1] + 128 + 5 + 7 + 7 + 3 + 11)


def test_a_signal_from_elsewhere_ends_the_process() -> None:
    """Only what a kernel itself does is caught: a signal that is sent does what it does without us."""
    program = """
from hip_cpu_calls import HipCpu
import numpy as np, os, signal
hip = HipCpu()
hip.run('extern "C" __global__ void k(int* x) { x[0] = 1; }', "k", (1,), (1,), np.zeros(1, np.int32))
os.kill(os.getpid(), signal.SIGSEGV)
"""
    assert run_alone(program).returncode == -11


def test_a_launch_keeps_to_the_kernels_bounds(hip: HipCpu) -> None:
    """__launch_bounds__ of kernels and templates, and shared memory of both kinds together."""
    source = """
    extern "C" __global__ __launch_bounds__(2 * 32, 1) void plain(float* x) { x[0] = 1; }
    template <int N, class T> __global__ void __launch_bounds__(N > 32 ? N : 32) kept(T* x) { x[0] = 1; }
    extern "C" __global__ void shared(float* x) {
        __shared__ double all[1000];
        extern __shared__ float more[];
        all[threadIdx.x] = x[threadIdx.x]; more[threadIdx.x] = 1;
        __syncthreads();
        x[threadIdx.x] = all[31 - threadIdx.x] + more[0];
    }"""
    compiled = hip.compile(source, expressions=["kept<128, float>"])
    module, x = hip.load(compiled), hip.upload(np.zeros(64, np.float32))

    def attribute(name: str, which: int) -> int:
        value = ctypes.c_int(-1)
        hip("hipFuncGetAttribute", ctypes.byref(value), which, hip.function(module, name))
        return value.value

    kept = compiled.lowered["kept<128, float>"]
    assert [attribute(name, 0) for name in ("plain", kept, "shared")] == [64, 128, 1024]
    assert [attribute(name, 1) for name in ("plain", kept, "shared")] == [0, 0, 8000]
    assert [attribute(name, 8) for name in ("plain", "shared")] == [65536, 65536 - 8000]
    registers = ctypes.c_int(-1)
    assert hip.code("hipFuncGetAttribute", ctypes.byref(registers), 4, hip.function(module, "plain")) == NOT_SUPPORTED

    def refused(name: str, threads: int, shared: int = 0) -> str:
        assert hip.launch_code(hip.function(module, name), (1,), (threads,), x, shared=shared) == LAUNCH_FAILURE
        return str(hip.amdhip64.kernelperf_cpu_last_problem().decode())

    hip.launch(hip.function(module, "plain"), (1,), (64,), x)
    assert (
        refused("plain", 65) == "kernel plain: a workgroup of 65 threads is more than the 64 of its __launch_bounds__"
    )
    assert "129 threads is more than the 128" in refused(kept, 129)
    hip.launch(hip.function(module, "shared"), (1,), (32,), x, shared=65536 - 8000)
    assert refused("shared", 32, 65536 - 7999) == (
        "kernel shared: 57537 bytes of dynamic shared memory and 8000 of static are more than the 65536 that a "
        "workgroup can have"
    )
    check_still_works(hip)


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
