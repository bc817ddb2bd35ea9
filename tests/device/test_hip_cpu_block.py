"""Workgroups whose threads wait for each other, on the cpu runtime: barriers, shared memory, waves, atomics."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from hip_cpu_calls import Array, HipCpu

WAVE = 32


@pytest.fixture(scope="module")
def hip() -> HipCpu:
    """The runtime."""
    return HipCpu()


def run_with_shared(hip: HipCpu, source: str, block: int, shared: int, *arrays: Array) -> list[Array]:
    """Compile and launch kernel ``k`` as one workgroup with dynamic shared memory."""
    module = hip.load(hip.compile(source))
    buffers = [hip.upload(array) for array in arrays]
    hip.launch(hip.function(module, "k"), (1,), (block,), *buffers, shared=shared)
    return [hip.download(buffer, array) for buffer, array in zip(buffers, arrays, strict=True)]


REDUCTION = """
template <int N> __device__ float block_sum(float value) {
    __shared__ float part[N];
    part[threadIdx.x] = value;
    __syncthreads();
    for (int half = N / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    const float sum = part[0];
    __syncthreads();
    return sum;
}
template <int N> __global__ void __launch_bounds__(N) reduce(const float* x, float* sums, float* again) {
    const float sum = block_sum<N>(x[blockIdx.x * N + threadIdx.x]);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
    const float twice = block_sum<N>(sum);
    if (threadIdx.x == N - 1) again[blockIdx.x] = twice;
}
"""


@pytest.mark.parametrize("threads", [32, 64, 256, 1024])
def test_a_block_reduces_in_shared_memory(hip: HipCpu, threads: int) -> None:
    """A template kernel, with a barrier in a loop in a device function that is called twice, over many workgroups."""
    groups, name = 37, f"reduce<{threads}>"
    compiled = hip.compile(REDUCTION, expressions=[name])
    function = hip.function(hip.load(compiled), compiled.lowered[name])
    x = np.random.default_rng(threads).integers(-9, 9, (groups, threads)).astype(np.float32)
    sums, again = hip.upload(np.zeros(groups, np.float32)), hip.upload(np.zeros(groups, np.float32))
    hip.launch(function, (groups,), (threads,), hip.upload(x), sums, again)
    np.testing.assert_array_equal(hip.download(sums, x[:, 0]), x.sum(axis=1))
    np.testing.assert_array_equal(hip.download(again, x[:, 0]), x.sum(axis=1) * threads)


def test_waves_that_end_early_do_not_hold_up_a_barrier(hip: HipCpu) -> None:
    """A scan by the first three of eight waves; the others return before its barriers."""
    source = """
    extern "C" __global__ void k(const int* x, int* out) {
        __shared__ int values[2][96];
        const int i = threadIdx.x;
        if (i >= 96) return;
        int side = 0;
        values[0][i] = x[i];
        __syncthreads();
        for (int step = 1; step < 96; step *= 2) {
            values[1 - side][i] = values[side][i] + (i >= step ? values[side][i - step] : 0);
            side = 1 - side;
            __syncthreads();
        }
        out[i] = values[side][i];
    }"""
    x = np.arange(256, dtype=np.int32)
    _, out = hip.run(source, "k", (1,), (256,), x, np.full(256, -1, np.int32))
    np.testing.assert_array_equal(out[:96], np.cumsum(x[:96]))
    assert (out[96:] == -1).all()


def test_a_tile_is_transposed(hip: HipCpu) -> None:
    """Two-dimensional workgroups and a padded tile."""
    source = """
    extern "C" __global__ void k(const float* x, float* out, int rows, int columns) {
        __shared__ float tile[32][33];
        for (int i = threadIdx.y; i < 32; i += blockDim.y)
            tile[i][threadIdx.x] = x[(blockIdx.y * 32 + i) * columns + blockIdx.x * 32 + threadIdx.x];
        __syncthreads();
        for (int i = threadIdx.y; i < 32; i += blockDim.y)
            out[(blockIdx.x * 32 + i) * rows + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][i];
    }"""
    x = np.arange(96 * 160, dtype=np.float32).reshape(96, 160)
    out = np.zeros((160, 96), np.float32)
    _, out = hip.run(source, "k", (5, 3), (32, 8), x, out, ctypes.c_int(96), ctypes.c_int(160))
    np.testing.assert_array_equal(out, x.T)


def test_dynamic_shared_memory_is_the_launchs_under_all_types(hip: HipCpu) -> None:
    """Several declarations are one memory, whatever their types, in kernels, device functions and templates."""
    source = """
    template <class T> __device__ T reversed(T value) {
        extern __shared__ __align__(16) unsigned char bytes[];
        T* all = reinterpret_cast<T*>(bytes);
        all[threadIdx.x] = value;
        __syncthreads();
        const T found = all[blockDim.x - 1 - threadIdx.x];
        __syncthreads();
        return found;
    }
    extern "C" __global__ void k(int* x, double* y, float* z) {
        x[threadIdx.x] = reversed(x[threadIdx.x]);
        y[threadIdx.x] = reversed(y[threadIdx.x]);
        extern __shared__ float rows[][4];
        extern __shared__ float4 fours[];
        for (int i = 0; i < 4; ++i) rows[threadIdx.x][i] = threadIdx.x + 0.25f * i;
        __syncthreads();
        const float4 other = fours[(threadIdx.x + 1) % blockDim.x];
        z[threadIdx.x] = other.x + other.w;
    }"""
    n = 100
    x, y, z = run_with_shared(
        hip, source, n, 16 * n, np.arange(n, dtype=np.int32), np.arange(n) / 2, np.zeros(n, np.float32)
    )
    np.testing.assert_array_equal(x, np.arange(n)[::-1])
    np.testing.assert_array_equal(y, np.arange(n)[::-1] / 2)
    np.testing.assert_array_equal(z, (np.arange(n) + 1) % n * 2 + 0.75)


def test_barriers_count_and_combine(hip: HipCpu) -> None:
    """__syncthreads_count, _and, _or over the whole workgroup."""
    source = """
    extern "C" __global__ void k(int* out) {
        const int i = threadIdx.x;
        out[i] = __syncthreads_count(i % 3 == 0) * 1000
            + __syncthreads_and(i < 70) * 100 + __syncthreads_and(i < 69) * 10
            + __syncthreads_or(i == 69) * 2 + __syncthreads_or(i > 69);
    }"""
    (out,) = hip.run(source, "k", (1,), (70,), np.zeros(70, np.int32))
    assert set(out.tolist()) == {24102}


SHUFFLES = {
    "__shfl(v, 5)": lambda lane: 5,
    "__shfl(v, i + 3)": lambda lane: (lane + 3) % 32,
    "__shfl(v, 1, 8)": lambda lane: lane // 8 * 8 + 1,
    "__shfl_xor(v, 16)": lambda lane: lane ^ 16,
    "__shfl_xor(v, 3, 8)": lambda lane: lane ^ 3,
    "__shfl_xor(v, 8, 16)": lambda lane: lane ^ 8,
    "__shfl_up(v, 1)": lambda lane: max(lane - 1, 0) if lane else 0,
    "__shfl_up(v, 3, 16)": lambda lane: lane - 3 if lane % 16 >= 3 else lane,
    "__shfl_down(v, 1)": lambda lane: lane + 1 if lane < 31 else 31,
    "__shfl_down(v, 2, 8)": lambda lane: lane + 2 if lane % 8 < 6 else lane,
    "__shfl_sync(0xffffffffu, v, 7)": lambda lane: 7,
    "__shfl_xor_sync(0xffffffffffffffffull, v, 1, 2)": lambda lane: lane ^ 1,
    "__shfl_up_sync(0xffffffff, v, 2)": lambda lane: lane - 2 if lane >= 2 else lane,
    "__shfl_down_sync(0xffffffff, v, 2, 4)": lambda lane: lane + 2 if lane % 4 < 2 else lane,
}


@pytest.mark.parametrize("call", SHUFFLES)
@pytest.mark.parametrize("kind", ["int", "float", "double", "unsigned long long"])
def test_lanes_exchange_values(hip: HipCpu, call: str, kind: str) -> None:
    """Every shuffle, at every width, for values of four and eight bytes, in each of several waves."""
    source = f"""
    extern "C" __global__ void k(const {kind}* x, {kind}* out) {{
        const int i = threadIdx.x;
        const {kind} v = x[i];
        out[i] = {call};
    }}"""
    types = {"int": np.int32, "float": np.float32, "double": np.float64, "unsigned long long": np.uint64}
    x = (np.arange(96) * 7 + 3).astype(types[kind])
    _, out = hip.run(source, "k", (1,), (96,), x, np.zeros_like(x))
    np.testing.assert_array_equal(out, [x[i // 32 * 32 + SHUFFLES[call](i % 32)] for i in range(96)])


def test_lanes_vote(hip: HipCpu) -> None:
    """Ballots, any and all count the lanes that are there: of a short last wave, and of one side of a branch."""
    source = """
    extern "C" __global__ void k(unsigned* out) {
        const int i = threadIdx.x;
        unsigned* mine = out + 8 * i;
        mine[0] = __ballot(i % 2);
        mine[1] = __any(i == 33) + 2 * __all(i < 32) + 4 * __all(i >= 0) + 8 * __any(i < 0);
        if (i % 4 == 0) {
            mine[2] = __ballot(1);
            mine[3] = __popc(__activemask());
        } else {
            mine[2] = __ballot(i % 4 == 1);
        }
        __syncwarp();
        mine[4] = __ballot_sync(0xffu, 1);
        mine[5] = __any_sync(~0ull, i == 5);
        mine[6] = __all_sync(~0ull, i != 5);
        mine[7] = __match_any(i % 3);
    }"""
    (out,) = hip.run(source, "k", (1,), (40,), np.zeros((40, 8), np.uint32))
    for i in range(40):
        lanes = range(i // 32 * 32, min(i // 32 * 32 + 32, 40))

        def votes(choose, lanes=lanes):  # type: ignore[no-untyped-def]
            return sum(1 << lane % 32 for lane in lanes if choose(lane))

        assert out[i, 0] == votes(lambda lane: lane % 2)
        assert out[i, 1] == (33 in lanes) + 2 * (i < 32) + 4
        assert out[i, 2] == votes(lambda lane, i=i: lane % 4 == (0 if i % 4 == 0 else 1))
        assert out[i, 3] == (len(lanes) // 4 if i % 4 == 0 else 0)
        assert out[i, 4] == votes(lambda lane: True) & 0xFF
        assert out[i, 5] == (5 in lanes)
        assert out[i, 6] == (5 not in lanes)
        assert out[i, 7] == votes(lambda lane, i=i: lane % 3 == i % 3)


def test_part_of_a_wave_exchanges_and_rejoins_the_rest(hip: HipCpu) -> None:
    """Half a wave reduces on its own in a branch, in a loop, before all lanes go on together."""
    source = """
    __device__ int half_sum(int v) {
        for (int mask = 8; mask > 0; mask /= 2) v += __shfl_xor(v, mask, 16);
        return v;
    }
    extern "C" __global__ void k(int* out) {
        int v = threadIdx.x, total = 0;
        for (int round = 0; round < 3; ++round) {
            int mine = v;
            if (threadIdx.x < 16) mine = half_sum(v);
            total += mine + __shfl(mine, 31 - (int)threadIdx.x);
        }
        out[threadIdx.x] = total;
    }"""
    (out,) = hip.run(source, "k", (1,), (32,), np.zeros(32, np.int32))
    mine = np.where(np.arange(32) < 16, 120, np.arange(32))
    np.testing.assert_array_equal(out, 3 * (mine + mine[::-1]))


def test_device_functions_know_their_thread_after_a_barrier(hip: HipCpu) -> None:
    """A device function's threadIdx is its own thread's again once others have run."""
    source = """
    __device__ int place() { return threadIdx.x + 100 * threadIdx.y; }
    extern "C" __global__ void k(int* out) {
        const int before = place();
        __syncthreads();
        const int between = place();
        __shfl(1, 0);
        out[threadIdx.y * blockDim.x + threadIdx.x] = before + 1000 * between + 1000000 * place();
    }"""
    (out,) = hip.run(source, "k", (1,), (8, 6), np.zeros((6, 8), np.int32))
    y, x = np.indices((6, 8))
    np.testing.assert_array_equal(out, (x + 100 * y) * 1001001)


def test_a_histogram_adds_atomically_in_shared_and_global_memory(hip: HipCpu) -> None:
    """Workgroups run on several cores, and none of their additions is lost."""
    source = """
    extern "C" __global__ void k(
        const unsigned char* x, unsigned* bins, float* sum, double* squares, unsigned long long* count
    ) {
        __shared__ unsigned mine[16];
        if (threadIdx.x < 16) mine[threadIdx.x] = 0;
        __syncthreads();
        const unsigned v = x[blockIdx.x * blockDim.x + threadIdx.x];
        atomicAdd(&mine[v], 1u);
        atomicAdd(sum, (float)v);
        atomicAdd(squares, (double)(v * v));
        atomicAdd(count, 1ull);
        __syncthreads();
        if (threadIdx.x < 16) atomicAdd(bins + threadIdx.x, mine[threadIdx.x]);
    }"""
    x = np.random.default_rng(1).integers(0, 16, 256 * 500).astype(np.uint8)
    outputs = [np.zeros(16, np.uint32), np.zeros(1, np.float32), np.zeros(1), np.zeros(1, np.uint64)]
    _, bins, total, squares, count = hip.run(source, "k", (500,), (256,), x, *outputs)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=16))
    assert total[0] == x.sum()
    assert squares[0] == (x.astype(np.int64) ** 2).sum()
    assert count[0] == x.size


def test_dynamic_shared_memory_may_be_declared_outside_of_functions(hip: HipCpu) -> None:
    """A declaration at namespace scope, used by a device function and by a kernel, beside a parameter of its name."""
    source = """
    extern __shared__ __align__(16) float all[];
    __shared__ int once;
    struct Other { int all; };
    __device__ float sum(int n) { float s = 0; for (int i = 0; i < n; ++i) s += all[i] + all[0]; return s; }
    __device__ int count(Other other) { return other.all; }
    extern "C" __global__ void k(float* out) {
        all[threadIdx.x] = threadIdx.x + 1;
        if (threadIdx.x == 0) once = count(Other{7});
        __syncthreads();
        float* mine = all + threadIdx.x;
        out[threadIdx.x] = sum(blockDim.x) + *mine + once + reinterpret_cast<float4*>(all)[1].x;
    }"""
    (out,) = run_with_shared(hip, source, 40, 160, np.zeros(40, np.float32))
    np.testing.assert_array_equal(out, 40 * 41 / 2 + 40 + np.arange(1, 41) + 7 + 5)


def test_modules_keep_their_shared_memory_apart(hip: HipCpu) -> None:
    """Two code objects with an inline function of one name, whose shared memory differs in size."""
    source = """
    inline __device__ int reversed(int v) {
        __shared__ int all[SIZE];
        __shared__ int after[SIZE];
        all[threadIdx.x] = v; after[threadIdx.x] = -1;
        __syncthreads();
        return all[SIZE - 1 - threadIdx.x] + after[threadIdx.x];
    }
    extern "C" __global__ void k(int* out) { out[threadIdx.x] = reversed(threadIdx.x); }
    """
    functions = {size: hip.function(hip.load(hip.compile(source, f"-DSIZE={size}")), "k") for size in (32, 512, 64)}
    for size, function in functions.items():
        out = hip.upload(np.zeros(size, np.int32))
        hip.launch(function, (1,), (size,), out)
        np.testing.assert_array_equal(hip.download(out, np.zeros(size, np.int32)), np.arange(size)[::-1] - 1)


def test_kernels_without_barriers_stay_loops_beside_others(hip: HipCpu) -> None:
    """What a kernel mentions decides, not what its neighbours do: its code is the same with or without them."""
    from pytest_kernelperf.code_object import read_kernels

    plain = """
    extern "C" __global__ void plain(float* x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) x[i] *= 2;
    }"""
    waits = """
    __device__ void wait() { __syncthreads(); }
    __device__ void through() { wait(); }
    extern "C" __global__ void waits(float* x) { through(); x[threadIdx.x] = 1; }
    """
    alone = read_kernels(hip.compile(plain).object)
    beside = read_kernels(hip.compile(waits + plain).object)
    assert alone["plain"] == beside["plain"]
    assert read_kernels(hip.compile(waits).object)["waits"] == beside["waits"]


CONSERVATIVE = {
    "a class that waits": ("struct Team { __device__ void sync() { __syncthreads(); } };", "Team team; team.sync();"),
    "a lambda": ("", "auto wait = [&] { __syncthreads(); }; wait();"),
    "an alias": ("__device__ void wait() { __syncthreads(); } constexpr auto alias = &wait;", "alias();"),
    "a macro": ("#define WAIT() __syncthreads()\n", "WAIT();"),
    "a prototype": ("__device__ void wait();", "wait();"),
    "a template": ("template <class F> __device__ void call(F f) { f(); __syncthreads(); }", "call([] {});"),
    "a functor": (
        "template <class T> struct Sync { __device__ void operator()() const { __syncthreads(); } };", "Sync<int>{}();",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CONSERVATIVE)
def test_waiting_is_found_however_it_is_written(hip: HipCpu, case: str) -> None:
    """A kernel that can come to a barrier, by whatever way, runs as fibres."""
    before, call = CONSERVATIVE[case]
    source = f"""{before}
    extern "C" __global__ void k(int* x) {{
        const int n = blockDim.x, i = threadIdx.x;
        x[i] = i;
        {call}
        x[n + i] = x[n - 1 - i];
    }}
    """ + ("__device__ void wait() { __syncthreads(); }" if case == "a prototype" else "")
    (x,) = hip.run(source, "k", (1,), (96,), np.zeros(192, np.int32))
    np.testing.assert_array_equal(x[96:], np.arange(96)[::-1])


SPLITTING = {
    "a branch at the end of a loop":
        "for (int r = 0; r < 4; ++r) { v += __shfl_xor(v, 16); if (i < 16) v += __shfl_xor(v, 8, 16); }",
    "one that calls":
        "for (int r = 0; r < 4; ++r) { v += __shfl_xor(v, 16); if (i < 16) v = add8(v); }",
    "a function first":
        "int r = 0; while (r < 4) { ++r; v = add16(v); if (i >= 16) continue; v += __shfl_xor(v, 8, 16); }",
    "loops in a loop": """
        for (int r = 0; r < 4; ++r) {
            for (int k = 0; k < (i < 16); ++k) v += __shfl_xor(v, 8, 16);
            v += __shfl_xor(v, 16);
        }""",
    "a loop that some leave":
        "int r = 0; do { v += __shfl_xor(v, 8, 16); if (i >= 16) break; } while (++r < 4); v += __shfl_xor(v, 16);",
}  # fmt: skip


def twice(v: Array, mask: int, lanes: int) -> Array:
    """The first lanes of a wave add what their partner has."""
    there = np.arange(32) < lanes
    return np.where(there, v + v[np.arange(32) ^ mask], v)


@pytest.mark.parametrize("case", SPLITTING)
def test_a_wave_that_splits_in_a_loop_comes_together_for_the_next_iteration(hip: HipCpu, case: str) -> None:
    """The lanes that skip a wave operation do not run ahead of those that do it."""
    source = f"""
    __device__ unsigned add8(unsigned v) {{ return v + __shfl_xor(v, 8, 16); }}
    __device__ unsigned add16(unsigned v) {{ return v + __shfl_xor(v, 16); }}
    extern "C" __global__ void k(unsigned* out) {{
        const int i = threadIdx.x;
        unsigned v = 3 * i + 1;
        {SPLITTING[case]}
        out[i] = v;
    }}"""
    (out,) = hip.run(source, "k", (1,), (32,), np.zeros(32, np.uint32))
    v = np.arange(32, dtype=np.uint32) * 3 + 1
    if case == "a loop that some leave":
        v = twice(v, 8, 32)
        for _ in range(3):
            v = twice(v, 8, 16)
        v = twice(v, 16, 32)
    else:
        order = [(8, 16), (16, 32)] if case == "loops in a loop" else [(16, 32), (8, 16)]
        for _ in range(4):
            for mask, lanes in order:
                v = twice(v, mask, lanes)
    np.testing.assert_array_equal(out, v)
