"""Guard RMSNorm with residual: one workgroup a token, eight that each reduce the whole row, and two launches."""

import numpy as np
import pytest
from exact_math import halving_sum

from pytest_kernelperf import Floor, Kernel, Launch, fmaf

COLUMNS, CHAINS, SLICES, THREADS = 4096, 512, 16, 256
TILES, OF_CHAIN = COLUMNS // CHAINS, COLUMNS // CHAINS

kernel = Kernel("rmsnorm_residual", source="rmsnorm_residual.hip", tokens=(1, 7, 32, 512), options=["-I.."])


@kernel.inputs
def inputs(tokens):
    """Values of a few units; ``slice_sums`` is used by the two-launch variant alone."""
    random = np.random.default_rng(1)
    return {
        "x": random.standard_normal((tokens, COLUMNS), np.float32),
        "residual": 2 * random.standard_normal((tokens, COLUMNS), np.float32),
        "weight": random.uniform(0.5, 1.5, COLUMNS).astype(np.float32),
        "hidden": np.zeros((tokens, COLUMNS), np.float32),
        "y": np.zeros((tokens, COLUMNS), np.float32),
        "slice_sums": np.zeros((tokens, SLICES), np.float32),
    }


@kernel.reference
def reference(tokens, x, residual, weight):
    """The kernel's order: chains of columns 512 apart, slices of 32 chains as trees, the slices as a tree."""
    hidden = x + residual
    squares = np.zeros((tokens, CHAINS), np.float32)
    for part in np.moveaxis(hidden.reshape(tokens, OF_CHAIN, CHAINS), 1, 0):
        squares = fmaf(part, part, squares)
    total = halving_sum(halving_sum(squares.reshape(tokens, SLICES, CHAINS // SLICES)))
    factor = np.float32(1) / np.sqrt(total * np.float32(1 / COLUMNS) + np.float32(1e-5))
    return {"hidden": hidden, "y": hidden * factor[:, None] * weight}


def moved_bytes(tokens):
    """Read x, residual and weight once; write hidden and y."""
    return 4 * COLUMNS * (4 * tokens + 1)


def two_launches_bytes(tokens):
    """As with one launch; hidden and the sixteen sums are written by the first and read by the second."""
    return moved_bytes(tokens) + 4 * tokens * (COLUMNS + 2 * SLICES)


def covers(workgroups, device, reason):
    """State the floor of a launch whose columns are covered by too few workgroups to fill the device."""
    return Floor(workgroups, reason) if workgroups < device.compute_units else None


ARGS = ["x", "residual", "weight", "hidden", "y"]
ONE_A_TOKEN = "one workgroup a token: the plain form, kept to show from where on it is the best"


@kernel.variant(moved_bytes=moved_bytes, expect_starved={1: ONE_A_TOKEN, 7: ONE_A_TOKEN, 32: ONE_A_TOKEN})
def one_workgroup_a_token(tokens, device):
    """One launch, one workgroup a token: every value is read once."""
    return [Launch("rmsnorm_one_workgroup_a_token", grid=tokens, block=CHAINS, args=ARGS)]


@kernel.variant(moved_bytes=moved_bytes)
def column_tiles(tokens, device):
    """One launch, eight workgroups a token: each reduces the whole row and writes an eighth of it."""
    floor = covers(TILES * tokens, device, "4,096 columns are eight tiles of 512")
    return [Launch("rmsnorm_column_tiles", grid=(TILES, tokens), block=CHAINS, args=ARGS, underfill=floor)]


@kernel.variant(moved_bytes=two_launches_bytes)
def two_launches(tokens, device):
    """Sixteen workgroups a token add up squares, and sixteen normalise."""
    floor = covers(SLICES * tokens, device, "4,096 columns are sixteen slices of 256")
    grid = (SLICES, tokens)
    first, second = ["x", "residual", "hidden", "slice_sums"], ["hidden", "slice_sums", "weight", "y"]
    return [
        Launch("rmsnorm_sum_slices", grid=grid, block=THREADS, args=first, underfill=floor),
        Launch("rmsnorm_normalise", grid=grid, block=THREADS, args=second, underfill=floor),
    ]


@kernel.mutation(of="one_workgroup_a_token", options=["-DMUTATION_LAST_SLICE_LOST"])
def last_slice_lost(tokens, device):
    """The block reduction leaves out its last wave."""
    return one_workgroup_a_token(tokens, device)


@kernel.mutation(of="column_tiles")
def last_tile_missing(tokens, device):
    """One workgroup too few: the last 512 columns are never written."""
    return [Launch("rmsnorm_column_tiles", grid=(TILES - 1, tokens), block=CHAINS, args=ARGS)]


@kernel.mutation(of="two_launches")
def residual_unchanged(tokens, device):
    """The second launch normalises the residual as it was before the addition."""
    first, second = two_launches(tokens, device)
    args = ["residual", *second.args[1:]]
    return [first, Launch(second.kernel, grid=second.grid, block=second.block, args=args)]


@pytest.mark.kernelperf(kernel)
def test_rmsnorm_residual(kernelperf):
    """Every variant at every size: right, busy, and not slower than its baseline."""
    kernelperf.check()
