"""Arrays that two processes share: numpy arrays in an anonymous memory file, passed on as a file descriptor.

A memfd has no name, so nothing stays behind on ``/dev/shm`` when either side is killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import mmap
import os
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.model import BufferSpec, Frozen, digest_of

ALIGNMENT_BYTES = 64

Array = npt.NDArray[np.generic]


class Region(Frozen, frozen=True):
    """Where one array lies in the memory file.

    ``offset_bytes`` and ``size_bytes``: where it begins, and how long it is.
    """

    spec: BufferSpec
    offset_bytes: int
    size_bytes: int


class Layout(Frozen, frozen=True):
    """All arrays of a memory file, in order, each aligned to 64 bytes.

    ``regions``: one for each array; ``total_bytes``: of all.
    """

    regions: tuple[Region, ...]
    total_bytes: int

    @property
    def specs(self) -> tuple[BufferSpec, ...]:
        """Names, dtypes and shapes alone."""
        return tuple(region.spec for region in self.regions)


class InputSet(Mapping[str, Array]):
    """Named arrays in shared memory: a mapping from name to a read-only array.

    The content is written once, then sealed by the kernel: nobody can change or shorten it, a worker's wild store
    into it faults. ``close`` (or the end of a ``with``) drops this process's descriptor; arrays handed out stay
    valid while they are referenced.
    """

    def __init__(self, layout: Layout, fd: int, digest: str) -> None:
        """Take over ``fd``, a memory file that holds ``layout``; ``digest`` names its content."""
        self.layout = layout
        self.digest = digest
        self.fd = fd
        self._arrays = map_arrays(layout, fd)

    @classmethod
    def create(cls, arrays: Mapping[str, npt.ArrayLike]) -> InputSet:
        """Copy arrays (any numpy dtype of fixed size, native byte order) into shared memory.

        Raises:
            UsageError: an array holds Python objects or foreign byte order.
        """
        contiguous = {name: _plain(name, value) for name, value in arrays.items()}
        layout = lay_out({name: (value.dtype, value.shape) for name, value in contiguous.items()})
        fd = write_sealed(layout, contiguous)
        return cls(layout, fd, digest_arrays(layout, contiguous))

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def close(self) -> None:
        """Close the descriptor; arrays already handed out stay valid."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> InputSet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def lay_out(arrays: Mapping[str, tuple[np.dtype[np.generic], tuple[int, ...]]]) -> Layout:
    """Place arrays (name -> dtype, shape) one after the other."""
    regions, end = [], 0
    for name, (dtype, shape) in arrays.items():
        size = math.prod(shape) * dtype.itemsize
        regions.append(Region(BufferSpec(name, dtype.str, tuple(shape)), end, size))
        end += -(-size // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    return Layout(tuple(regions), end)


def write_sealed(layout: Layout, arrays: Mapping[str, Array]) -> int:
    """Write arrays into a new memory file, seal it, and return its descriptor."""
    fd = os.memfd_create("kernelperf", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(fd, layout.total_bytes)
        for region in layout.regions:
            _write_at(fd, _bytes_of(arrays[region.spec.name]), region.offset_bytes)
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(fd)
        raise
    return fd


def digest_arrays(layout: Layout, arrays: Mapping[str, Array]) -> str:
    """Return the SHA-256 (hex) of the layout and the values of all its arrays, in its order."""
    content = hashlib.sha256(digest_of(layout).encode())
    for region in layout.regions:
        content.update(_bytes_of(arrays[region.spec.name]))
    return content.hexdigest()


def map_arrays(layout: Layout, fd: int) -> dict[str, Array]:
    """Map a memory file read-only; the arrays keep the mapping alive.

    Raises:
        KernelperfError: the layout does not fit the file or its own arrays (reading beyond the end of a mapped file
            would kill this process, so it is checked here).
    """
    held = os.fstat(fd).st_size
    if not 0 <= layout.total_bytes <= held:
        raise KernelperfError(f"shared memory holds {held} bytes where {layout.total_bytes} were announced")
    if layout.total_bytes == 0:
        memory: mmap.mmap | bytes = b""
    else:
        memory = mmap.mmap(fd, layout.total_bytes, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)
    arrays = {}
    for region in layout.regions:
        dtype = np.dtype(region.spec.dtype)
        count = math.prod(region.spec.shape)
        end = region.offset_bytes + count * dtype.itemsize
        if dtype.hasobject or min((*region.spec.shape, region.offset_bytes), default=0) < 0 or end > layout.total_bytes:
            raise KernelperfError(f"shared array {region.spec.name!r} does not lie within its memory")
        flat: Array = np.frombuffer(memory, dtype, count, region.offset_bytes) if count else np.empty(0, dtype)
        arrays[region.spec.name] = flat.reshape(region.spec.shape)
        arrays[region.spec.name].flags.writeable = False
    return arrays


def _plain(name: str, value: npt.ArrayLike) -> Array:
    array: Array = np.ascontiguousarray(value).reshape(np.shape(value))
    if array.dtype.hasobject or not array.dtype.isnative:
        raise UsageError(
            f"the input {name!r} has dtype {array.dtype.str!r}, which no device buffer can hold: "
            "convert it to a native numpy type such as float32"
        )
    return array


def _bytes_of(array: Array) -> memoryview:
    if not array.size:
        return memoryview(b"")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _write_at(fd: int, data: memoryview, offset: int) -> None:
    while data:
        written = os.pwrite(fd, data, offset)
        data, offset = data[written:], offset + written


__all__ = [
    "ALIGNMENT_BYTES",
    "Array",
    "InputSet",
    "Layout",
    "Region",
    "digest_arrays",
    "lay_out",
    "map_arrays",
    "write_sealed",
]
