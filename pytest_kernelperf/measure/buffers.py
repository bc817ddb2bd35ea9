"""The device buffers that all arms share, each with a pristine copy on the device to restore it from.

Where buffers lie beside each other decides up to 2 % of a small kernel's time (H200, 16 contexts with 4 sets each:
0.8 % standard deviation at 64 and 512 tokens). Arms of a comparison share buffers, so that it falls on all alike.
Left to the allocator, all processes of a run would draw the same lot; with padding of its own each draws another, so
that the spread of their times says how far the figure depends on it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from pytest_kernelperf.measure.outputs import same_bytes
from pytest_kernelperf.runtime.hip import Buffer, Device, Stream

Array = npt.NDArray[Any]

# Allocations are rounded up to 256 bytes, small ones taken out of blocks of 2 MiB.
PADDING_STEP_BYTES = 256
MOST_PADDING_STEPS = 4096


class SharedBuffers:
    """One device buffer per input array. Pristine copies are made when first needed, for what is written only.

    The arrays stay the host's truth: they are mapped read-only, so no kernel can reach them.
    """

    def __init__(
        self, device: Device, stream: Stream, inputs: Mapping[str, Array], padding_seed: int | None = None
    ) -> None:
        """Allocate and upload; gives back what it took if that fails. Raises ``DeviceError``.

        ``padding_seed`` decides what lies between the buffers; None: nothing of ours.
        """
        self._device = device
        self._stream = stream
        self._inputs = inputs
        self._working: dict[str, Buffer] = {}
        self._pristine: dict[str, Buffer] = {}
        self._padding: dict[str, Buffer] = {}
        try:
            for name, array in inputs.items():
                steps = choose_padding(padding_seed, name)
                if steps:
                    self._padding[name] = device.allocate(steps * PADDING_STEP_BYTES)
                self._working[name] = device.upload(array)
        except BaseException:
            self.close()
            raise

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """The working buffers by name."""
        return self._working

    def upload(self) -> None:
        """Put every buffer back to its input from the host."""
        for name, array in self._inputs.items():
            self._working[name].upload(array)

    @property
    def copies(self) -> tuple[Mapping[str, Buffer], ...]:
        """The working buffers, once: caches stay warm."""
        return (self._working,)

    @property
    def names(self) -> frozenset[str]:
        """The names of all buffers."""
        return frozenset(self._working)

    def restore(self, names: frozenset[str]) -> None:
        """Put some buffers back to their input, from device to device, and wait."""
        for name in sorted(names):
            self._stream.copy(self._working[name], self.pristine(name))
        self._stream.synchronise()

    def pristine(self, name: str) -> Buffer:
        """A device buffer that holds the input and that no kernel is given."""
        if name not in self._pristine:
            self._pristine[name] = self._device.upload(self._inputs[name])
        return self._pristine[name]

    def find_changed(self, names: frozenset[str]) -> frozenset[str]:
        """Return which of some buffers no longer hold their input, bit for bit."""
        return frozenset(name for name in names if not same_bytes(self.download(name), self._inputs[name]))

    def download(self, name: str) -> Array:
        """Return a copy of a buffer, with its input's dtype and shape."""
        array = self._inputs[name]
        return self._working[name].download(array.dtype, array.shape)

    def close(self) -> None:
        """Free everything."""
        for owned in (self._working, self._pristine, self._padding):
            while owned:
                owned.popitem()[1].close()


def choose_padding(seed: int | None, name: str) -> int:
    """Steps of padding before a buffer: none for half of them."""
    if seed is None:
        return 0
    lot = random.Random(f"{seed}/{name}")
    return lot.randrange(1, MOST_PADDING_STEPS + 1) if lot.random() < 0.5 else 0
