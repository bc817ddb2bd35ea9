"""Guard the lesson's kernel: its plain pair, the fusion that starved, and the fusion that did not."""

import numpy as np
import pytest

from pytest_kernelperf import Floor, Kernel, Launch, cdiv, fmaf

COLUMNS, STREAMS, THREADS = 2560, 4, 256

kernel = Kernel("moe_add_inject", source="moe_add_inject.hip", tokens=(1, 7, 64, 512))


def uniform(seed, *shape):
    """Return float32 values from -1 to 1 by the lesson's 32-bit linear congruential generator."""
    count = int(np.prod(shape))
    powers = np.cumprod(np.full(count, 1664525, np.uint32), dtype=np.uint32)
    sums = np.cumsum(np.concatenate([np.ones(1, np.uint32), powers[:-1]]), dtype=np.uint32)
    states = powers * np.uint32(seed) + sums * np.uint32(1013904223)
    return (((states >> 8) & 0xFFFF).astype(np.float32) / np.float32(32768) - np.float32(1)).reshape(shape)


@kernel.inputs
def inputs(tokens):
    """Four inputs and ``y``, which only the two-launch variant uses."""
    return {
        "moe": uniform(1, tokens, COLUMNS),
        "shared": uniform(2, tokens, COLUMNS),
        "weights": uniform(3, tokens, STREAMS),
        "x": uniform(4, tokens, STREAMS, COLUMNS),
        "y": np.zeros((tokens, COLUMNS), np.float32),
    }


@kernel.reference
def reference(tokens, moe, shared, weights, x):
    """Add, then mix into each stream, rounding once as the GPU does."""
    return {"x": fmaf(weights[:, :, None], (moe + shared)[:, None, :], x)}


def fused_bytes(tokens):
    """Read moe, shared and weights once; read and write x once."""
    return tokens * 4 * (2 * COLUMNS + STREAMS + 2 * STREAMS * COLUMNS)


def separate_bytes(tokens):
    """As fused, and y is written by the one launch and read by the other."""
    return fused_bytes(tokens) + tokens * 4 * 2 * COLUMNS


def covers(workgroups, device, reason):
    """State the floor of a launch whose values are covered by too few workgroups to fill the device."""
    return Floor(workgroups, reason) if workgroups < device.compute_units else None


@kernel.variant(moved_bytes=separate_bytes)
def separate(tokens, device):
    """Two launches, a thread a value."""
    values, updates = tokens * COLUMNS, tokens * STREAMS * COLUMNS
    return [
        Launch(
            "add_kernel",
            grid=cdiv(values, THREADS),
            block=THREADS,
            args=[np.int32(tokens), "moe", "shared", "y"],
            underfill=covers(cdiv(values, THREADS), device, "a token's 2,560 values are ten workgroups of 256"),
        ),
        Launch(
            "inject_kernel",
            grid=cdiv(updates, THREADS),
            block=THREADS,
            args=[np.int32(tokens), "y", "weights", "x"],
            underfill=covers(cdiv(updates, THREADS), device, "a token's 10,240 values are forty workgroups of 256"),
        ),
    ]


ONE_A_TOKEN = "one workgroup a token: the lesson's starved fusion, kept to show it"


@kernel.variant(moved_bytes=fused_bytes, expect_starved={1: ONE_A_TOKEN, 7: ONE_A_TOKEN, 64: ONE_A_TOKEN})
def fused_one_block_per_token(tokens, device):
    """One launch, one workgroup a token."""
    return [
        Launch("fused_one_block_per_token", grid=tokens, block=THREADS, args=["moe", "shared", "weights", "x"]),
    ]


def column_tiles(name, tokens, device, threads):
    """One launch, a workgroup for every tile of ``threads`` columns and every token."""
    tiles = COLUMNS // threads
    floor = covers(tiles * tokens, device, f"2,560 columns are {tiles} tiles of {threads}")
    args = ["moe", "shared", "weights", "x"]
    return [Launch(name, grid=(tiles, tokens), block=threads, args=args, underfill=floor)]


@kernel.variant(moved_bytes=fused_bytes, replaces="separate")
def fused_column_tiles(tokens, device):
    """Ten workgroups a token."""
    return column_tiles("fused_column_tiles", tokens, device, THREADS)


@kernel.variant(moved_bytes=fused_bytes)
def fused_column_tiles_64(tokens, device):
    """Forty workgroups a token: one for each of gfx1151's compute units."""
    return column_tiles("fused_column_tiles_64", tokens, device, 64)


@kernel.mutation(of="fused_column_tiles")
def last_tile_missing(tokens, device):
    """One workgroup too few: the last 256 columns are never updated."""
    return [
        Launch(
            "fused_column_tiles",
            grid=(COLUMNS // THREADS - 1, tokens),
            block=THREADS,
            args=["moe", "shared", "weights", "x"],
        ),
    ]


@kernel.mutation(of="fused_one_block_per_token", options=["-DMUTATION_STREAM_ZERO_WEIGHT"])
def stream_zero_weight(tokens, device):
    """Every stream uses stream 0's weight."""
    return fused_one_block_per_token(tokens, device)


@pytest.mark.kernelperf(kernel)
def test_moe_add_inject(kernelperf):
    """Every variant at every size: right, busy, and not slower than its baseline."""
    kernelperf.check()
