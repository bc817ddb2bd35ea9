"""fmaf against C's own, on any bit pattern."""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_kernelperf.arithmetic import fmaf

Array = np.ndarray[Any, np.dtype[np.float32]]
Reference = Callable[[Array, Array, Array], Array]

_HELPER = """
#include <math.h>
void fused(const float *a, const float *b, const float *c, float *out, long n)
{
    for (long i = 0; i < n; ++i)
        out[i] = fmaf(a[i], b[i], c[i]);
}
"""

# Zero, the smallest and largest subnormal, the smallest normal, around 1, the largest, infinity, NaN; then negative.
SPECIAL = [0, 1, 0x007FFFFF, 0x00800000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]
SPECIAL += [bits | 0x80000000 for bits in SPECIAL]


@pytest.fixture(scope="module")
def c_fmaf(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """C's fmaf over arrays: a compiled loop, or libm's function value by value where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        one = ctypes.CDLL(ctypes.util.find_library("m")).fmaf
        one.argtypes, one.restype = [ctypes.c_float] * 3, ctypes.c_float
        return lambda *arrays: np.array([one(*map(float, v)) for v in zip(*arrays, strict=True)], dtype=np.float32)
    folder = tmp_path_factory.mktemp("fused")
    source, library = Path(folder / "fused.c"), Path(folder / "libfused.so")
    source.write_text(_HELPER)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True)
    loop = ctypes.CDLL(str(library)).fused
    loop.argtypes, loop.restype = [ctypes.c_void_p] * 4 + [ctypes.c_long], None

    def run(a: Array, b: Array, c: Array) -> Array:
        out = np.empty_like(a)
        loop(a.ctypes.data, b.ctypes.data, c.ctypes.data, out.ctypes.data, a.size)
        return out

    return run


def assert_same(c_fmaf: Reference, a: Array, b: Array, c: Array) -> None:
    """Equal bit for bit, any NaN equal to any other."""
    got, want = fmaf(a, b, c), c_fmaf(a, b, c)
    differs = (got.view("u4") != want.view("u4")) & ~(np.isnan(got) & np.isnan(want))
    first = int(np.argmax(differs))
    assert not differs.any(), (
        f"{np.count_nonzero(differs)} differ; fmaf({a[first]!r}, {b[first]!r}, {c[first]!r}): "
        f"got {got[first]!r}, want {want[first]!r}"
    )


def from_bits(bits: Any) -> Array:
    """Float32 of the bit patterns."""
    return np.asarray(bits, dtype=np.uint32).view(np.float32)


patterns = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(SPECIAL))


def test_all_triples_of_special_values_give_what_c_gives(c_fmaf: Reference) -> None:
    """Zeros, infinities, NaN and the ends of the range, each with each."""
    triples = np.array(list(itertools.product(SPECIAL, repeat=3)), dtype=np.uint32).T
    assert_same(c_fmaf, *(from_bits(column).copy() for column in triples))


@settings(max_examples=500)
@given(patterns, patterns, patterns)
@example(0x3F800001, 0x3F800001, 0xBF800002)  # 1 + eps squared less 1 + 2 eps: only the exact product's tail is left
@example(0x3F800001, 0x33800000, 0x4B800000)  # just above a tie
@example(0x3F7FFFFF, 0x33800000, 0x3F800000)  # just below a tie
@example(0x00000001, 0x3F000000, 0x00000001)  # a tie among subnormals
@example(0x7F7FFFFF, 0x3F800000, 0x73000000)  # half a unit over the largest: infinity
@example(0x7F7FFFFF, 0x3F800000, 0x72FFFFFF)  # just below that: the largest
@example(0x7F7FFFFF, 0x40000000, 0xFF7FFFFF)  # the product alone would overflow
@example(0x80000000, 0x3F800000, 0x80000000)  # -0 stays -0
@example(0x7F800000, 0x00000000, 0x3F800000)  # infinity times zero
def test_any_three_bit_patterns_give_what_c_gives(c_fmaf: Reference, a: int, b: int, c: int) -> None:
    """Subnormals, infinities, NaN, signed zeros and ties included."""
    assert_same(c_fmaf, from_bits([a]), from_bits([b]), from_bits([c]))


@settings(max_examples=500)
@given(st.data())
def test_sums_near_a_tie_give_what_c_gives(c_fmaf: Reference, data: st.DataObject) -> None:
    """Rounding twice is wrong just beside a tie of float32, where bits far below decide."""
    a = data.draw(st.sampled_from([0x3F800000, 0x3F800001, 0x3FFFFFFF, 0x3F800003, 0x3F7FFFFF]))
    b = data.draw(st.sampled_from([0x3F800000, 0x3F800001, 0x3F7FFFFF, 0xBF800001, 0xBF7FFFFF]))
    exponent = data.draw(st.integers(0, 60))
    c = data.draw(st.sampled_from([0x3F800000, 0x3F800001, 0xBF800001, 0x3FFFFFFF])) + (exponent << 23)
    assert_same(c_fmaf, from_bits([a]), from_bits([b]), from_bits([c]))


@pytest.mark.parametrize("seed", range(3))
def test_a_million_random_bit_patterns_give_what_c_gives(c_fmaf: Reference, seed: int) -> None:
    """Every exponent against every other."""
    bits = np.random.default_rng(seed).integers(0, 2**32, size=(3, 1_000_000), dtype=np.uint32)
    assert_same(c_fmaf, *from_bits(bits))


@pytest.mark.parametrize("centre", [1, 12, 60, 127, 150, 200, 250])
def test_a_million_sums_of_like_size_give_what_c_gives(c_fmaf: Reference, centre: int) -> None:
    """Addends near the product, where cancellation, ties and, at either end, subnormals and overflow happen.

    Mantissas have few bits set, so that exact ties are common.
    """
    random = np.random.default_rng(centre)
    size = 1_000_000

    def draw(exponents: Any) -> Array:
        mantissas = random.integers(0, 2**23, size) & random.integers(0, 2**23, size) & random.integers(0, 2**23, size)
        signs = random.integers(0, 2, size) << 31
        return from_bits(signs | (np.clip(exponents, 0, 254) << 23) | mantissas)

    first = random.integers(centre - 30, centre + 31, size)
    second = 127 + random.integers(-30, 31, size)
    third = first + second - 127 + random.integers(-52, 53, size)
    assert_same(c_fmaf, draw(first), draw(second), draw(third))
