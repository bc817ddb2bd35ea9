"""What running a stored case again needs: a plan that can be run at all, and its kernels' names in the object."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import BufferArgument, BufferSpec, CopyStep, FillStep, LaunchStep, Plan
from pytest_kernelperf.plan import MOST_THREADS_PER_AXIS

MOST_THREADS = 1024
MOST_SHARED_BYTES = 2**20


def plan_problem(plan: Plan, buffers: tuple[BufferSpec, ...]) -> str:
    """Say the first thing that keeps a stored plan from being run; empty when there is none."""
    sizes: dict[str, int] = {}
    for spec in buffers:
        size = _size_bytes(spec)
        if size is None or spec.name in sizes:
            return f"buffer {spec.name!r} is no buffer, or there twice"
        sizes[spec.name] = size
    if not plan.launches:
        return "its plan launches nothing"
    return next((problem for step in plan.steps for problem in _step_problems(step, sizes)), "")


def symbols_of(data: bytes, instruction_digests: Mapping[str, str]) -> dict[str, str]:
    """Return the symbol in a stored code object of each kernel as its plan calls it, by the digests stored with it.

    A plan may have name expressions (``gemm<real, Mode::kFast>``), which only the compiler could turn into symbols.
    Of an object that says nothing of its kernels nothing is known.
    """
    try:
        kernels = read_kernels(data)
    except CodeObjectError:
        return {}
    symbols = {facts.instruction_digest: symbol for symbol, facts in sorted(kernels.items(), reverse=True)}
    return {name: symbols[digest] for name, digest in instruction_digests.items() if digest in symbols}


def _step_problems(step: LaunchStep | FillStep | CopyStep, sizes: dict[str, int]) -> Iterator[str]:
    if isinstance(step, LaunchStep):
        yield from _launch_problems(step, sizes)
    elif isinstance(step, FillStep):
        yield from _range_problem(step.buffer, step.offset_bytes, step.size_bytes, sizes)
        if not 0 <= step.byte <= 255:
            yield f"a fill with {step.byte}"
    else:
        yield from _range_problem(step.target, step.target_offset_bytes, step.size_bytes, sizes)
        yield from _range_problem(step.source, step.source_offset_bytes, step.size_bytes, sizes)


def _launch_problems(launch: LaunchStep, sizes: dict[str, int]) -> Iterator[str]:
    axes = [groups * width for groups, width in zip(launch.grid, launch.block, strict=True)]
    if min(*launch.grid, *launch.block) < 1 or max(axes) > MOST_THREADS_PER_AXIS:
        yield f"{launch.kernel} with grid {launch.grid} and block {launch.block}"
    if math.prod(launch.block) > MOST_THREADS or not 0 <= launch.shared_bytes <= MOST_SHARED_BYTES:
        yield f"{launch.kernel} with block {launch.block} and {launch.shared_bytes} bytes of shared memory"
    for argument in launch.arguments:
        if isinstance(argument, BufferArgument):
            yield from _range_problem(argument.buffer, argument.offset_bytes, 1, sizes)


def _range_problem(buffer: str, offset: int, size: int, sizes: dict[str, int]) -> Iterator[str]:
    if buffer not in sizes or offset < 0 or size < 0 or offset + size > sizes[buffer]:
        yield f"{size} bytes at {offset} of buffer {buffer!r}"


def _size_bytes(spec: BufferSpec) -> int | None:
    """Return a buffer's size; None for a dtype or shape that no buffer has."""
    try:
        dtype = np.dtype(spec.dtype)
    except (TypeError, ValueError, SyntaxError):
        return None if not spec.dtype.startswith("[") else _structured_size(spec)
    if dtype.hasobject or not spec.name or any(n < 1 for n in spec.shape):
        return None
    return math.prod(spec.shape) * dtype.itemsize


def _structured_size(spec: BufferSpec) -> int | None:
    """A structured dtype's size is its worker's to find; here it only must not be taken for damage."""
    return 2**62 if spec.name and all(n >= 1 for n in spec.shape) else None
