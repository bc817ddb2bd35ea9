"""Half precision and bfloat16 on the cpu runtime: every operation rounds to nearest even, as the GPU's does."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hip_cpu_calls import Array, HipCpu

Bits = npt.NDArray[np.uint16]

HALF = """
#include <hip/hip_fp16.h>
using T = __half; using T2 = __half2;
__device__ T narrow(float x) { return __float2half(x); }
__device__ float wide(T x) { return __half2float(x); }
"""
BFLOAT = """
#include <hip/hip_bf16.h>
using T = __hip_bfloat16; using T2 = __hip_bfloat162;
__device__ T narrow(float x) { return __float2bfloat16(x); }
__device__ float wide(T x) { return __bfloat162float(x); }
"""
KERNELS = """
extern "C" __global__ void convert(int n, const float* x, T* out, float* back) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = narrow(x[i]);
    back[i] = wide(out[i]);
}
extern "C" __global__ void calculate(int n, const T* a, const T* b, const T* c, T* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = a[i] + b[i];
    out[n + i] = a[i] - b[i];
    out[2 * n + i] = a[i] * b[i];
    out[3 * n + i] = a[i] / b[i];
    out[4 * n + i] = __hfma(a[i], b[i], c[i]);
    T2 pair = T2(a[i], c[i]);
    pair = __hmul2(pair, T2(b[i], b[i]));
    out[5 * n + i] = pair.x;
    out[6 * n + i] = pair.y;
    out[7 * n + i] = __hadd(a[i] * b[i], c[i]);
}
"""


@pytest.fixture(scope="module")
def hip() -> HipCpu:
    """The runtime."""
    return HipCpu()


def launch(hip: HipCpu, source: str, kernel: str, n: int, *arrays: Array) -> list[Array]:
    """Run a kernel over n elements."""
    import ctypes

    return hip.run(source, kernel, (-(-n // 128),), (128,), ctypes.c_int(n), *arrays)


def bfloat_of(values: npt.NDArray[np.float64]) -> Bits:
    """Round float64 values that are float32 values too, by whole-number arithmetic on their bits."""
    bits = values.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(values), (bits >> 16) | 0x40, rounded).astype(np.uint16)


def bfloat_values(bits: Bits) -> npt.NDArray[np.float32]:
    """The numbers that bfloat16 bits stand for."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def awkward_floats() -> npt.NDArray[np.float32]:
    """Numbers of all magnitudes, ties and their neighbours, denormals, infinities."""
    generator = np.random.default_rng(3)
    any_bits = generator.integers(0, 1 << 32, 20000, dtype=np.uint32).view(np.float32)
    halves = np.arange(0, 0x7C00, 7, dtype=np.uint16).view(np.float16).astype(np.float32)
    ties = (halves[:-1] + np.diff(halves) / 2)[:-1]
    near = np.concatenate([ties, np.nextafter(ties, np.float32(np.inf)), np.nextafter(ties, np.float32(0))])
    edges = np.array(
        [0, -0.0, 65504, 65519.996, 65520, 1e30, np.inf, -np.inf, 2**-24, 2**-25, 2**-26, 3.3895314e38], np.float32
    )
    found = np.concatenate([any_bits, halves, near, -near, edges])
    return found[~np.isnan(found)]


def test_float_becomes_half_as_in_numpy(hip: HipCpu) -> None:
    """Conversions both ways, ties, denormals and overflow included."""
    x = awkward_floats()
    _, out, back = launch(hip, HALF + KERNELS, "convert", x.size, x, np.zeros(x.size, np.uint16), np.zeros_like(x))
    with np.errstate(over="ignore"):
        want = x.astype(np.float16)
    np.testing.assert_array_equal(out, want.view(np.uint16))
    np.testing.assert_array_equal(back, want.astype(np.float32))


def test_float_becomes_bfloat16_by_whole_number_arithmetic(hip: HipCpu) -> None:
    """The upper half of a float32, rounded to nearest even."""
    x = awkward_floats()
    _, out, back = launch(hip, BFLOAT + KERNELS, "convert", x.size, x, np.zeros(x.size, np.uint16), np.zeros_like(x))
    np.testing.assert_array_equal(out, bfloat_of(x.astype(np.float64)))
    np.testing.assert_array_equal(back, bfloat_values(out))


def test_nan_stays_nan(hip: HipCpu) -> None:
    """Rounding never turns a NaN into infinity."""
    x = np.array([0x7F800001, 0xFFFFFFFF, 0x7FC00000], np.uint32).view(np.float32)
    for prelude in (HALF, BFLOAT):
        _, _, back = launch(hip, prelude + KERNELS, "convert", 3, x, np.zeros(3, np.uint16), np.zeros_like(x))
        assert np.isnan(back).all()


