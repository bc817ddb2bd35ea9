"""Rounds of a plan as the native loop takes them: steps packed once, for one copy of the buffers or for several."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_kernelperf.model import CopyStep, FillStep, LaunchStep, Plan
from pytest_kernelperf.runtime.argument import buffer_address, pack_arguments
from pytest_kernelperf.runtime.hip import Buffer, Function, Graph, Owner
from pytest_kernelperf.runtime.loop_native import COPY, FILL, LAUNCH, Step


class Rounds(Owner):
    """A plan ready to be called: steps with packed arguments. Buffers and functions must outlive it.

    ``steps`` holds one round after the other for each of ``copies`` copies of the buffers; ``names`` one round's.
    """

    def __init__(self, steps: Any, kept: tuple[object, ...], names: tuple[str, ...], copies: int = 1) -> None:
        self.steps = steps
        self.names = names
        self.copies = copies
        self.launched = False
        self.graphs: dict[int, Graph] = {}
        self._kept = kept
        super().__init__(self._close_graphs)

    @property
    def steps_per_round(self) -> int:
        """Launches, fills and copies in one round."""
        return len(self.names)

    def batch(self, count: int) -> tuple[Any, int, int]:
        """Return steps, their number and how often to call them all: ``count`` rounds, from the first copy on."""
        times, rest = divmod(count, self.copies)
        if not rest:
            return self.steps, len(self.steps), times
        wanted = count * self.steps_per_round
        steps = (Step * wanted).from_buffer_copy((bytes(self.steps) * (times + 1))[: wanted * ctypes.sizeof(Step)])
        return steps, wanted, 1

    def name_of(self, place: int) -> str:
        """Name the step at a place of a batch; empty where there is none."""
        return self.names[place % len(self.names)] if place >= 0 and self.names else ""

    def _close_graphs(self) -> None:
        while self.graphs:
            self.graphs.popitem()[1].close()


def pack_rounds(plan: Plan, functions: Mapping[str, Function], copies: Sequence[Mapping[str, Buffer]]) -> Rounds:
    """Pack a plan's arguments and addresses, once for each copy of its buffers.

    Raises:
        UsageError: a step reaches outside its buffer, or names one that is not there.
    """
    steps = (Step * (len(plan.steps) * len(copies)))()
    kept: list[object] = [dict(buffers) for buffers in copies]
    places = iter(steps)
    for buffers in copies:
        for step in plan.steps:
            kept += _pack(next(places), step, functions, buffers)
    return Rounds(steps, tuple(kept), tuple(map(_name, plan.steps)), len(copies))


def _pack(
    prepared: Any,
    step: LaunchStep | FillStep | CopyStep,
    functions: Mapping[str, Function],
    buffers: Mapping[str, Buffer],
) -> tuple[object, ...]:
    """Fill in one step; return what must outlive it."""
    if isinstance(step, LaunchStep):
        packed = pack_arguments(step.arguments, buffers)
        memory = ctypes.create_string_buffer(packed, max(len(packed), 1))
        function = functions[step.kernel]
        prepared.kind, prepared.function = LAUNCH, function.handle
        prepared.grid[:], prepared.block[:], prepared.shared_bytes = step.grid, step.block, step.shared_bytes
        prepared.arguments, prepared.argument_bytes = ctypes.addressof(memory), len(packed)
        return memory, function
    if isinstance(step, FillStep):
        prepared.kind, prepared.byte, prepared.bytes = FILL, step.byte, step.size_bytes
        prepared.target = buffer_address(buffers, step.buffer, step.offset_bytes, step.size_bytes)
    else:
        prepared.kind, prepared.bytes = COPY, step.size_bytes
        prepared.target = buffer_address(buffers, step.target, step.target_offset_bytes, step.size_bytes)
        prepared.source = buffer_address(buffers, step.source, step.source_offset_bytes, step.size_bytes)
    return ()


def _name(step: LaunchStep | FillStep | CopyStep) -> str:
    if isinstance(step, LaunchStep):
        return step.kernel
    return f"fill of {step.buffer}" if isinstance(step, FillStep) else f"copy to {step.target}"
