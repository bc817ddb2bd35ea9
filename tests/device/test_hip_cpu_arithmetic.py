"""HIP's mathematical and integer functions give what numpy and scipy give: see hip/arithmetic.hip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hip_cpu_source import HipSource
from scipy import special

N = 512
Ufunc = Callable[..., Any]


@pytest.fixture(scope="module")
def source() -> HipSource:
    """The file, compiled once."""
    return HipSource("arithmetic.hip")


def directed(exact: Any, how: Ufunc) -> Any:
    """A float64 (or longdouble) result, rounded to float32 towards where `how` (np.floor, np.ceil, np.trunc) goes."""
    near = exact.astype(np.float32)
    down, up = np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))
    lower = np.where(near <= exact, near, down)
    upper = np.where(near >= exact, near, up)
    if how is np.floor:
        return lower
    return upper if how is np.ceil else np.where(exact >= 0, lower, upper)


def test_fast_mathematics(source: HipSource) -> None:
    """Every float function, to a few units in the last place; those with a stated rounding exactly."""
    generator = np.random.default_rng(0)
    x, y = (generator.uniform(0.01, 4, N).astype(np.float32) for _ in range(2))
    a, b = x.astype(np.float64), y.astype(np.float64)
    one = np.float32(1)
    frexp, (part, whole) = np.frexp(x), np.modf(x)
    want = [
        np.exp(-a),
        np.log(a),
        np.log2(a),
        np.log10(a),
        a**b,
        np.sin(a),
        np.cos(a),
        np.tan(a),
        a / b,
        1 / np.sqrt(a),
        one / x,
        1 / np.sqrt(a),
        np.sqrt(x),
        (a * b + 1).astype(np.float32),
        np.clip(x - one, 0, 1),
        x * y,
        x + y,
        x - y,
        x / y,
        10**a,
        2**a,
        1 / np.cbrt(a),
        np.cbrt(a),
        special.erf(a),
        special.erfc(a),
        np.tanh(a),
        np.sinh(a),
        np.arcsinh(a),
        np.log1p(a),
        np.expm1(a),
        np.hypot(a, b),
        1 / np.hypot(a, b),
        np.fmod(x, y),
        a - b * np.rint(a / b),
        -x,
        np.trunc(x),
        np.floor(x + np.float32(0.5)),
        np.rint(x),
        np.rint(x),
        np.floor(-x),
        np.ceil(-x),
        x * 8,
        x / 4,
        np.floor(np.log2(a)),
        np.maximum(x - y, 0),
        np.arctan2(a, b),
        special.gammaln(a),
        special.gamma(a),
        np.sin(np.pi * a),
        np.cos(np.pi * a),
        special.ndtr(a),
        np.full(N, special.erfinv(0.5)),
        special.j0(a),
        a**3,
        (a * b + 2).astype(np.float32),
        np.sqrt(a * a + b * b + 1),
        1 / np.sqrt(a * a + b * b + 1),
        np.sqrt(a * a + b * b + 5),
        np.sin(a) + np.cos(a),
        np.sin(b) * np.cos(b),
        np.sin(np.pi * a) - np.cos(np.pi * a),
        frexp[0] + frexp[1],
        part + 2 * whole,
        x,
        y,
        np.full(N, 6),
        np.abs(x - y),
        x,
        np.nextafter(x, y),
        directed(a + b, np.floor),
        directed(a * b, np.ceil),
        directed(a.astype(np.longdouble) / b, np.trunc),
        np.maximum(x, 1.5),
        a * a,
        np.sqrt(a),
        np.sqrt(a) + np.exp(-a) + np.log(a) + np.sin(a) + np.tanh(a) + a + np.floor(a),
    ]
    found = source.run("fast_math", (4,), (128,), x, y, np.zeros((len(want), N), np.float32), N)[2]
    exact = {
        10,
        12,
        13,
        14,
        15,
        16,
        17,
        18,
        32,
        34,
        35,
        37,
        38,
        39,
        40,
        41,
        42,
        43,
        44,
        54,
        63,
        64,
        65,
        67,
        68,
        69,
        70,
        71,
        72,
    }
    for i, (one_found, one_want) in enumerate(zip(found, want, strict=True)):
        if i in exact:
            np.testing.assert_array_equal(one_found, one_want.astype(np.float32), str(i))
        else:
            np.testing.assert_allclose(one_found, one_want, rtol=2e-6, atol=2e-6, err_msg=str(i))


def test_double_mathematics(source: HipSource) -> None:
    """Every double function."""
    a = np.random.default_rng(1).uniform(0.01, 4, N)
    want = [
        np.exp(-a),
        np.log(a),
        1 / np.sqrt(a),
        np.sqrt(a),
        a * a + 1,
        special.erf(a),
        np.tanh(a),
        a**1.5,
        np.cbrt(a),
        np.sin(np.pi * a),
        np.cos(np.pi * a),
        10**a,
        a + 1,
        a * a,
        a / 3,
        1 / a,
        np.sqrt(a),
        2 * a + 1,
        np.minimum(a, 1),
        np.maximum(a, 1),
        np.fmod(a, 0.7),
        special.ndtr(a),
        np.hypot(a, 2),
        np.sin(a) + np.cos(a),
        a,
        a,
    ]
    found = source.run("doubles", (4,), (128,), a, np.zeros((len(want), N)), N)[1]
    for i, (one_found, one_want) in enumerate(zip(found, want, strict=True)):
        np.testing.assert_allclose(one_found, one_want, rtol=1e-14, atol=2e-15, err_msg=str(i))


def word(x: Any) -> Any:
    """The lower 32 bits of Python integers."""
    return np.array([int(v) & 0xFFFFFFFF for v in x], np.uint32)


def signed(v: int, bits: int = 32) -> int:
    """Two's complement."""
    return v - (1 << bits) if v >> (bits - 1) & 1 else v


