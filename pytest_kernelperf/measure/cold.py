"""Cold caches: each round of a batch takes the next of several copies of the arguments.

The copies together are at least twice as large as all caches before memory, so that a copy has been pushed out by
the time its turn comes again; or there are as many as a batch has rounds, and no copy is used twice in a sample.
What restoring leaves in the caches is pushed out before each sample by writing to memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy.typing as npt

from pytest_kernelperf import units
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.measure.buffers import SharedBuffers
from pytest_kernelperf.model import BufferArgument, CopyStep, FillStep, Frozen, LaunchStep, Plan, Step
from pytest_kernelperf.runtime.hip import Buffer, Device, Stream

Array = npt.NDArray[Any]

# An LRU cache forgets after once its size; real ones keep some lines for longer.
TIMES_CACHE = 2
# What must stay free of the device's memory: other programs have some too, and allocations are rounded up.
FREE_SHARE = 0.9
# Large fills on a CPU bypass the caches (streaming stores), and would push nothing out.
PIECE_BYTES = 256 * 1024


class Rotation(Frozen, frozen=True):
    """How many copies of which buffers the rounds take in turn, and bytes to write in order to empty the caches."""

    copies: int
    names: frozenset[str]
    flush_bytes: int


def plan_rotation(
    plans: Iterable[Plan], sizes_bytes: Mapping[str, int], cold_bytes: int, max_rounds: int, free_bytes: int
) -> Rotation:
    """Plan for the arms' plans, on buffers of these sizes, beside caches of ``cold_bytes``.

    The arm that takes least decides, since its rounds must be cold too.

    Args:
        max_rounds: most rounds in a batch; more copies are never used.
        free_bytes: device memory that may be taken.

    Raises:
        UsageError: the copies do not fit.
    """
    used = [frozenset(name for step in plan.steps for name in _used(step)) for plan in plans]
    names = frozenset().union(*used)
    least = min((sum(sizes_bytes.get(name, 0) for name in taken) for taken in used), default=0)
    flush_bytes = TIMES_CACHE * cold_bytes
    copies = max(1, min(-(-flush_bytes // max(least, 1)), max_rounds)) if names else 1
    copy_bytes = sum(sizes_bytes.get(name, 0) for name in names)
    # One more copy than are rotated at most, to restore from; the first is there already.
    wanted = copies * copy_bytes + flush_bytes
    if wanted > FREE_SHARE * free_bytes:
        raise UsageError(
            f"cold caches take {copies} {'copy' if copies == 1 else 'copies'} of {units.format_bytes(copy_bytes)} and "
            f"{units.format_bytes(flush_bytes)} to empty the caches with, and {units.format_bytes(free_bytes)} of the "
            "device's memory are free: end what else uses it, take fewer tokens, or measure this test with "
            'cache="warm"'
        )
    return Rotation(copies, names, flush_bytes)


class ColdBuffers:
    """The shared buffers as the first copy, and the others beside it; all arms take the very same copies."""

    def __init__(self, device: Device, stream: Stream, shared: SharedBuffers, rotation: Rotation) -> None:
        """Allocate and fill from ``shared``, which holds its input; it must outlive this. Raises ``DeviceError``."""
        self._stream = stream
        self._shared = shared
        self._more: list[dict[str, Buffer]] = []
        self._flush: Buffer | None = None
        try:
            self._flush = device.allocate(rotation.flush_bytes)
            for _ in range(1, rotation.copies):
                self._more.append({})
                for name in sorted(rotation.names & shared.names):
                    self._more[-1][name] = device.allocate(shared.buffers[name].size_bytes)
                    stream.copy(self._more[-1][name], shared.buffers[name])
            stream.synchronise()
        except BaseException:
            self.close()
            raise

    @property
    def copies(self) -> tuple[Mapping[str, Buffer], ...]:
        """The copies in their order, each with all buffers by name."""
        return (self._shared.buffers, *({**self._shared.buffers, **copy} for copy in self._more))

    @property
    def names(self) -> frozenset[str]:
        """The names of all buffers."""
        return self._shared.names

    def restore(self, names: frozenset[str]) -> None:
        """Put buffers back to their input in all copies, then empty the caches."""
        for name in sorted(names):
            pristine = self._shared.pristine(name)
            for copy in self._more:
                if name in copy:
                    self._stream.copy(copy[name], pristine)
        self._shared.restore(names)
        self._empty_caches()

    def find_changed(self, names: frozenset[str]) -> frozenset[str]:
        """Which buffers of the first copy no longer hold their input: no other has seen more rounds."""
        return self._shared.find_changed(names)

    def download(self, name: str) -> Array:
        """A buffer of the first copy, which every batch starts with."""
        return self._shared.download(name)

    def close(self) -> None:
        """Free all copies but the first."""
        while self._more:
            copy = self._more.pop()
            while copy:
                copy.popitem()[1].close()
        if self._flush is not None:
            self._flush.close()
            self._flush = None

    def _empty_caches(self) -> None:
        if self._flush is None:
            return
        for offset in range(0, self._flush.size_bytes, PIECE_BYTES):
            size = min(PIECE_BYTES, self._flush.size_bytes - offset)
            self._stream.fill(self._flush, 0, size, offset)
        self._stream.synchronise()


def _used(step: Step) -> Iterator[str]:
    """Yield the buffers that a step takes."""
    if isinstance(step, LaunchStep):
        yield from (argument.buffer for argument in step.arguments if isinstance(argument, BufferArgument))
    elif isinstance(step, FillStep):
        yield step.buffer
    elif isinstance(step, CopyStep):
        yield from (step.target, step.source)
