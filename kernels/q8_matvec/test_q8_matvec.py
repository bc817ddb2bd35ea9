"""Guard the int8 matrix-vector product: a thread a row, eight threads a row, and four tokens at a time."""

import numpy as np
import pytest
from exact_math import halving_sum

from pytest_kernelperf import Kernel, Launch, cdiv, fmaf

ROWS, WIDTH, GROUP, PIECE, THREADS = 1280, 2048, 128, 16, 64
GROUPS, CHAINS = WIDTH // GROUP, GROUP // PIECE

kernel = Kernel("q8_matvec", source="q8_matvec.hip", tokens=(1, 8, 64, 512))


@kernel.inputs
def inputs(tokens):
    """Weights and activations from -127 to 127, and a scale for every 128 of them."""
    random = np.random.default_rng(1)

    def quantised(rows):
        values = random.integers(-127, 128, (rows, WIDTH), np.int8)
        return values, random.uniform(0.002, 0.02, (rows, GROUPS)).astype(np.float32)

    weights, weight_scales = quantised(ROWS)
    activations, activation_scales = quantised(tokens)
    return {
        "weights": weights,
        "weight_scales": weight_scales,
        "activations": activations,
        "activation_scales": activation_scales,
        "y": np.zeros((tokens, ROWS), np.float32),
    }


@kernel.reference
def reference(tokens, weights, weight_scales, activations, activation_scales):
    """The kernel's order: exact dot products of 16, eight chains of fused multiply-adds, a tree."""
    # A dot product of 16 bytes is below 2 ** 24, so float32 holds every partial sum exactly, in any order.
    by_piece = (GROUPS, CHAINS, PIECE, -1)
    rows = weights.T.reshape(by_piece).astype(np.float32)
    columns = np.swapaxes(activations.T.reshape(by_piece).astype(np.float32), 2, 3)
    chains = np.zeros((CHAINS, tokens, ROWS), np.float32)
    for group in range(GROUPS):
        factor = activation_scales[:, group, None] * weight_scales[None, :, group]
        for chain in range(CHAINS):
            # Not with @: for so short a sum the threads of a BLAS cost more than they give.
            dots = np.einsum("tk,kr->tr", columns[group, chain], rows[group, chain])
            chains[chain] = fmaf(factor, dots, chains[chain])
    return {"y": halving_sum(chains, axis=0)}


def moved_bytes(tokens):
    """Read weights, activations and their scales once, and write the result."""
    return (ROWS + tokens) * (WIDTH + 4 * GROUPS) + 4 * tokens * ROWS


def operations(tokens):
    """A multiplication and an addition for each weight and token; the scales are one for every 128 of them."""
    return 2 * tokens * ROWS * WIDTH


ARGS = ["weights", "weight_scales", "activations", "activation_scales", "y"]
THREAD_A_ROW = "1,280 rows are twenty workgroups of 64: kept to show what it costs"


@kernel.variant(moved_bytes=moved_bytes, operations=operations, expect_starved={1: THREAD_A_ROW})
def thread_a_row(tokens, device):
    """One thread a row."""
    return [Launch("matvec_thread_a_row", grid=(ROWS // THREADS, tokens), block=THREADS, args=ARGS)]


@kernel.variant(moved_bytes=moved_bytes, operations=operations)
def eight_lanes_a_row(tokens, device):
    """Eight neighbouring threads a row: 160 workgroups a token."""
    return [Launch("matvec_eight_lanes_a_row", grid=(ROWS * CHAINS // THREADS, tokens), block=THREADS, args=ARGS)]


@kernel.variant(moved_bytes=moved_bytes, operations=operations)
def four_tokens(tokens, device):
    """Eight neighbouring threads a row, four tokens at a time: each weight is read for all four."""
    grid = (ROWS * CHAINS // THREADS, cdiv(tokens, 4))
    return [Launch("matvec_four_tokens", grid=grid, block=THREADS, args=[np.int32(tokens), *ARGS])]


@kernel.mutation(of="thread_a_row")
def last_rows_missing(tokens, device):
    """One workgroup too few for every token: the last 64 rows are never written."""
    return [Launch("matvec_thread_a_row", grid=(ROWS // THREADS - 1, tokens), block=THREADS, args=ARGS)]


@kernel.mutation(of="eight_lanes_a_row", options=["-DMUTATION_ONE_SCALE_A_ROW"])
def one_scale_a_row(tokens, device):
    """The first group's scales are used for all groups."""
    return eight_lanes_a_row(tokens, device)


@kernel.mutation(of="four_tokens")
def last_token_missing(tokens, device):
    """The kernel is told of one token too few."""
    (launch,) = four_tokens(tokens, device)
    return [Launch(launch.kernel, grid=launch.grid, block=launch.block, args=[np.int32(tokens - 1), *ARGS])]


@pytest.mark.kernelperf(kernel)
def test_q8_matvec(kernelperf):
    """Every variant at every size: right, busy, and not slower than its baseline."""
    kernelperf.check()
