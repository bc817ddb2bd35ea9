"""The drill's own guarded kernel; how it is broken stands in the environment."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from pytest_kernelperf import Kernel, Launch, cdiv

VALUES = 65_536  # in workgroups of 64 enough for any device
USUAL_TURNS = 300
TURNS = int(os.environ.get("KERNELPERF_DRILL_TURNS", USUAL_TURNS))
STARVED = bool(os.environ.get("KERNELPERF_DRILL_STARVED"))

kernel = Kernel("drill", source="drill.hip", tokens=(VALUES,))


@kernel.inputs
def inputs(tokens: int) -> dict[str, Any]:
    """One buffer, filled with what no turn leaves there."""
    return {"y": np.full(tokens, -1, np.float32)}


@kernel.reference
def reference(tokens: int) -> dict[str, Any]:
    """What the turns come to; after a hundred nothing changes any more."""
    value = np.arange(tokens, dtype=np.float32)
    for _ in range(min(TURNS, 100)):
        value = value * np.float32(0.5) + np.float32(1)
    return {"y": value}


@kernel.variant
def spin(tokens: int, device: Any) -> list[Launch]:
    """One thread a value; a single workgroup where it is to be starved."""
    grid = 1 if STARVED else cdiv(tokens, 64)
    return [Launch("drill_spin", grid=grid, block=64, args=[np.int32(tokens), np.int32(TURNS), "y"])]


@kernel.variant
def bystander(tokens: int, device: Any) -> list[Launch]:
    """Never broken: whatever happens to the other, nobody may blame this one."""
    return [Launch("drill_spin", grid=cdiv(tokens, 64), block=64, args=[np.int32(tokens), np.int32(USUAL_TURNS), "y"])]


@kernel.mutation(of="spin")
def last_group_missing(tokens: int, device: Any) -> list[Launch]:
    """All values but the last workgroup's."""
    return [
        Launch("drill_spin", grid=cdiv(tokens, 64) - 1, block=64, args=[np.int32(tokens - 64), np.int32(TURNS), "y"])
    ]


@pytest.mark.kernelperf(kernel)
def test_drill(kernelperf: Any) -> None:
    """Guarded like anybody's."""
    kernelperf.check()
