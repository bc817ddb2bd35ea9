"""A stored plan that cannot be run is the baseline's fault, and is said before it is run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from compiled_objects import amd_object

from pytest_kernelperf.baseline.replay import plan_problem, symbols_of
from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.model import BufferArgument, BufferSpec, CopyStep, FillStep, LaunchStep, Plan

BUFFERS = (BufferSpec("x", "<f4", (8,)), BufferSpec("y", "<f4", (8,)))
LAUNCH = LaunchStep("k", (4, 1, 1), (64, 1, 1), (BufferArgument("x", 28),))


def launched(**changes: Any) -> Plan:
    """Return a plan of one launch that is right but for the changes."""
    return Plan((msgspec.structs.replace(LAUNCH, **changes),))


def test_a_sound_plan_has_no_problem() -> None:
    """Launches, fills and copies within their buffers."""
    steps = (LAUNCH, FillStep("x", 255, 0, 32), CopyStep("y", "x", 16, 0, 16))
    assert plan_problem(Plan(steps), BUFFERS) == ""


@pytest.mark.parametrize(
    ("plan", "buffers"),
    [
        (Plan(()), BUFFERS),
        (Plan((FillStep("x", 0, 0, 32),)), BUFFERS),
        (launched(grid=(0, 1, 1)), BUFFERS),
        (launched(grid=(-1, 1, 1)), BUFFERS),
        (launched(grid=(2**31, 1, 1)), BUFFERS),
        (launched(block=(2048, 1, 1)), BUFFERS),
        (launched(shared_bytes=2**60), BUFFERS),
        (launched(arguments=(BufferArgument("z"),)), BUFFERS),
        (launched(arguments=(BufferArgument("x", 2**40),)), BUFFERS),
        (launched(arguments=(BufferArgument("x", -4),)), BUFFERS),
        (Plan((LAUNCH, FillStep("x", 256, 0, 32))), BUFFERS),
        (Plan((LAUNCH, FillStep("x", 0, 8, 32))), BUFFERS),
        (Plan((LAUNCH, CopyStep("x", "y", 0, 0, 33))), BUFFERS),
        (launched(), (BUFFERS[0], BUFFERS[0])),
        (launched(), (BufferSpec("x", "<f4", (-8,)),)),
        (launched(), (BufferSpec("x", "O", (8,)),)),
        (launched(), (BufferSpec("x", "nonsense", (8,)),)),
    ],
)
def test_damage_is_found(plan: Plan, buffers: tuple[BufferSpec, ...]) -> None:
    """Whatever part of the plan or its buffers it hit."""
    assert plan_problem(plan, buffers) != ""


def test_kernels_of_a_stored_object_are_found_by_their_instructions() -> None:
    """A plan's name may be an expression that only the compiler understood; the stored digests tell which it is."""
    source = """
    enum class Mode { kSlow, kFast };
    template <class T, Mode M> __global__ void gemm(T* p) { p[thread()] *= M == Mode::kFast ? 2 : 3; }
    template __global__ void gemm<float, Mode::kFast>(float*);
    template __global__ void gemm<float, Mode::kSlow>(float*);
    """
    data = amd_object(source)
    digests = {symbol: facts.instruction_digest for symbol, facts in read_kernels(data).items()}
    fast, slow = sorted(digests, key=lambda symbol: "E1" not in symbol)
    written = {"gemm<real, Mode::kFast>": digests[fast], "gemm<real, Mode::kSlow>": digests[slow], "gone": "0" * 64}
    assert symbols_of(data, written) == {"gemm<real, Mode::kFast>": fast, "gemm<real, Mode::kSlow>": slow}
    assert symbols_of(b"no code object", written) == {}