def exactly_fused(a: Array, b: Array, c: Array) -> npt.NDArray[np.float16]:
    """a * b + c of halves, rounded once: in fractions where float64 is not exact."""
    from fractions import Fraction

    found = np.empty(a.shape, np.float16)
    for i, (x, y, z) in enumerate(zip(a.tolist(), b.tolist(), c.tolist(), strict=True)):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        near = np.float16(float(exact))
        with np.errstate(over="ignore"):
            candidates = [near, np.nextafter(near, np.float16(np.inf)), np.nextafter(near, np.float16(-np.inf))]
        finite = [value for value in candidates if np.isfinite(value)]
        even = [int(value.view(np.uint16)) & 1 for value in finite]
        order = sorted(range(len(finite)), key=lambda k: (abs(Fraction(float(finite[k])) - exact), even[k]))
        found[i] = finite[order[0]] if np.isfinite(near) else near
    return found


def test_half_arithmetic_rounds_every_operation(hip: HipCpu) -> None:
    """Sums, products and quotients as in numpy's float16, whatever stands beside them; a fused one rounds once."""
    generator = np.random.default_rng(4)
    a, b, c = (generator.integers(0, 0x7000, 6000).astype(np.uint16) for _ in range(3))
    a, b, c = (v | generator.integers(0, 2, v.size).astype(np.uint16) << 15 for v in (a, b, c))
    # A product of which c is a fraction of a bit: where rounding twice goes wrong.
    a[:4], b[:4], c[:4] = 0x3C01, 0x3C01, [0x0001, 0x8001, 0x0400, 0x8400]
    n = a.size
    _, _, _, out = launch(hip, HALF + KERNELS, "calculate", n, a, b, c, np.zeros(8 * n, np.uint16))
    x, y, z = (v.view(np.float16) for v in (a, b, c))
    with np.errstate(all="ignore"):
        want = [x + y, x - y, x * y, x / y, exactly_fused(x, y, z), x * y, z * y, x * y + z]
    for found, expected in zip(out.reshape(8, n).view(np.float16), want, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_bfloat16_arithmetic_rounds_every_operation(hip: HipCpu) -> None:
    """Each result is float32's, rounded to bfloat16."""
    generator = np.random.default_rng(5)
    a, b, c = (generator.integers(0x3000, 0x5000, 5000).astype(np.uint16) for _ in range(3))
    n = a.size
    _, _, _, out = launch(hip, BFLOAT + KERNELS, "calculate", n, a, b, c, np.zeros(8 * n, np.uint16))
    x, y, z = (bfloat_values(v).astype(np.float64) for v in (a, b, c))
    product = bfloat_values(bfloat_of(x * y))
    want = [x + y, x - y, x * y, (x.astype(np.float32) / y.astype(np.float32)), x * y + z, x * y, z * y, product + z]
    for row, (found, expected) in enumerate(zip(out.reshape(8, n), want, strict=True)):
        np.testing.assert_array_equal(found, bfloat_of(np.asarray(expected, np.float64)), err_msg=str(row))


def test_halves_are_shared_shuffled_and_added_atomically(hip: HipCpu) -> None:
    """Sixteen-bit numbers and pairs of them work wherever others do."""
    for prelude, number in itertools.product((HALF, BFLOAT), (64,)):
        source = (
            prelude
            + """
        extern "C" __global__ void k(const T* x, T* out, T* sum, T2* pairs) {
            __shared__ T all[64];
            __shared__ T2 two[32];
            all[threadIdx.x] = x[threadIdx.x];
            if (threadIdx.x < 32) two[threadIdx.x] = T2(x[threadIdx.x], x[threadIdx.x + 32]);
            __syncthreads();
            out[threadIdx.x] = __shfl_xor(all[63 - threadIdx.x], 1);
            atomicAdd(sum, T(1.0f));
            if (threadIdx.x < 32) pairs[threadIdx.x] = two[31 - threadIdx.x] + two[threadIdx.x];
        }"""
        )
        x = np.arange(number).astype(np.float16)
        bits = x.view(np.uint16) if prelude == HALF else bfloat_of(x.astype(np.float64))
        arrays = [bits, np.zeros_like(bits), np.zeros(1, np.uint16), np.zeros((32, 2), np.uint16)]
        _, out, total, pairs = hip.run(source, "k", (1,), (number,), *arrays)
        np.testing.assert_array_equal(out, bits[[63 - (i ^ 1) for i in range(64)]])
        sixty_four = np.array([64.0])
        want = sixty_four.astype(np.float16).view(np.uint16) if prelude == HALF else bfloat_of(sixty_four)
        np.testing.assert_array_equal(total, want)
        sums = np.array([31.0, 95.0])
        want = sums.astype(np.float16).view(np.uint16) if prelude == HALF else bfloat_of(sums)
        assert (pairs == want).all()