def test_integer_functions(source: HipSource) -> None:
    """Every integer function and conversion, bit for bit, against Python's unbounded integers."""
    x = np.random.default_rng(2).integers(0, 2**32, N, dtype=np.uint32)
    y = np.random.default_rng(3).integers(0, 2**32, N, dtype=np.uint32)
    x[:4], y[:4] = [0, 0xFFFFFFFF, 0x80000000, 1], [0, 1, 0x80000000, 0xFFFFFFFF]
    u, v = x.tolist(), y.tolist()
    s, t = [signed(a) for a in u], [signed(b) for b in v]
    pairs, both = list(zip(u, v, strict=True)), list(zip(s, t, strict=True))
    wide = [b << 32 | a for a, b in pairs]
    brev = [int(f"{a:032b}"[::-1], 2) for a in u]
    f = x.astype(np.float32)
    bits: Ufunc = lambda values: np.asarray(values, np.float32).view(np.uint32)  # noqa: E731

    def clamped(values: Any, low: int, high: int) -> Any:
        return word(min(max(int(value), low), high) for value in values)

    int_range, uint_range = (-(2**31), 2**31 - 1), (0, 2**32 - 1)
    byte = [[(a >> 8 * i & 255, b >> 8 * i & 255) for i in range(4)] for a, b in pairs]
    want = [
        word(a.bit_count() for a in u),
        word(32 - a.bit_length() for a in u),
        word((a & -a).bit_length() for a in u),
        word(brev),
        word((a << 32 | b).bit_count() for a, b in pairs),
        word(64 - (a << 20).bit_length() for a in u),
        word((w & -w).bit_length() for w in (b << 32 for b in v)),
        word(brev),
        word(a * b >> 32 for a, b in both),
        word(a * b >> 32 for a, b in pairs),
        word(signed(a & 0xFFFFFF, 24) * signed(b & 0xFFFFFF, 24) for a, b in pairs),
        word((a & 0xFFFFFF) * (b & 0xFFFFFF) for a, b in pairs),
        word(signed(a << 30 & 2**64 - 1, 64) * signed(b << 30 & 2**64 - 1, 64) >> 64 for a, b in pairs),
        word((a << 32) * b >> 64 for a, b in pairs),
        word(c[0][0] | c[0][1] << 8 | c[1][0] << 16 | c[1][1] << 24 for c in byte),
        word((w << 7) >> 32 for w in wide),
        word(w >> 7 for w in wide),
        word(u),
        word(w >> 3 for w in wide),
        word(abs((a & 0xFFFF) - (b & 0xFFFF)) + 5 for a, b in pairs),
        word(abs(a - b) + 1 for a, b in pairs),
        word(a + b >> 1 for a, b in both),
        word(a + b + 1 >> 1 for a, b in both),
        word(a + b >> 1 for a, b in pairs),
        word(a + b + 1 >> 1 for a, b in pairs),
        np.minimum(x, y),
        word(max(a, b) for a, b in both),
        np.minimum(x, 77),
        word(abs(a) for a in s),
        clamped(np.rint(f * np.float32(1e-3)), *int_range),
        clamped(np.trunc(f * np.float32(1.5)), *uint_range),
        clamped(np.floor(-(f * np.float32(1e-4))), *int_range),
        clamped(np.ceil(f * np.float32(1e-5)), *int_range),
        bits(f),
        bits(np.array(s, np.int32).astype(np.float32)),
        bits(directed(x.astype(np.float64), np.trunc)),
        bits(directed(np.array(s, np.float64), np.floor)),
        word(np.rint(x * 0.3)),
        word(np.trunc(x * 0.7)),
        word(np.trunc(f * np.float32(3))),
        bits(directed(x / 3.0, np.trunc)),
        word(a >> 4 & 0x1FF for a in u),
        word(a & ~0xFF00 | (b & 0xFF) << 8 for a, b in pairs),
        word((a & -a).bit_length() - 1 for a in u),
        word(3 + sum(signed(p, 8) * signed(q, 8) for p, q in c) for c in byte),
        word(3 + sum(p * q for p, q in c) for c in byte),
        word((a & 0xFFF) * (b & 0xFFF) + 9 for a, b in pairs),
        word(u),
    ]
    found = source.run("integers", (4,), (128,), x, y, np.zeros((len(want), N), np.uint32), N)[2]
    for i, (one_found, one_want) in enumerate(zip(found, want, strict=True)):
        np.testing.assert_array_equal(one_found, one_want, str(i))
