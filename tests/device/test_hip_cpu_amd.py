"""AMD's own built-ins, and cooperative groups, do on the cpu runtime what AMD's documents say: see hip/amd.hip."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pytest
from hip_cpu_calls import HipCpu, HipFailure
from hip_cpu_source import HipSource

LANES = np.arange(32)
Ints = npt.NDArray[np.int32]


@pytest.fixture(scope="module")
def source() -> HipSource:
    """The file, compiled once."""
    return HipSource("amd.hip")


def values() -> Ints:
    """One number a lane."""
    return np.random.default_rng(0).integers(-1000, 1000, 32).astype(np.int32)


def test_rows_rotate_and_swap_to_a_sum(source: HipSource) -> None:
    """DPP rotations by 8, 4, 2 and 1, then a swizzle across rows: the reduction that AMD's libraries use."""
    x = np.random.default_rng(1).integers(-50, 50, 32).astype(np.float32)
    assert source.run("dpp_sum", (1,), (32,), x, np.zeros_like(x))[1].tolist() == [x.sum()] * 32


def test_lanes_move_as_the_instructions_say(source: HipSource) -> None:
    """Each DPP control, swizzle, permutation and lane read; lanes that are masked out or have no source."""
    x = values()
    row, at = LANES & ~15, LANES & 15
    quad, in_quad = LANES & ~3, LANES & 3
    shifted = np.where(at >= 1, x[np.maximum(LANES - 1, 0)], -1)
    shifted_left = np.where(at + 4 < 16, x[np.minimum(LANES + 4, 31)], 0)
    masked = np.where((LANES < 16) & np.isin(at // 4, [0, 2]), x[quad | 3 - in_quad], -1)
    pushed = np.zeros(32, np.int32)
    pushed[(LANES + 5) % 32] = x
    written = x.copy()
    written[7] = 1234
    want = [
        x[LANES ^ 1],
        shifted,
        shifted_left,
        x[row | 15 - at],
        x[(LANES & ~7) | 7 - (LANES & 7)],
        masked,
        x[LANES ^ 1],
        x[quad | 3 - in_quad],
        x[LANES ^ 16],
        x[row | np.where(at < 8, 7 - at, 23 - at)],
        pushed,
        x[(LANES + 5) % 32],
        x[row | 3],
        x[row | at ^ 5],
        np.full(32, x[9] + x[0]),
        written,
        LANES,
        [bin(0x5555 & (1 << i) - 1).count("1") for i in LANES],
    ]
    found = source.run("dpp_zoo", (1,), (32,), x, np.zeros((18, 32), np.int32))[1]
    for i, (row_found, row_want) in enumerate(zip(found, want, strict=True)):
        np.testing.assert_array_equal(row_found, row_want, str(i))


def test_waves_vote_and_bits_move(source: HipSource) -> None:
    """Ballots, barriers and hints, bit fields and bytes, identifiers of workitem and workgroup."""
    (found,) = source.run("wave_misc", (1,), (32,), np.zeros((8, 32), np.int32))
    want = [
        # The fourth: bytes 5, 1, 4 and 0 of the pair, whose lower half is its second.
        sum(1 << i for i in range(0, 32, 3)),
        LANES,
        0x12 - 6,
        0x01050004,
        0x789ABCDE,
        10 + 3 + 1 + 1 + 3,
        32,
        7,
    ]
    for row_found, row_want in zip(found.astype(np.int64) & 0xFFFFFFFF, want, strict=True):
        np.testing.assert_array_equal(row_found, np.full(32, 0) + row_want)


def test_dot_products_of_small_parts(source: HipSource) -> None:
    """Four bytes or eight halves of bytes, signed or not, clamped or not."""
    a, b = (np.random.default_rng(i).integers(-(2**31), 2**31, 32).astype(np.int32) for i in (2, 3))
    p, q = (x.view(np.int8).reshape(32, 4).astype(np.int64) for x in (a, b))
    up, uq = (x.view(np.uint8).reshape(32, 4).astype(np.int64) for x in (a, b))
    nibbles = [((x[:, None].view(np.uint32).astype(np.int64) >> 4 * np.arange(8) & 15) + 8) % 16 - 8 for x in (a, b)]
    found = source.run("dots", (1,), (32,), a, b, np.zeros((6, 32), np.int32))[2]
    want = [
        7 + (p * q).sum(1),
        np.minimum(2**31 - 1 + (p * q).sum(1), 2**31 - 1),
        7 + (up * uq).sum(1),
        (p * uq).sum(1),
        3 + (nibbles[0] * nibbles[1]).sum(1),
        5 + LANES - 4 + 9 - 16,
    ]
    np.testing.assert_array_equal(found, np.array(want))


def test_cooperative_groups_within_a_workgroup(source: HipSource) -> None:
    """Tiles of sixteen and of a wave: shuffles, ballots, ranks, and barriers of tile and workgroup."""
    x = np.random.default_rng(4).integers(0, 9, 128).astype(np.int32)
    found = source.run("groups", (2,), (64,), x, np.zeros_like(x), 60)[1]
    given = np.where(np.arange(128) % 64 < 60, x, 0)
    sums = np.repeat(given.reshape(8, 16).sum(1), 16)
    odd = np.repeat((sums & 1).reshape(4, 32).sum(1), 32)
    more = np.repeat((sums > 3).reshape(4, 32).any(1), 32)
    i = np.arange(128)
    np.testing.assert_array_equal(found, sums * 100 + odd + i % 16 + i % 64 // 16 * 10000 + more)


def test_clocks_run(source: HipSource) -> None:
    """Every clock is there and does not go back."""
    assert source.run("clocks", (1,), (4,), np.zeros(4, np.int64))[0].tolist() == [7] * 4


def test_vectors_of_clang_and_half_floats_of_the_compiler() -> None:
    """ext_vector_type and _Float16 where clang++ compiles; elsewhere a sentence says who can."""
    x = np.random.default_rng(5).integers(-9, 9, (32, 4)).astype(np.float32)
    halves = np.random.default_rng(6).integers(-9, 9, (32, 4)).astype(np.float16)
    if not HipCpu().hiprtc.kernelperf_cpu_compiler().startswith(b"clang"):
        with pytest.raises(HipFailure, match=r"amd_vectors\.hip:2: error: ext_vector_type is clang's own"):
            HipSource("amd_vectors.hip")
        return
    source = HipSource("amd_vectors.hip")
    y, _, sums = source.run("ext_vectors", (1,), (32,), x, np.zeros_like(x), halves, np.zeros(32, np.float32))[1:]
    want = x * 2 + [1, 2, 3, 4]
    want[:, 0] += want[:, 3]
    want[:, 1] *= want[:, 2]
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(sums, (halves * halves + 1).sum(1))
    pairs = halves[:, :2].copy(), halves[:, 2:].copy()
    dots = source.run("fdot", (1,), (32,), *pairs, np.zeros(32, np.float32))[2]
    np.testing.assert_array_equal(dots, (pairs[0] * pairs[1]).sum(1) + 0.5)
    streamed = source.run("streaming", (1,), (32,), x, np.zeros_like(x), ctypes.c_int(32))[1]
    np.testing.assert_array_equal(streamed, 3 * x)
