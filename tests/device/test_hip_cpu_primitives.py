"""Parallel primitives as libraries write them give exact results on the cpu runtime: see hip/primitives.hip."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hip_cpu_source import HipSource

SCANS: dict[str, tuple[str, int, int, Any]] = {
    "int": ("block_exclusive_scan<int, 128, 4>", 128, 4, np.int32),
    "double": ("block_exclusive_scan<double, 64, 3>", 64, 3, np.float64),
}
REDUCE, TOPK = "reduce6<256>", "warp_topk<4>"


@pytest.fixture(scope="module")
def source() -> HipSource:
    """The file, compiled once."""
    return HipSource("primitives.hip", [*(name for name, *_ in SCANS.values()), "lookback_scan", REDUCE, TOPK])


@pytest.mark.parametrize("kind", SCANS)
def test_a_block_scans_its_items(source: HipSource, kind: str) -> None:
    """Templates on type, block and items, with storage in shared memory of a class's own type."""
    name, threads, items, dtype = SCANS[kind]
    x = np.random.default_rng(0).integers(-50, 50, (3, threads * items)).astype(dtype)
    start = (ctypes.c_int if dtype is np.int32 else ctypes.c_double)(7)
    _, out, totals = source.run(name, (3,), (threads,), x, np.zeros_like(x), np.zeros(3, dtype), start)
    np.testing.assert_array_equal(out, np.cumsum(x, 1) - x + 7)
    np.testing.assert_array_equal(totals, x.sum(1))


def test_one_pass_scans_the_grid(source: HipSource) -> None:
    """Workgroups wait for those before them, in an order that a ticket decides, through released descriptors."""
    x = np.random.default_rng(1).integers(0, 1000, 20000).astype(np.uint32)
    found = source.run("lookback_scan", (79,), (256,), x, np.zeros_like(x), x.size)[1]
    np.testing.assert_array_equal(found, np.cumsum(x, dtype=np.uint32))


def test_a_block_sorts_by_digits(source: HipSource) -> None:
    """Ranks by ballots, counters in shared memory, eight passes."""
    keys = np.random.default_rng(2).integers(0, 2**32, (5, 256), dtype=np.uint32)
    (found,) = source.run("block_radix_sort", (5,), (256,), keys)
    np.testing.assert_array_equal(found, np.sort(keys, 1))


def test_equal_lanes_add_once(source: HipSource) -> None:
    """__match_any, then one atomic addition for each value in a wave."""
    x = np.random.default_rng(3).integers(0, 10, 5003).astype(np.int32)
    found = source.run("histogram_match", (3,), (128,), x, x.size, np.zeros(10, np.uint32))[1]
    np.testing.assert_array_equal(found, np.bincount(x, minlength=10))


def test_the_greatest_is_found_with_its_place(source: HipSource) -> None:
    """A float and its index in one 64 bit word, by shuffles of 64 bits and atomicMax; the first of equals wins."""
    x = np.random.default_rng(4).normal(size=9000).astype(np.float32)
    x[[700, 4000]] = 50
    found = source.run("argmax64", (5,), (96,), x, x.size, np.zeros(1, np.uint64))[1]
    assert 0xFFFFFFFF - (int(found[0]) & 0xFFFFFFFF) == 700


def test_a_block_reduces_through_volatile_memory(source: HipSource) -> None:
    """The last wave without barriers, kept in step by __syncwarp."""
    x = np.random.default_rng(5).integers(-9, 9, 10000).astype(np.float32)
    found = source.run(REDUCE, (4,), (256,), x, np.zeros(4, np.float32), ctypes.c_uint(x.size), shared=1024)[1]
    assert found.sum() == x.sum()


def test_a_wave_finds_the_greatest_few(source: HipSource) -> None:
    """Several rows a workgroup; lists in registers, merged by exchanges of structures' members."""
    x = np.random.default_rng(6).normal(size=(12, 333)).astype(np.float32)
    empty = np.zeros((12, 4), np.float32)
    _, values, places = source.run(TOPK, (3,), (32, 4), x, 333, empty, empty.astype(np.int32))
    want = np.argsort(-x, 1)[:, :4]
    np.testing.assert_array_equal(places, want)
    np.testing.assert_array_equal(values, np.take_along_axis(x, want, 1))
