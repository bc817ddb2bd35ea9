"""Guard SwiGLU in bfloat16: two launches, fused, eight values a thread; one rounding in each."""

import numpy as np
import pytest
from exact_math import exponential, from_bfloat16, to_bfloat16

from pytest_kernelperf import Floor, Kernel, Launch, cdiv

COLUMNS, THREADS = 5120, 256

kernel = Kernel("swiglu_bf16", source="swiglu_bf16.hip", tokens=(1, 7, 64, 512), options=["-I.."])


@kernel.inputs
def inputs(tokens):
    """Gate and up in bfloat16; ``gated``, in float32, is used by the two-launch variant alone."""
    random = np.random.default_rng(1)
    return {
        "gate": to_bfloat16(3 * random.standard_normal((tokens, COLUMNS), np.float32)),
        "up": to_bfloat16(random.standard_normal((tokens, COLUMNS), np.float32)),
        "gated": np.zeros((tokens, COLUMNS), np.float32),
        "out": np.zeros((tokens, COLUMNS), np.uint16),
    }


@kernel.reference
def reference(tokens, gate, up):
    """In float32, rounded to bfloat16 once. There are only 65,536 gates, so their values are looked up."""
    gates = from_bfloat16(np.arange(1 << 16, dtype=np.uint16))
    with np.errstate(all="ignore"):  # NaN, infinities and the smallest of the numbers are among them
        gated = gates / (np.float32(1) + exponential(-gates))
    return {"out": to_bfloat16(gated[gate] * from_bfloat16(up))}


def fused_bytes(tokens):
    """Read gate and up, write the result: 2 bytes each."""
    return tokens * COLUMNS * 3 * 2


def covered(name, threads_needed, threads, device, args):
    """One launch of as many workgroups as cover the threads, and that as its floor where they cannot fill the GPU."""
    workgroups = cdiv(threads_needed, threads)
    reason = f"{threads_needed:,} threads are {workgroups} workgroups of {threads}"
    floor = Floor(workgroups, reason) if workgroups < device.compute_units else None
    return Launch(name, grid=workgroups, block=threads, args=args, underfill=floor)


@kernel.variant(moved_bytes=lambda tokens: fused_bytes(tokens) + tokens * COLUMNS * 2 * 4)
def separate(tokens, device):
    """Two launches; the gated values are written and read again in float32."""
    values = tokens * COLUMNS
    return [
        covered("silu_kernel", values, THREADS, device, [np.int32(values), "gate", "gated"]),
        covered("multiply_kernel", values, THREADS, device, [np.int32(values), "gated", "up", "out"]),
    ]


@kernel.variant(moved_bytes=fused_bytes)
def fused(tokens, device):
    """One launch, a thread a value: twenty workgroups a token."""
    values = tokens * COLUMNS
    return [covered("swiglu_fused", values, THREADS, device, [np.int32(values), "gate", "up", "out"])]


@kernel.variant(moved_bytes=fused_bytes)
def fused_eight_values(tokens, device):
    """One launch, eight values a thread: ten small workgroups a token."""
    octets = tokens * COLUMNS // 8
    return [covered("swiglu_fused_eight_values", octets, 64, device, [np.int32(octets), "gate", "up", "out"])]


@kernel.mutation(of="separate", options=["-DMUTATION_CUTS_OFF"])
def cuts_off(tokens, device):
    """The result is cut off instead of rounded."""
    return separate(tokens, device)


@kernel.mutation(of="fused", options=["-DMUTATION_ROUNDS_TWICE"])
def rounds_twice(tokens, device):
    """The gated value is rounded to bfloat16 before it is multiplied."""
    return fused(tokens, device)


@kernel.mutation(of="fused_eight_values")
def last_workgroup_missing(tokens, device):
    """One workgroup too few: the last 512 values are never written."""
    (launch,) = fused_eight_values(tokens, device)
    return [Launch(launch.kernel, grid=launch.grid - 1, block=launch.block, args=launch.args)]


@pytest.mark.kernelperf(kernel)
def test_swiglu_bf16(kernelperf):
    """Every variant at every size: right, busy, and not slower than its baseline."""
    kernelperf.check()
