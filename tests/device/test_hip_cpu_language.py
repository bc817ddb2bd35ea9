"""C++ as engines write it compiles on the cpu runtime and gives what numpy gives: see hip/language.hip."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from math import gcd

import numpy as np
import pytest
from hip_cpu_source import HipSource

THROUGH = {"neighbour": "through<neighbour, THREADS, float>", "times": "through<times, THREADS, float>"}
SCALES = ["scale<double, 2>", "scale<int, 7>", "scale<float, 3>", "a::scale", "a::b::scale", "hidden", "file_local"]
FOLDED = "folded<Twice, kSecond, true, (char)(8 >> 2), 1u, 2u, 3u>"
SUMMED, APPLIED = "summed<int, float, double>", "applied<Scaled>"
EXPRESSIONS = [*THROUGH.values(), *SCALES, "conv1d<int>", "conv1d<int64_t>", FOLDED, SUMMED, APPLIED]


@pytest.fixture(scope="module")
def source() -> HipSource:
    """The file, compiled once."""
    return HipSource("language.hip", EXPRESSIONS)


def test_it_compiles_without_a_warning(source: HipSource) -> None:
    """Kernels without linkage, templates and stubs are nothing to warn of."""
    assert source.compiled.log == ""


def test_tables_and_constants_of_every_kind_are_read(source: HipSource) -> None:
    """__constant__ arrays and structures, constexpr and plain __device__ tables, managed and inline variables."""
    nibbles = np.random.default_rng(0).integers(0, 256, 1000).astype(np.uint8)
    table = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float32)
    i = np.arange(1000)
    _, out = source.run("tables", (8,), (128,), nibbles, np.zeros(1000, np.float32), 1000)
    np.testing.assert_array_equal(out, table[nibbles & 15] * 0.5 + (i & 7) + (1 << (i & 3)) + 7 + 42)


class Shape(ctypes.Structure):
    """As in the file."""

    _fields_ = [("dims", ctypes.c_int64 * 4), ("rank", ctypes.c_int32), ("contiguous", ctypes.c_bool)]


class TensorList(ctypes.Structure):
    """As in the file."""

    _fields_ = [("ptr", ctypes.c_void_p * 4), ("sizes", ctypes.c_int * 4)]


class Big(ctypes.Structure):
    """As in the file; 48 bytes, aligned to 16."""

    _fields_ = [
        ("d", ctypes.c_double),
        ("c", ctypes.c_char),
        ("s", ctypes.c_short * 3),
        ("v", ctypes.c_float * 4),
    ]


@pytest.mark.parametrize(("flip", "act"), [(False, 0), (True, 1), (False, 1), (True, 2)])
def test_arguments_of_every_kind_arrive(source: HipSource, flip: bool, act: int) -> None:
    """Pointers to pointers, structures with arrays and pointers, bool, enum, 8 and 64 bits, half, vectors, double."""
    hip, generator = source.hip, np.random.default_rng(1)
    rows = generator.integers(-9, 9, (3, 5)).astype(np.float32)
    lists = generator.integers(-9, 9, (4, 5)).astype(np.float32)
    pointers = [hip.upload(row) for row in rows]
    table = np.array([pointer.value for pointer in pointers], np.uint64)
    addresses = [hip.upload(row).value for row in lists]
    tensors = TensorList((ctypes.c_void_p * 4)(*addresses), (ctypes.c_int * 4)(5, 0, 2, 3))
    big = Big(2.0, b"\x03", (ctypes.c_short * 3)(0, 0, 40), (ctypes.c_float * 4)(0, 0, 500, 0))
    scalars = [
        ctypes.c_ulonglong(3 << 40),
        ctypes.c_int8(-4),
        ctypes.c_uint16(int(np.float16(0.5).view(np.uint16))),
        (ctypes.c_int8 * 4)(0, 0, 0, 6),
        ctypes.c_double(1000),
    ]
    out, shape = np.zeros(15, np.float32), Shape((ctypes.c_int64 * 4)(3, 5, 0, 0), 2, True)
    kind = ctypes.c_int8(act)
    out, _ = source.run("arguments", (1,), (32,), out, table, shape, tensors, flip, kind, big, *scalars)
    value = rows + np.where(np.arange(5)[None] < np.array([5, 0, 2, 3])[:, None], lists, 0).sum(0)
    value = -value if flip else value
    value = {0: value, 1: np.maximum(value, 0), 2: value * value}[act]
    np.testing.assert_array_equal(out.reshape(3, 5), value + 2 + 3 + 40 + 500 + 3 - 4 + 0.5 + 6 + 1000 + 2 + 1)


def test_functions_recur_and_classes_derive(source: HipSource) -> None:
    """Recursion, out of line and not; base classes that know their derived one; virtual functions."""
    fibonacci = [0, 1]
    while len(fibonacci) < 12:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    (out,) = source.run("recursion", (1,), (64,), np.zeros(64, np.int32))
    want = [fibonacci[i % 12] + gcd(12 * (i + 1), 18) + i * i + 1 + 2 * (i % 3) ** 3 + 1 for i in range(64)]
    assert out.tolist() == want
    assert source.run("virtuals", (1,), (8,), np.zeros(8, np.float32))[0].tolist() == [2 * i for i in range(8)]


def test_kernels_allocate_copy_and_free(source: HipSource) -> None:
    """new, malloc, memset and memcpy in a kernel."""
    (out,) = source.run("heap", (2,), (64,), np.zeros(128, np.int32), 10)
    assert out.tolist() == [45 * (i % 64 + 1) for i in range(128)]


def test_lambdas_folds_and_bindings(source: HipSource) -> None:
    """Generic lambdas, parameter packs, structured bindings, if with an initialiser."""
    i = np.arange(300)
    (out,) = source.run("modern", (3,), (128,), np.zeros(300, np.float32), 300)
    want = np.where(i % 3 == 1, i * i + 2 * i + 3 + i, np.where(i % 3 == 2, 3 * i + 4.5, 4 * i * i))
    np.testing.assert_array_equal(out, want.astype(np.float32))


def test_jumps_unions_and_packed_structures(source: HipSource) -> None:
    """goto, fallthrough, do-while; bit fields of a union, values at odd addresses."""
    (out,) = source.run("control", (2,), (128,), np.zeros(200, np.int32), 200)
    ones = np.array([bin(i).count("1") for i in range(200)])
    kind = np.arange(200) % 4
    want = np.select([kind == 0, kind == 1, kind == 2], [ones + 1110, ones + 1010, ones], 1000 - ones)
    np.testing.assert_array_equal(out, want)
    packed = np.zeros(50, [("t", "u1"), ("v", "f4"), ("e", "u2")])
    assert packed.itemsize == 7
    packed["t"], packed["v"], packed["e"] = np.arange(50), np.linspace(-3, 3, 50), 1000
    bits = np.ascontiguousarray(packed["v"]).view(np.uint32)
    found = source.run("layout", (1,), (64,), packed, np.zeros(50, np.uint32), 50)[1]
    np.testing.assert_array_equal(found, (bits >> 23 & 255) + (bits >> 31 << 8) + packed["t"] + packed["e"])


def test_kernels_of_one_name_are_told_apart(source: HipSource) -> None:
    """Overloads, templates, specialisations, explicit instantiations and namespaces, all named scale."""
    x = np.arange(8, dtype=np.float32)

    def scaled(kernel: str, values: np.ndarray, *rest: object) -> list[float]:
        return source.run(kernel, (1,), (8,), values, *rest)[0].tolist()

    assert scaled("_Z5scalePff", x, 2.0) == (2 * x).tolist()
    assert scaled("_Z5scalePii", x.astype(np.int32), 5) == (5 * x).tolist()
    assert scaled("scale<double, 2>", x.astype(np.float64)) == (200 * x).tolist()
    assert scaled("scale<int, 7>", x.astype(np.int32)) == (7 * x).tolist()
    assert scaled("scale<float, 3>", x) == (3 * x).tolist()
    assert scaled("a::scale", x, 2.0) == (x + 2).tolist()
    assert scaled("a::b::scale", x, 2.0) == (x - 2).tolist()
    assert scaled("hidden", x) == [5] * 8
    assert scaled("file_local", x) == [6] * 8


def test_indices_of_64_bits(source: HipSource) -> None:
    """Grid-stride loops and offsets below zero, for either type of index."""
    x = np.random.default_rng(2).integers(0, 256, 100000).astype(np.uint8)
    total = source.run("stride64", (7,), (96,), x, ctypes.c_uint64(x.size), np.zeros(1, np.uint64))[1]
    assert total[0] == x.sum()
    signal = np.random.default_rng(3).integers(-9, 9, 500).astype(np.float32)
    weights = np.array([1, -2, 3, 5, 7], np.float32)
    want = np.correlate(np.pad(signal, 2), weights, "valid")
    for name, kind in (("conv1d<int>", ctypes.c_int), ("conv1d<int64_t>", ctypes.c_int64)):
        found = source.run(name, (2,), (64,), signal, weights, np.zeros(500, np.float32), kind(500), kind(5))[2]
        np.testing.assert_array_equal(found, want)


def test_device_variables_keep_their_values(source: HipSource) -> None:
    """A two-dimensional __device__ array across a barrier, and a counter across launches."""
    for launch in range(1, 3):
        (out,) = source.run("state_update", (1,), (4, 4), np.zeros(17, np.float32))
        assert out[:16].reshape(4, 4).tolist() == [[(3 - x) * 10 + 3 - y for x in range(4)] for y in range(4)]
        assert out[16] == 4 * launch


@pytest.mark.parametrize("transform", THROUGH)
def test_waiting_is_found_behind_template_arguments_and_classes(source: HipSource, transform: str) -> None:
    """A function given as template argument, static members that call each other, constructors and destructors.

    The kernel's type depends on its arguments, its name expression on a macro.
    """
    x = np.random.default_rng(4).integers(0, 100, 64).astype(np.float32)
    v = 3 * x if transform == "times" else np.concatenate([np.roll(x[:32], -3), np.roll(x[32:], -3)])
    most = np.concatenate([np.full(32, v[:32].max()), np.repeat(v[32:].reshape(4, 8).sum(1), 8)])
    found = source.run(THROUGH[transform], (1,), (64,), x, np.zeros_like(x))[1]
    np.testing.assert_array_equal(found, most[::-1] + v)


def test_lanes_that_wait_in_a_member_function_rejoin_the_others(source: HipSource) -> None:
    """Odd lanes reduce first; the exchange behind the branch is one of all lanes."""
    x = np.random.default_rng(5).permutation(64).astype(np.int32)
    found = source.run("rejoins", (1,), (64,), x, np.zeros_like(x))[1]
    most = np.repeat(np.maximum(x, 0).reshape(2, 32)[:, 1::2].max(1), 32)
    want = np.where(np.arange(64) & 1, most, x)[np.arange(64) ^ 1]
    np.testing.assert_array_equal(found, want)


def test_barriers_vote_in_a_loop_after_whole_waves_have_left(source: HipSource) -> None:
    """128 threads, of which 64 return at once."""
    x = np.random.default_rng(6).integers(-4, 5, 64).astype(np.int32)
    found = source.run("votes", (1,), (128,), x, np.zeros_like(x), 4)[1]
    held = [x * x > i * i for i in range(4)]
    assert found.tolist() == [sum(h.sum() + 10 * h.all() + 20 * h.any() for h in held)] * 64


def test_one_allocation_is_shared_by_several_types(source: HipSource) -> None:
    """double, float and int parts of dynamic shared memory, in a two-dimensional workgroup."""
    x = np.random.default_rng(7).normal(size=(6, 20)).astype(np.float32)
    found = source.run("partitioned", (2,), (32, 3), x, np.zeros_like(x), 20, shared=3 * 8 + 96 * 4 + 96 * 4)[1]
    sums = np.where(x > 0, x, np.float32(0)).astype(np.float64).sum(1).astype(np.float32)
    np.testing.assert_array_equal(found, x / sums[:, None])


def test_atomics_of_every_kind(source: HipSource) -> None:
    """Each operation on each type, from 1,000 threads of ten workgroups; sums are exact in any order."""
    n, t = 1000, np.arange(1000)
    given = [
        np.array([0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0], np.int32),
        np.zeros(4, np.uint32),
        np.array([0, 0, 0, 2**64 - 1], np.uint64),
        np.zeros(5, np.float32),
        np.zeros(2, np.float64),
        np.zeros(2, np.float16),
    ]
    i, u, wide, f, d, h = source.run("atomics", (10,), (100,), *given)
    assert i.tolist() == [
        n,
        -t.sum(),
        -999,
        999,
        -(1 << 31),
        (1 << 31) - 1,
        np.bitwise_xor.reduce(t),
        5,
        9,
        2 * n,
        n,
        n,
    ]
    assert u.tolist() == [0, 0, 3 * n, 999]
    assert wide.tolist() == [int(t.sum()) << 20, 999 * 999, 77, 0xF << 60]
    assert f.tolist() == [500, 999, -999, 1000, 2.5]
    assert d.tolist() == [250, 999]
    assert h.tolist() == [1000, 500]


def test_packs_functors_and_template_arguments_of_every_kind(source: HipSource) -> None:
    """Numbers, letters, enumerators, templates; a structure that is a kernel's function; packs of arguments."""
    assert source.run(FOLDED, (1,), (8,), np.zeros(8, np.int32))[0].tolist() == [2 * (5 + 1 + 2 + 6)] * 8
    given = (1, 2.5, ctypes.c_double(3))
    assert source.run(SUMMED, (1,), (8,), np.zeros(8, np.float32), *given)[0].tolist() == [6.5] * 8
    x = np.arange(8, dtype=np.float32)
    assert source.run(APPLIED, (1,), (8,), x, ctypes.c_float(3), shared=32)[0].tolist() == (3 * x[::-1]).tolist()


def test_printf_formats_all_it_is_given() -> None:
    """Text comes out whole when the device is waited for."""
    program = """
from hip_cpu_source import HipSource
HipSource("language.hip").run("says", (4,), (32,), 3)
"""
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True)
    assert ended.stdout.splitlines() == [f"lane {i} of 32: ok {i / 2:.3f} 3" for i in range(3)]
