"""Guard the rotary embedding: queries and keys apart, fused, and one workgroup a token."""

import numpy as np
import pytest

from pytest_kernelperf import Floor, Kernel, Launch, cdiv, fmaf

QUERY_HEADS, KEY_HEADS, PAIRS, POSITIONS, THREADS = 32, 8, 64, 4096, 256
HEADS = QUERY_HEADS + KEY_HEADS
TILES = HEADS // 4

kernel = Kernel("rope", source="rope.hip", tokens=(1, 7, 32, 512))


@kernel.inputs
def inputs(tokens):
    """Queries, keys, a position for every token, and the table of angles' cosines and sines."""
    random = np.random.default_rng(1)
    angles = np.arange(POSITIONS)[:, None] * 10000.0 ** (-np.arange(PAIRS) / PAIRS)
    return {
        "positions": random.permutation(POSITIONS)[:tokens].astype(np.int32),
        "cosines": np.cos(angles).astype(np.float32),
        "sines": np.sin(angles).astype(np.float32),
        "queries": random.standard_normal((tokens, QUERY_HEADS, 2, PAIRS), np.float32),
        "keys": random.standard_normal((tokens, KEY_HEADS, 2, PAIRS), np.float32),
    }


@kernel.reference
def reference(tokens, positions, cosines, sines, queries, keys):
    """Turn first and second halves against each other: a product, then a fused multiply-add."""
    cosine, sine = cosines[positions][:, None, :], sines[positions][:, None, :]

    def turned(values):
        low, high = values[:, :, 0], values[:, :, 1]
        return np.stack([fmaf(low, cosine, -(high * sine)), fmaf(high, cosine, low * sine)], axis=2)

    return {"queries": turned(queries), "keys": turned(keys)}


def moved_bytes(tokens):
    """Read and write queries and keys once; read each token's position and its row of cosines and sines."""
    return tokens * (2 * 4 * HEADS * 2 * PAIRS + 4 + 2 * 4 * PAIRS)


TABLES = ["positions", "cosines", "sines"]


def covers(workgroups, device, reason):
    """State the floor of a launch whose pairs are covered by too few workgroups to fill the device."""
    return Floor(workgroups, reason) if workgroups < device.compute_units else None


def tensor_launch(tensor, heads, tokens, device):
    """One launch, a thread for each of a tensor's pairs."""
    workgroups = cdiv(tokens * heads * PAIRS, THREADS)
    return Launch(
        "rope_tensor",
        grid=workgroups,
        block=THREADS,
        args=[np.int32(tokens), np.int32(heads), *TABLES, tensor],
        underfill=covers(workgroups, device, f"a token's {heads} heads are {heads // 4} workgroups of 256 pairs"),
    )


@kernel.variant(moved_bytes=lambda tokens: moved_bytes(tokens) + tokens * (4 + 2 * 4 * PAIRS))
def separate(tokens, device):
    """Two launches, a thread a pair; positions and the table's rows are read in both."""
    return [
        tensor_launch("queries", QUERY_HEADS, tokens, device),
        tensor_launch("keys", KEY_HEADS, tokens, device),
    ]


@kernel.variant(moved_bytes=moved_bytes, replaces="separate")
def fused(tokens, device):
    """One launch, four pairs a thread: ten small workgroups a token."""
    floor = covers(TILES * tokens, device, f"a token's forty heads are {TILES} tiles of four")
    args = [*TABLES, "queries", "keys"]
    return [Launch("rope_fused", grid=(TILES, tokens), block=64, args=args, underfill=floor)]


ONE_A_TOKEN = "one workgroup a token: kept to show what it costs"


@kernel.variant(moved_bytes=moved_bytes, expect_starved={1: ONE_A_TOKEN, 7: ONE_A_TOKEN, 32: ONE_A_TOKEN})
def one_workgroup_a_token(tokens, device):
    """One launch, one workgroup a token."""
    return [Launch("rope_one_workgroup_a_token", grid=tokens, block=THREADS, args=[*TABLES, "queries", "keys"])]


@kernel.mutation(of="separate")
def keys_missing(tokens, device):
    """The second launch is forgotten."""
    return separate(tokens, device)[:1]


@kernel.mutation(of="fused")
def last_tile_missing(tokens, device):
    """One workgroup too few for every token: its last four heads stay as they were."""
    return [Launch("rope_fused", grid=(TILES - 1, tokens), block=64, args=[*TABLES, "queries", "keys"])]


@kernel.mutation(of="one_workgroup_a_token", options=["-DMUTATION_TURNS_BACK"])
def turns_back(tokens, device):
    """A sign is wrong: the second half turns the other way."""
    return one_workgroup_a_token(tokens, device)


@pytest.mark.kernelperf(kernel)
def test_rope(kernelperf):
    """Every variant at every size: right, busy, and not slower than what it replaces or than its baseline."""
    kernelperf.check()
