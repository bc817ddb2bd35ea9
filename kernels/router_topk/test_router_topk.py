"""Guard the router's softmax with top-k: a thread, a wave and a workgroup a token."""

import numpy as np
import pytest
from exact_math import exponential, halving_sum

from pytest_kernelperf import Floor, Kernel, Launch, cdiv

EXPERTS, TOP, WAVE = 128, 8, 32

kernel = Kernel("router_topk", source="router_topk.hip", tokens=(1, 7, 64, 512), options=["-I.."])


@kernel.inputs
def inputs(tokens):
    """Logits in quarters, so that some of each token's best are equal."""
    random = np.random.default_rng(1)
    return {
        "logits": np.rint(8 * random.standard_normal((tokens, EXPERTS))).astype(np.float32) / 4,
        "experts": np.full((tokens, TOP), -1, np.int32),
        "weights": np.zeros((tokens, TOP), np.float32),
    }


@kernel.reference
def reference(tokens, logits):
    """The kernel's order: experts 32 apart one after another, then a tree; of equals the lower expert first."""
    experts = np.argsort(-logits, axis=1, kind="stable")[:, :TOP].astype(np.int32)
    exponentials = exponential(logits - logits.max(axis=1, keepdims=True))
    first, *others = np.moveaxis(exponentials.reshape(tokens, EXPERTS // WAVE, WAVE), 1, 0)
    sums = first
    for other in others:
        sums = sums + other
    chosen = np.take_along_axis(exponentials, experts, axis=1)
    return {"experts": experts, "weights": chosen / halving_sum(sums)[:, None]}


def moved_bytes(tokens):
    """Read the logits; write eight experts and their probabilities."""
    return tokens * (4 * EXPERTS + 8 * TOP)


def one_a_token(tokens, device):
    """State the floor of a launch with a workgroup a token, where the tokens cannot fill the device."""
    reason = "a token's 128 logits are one workgroup's work: splitting them would cost a second launch"
    return Floor(tokens, reason) if tokens < device.compute_units else None


THREAD_A_TOKEN = "one thread a token, eight workgroups at most: kept to show what it costs"


@kernel.variant(moved_bytes=moved_bytes, expect_starved=dict.fromkeys(kernel.tokens, THREAD_A_TOKEN))
def thread_a_token(tokens, device):
    """One thread a token."""
    args = [np.int32(tokens), "logits", "experts", "weights"]
    return [Launch("router_thread_a_token", grid=cdiv(tokens, 64), block=64, args=args)]


def token_launch(name, threads, tokens, device):
    """One launch, a workgroup a token."""
    args = ["logits", "experts", "weights"]
    return [Launch(name, grid=tokens, block=threads, args=args, underfill=one_a_token(tokens, device))]


@kernel.variant(moved_bytes=moved_bytes)
def wave_a_token(tokens, device):
    """32 threads a token: eight times the best of what is left."""
    return token_launch("router_wave_a_token", WAVE, tokens, device)


@kernel.variant(moved_bytes=moved_bytes)
def thread_an_expert(tokens, device):
    """128 threads a token: each counts how many experts come before its own."""
    return token_launch("router_thread_an_expert", EXPERTS, tokens, device)


@kernel.mutation(of="thread_a_token")
def last_token_missing(tokens, device):
    """The kernel is told of one token too few."""
    (launch,) = thread_a_token(tokens, device)
    return [Launch(launch.kernel, grid=launch.grid, block=launch.block, args=[np.int32(tokens - 1), *launch.args[1:]])]


@kernel.mutation(of="wave_a_token", options=["-DMUTATION_HIGHER_EXPERT_FIRST"])
def higher_expert_first(tokens, device):
    """Of equal experts the higher number comes first."""
    return wave_a_token(tokens, device)


@kernel.mutation(of="thread_an_expert", options=["-DMUTATION_HIGHER_EXPERT_FIRST"])
def higher_expert_counted_first(tokens, device):
    """As above, where each expert counts those before it."""
    return thread_an_expert(tokens, device)


@pytest.mark.kernelperf(kernel)
def test_router_topk(kernelperf):
    """Every variant at every size: right, busy, and not slower than its baseline."""
    kernelperf.check()
