"""Device memory as owners that are used with ``with``; and what an owner is."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_kernelperf.errors import DeviceError

if TYPE_CHECKING:
    from pytest_kernelperf.runtime.hip import Device

Array = npt.NDArray[Any]
OwnerType = TypeVar("OwnerType", bound="Owner")

HOST_MALLOC_MAPPED = 0x2
HOST_MALLOC_COHERENT = 0x40000000


class Owner:
    """Something that is given back to the device once: at the end of its ``with``, or by ``close``."""

    def __init__(self, release: Callable[[], object]) -> None:
        self._release: Callable[[], object] | None = release

    def close(self) -> None:
        """Give it back; a second time does nothing.

        Raises:
            DeviceError: the device refuses, often because of an earlier failure.
        """
        release, self._release = self._release, None
        if release is not None:
            release()

    def __enter__(self: OwnerType) -> OwnerType:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except DeviceError:
            if error is None:  # what failed first is what the user must read
                raise


class Buffer(Owner):
    """Device memory: ``address`` and ``size_bytes``."""

    def __init__(self, device: Device, size_bytes: int) -> None:
        self.device = device
        self.size_bytes = size_bytes
        # An empty allocation would be a null address, which kernels and copies may refuse.
        (pointer,) = device.call("hipMalloc", max(size_bytes, 1))
        self.address = int(pointer)
        super().__init__(lambda: device.call("hipFree", self.address))

    def upload(self, array: Array) -> None:
        """Copy an array of ``size_bytes`` bytes to the device (C order), done on return."""
        source = np.ascontiguousarray(array)
        self._must_fit("upload", source.nbytes)
        kind = self.device.selected.bindings.hip.hipMemcpyKind.hipMemcpyHostToDevice
        if source.nbytes:
            self.device.call("hipMemcpy", self.address, source.ctypes.data, source.nbytes, kind)
            # A copy from pageable memory may return once staged; streams here do not wait for the null stream.
            self.device.synchronise()

    def download(self, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Array:
        """A new array of this type and shape (``size_bytes`` bytes in all) with the device's values."""
        target = np.empty(shape, dtype)
        self._must_fit("download", target.nbytes)
        kind = self.device.selected.bindings.hip.hipMemcpyKind.hipMemcpyDeviceToHost
        if target.nbytes:
            self.device.call("hipMemcpy", target.ctypes.data, self.address, target.nbytes, kind)
        return target

    def _must_fit(self, what: str, size_bytes: int) -> None:
        if size_bytes != self.size_bytes:
            raise DeviceError(f"{what} of {size_bytes} bytes, but the buffer has {self.size_bytes}: they must agree")


class MappedMemory(Owner):
    """Coherent host memory: ``host_address`` for the host, ``address`` for the device."""

    def __init__(self, device: Device, size_bytes: int) -> None:
        (pointer,) = device.call("hipHostMalloc", size_bytes, HOST_MALLOC_MAPPED | HOST_MALLOC_COHERENT)
        self.host_address = int(pointer)
        self.size_bytes = size_bytes
        super().__init__(lambda: device.call("hipHostFree", self.host_address))
        (seen,) = device.call("hipHostGetDevicePointer", self.host_address, 0)
        self.address = int(seen)
        ctypes.memset(self.host_address, 0, size_bytes)
