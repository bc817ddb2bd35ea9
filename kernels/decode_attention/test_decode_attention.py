"""Guard attention over a KV cache: one workgroup a head, split over the cache, and always split in eight.

``tokens`` is the number of cached tokens; one new token attends to them.
"""

import numpy as np
import pytest
from exact_math import from_bfloat16, to_bfloat16

from pytest_kernelperf import Floor, Kernel, Launch, Tolerance, cdiv

HEADS, GROUPS, WIDTH, TILE, MOST_SPLITS = 32, 8, 128, 64, 64

kernel = Kernel(
    "decode_attention",
    source="decode_attention.hip",
    tokens=(1, 64, 512, 4096),
    options=["-I.."],
    tolerance=Tolerance(
        absolute=1.2e-5,
        relative=0,
        reason=(
            "expf differs between devices, and splits add in another order. With u = 2 ** -24, values up to 1, partial "
            "sums of a score below 8, and roundings that are independent: a score is rounded 66 times, "
            "sqrt(66) * 8 u = 3.9e-6; a result of 4,096 tokens 64 times within a tile, and in each of 64 rescalings by "
            "the 4 u of expf, sqrt(64 + 64 * 16) u = 2.0e-6; both in the weighted values and in the sum of weights: "
            "2 * (3.9e-6 + 2.0e-6) = 1.2e-5"
        ),
    ),
)


@kernel.inputs
def inputs(tokens):
    """A query, a cache in bfloat16, and the parts that split variants leave to be merged."""
    random = np.random.default_rng(1)
    queries = random.uniform(-4, 4, (HEADS, WIDTH)).astype(np.float32)
    keys = random.uniform(-1, 1, (GROUPS, tokens, WIDTH)).astype(np.float32)
    # The newest token matters to one query head of each group, so that leaving it out shows at any length.
    keys[:, -1] = np.sign(queries[:: HEADS // GROUPS]) * np.float32(0.3)
    return {
        "queries": queries,
        "keys": to_bfloat16(keys),
        "values": to_bfloat16(random.uniform(-1, 1, (GROUPS, tokens, WIDTH)).astype(np.float32)),
        "part_values": np.zeros((HEADS, MOST_SPLITS, WIDTH), np.float32),
        "part_sums": np.zeros((HEADS, MOST_SPLITS), np.float32),
        "part_highest": np.zeros((HEADS, MOST_SPLITS), np.float32),
        "out": np.zeros((HEADS, WIDTH), np.float32),
    }


@kernel.reference
def reference(tokens, queries, keys, values):
    """Softmax and weighted sum in float64, four query heads to a group."""
    grouped = queries.astype(np.float64).reshape(GROUPS, HEADS // GROUPS, WIDTH)
    scores = grouped @ from_bfloat16(keys).astype(np.float64).swapaxes(1, 2) / np.sqrt(WIDTH)
    weights = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    out = weights @ from_bfloat16(values).astype(np.float64)
    return {"out": out.reshape(HEADS, WIDTH).astype(np.float32)}


def moved_bytes(tokens):
    """Read keys and values once, read the query, write the result."""
    return 2 * 2 * GROUPS * tokens * WIDTH + 2 * 4 * HEADS * WIDTH


def eight_splits_bytes(tokens):
    """As well, each head's eight parts are written and read."""
    return moved_bytes(tokens) + 2 * 4 * 8 * HEADS * (WIDTH + 2)


CACHE = ["queries", "keys", "values"]
PARTS = ["part_values", "part_sums", "part_highest"]
ONE_A_HEAD = "one workgroup a head, 32 in all: the plain form, kept to show what splitting gains"


@kernel.variant(moved_bytes=moved_bytes, expect_starved=dict.fromkeys(kernel.tokens, ONE_A_HEAD))
def one_workgroup_a_head(tokens, device):
    """One launch, one workgroup a head."""
    args = [np.int32(tokens), np.int32(tokens), *CACHE, "out"]
    return [Launch("attention_one_workgroup_a_head", grid=HEADS, block=WIDTH, args=args)]


def split_launches(tokens, splits, share, device):
    """Attend to ``share`` cached tokens in each split, then merge the splits of each head."""
    workgroups = HEADS * splits
    reason = f"{tokens} cached tokens are {splits} splits of {share} for each of 32 heads"
    return [
        Launch(
            "attention_split",
            grid=(HEADS, splits),
            block=WIDTH,
            args=[np.int32(tokens), np.int32(tokens), np.int32(share), *CACHE, *PARTS],
            underfill=Floor(workgroups, reason) if workgroups < device.compute_units else None,
        ),
        Launch(
            "attention_merge",
            grid=HEADS,
            block=WIDTH,
            args=[np.int32(0), np.int32(splits), *PARTS, "out"],
            underfill=Floor(HEADS, "a head's parts are merged by one workgroup: little work, and 128 values each")
            if device.compute_units > HEADS
            else None,
        ),
    ]


@kernel.variant(moved_bytes=moved_bytes, replaces="one_workgroup_a_head")
def split_over_cache(tokens, device):
    """As many splits as fill the device twice; one launch where the heads fill it or the cache is short."""
    tiles = cdiv(tokens, TILE)
    wanted = min(cdiv(2 * device.compute_units, HEADS), MOST_SPLITS)
    if wanted == 1 or tiles < 8:
        (launch,) = one_workgroup_a_head(tokens, device)
        floor = Floor(HEADS, f"{tokens} cached tokens are too few to pay for a second launch")
        return [
            Launch(
                launch.kernel,
                grid=HEADS,
                block=WIDTH,
                args=launch.args,
                underfill=floor if device.compute_units > HEADS else None,
            )
        ]
    share = cdiv(tiles, wanted) * TILE
    return split_launches(tokens, cdiv(tokens, share), share, device)


@kernel.variant(moved_bytes=eight_splits_bytes)
def eight_splits(tokens, device):
    """Always eight splits a head, some of them empty where the cache is short."""
    return split_launches(tokens, 8, cdiv(cdiv(tokens, TILE), 8) * TILE, device)


@kernel.mutation(of="one_workgroup_a_head", options=["-DMUTATION_WRONG_GROUP"])
def wrong_group(tokens, device):
    """Query heads 0, 8, 16 and 24 share keys and values, instead of 0 to 3."""
    return one_workgroup_a_head(tokens, device)


@kernel.mutation(of="split_over_cache")
def newest_token_missing(tokens, device):
    """The new token does not attend to itself."""
    args = [np.int32(tokens - 1), np.int32(tokens), *CACHE, "out"]
    return [Launch("attention_one_workgroup_a_head", grid=HEADS, block=WIDTH, args=args)]


@kernel.mutation(of="eight_splits")
def first_split_missing(tokens, device):
    """The first split is not merged."""
    attend, merge = eight_splits(tokens, device)
    return [attend, Launch(merge.kernel, grid=HEADS, block=WIDTH, args=[np.int32(1), *merge.args[1:]])]


@pytest.mark.kernelperf(kernel)
def test_decode_attention(kernelperf):
    """Every variant at every context: right, busy, and not slower than what it replaces or than its baseline."""
    kernelperf.check()
