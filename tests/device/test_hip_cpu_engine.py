"""Kernels as engines write them, all in one file, on the cpu runtime: see engine.hip beside this file."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hip_cpu_calls import Array, HipCpu

SOFTMAX = {
    "float": ("softmax_kernel<float, 256>", 256),
    "bfloat16": ("softmax_kernel<__hip_bfloat16, 128>", 128),
    "half": ("softmax_kernel<__half, 64, true>", 64),
}
SGEMM = "sgemm<64, 64, 16>"


class Engine:
    """The file, compiled and loaded."""

    def __init__(self) -> None:
        self.hip = HipCpu()
        source = (Path(__file__).parent / "engine.hip").read_text()
        expressions = [SGEMM, *(name for name, _ in SOFTMAX.values())]
        self.compiled = self.hip.compile(source, name="engine.hip", expressions=expressions)
        self.module = self.hip.load(self.compiled)

    def launch(self, name: str, grid: tuple[int, ...], block: int, *arguments: object, shared: int = 0) -> None:
        """Launch by C++ name; numbers become int or float arguments."""
        kinds = {int: ctypes.c_int, float: ctypes.c_float}
        given = [kinds[type(a)](a) if type(a) in kinds else a for a in arguments]
        function = self.hip.function(self.module, self.compiled.lowered.get(name, name))
        self.hip.launch(function, grid, (block,), *given, shared=shared)


@pytest.fixture(scope="module")
def engine() -> Engine:
    """The file, compiled once."""
    return Engine()


def random_rows() -> npt.NDArray[np.float32]:
    """50 rows of 1,000."""
    return np.random.default_rng(0).normal(size=(50, 1000)).astype(np.float32)


def bfloat16_of(x: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """Rounded to nearest even."""
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("kind", SOFTMAX)
def test_softmax_reduces_over_blocks(engine: Engine, kind: str) -> None:
    """Templates on type and block size, shuffles, static shared memory in a device function used twice."""
    name, threads = SOFTMAX[kind]
    x = random_rows()
    stored: Array = {"float": x, "bfloat16": bfloat16_of(x), "half": x.astype(np.float16)}[kind]
    given, out = engine.hip.upload(stored), engine.hip.upload(np.zeros_like(stored))
    engine.launch(name, (50,), threads, given, out, 1000, 0.5)
    found = engine.hip.download(out, stored)
    if kind == "bfloat16":
        found = (found.astype(np.uint32) << 16).view(np.float32)
    weights = np.exp((x.astype(np.float64) - x.max(axis=1, keepdims=True)) / 2)
    tolerance = {"float": 1e-5, "bfloat16": 2**-6, "half": 2**-9}[kind]
    np.testing.assert_allclose(found, weights / weights.sum(axis=1, keepdims=True), rtol=tolerance, atol=1e-6)


def test_a_tiled_matrix_product_uses_dynamic_shared_memory(engine: Engine) -> None:
    """Two tiles in one dynamic allocation, read as float and as float4."""
    generator = np.random.default_rng(1)
    a, b = (generator.normal(size=shape).astype(np.float32) for shape in ((128, 64), (64, 192)))
    c = np.zeros((128, 192), np.float32)
    buffers = [engine.hip.upload(array) for array in (a, b, c)]
    engine.launch(SGEMM, (3, 2), 256, 128, 192, 64, *buffers, shared=8192)
    np.testing.assert_allclose(engine.hip.download(buffers[2], c), a @ b, atol=1e-4)


def test_the_last_workgroup_adds_up(engine: Engine) -> None:
    """A grid-wide sum in one launch, by an atomic counter that wraps; three times, since it resets itself."""
    x = np.random.default_rng(2).integers(-5, 5, 100000).astype(np.float32)
    buffers = [engine.hip.upload(array) for array in (x, np.zeros(64, np.float32), np.zeros(1, np.float32))]
    for _ in range(3):
        engine.launch("total_sum", (64,), 128, buffers[0], x.size, buffers[1], buffers[2])
        assert engine.hip.download(buffers[2], x[:1])[0] == x.sum()


def test_waves_compact_a_list(engine: Engine) -> None:
    """Ballots, one atomic addition a wave, and a shuffle from the lane that made it."""
    x = np.random.default_rng(3).integers(0, 1000, 10007).astype(np.int32)
    buffers = [engine.hip.upload(array) for array in (x, np.zeros_like(x), np.zeros(1, np.int32))]
    engine.launch("compact", (40,), 256, buffers[0], x.size, buffers[1], buffers[2])
    kept = x[x & 1 == 1]
    assert engine.hip.download(buffers[2], x[:1])[0] == kept.size
    np.testing.assert_array_equal(np.sort(engine.hip.download(buffers[1], x)[: kept.size]), np.sort(kept))


def test_a_float_maximum_by_compare_and_swap(engine: Engine) -> None:
    """atomicCAS in a loop, over workgroups."""
    x = np.random.default_rng(4).normal(size=9999).astype(np.float32)
    out = engine.hip.upload(np.full(1, -9, np.float32))
    engine.launch("maximum", (8,), 64, engine.hip.upload(x), x.size, out)
    assert engine.hip.download(out, x[:1])[0] == x.max()


def test_pairs_of_halves_in_a_parameter_structure(engine: Engine) -> None:
    """Each operation is rounded."""
    x = np.random.default_rng(5).normal(size=5000).astype(np.float16)
    given, out = engine.hip.upload(x), engine.hip.upload(np.zeros_like(x))

    class Params(ctypes.Structure):
        _fields_ = [("n", ctypes.c_int), ("a", ctypes.c_float), ("x", ctypes.c_void_p), ("y", ctypes.c_void_p)]

    engine.launch("half_scale", (10,), 256, Params(5000, 1.5, given.value, out.value))
    np.testing.assert_array_equal(engine.hip.download(out, x), x * np.float16(1.5) + np.float16(1))
