"""Kernels compute on the cpu runtime what they compute on a GPU, to the last bit."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hip_cpu_calls import Array, HipCpu

COLUMNS, STREAMS = 2560, 4
LESSON = Path(__file__).parents[2] / "kernels" / "moe_add_inject" / "moe_add_inject.hip"


@pytest.fixture(scope="module")
def hip() -> HipCpu:
    """The runtime."""
    return HipCpu()


def lesson_inputs(tokens: int) -> dict[str, Array]:
    """Random inputs of the lesson's layer."""
    generator = np.random.default_rng(tokens)
    shapes = {"moe": (tokens, COLUMNS), "shared": (tokens, COLUMNS), "weights": (tokens, STREAMS)}
    inputs = {name: generator.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    inputs["x"] = generator.uniform(-1, 1, (tokens, STREAMS, COLUMNS)).astype(np.float32)
    return inputs


def lesson_expected(inputs: dict[str, Array]) -> Array:
    """The layer in C's own fmaf, one value at a time."""
    fmaf = ctypes.CDLL("libm.so.6").fmaf
    fmaf.restype, fmaf.argtypes = ctypes.c_float, [ctypes.c_float] * 3
    y = inputs["moe"] + inputs["shared"]
    expected = inputs["x"].copy()
    for token, stream in np.ndindex(expected.shape[:2]):
        weight = float(inputs["weights"][token, stream])
        row = expected[token, stream]
        row[:] = [fmaf(weight, a, b) for a, b in zip(y[token].tolist(), row.tolist(), strict=True)]
    return expected


@pytest.mark.parametrize("tokens", [1, 7])
@pytest.mark.parametrize("threads", [64, 160, 256, 640])
def test_the_lessons_kernels_match_fmaf_bit_for_bit(hip: HipCpu, tokens: int, threads: int) -> None:
    """All variants, at several team sizes, whether or not the size divides into vectors."""
    inputs = lesson_inputs(tokens)
    expected = lesson_expected(inputs)
    module = hip.load(hip.compile(LESSON.read_text()))
    fused = ["moe", "shared", "weights", "x"]
    count = ctypes.c_int(tokens)
    plans: dict[str, list[tuple[str, tuple[int, ...], list[object]]]] = {
        "separate": [
            ("add_kernel", (-(-tokens * COLUMNS // threads),), [count, "moe", "shared", "y"]),
            ("inject_kernel", (-(-tokens * STREAMS * COLUMNS // threads),), [count, "y", "weights", "x"]),
        ],
        "one block": [("fused_one_block_per_token", (tokens,), [*fused])],
        "column tiles": [("fused_column_tiles", (COLUMNS // threads, tokens), [*fused])],
    }
    for plan in plans.values():
        buffers = {name: hip.upload(array) for name, array in inputs.items()}
        buffers["y"] = hip.upload(np.zeros((tokens, COLUMNS), np.float32))
        for kernel, grid, arguments in plan:
            passed = [buffers[argument] if isinstance(argument, str) else argument for argument in arguments]
            hip.launch(hip.function(module, kernel), grid, (threads,), *passed)
        np.testing.assert_array_equal(hip.download(buffers["x"], expected), expected)


def test_all_dimensions_of_grid_and_block_are_visited_once(hip: HipCpu) -> None:
    """Each thread of a 3D launch sees its own indices, and all thread and grid sizes."""
    grid, block = (3, 2, 4), (5, 3, 2)
    source = """
    extern "C" __global__ void where(unsigned* seen, unsigned* sizes) {
        const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
        const unsigned y = hipBlockIdx_y * hipBlockDim_y + hipThreadIdx_y;
        const unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
        const unsigned nx = gridDim.x * blockDim.x, ny = gridDim.y * blockDim.y;
        seen[(z * ny + y) * nx + x] += 1 + x + 100 * y + 10000 * z;
        const dim3 g = gridDim;
        if (x == 0 && y == 0 && z == 0) { sizes[0] = gridDim.z; sizes[1] = blockDim.y; sizes[2] = g.x; }
    }"""
    shape = tuple(grid[i] * block[i] for i in (2, 1, 0))
    seen, sizes = hip.run(source, "where", grid, block, np.zeros(shape, np.uint32), np.zeros(3, np.uint32))
    z, y, x = np.indices(shape)
    np.testing.assert_array_equal(seen, 1 + x + 100 * y + 10000 * z)
    assert sizes.tolist() == [4, 3, 3]


def test_scalars_structures_and_vectors_arrive_at_their_alignment(hip: HipCpu) -> None:
    """Parameters of all sizes, in an order that needs padding, from pointers and from a packed buffer."""
    source = """
    struct Pair { double a; char b; };
    extern "C" __global__ void gather(
        char c, double d, short s, float4 v, bool b, Pair p, float* out, unsigned char u
    ) {
        out[0] = c; out[1] = (float)d; out[2] = s; out[3] = v.x + v.w; out[4] = b; out[5] = (float)p.a + p.b;
        out[6] = u;
    }"""

    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_double), ("b", ctypes.c_char)]

    module = hip.load(hip.compile(source))
    function = hip.function(module, "gather")
    out = hip.upload(np.zeros(7, np.float32))
    vector = (ctypes.c_float * 4)(1, 2, 3, 40)
    values = [
        ctypes.c_char(-3 % 256), ctypes.c_double(2.5), ctypes.c_short(-7), vector,
        ctypes.c_bool(True), Pair(0.5, b"\x04"), out, ctypes.c_ubyte(200),
    ]  # fmt: skip
    hip.launch(function, (1,), (1,), *values)
    want = [-3.0, 2.5, -7.0, 41.0, 1.0, 4.5, 200.0]
    assert hip.download(out, np.zeros(7, np.float32)).tolist() == want

    offsets, packed = [0, 8, 16, 32, 48, 56, 72, 80], bytearray(81)
    for offset, value in zip(offsets, values, strict=True):
        packed[offset : offset + ctypes.sizeof(value)] = bytes(value)
    hip("hipMemset", out, 0, ctypes.c_size_t(28))
    buffer, size = (ctypes.c_char * 81).from_buffer(packed), ctypes.c_size_t(81)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 3)
    hip("hipModuleLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, extra)
    assert hip.download(out, np.zeros(7, np.float32)).tolist() == want


def test_device_functions_know_their_thread(hip: HipCpu) -> None:
    """A device function that asks for threadIdx, called through another and through a method, gets the caller's."""
    source = """
    __device__ int place() { return blockIdx.x * blockDim.x + threadIdx.x; }
    namespace deep { __device__ int twice() { return 2 * place(); } }
    struct Reader { __device__ int read() const { return deep::twice() + (int)threadIdx.y; } };
    extern "C" __global__ void outer(int* out) { Reader r; out[place()] = r.read(); }
    extern "C" __global__ void other(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = -(int)threadIdx.x; }
    """
    (out,) = hip.run(source, "outer", (4,), (8,), np.zeros(32, np.int32))
    assert out.tolist() == [2 * i for i in range(32)]
    (out,) = hip.run(source, "other", (4,), (8,), np.zeros(32, np.int32))
    assert out.tolist() == [-(i % 8) for i in range(32)]


# Kernels that look like the loops that are run for a whole workgroup, or in segments, and must not be: what each
# thread keeps to itself would be lost. EACH stands for the loop's head. `n` is 1,000, `a` counts from 0, `out` starts
# at 0; 2 workgroups of 96 threads.
A = np.arange(1000, dtype=np.float32)
T = np.arange(96)


def strided_sums(values: Array) -> Array:
    """What each of 96 threads sums up over every 96th value."""
    return np.array([values[t::96].sum(dtype=np.float64) for t in T])


def last_of(values: Array) -> Array:
    """The last value that each of 96 threads meets."""
    return np.array([values[t::96][-1] for t in T])


TRAPS: dict[str, tuple[str, Array]] = {
    "a sum kept from iteration to iteration": (
        "float s = 0; EACH s += a[c]; out[threadIdx.x] = s;",
        strided_sums(A),
    ),
    "a sum kept through a reference": (
        "float s = 0; float& r = s; EACH { r += a[c]; } out[threadIdx.x] = s;",
        strided_sums(A),
    ),
    "a sum kept through a reference inside": (
        "float s = 0; EACH { float& r = s; r += a[c]; } out[threadIdx.x] = s;",
        strided_sums(A),
    ),
    "a sum kept through a function": (
        "float s = 0; EACH { keep(s, a[c]); } out[threadIdx.x] = s;",
        strided_sums(A),
    ),
    "a sum kept in an array": (
        "float s[1] = {0}; EACH { s[0] += a[c]; } out[threadIdx.x] = s[0];",
        strided_sums(A),
    ),
    "a sum kept by a captured reference": (
        "float s = 0; auto add = [&](float v) { s += v; };EACH { add(a[c]); } out[threadIdx.x] = s;",
        strided_sums(A),
    ),
    "a count kept from iteration to iteration": (
        "int k = 0; EACH { ++k; } EACH { out[c] = 1; k++; } out[threadIdx.x] = k;",
        np.array([float(2 * len(A[c::96]) if c < 96 else 1) for c in range(1000)]),
    ),
    "a sum kept in a structure's array": (
        "Sums s = kNone; EACH { s.values[0] += a[c]; } out[threadIdx.x] = s.values[0];",
        strided_sums(A),
    ),
    "a pointer that moves": (
        "float* p = out + threadIdx.x; int k = 0; EACH { p[0] += a[c]; ++k; }p[0] += 1000000 * k;",
        strided_sums(A) + 1e6 * np.array([len(A[t::96]) for t in T]),
    ),
    "a value of the thread's own": (
        "const float mine = 2.0f * threadIdx.x; EACH out[c] = mine;",
        2.0 * (np.arange(1000) % 96),
    ),
    "a limit of the thread's own": (
        "const int limit = n - threadIdx.x; for (int c = threadIdx.x; c < limit; c += blockDim.x) out[c] = 1;",
        np.array([float(c < 1000 - c % 96) for c in range(1000)]),
    ),
    "the thread asked for inside": (
        "EACH out[c] = threadIdx.x;",
        (np.arange(1000) % 96).astype(float),
    ),
    "a way out of the loop": (
        "EACH { if (c == 300) break; out[c] = 1; }",
        np.array([float(c % 96 != 300 % 96 or c < 300) for c in range(1000)]),
    ),
    "a way out before the loop": (
        "if (threadIdx.x >= 10) return; EACH out[c] = 1;",
        (np.arange(1000) % 96 < 10).astype(float),
    ),
    "a loop under a condition": (
        "if (threadIdx.x < 10) EACH out[c] = 1;",
        (np.arange(1000) % 96 < 10).astype(float),
    ),
    "memory written before the loop": (
        "out[threadIdx.x] = 5; for (int c = threadIdx.x; c < 96; c += blockDim.x) out[c] = out[c] + 1;",
        np.full(96, 6.0),
    ),
    "memory written after the loop": (
        "EACH out[c] = a[c]; out[threadIdx.x] += 1;",
        A + (np.arange(1000) < 96),
    ),
    "another step": (
        "for (int c = threadIdx.x; c < n; c += 2 * blockDim.x) out[c] = 1;",
        (np.arange(1000) % 192 < 96).astype(float),
    ),
    "the counter changed inside": (
        "EACH { out[c] = 1; c += blockDim.x; }",
        (np.arange(1000) % 192 < 96).astype(float),
    ),
    "a second loop over the first one's results": (
        "EACH out[c] = a[c]; EACH { float t = out[c]; out[c] = t * t; }",
        A * A,
    ),
    "the same memory in turn": (
        "for (int c = threadIdx.x; c < n - 96; c += blockDim.x) out[c + 96] = out[c] + 1;",
        (np.arange(1000) // 96).astype(float),
    ),
    "a parameter counted down": (
        "EACH { --n; out[c] = 1; }",
        np.array([float(c < 1000 - c // 96) for c in range(1000)]),
    ),
    "a parameter used up": (
        "EACH { n -= 1; out[c] = 1; }",
        np.array([float(c < 1000 - c // 96) for c in range(1000)]),
    ),
}


@pytest.fixture(scope="module")
def traps(hip: HipCpu) -> ctypes.c_void_p:
    """All traps in one module, as trap_0, trap_1, ..."""
    source = """
    #define EACH for (int c = threadIdx.x; c < n; c += blockDim.x)
    struct Sums { float values[2]; };
    constexpr Sums kNone{};
    __device__ void keep(float& s, float v) { s += v; }
    """
    head = (
        'extern "C" __global__ void trap_{}(int n, const float* a, float* out) {{ if (blockIdx.x != 0) return; {} }}\n'
    )
    return hip.load(hip.compile(source + "".join(head.format(i, body) for i, (body, _) in enumerate(TRAPS.values()))))


@pytest.mark.parametrize("trap", TRAPS)
def test_a_loop_over_every_nth_element_gives_what_its_threads_give(
    hip: HipCpu, traps: ctypes.c_void_p, trap: str
) -> None:
    """Whatever an iteration reads or leaves behind, the result is that of threads one by one."""
    want = TRAPS[trap][1]
    kernel = hip.function(traps, f"trap_{list(TRAPS).index(trap)}")
    a, out = hip.upload(A), hip.upload(np.zeros(1000, np.float32))
    hip.launch(kernel, (2,), (96,), ctypes.c_int(1000), a, out)
    found = hip.download(out, A)
    np.testing.assert_array_equal(found[: len(want)], want.astype(np.float32))
    assert not found[len(want) :].any()


PLACE = np.arange(3 * 200)
DIVISIONS: dict[str, tuple[str, Array]] = {
    "rows and columns": ("out[i] = i / kColumns * 1000 + i % kColumns;", PLACE // 130 * 1000 + PLACE % 130),
    "rows of a parameter's length": ("out[i] = i / n * 1000 + i % n;", PLACE // 77 * 1000 + PLACE % 77),
    "short rows": ("out[i] = i / 7 * 1000 + i % 7;", PLACE // 7 * 1000 + PLACE % 7),
    "two divisors": ("out[i] = i / kColumns * 1000 + i % 9;", PLACE // 130 * 1000 + PLACE % 9),
    "a product before the division": ("out[i] = 2 * i / kColumns;", 2 * PLACE // 130),
    "a divisor that hides another": ("const int kColumns = 3; out[i] = i / kColumns;", PLACE // 3),
    "a divisor that changes": ("n = 3; out[i] = i / n;", PLACE // 3),
    "a fraction": ("out[i] = (int)(4.0f * (i / kFraction));", np.floor(4 * (PLACE / 160.0))),
    "an index that changes": ("int j = i; j += 1; out[i] = j / kColumns;", (PLACE + 1) // 130),
    "the workgroup asked for too": ("out[i] = i / kColumns * 1000 + blockIdx.x;", PLACE // 130 * 1000 + PLACE // 200),
    "the thread asked for too": ("out[i] = i / kColumns * 1000 + threadIdx.x;", PLACE // 130 * 1000 + PLACE % 200),
    "a way out": ("if (i >= 400) return; out[i] = i % kColumns;", np.where(PLACE < 400, PLACE % 130, 0)),
    "a conditional sum": ("out[i] = i > 5 ? blockIdx.x * blockDim.x + threadIdx.x : 7;", np.where(PLACE > 5, PLACE, 7)),
    "a sum times two": ("out[i] = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1;", 2 * PLACE + 1),
    "a sum without brackets": ("out[i] = 2 * blockIdx.x * blockDim.x + threadIdx.x;", PLACE // 200 * 400 + PLACE % 200),
    "a difference": ("out[i] = 9000 - threadIdx.x + blockIdx.x * blockDim.x;", 9000 - PLACE % 200 + PLACE // 200 * 200),
}


@pytest.fixture(scope="module")
def divisions(hip: HipCpu) -> ctypes.c_void_p:
    """All divisions and limits in one module, as division_0, ... and limit_0, ..."""
    source = """
    constexpr int kColumns = 130, kTwo = 2;
    constexpr float kFraction = 160.0f, kHalf = 0.5f;
    """
    head = (
        'extern "C" __global__ void {}_{}(int n, int* out) {{ const {} = blockIdx.x * blockDim.x + threadIdx.x; {} }}\n'
    )
    for i, (body, _) in enumerate(DIVISIONS.values()):
        source += head.format("division", i, "int i", body)
    for i, (body, _) in enumerate(LIMITS.values()):
        source += head.format("limit", i, "unsigned u" if "u >=" in body else "int i", body)
    return hip.load(hip.compile(source))


def indexed(hip: HipCpu, kernel: ctypes.c_void_p, launches: int) -> Array:
    """What a kernel of ``divisions`` writes for n = 77 in 3 workgroups of 200 threads.

    Its first launch is spread over all cores; a later one, known to be small, runs on one.
    """
    out = hip.upload(np.zeros(601, np.int32))
    for _ in range(launches):
        hip.launch(kernel, (3,), (200,), ctypes.c_int(77), out)
    return hip.download(out, np.zeros(601, np.int32))[:600]


@pytest.mark.parametrize("division", DIVISIONS)
def test_an_index_taken_apart_gives_what_its_threads_give(
    hip: HipCpu, divisions: ctypes.c_void_p, division: str
) -> None:
    """Rows and columns are right across workgroups, whatever the divisor is."""
    kernel = hip.function(divisions, f"division_{list(DIVISIONS).index(division)}")
    np.testing.assert_array_equal(indexed(hip, kernel, 3), DIVISIONS[division][1].astype(np.int32))


ONES = np.ones(600)
LIMITS: dict[str, tuple[str, Array]] = {
    "a way out": ("if (i >= n) return; out[i] = 1;", PLACE < 77),
    "a way out in brackets": ("if (i >= n) { return; } out[i] = 1;", PLACE < 77),
    "a condition around all": ("if (i < n) out[i] = 1;", PLACE < 77),
    "a condition around a block": ("if (i < n) { out[i] = 1; out[i + 1] = 1; }", PLACE < 78),
    "a condition with another way": ("if (i < n) out[i] = 1; else out[i] = 2;", np.where(PLACE < 77, 1, 2)),
    "a condition and more": ("if (i < n) out[i] = 1; out[i] += 1;", np.where(PLACE < 77, 2, 1)),
    "a limit worked out before": ("const int all = n * kTwo; if (i >= all) return; out[i] = 1;", PLACE < 154),
    "a limit that changes": ("int all = n; all = 5; if (i >= all) return; out[i] = 1;", PLACE < 5),
    "a parameter that changes": ("n = 5; if (i >= n) return; out[i] = 1;", PLACE < 5),
    "work before the way out": ("out[i] = 1; if (i >= n) return; out[i] = 2;", np.where(PLACE < 77, 2, 1)),
    "a negative limit": ("if (i >= n - 100) return; out[i] = 1;", 0 * ONES),
    "a negative limit beside unsigned": ("const unsigned u = 0; if (i >= n - 100 + u) return; out[i] = 1;", ONES),
    "an unsigned index and a negative limit": ("if (u >= n - 100) return; out[u] = 1;", ONES),
    "a limit beyond all threads": ("if (i >= n * 1000) return; out[i] = 1;", ONES),
    "a limit inside a vector": ("if (i >= 213) return; out[i] = 1;", PLACE < 213),
    "a fraction": ("if (i >= kHalf * n) return; out[i] = 1;", PLACE < 39),
    "a limit of the thread's own": ("const int own = n + threadIdx.x; if (i >= own) return; out[i] = 1;", PLACE < 200),
    "a limit of the workgroup's own": (
        "const int own = 150 * blockIdx.x; if (i >= own) return; out[i] = 1;",
        PLACE < 150 * (PLACE // 200),
    ),
    "a limit and rows": ("if (i >= 500) return; out[i] = i / n;", np.where(PLACE < 500, PLACE // 77, 0)),
    "another comparison": ("if (i <= n) return; out[i] = 1;", PLACE > 77),
    "two conditions": ("if (i >= n && i < 500) return; out[i] = 1;", (PLACE < 77) | (PLACE >= 500)),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_on_the_index_stops_the_threads_it_names(hip: HipCpu, divisions: ctypes.c_void_p, limit: str) -> None:
    """The usual check against the size lets through exactly the threads that it says, by C++'s rules."""
    body, want = LIMITS[limit]
    kernel = hip.function(divisions, f"limit_{list(LIMITS).index(limit)}")
    for launches in (1,) if "+=" in body else (1, 3):
        np.testing.assert_array_equal(indexed(hip, kernel, launches), np.asarray(want).astype(np.int32))


def test_templates_namespaces_and_overloads_are_found_by_expression(hip: HipCpu) -> None:
    """Lowered names are the compiler's own for the kernel as written, as with any hiprtc."""
    source = """
    namespace math {
    template <class T, int factor = 3> __global__ void scale(T* x) { x[threadIdx.x] *= factor; }
    __global__ void shift(float* x) { x[threadIdx.x] += 1; }
    }
    __global__ void plain(float* x, int by) { x[threadIdx.x] -= by; }
    __global__ void plain(float* x) { x[threadIdx.x] = 0; }
    static __device__ float constant_factor = 2;
    template <class T> __global__ void scale_all(T* x, int n) {
        for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] *= 2;
    }
    template <> __global__ void scale_all<int>(int* x, int n) { x[threadIdx.x] = n; }
    template __global__ void scale_all<float>(float*, int);
    """
    expressions = ["math::scale<float>", "math::scale<int, 7>", "math::shift", "&math::shift", "scale_all<int>"]
    compiled = hip.compile(source, expressions=expressions)
    assert compiled.lowered == {
        "math::scale<float>": "_ZN4math5scaleIfLi3EEEvPT_",
        "math::scale<int, 7>": "_ZN4math5scaleIiLi7EEEvPT_",
        "math::shift": "_ZN4math5shiftEPf",
        "&math::shift": "_ZN4math5shiftEPf",
        "scale_all<int>": "_Z9scale_allIiEvPT_i",
    }
    module = hip.load(compiled)
    count = ctypes.c_uint()
    hip("hipModuleGetFunctionCount", ctypes.byref(count), module)
    assert count.value == 7
    x = hip.upload(np.arange(4, dtype=np.float32))
    hip.launch(hip.function(module, compiled.lowered["math::scale<float>"]), (1,), (4,), x)
    hip.launch(hip.function(module, compiled.lowered["math::shift"]), (1,), (4,), x)
    hip.launch(hip.function(module, "_Z5plainPfi"), (1,), (4,), x, ctypes.c_int(2))
    assert hip.download(x, np.zeros(4, np.float32)).tolist() == [-1, 2, 5, 8]
    hip.launch(hip.function(module, "_Z9scale_allIfEvPT_i"), (1,), (4,), x, ctypes.c_int(4))
    assert hip.download(x, np.zeros(4, np.float32)).tolist() == [-2, 4, 10, 16]
    hip.launch(hip.function(module, "_Z5plainPf"), (1,), (4,), x)
    assert not hip.download(x, np.ones(4, np.float32)).any()
    whole = hip.upload(np.zeros(4, np.int32))
    hip.launch(hip.function(module, compiled.lowered["scale_all<int>"]), (1,), (4,), whole, ctypes.c_int(9))
    assert hip.download(whole, np.zeros(4, np.int32)).tolist() == [9] * 4


def test_declarations_in_every_place_are_understood(hip: HipCpu) -> None:
    """Launch bounds, attributes, linkage blocks, forward declarations, line breaks, strings with brackets."""
    source = r"""
    #define KERNEL extern "C" __global__ void
    template <int n> struct Bound { static constexpr int value = n; };
    extern "C" { __global__ void __launch_bounds__(64, 2) first(int* x); }
    extern "C" __global__ void __launch_bounds__(64, 2)
    first(
        int* x  // the output
    )
    { const char* s = "{ not a bracket )"; const char c = '}'; x[0] = s[0] == '{' && c == '}' ? 1 : 0; }
    KERNEL second(int *x, int by = (3, 4)) { x[1] = R"a(} __global__ ")a"[0] == '}' ? by : 0; }
    extern "C" {
    __launch_bounds__(Bound<128>::value) __global__ void third(void (*unused)(int), int* x) noexcept { x[2] = 3; }
    static __attribute__((noinline)) int helper(int v) { return v + 1; }
    }
    namespace a::b { inline namespace c { extern "C" __global__ void fourth(int* x) { x[3] = helper(3); } } }
    extern "C" __global__ [[maybe_unused]] void fifth(void) {}
    struct Unrelated { int value; Unrelated() : value{1} {} } unrelated;
    """
    module = hip.load(hip.compile(source))
    x = hip.upload(np.zeros(4, np.int32))
    null = ctypes.c_void_p()
    hip.launch(hip.function(module, "first"), (1,), (1,), x)
    hip.launch(hip.function(module, "second"), (1,), (1,), x, ctypes.c_int(2))
    hip.launch(hip.function(module, "third"), (1,), (1,), null, x)
    hip.launch(hip.function(module, "fourth"), (1,), (1,), x)
    hip.launch(hip.function(module, "fifth"), (1,), (1,))
    assert hip.download(x, np.zeros(4, np.int32)).tolist() == [1, 2, 3, 4]


def test_device_and_constant_variables_are_found_by_name(hip: HipCpu) -> None:
    """A variable of the module can be read and written by the host."""
    source = """
    extern "C" { __device__ int counter = 5; __constant__ float table[4]; }
    extern "C" __global__ void add(float* out) { out[0] = counter + table[3]; }
    """
    module = hip.load(hip.compile(source))
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    hip("hipModuleGetGlobal", ctypes.byref(address), ctypes.byref(size), module, b"table")
    assert size.value == 16
    values = np.array([0, 0, 0, 1.5], np.float32)
    hip("hipMemcpyHtoD", address, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(16))
    out = hip.upload(np.zeros(1, np.float32))
    hip.launch(hip.function(module, "add"), (1,), (1,), out)
    assert hip.download(out, np.zeros(1, np.float32)).tolist() == [6.5]


def test_hips_own_functions_are_there(hip: HipCpu) -> None:
    """Mathematics, bits, vector types, clocks: what device code calls without including anything."""
    source = """
    extern "C" __global__ void all(float* out, const float4* in) {
        float4 v = in[0]; float4 w = v * 2.0f + make_float4(1, 1, 1, 1);
        out[0] = w.x; out[1] = rsqrtf(4.0f); out[2] = __expf(0.0f); out[3] = fmaxf(1.0f, max(2.0f, 3.0f));
        out[4] = __int_as_float(__float_as_int(1.5f)); out[5] = __popc(255u) + __clz(1) + min(3, 4);
        out[6] = sqrt(9.0f) + pow(2.0f, 3.0f) + fabsf(-1.0f) + tanhf(0.0f);
        unsigned long long t = wall_clock64(); out[7] = wall_clock64() >= t && clock64() > 0;
        out[8] = warpSize; int2 p = make_int2(1, 2); out[9] = p.x + p.y; out[10] = __fmaf_rn(2.0f, 3.0f, 4.0f);
        __threadfence_system(); out[11] = fma(1.0f, 2.0f, 3.0f); out[12] = std::max<int>(threadIdx.x, 4);
    }"""
    out, _ = hip.run(source, "all", (1,), (1,), np.zeros(13, np.float32), np.arange(4, dtype=np.float32))
    assert out.tolist() == [1, 0.5, 1, 3, 1.5, 42, 12 + 0, 1, 32, 3, 10, 5, 4]
