"""Guard the KV-cache append: keys and values apart, fused, and one workgroup a token."""

import numpy as np
import pytest
from exact_math import to_bfloat16

from pytest_kernelperf import Floor, Kernel, Launch, cdiv

HEADS, WIDTH, SLOTS, THREADS = 8, 128, 2048, 256
ROW = HEADS * WIDTH

kernel = Kernel("kv_append", source="kv_append.hip", tokens=(1, 7, 32, 512), options=["-I.."])


@kernel.inputs
def inputs(tokens):
    """New keys and values, a slot for each token, and caches that hold something already."""
    random = np.random.default_rng(1)
    return {
        "slots": (random.permutation(SLOTS - 1) + 1)[:tokens].astype(np.int32),  # never slot 0, which a bug would take
        "keys": random.standard_normal((tokens, HEADS, WIDTH), np.float32),
        "values": random.standard_normal((tokens, HEADS, WIDTH), np.float32),
        "key_cache": np.full((HEADS, SLOTS, WIDTH), 0x3F80, np.uint16),
        "value_cache": np.full((HEADS, SLOTS, WIDTH), 0xBF80, np.uint16),
    }


@kernel.reference
def reference(tokens, slots, keys, values, key_cache, value_cache):
    """Round to bfloat16 and put each token's row into its slot; all other slots stay."""
    expected = {"key_cache": key_cache.copy(), "value_cache": value_cache.copy()}
    expected["key_cache"][:, slots] = to_bfloat16(keys).swapaxes(0, 1)
    expected["value_cache"][:, slots] = to_bfloat16(values).swapaxes(0, 1)
    return expected


def moved_bytes(tokens):
    """Read keys and values in float32 and the slots, write both in bfloat16."""
    return tokens * (2 * ROW * (4 + 2) + 4)


def floored(workgroups, device):
    """State what a few tokens' values come to, where that cannot fill the device."""
    reason = f"the appended values are covered by {workgroups} workgroups"
    return Floor(workgroups, reason) if workgroups < device.compute_units else None


FUSED_ARGS = ["slots", "keys", "values", "key_cache", "value_cache"]


@kernel.variant(moved_bytes=lambda tokens: moved_bytes(tokens) + 4 * tokens)
def separate(tokens, device):
    """Two launches, a thread a value; the slots are read in both."""
    workgroups = cdiv(tokens * ROW, THREADS)
    return [
        Launch(
            "append_tensor",
            grid=workgroups,
            block=THREADS,
            args=[np.int32(tokens), "slots", rows, cache],
            underfill=floored(workgroups, device),
        )
        for rows, cache in (("keys", "key_cache"), ("values", "value_cache"))
    ]


@kernel.variant(moved_bytes=moved_bytes, replaces="separate")
def fused(tokens, device):
    """One launch, four keys and four values a thread: four small workgroups a token."""
    workgroups = cdiv(tokens * ROW // 4, 64)
    args = [np.int32(tokens), *FUSED_ARGS]
    return [Launch("append_fused", grid=workgroups, block=64, args=args, underfill=floored(workgroups, device))]


ONE_A_TOKEN = "one workgroup a token: kept to show what it costs"


@kernel.variant(moved_bytes=moved_bytes, expect_starved={1: ONE_A_TOKEN, 7: ONE_A_TOKEN, 32: ONE_A_TOKEN})
def one_workgroup_a_token(tokens, device):
    """One launch, one workgroup a token."""
    return [Launch("append_one_workgroup_a_token", grid=tokens, block=THREADS, args=FUSED_ARGS)]


@kernel.mutation(of="separate")
def keys_for_values(tokens, device):
    """The keys are appended to both caches."""
    first, second = separate(tokens, device)
    return [first, Launch(second.kernel, grid=second.grid, block=second.block, args=[*first.args[:3], "value_cache"])]


@kernel.mutation(of="fused")
def last_workgroup_missing(tokens, device):
    """One workgroup too few: the last two heads of the last token are not appended."""
    (launch,) = fused(tokens, device)
    return [Launch(launch.kernel, grid=launch.grid - 1, block=launch.block, args=launch.args)]


@kernel.mutation(of="one_workgroup_a_token", options=["-DMUTATION_CUTS_OFF"])
def cuts_off(tokens, device):
    """Values are cut off instead of rounded."""
    return one_workgroup_a_token(tokens, device)


@pytest.mark.kernelperf(kernel)
def test_kv_append(kernelperf):
    """Every variant at every size: right, busy, and not slower than what it replaces or than its baseline."""
    kernelperf.check()
