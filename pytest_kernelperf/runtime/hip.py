"""The HIP calls that the guard makes, as small owners used with ``with``.

    with Device(choose("auto")) as device, device.load(code.data) as module, device.stream() as stream:
        with device.upload(array) as buffer:
            ...

Every call goes through the error gate of :class:`~pytest_kernelperf.runtime.compat.Bindings`, which raises
``DeviceError``. Addresses and handles are plain integers, since native code gets them too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import DeviceError, RuntimeUnavailable
from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.runtime.library import Chosen, Selected, select
from pytest_kernelperf.runtime.memory import Array, Buffer, MappedMemory, Owner
from pytest_kernelperf.runtime.name import find_symbol

__all__ = ["Buffer", "Device", "Event", "Function", "Graph", "MappedMemory", "Module", "Owner", "Stream"]

STREAM_NON_BLOCKING = 0x1


class Device:
    """One HIP device of a chosen runtime. Enter it before anything else.

    Raises on entering:
        RuntimeUnavailable: the library does not answer, or there is no such device.
    """

    def __init__(self, chosen: Chosen, index: int = 0) -> None:
        self.chosen = chosen
        self.index = index
        self._selected: Selected | None = None

    def __enter__(self) -> Device:
        selected = select(self.chosen)
        code, counted = _count(selected)
        if code != 0 or counted <= self.index:
            said = selected.bindings.describe(code) if code else f"it has {counted} device(s)"
            raise RuntimeUnavailable(
                f"the {self.chosen.name} runtime has no device {self.index} ({said}): check the driver and that this "
                "user may open /dev/kfd and /dev/dri (group render), or use --kernelperf-runtime=cpu"
            )
        selected.bindings.call("hipSetDevice", self.index)
        self._selected = selected
        return self

    def __exit__(self, *_: object) -> None:
        self._selected = None

    @property
    def selected(self) -> Selected:
        """The verified library; the device must have been entered."""
        if self._selected is None:
            raise RuntimeUnavailable("the device is not open: use it within its 'with' block")
        return self._selected

    def call(self, name: str, *arguments: object) -> tuple[Any, ...]:
        """A HIP call through the error gate; its outputs."""
        return self.selected.bindings.call(name, *arguments)

    def check(self, call: str, code: int) -> None:
        """The error gate for a code that native code returned."""
        self.selected.bindings.check(call, code)

    def attribute(self, name: str) -> int:
        """A device attribute: ``MultiprocessorCount``, ``WarpSize``, … (hipDeviceAttribute…)."""
        member = getattr(self.selected.bindings.hip.hipDeviceAttribute_t, f"hipDeviceAttribute{name}")
        (value,) = self.call("hipDeviceGetAttribute", member, self.index)
        return int(value)

    def text(self, function: str, capacity: int = 256) -> str:
        """What ``hipDeviceGetName`` or ``hipDeviceGetPCIBusId`` writes (see compat: hip-python cannot)."""
        buffer = ctypes.create_string_buffer(capacity)
        call = getattr(self.selected.handle, function)
        self.check(function, int(call(buffer, ctypes.c_int(capacity), ctypes.c_int(self.index))))
        return buffer.value.decode(errors="replace")

    @property
    def architecture(self) -> str:
        """The device's target: ``gfx1151`` on rocm (no features), what the library says elsewhere."""
        return self.target_id.split(":", 1)[0]

    @property
    def target_id(self) -> str:
        """As ``architecture``, with the features that code may depend on: ``gfx90a:sramecc+:xnack-``."""
        return self.selected.bindings.architecture(self.index)

    def facts(self) -> DeviceFacts:
        """Name, architecture, compute units, limits and versions of this device."""
        from pytest_kernelperf.runtime.facts import read_facts

        return read_facts(self)

    def allocate(self, size_bytes: int) -> Buffer:
        """Device memory, uninitialised."""
        return Buffer(self, size_bytes)

    def upload(self, array: Array) -> Buffer:
        """Device memory that holds a copy of an array, in C order."""
        buffer = Buffer(self, array.nbytes)
        try:
            buffer.upload(array)
        except DeviceError:
            buffer.close()
            raise
        return buffer

    def mapped(self, size_bytes: int) -> MappedMemory:
        """Coherent host memory that the device sees too."""
        return MappedMemory(self, size_bytes)

    def load(self, data: bytes, lowered_names: Mapping[str, str] | None = None) -> Module:
        """A module from a code object's bytes; ``CodeObject.lowered_names`` lets name expressions find kernels."""
        return Module(self, data, lowered_names or {})

    def stream(self) -> Stream:
        """A stream that does not wait for the null stream."""
        return Stream(self)

    def event(self) -> Event:
        """An event that takes times."""
        return Event(self)

    def synchronise(self) -> None:
        """Wait for all work; errors of earlier launches surface here."""
        self.call("hipDeviceSynchronize")

    def free_memory_bytes(self) -> int:
        """Device memory not in use, in bytes."""
        return int(self.call("hipMemGetInfo")[0])


class Module(Owner):
    """A loaded code object; its functions live as long as it does."""

    def __init__(self, device: Device, data: bytes, lowered_names: Mapping[str, str]) -> None:
        self.device = device
        self._lowered = lowered_names
        self._image = ctypes.create_string_buffer(data, len(data))  # some runtimes read it lazily
        (self._handle,) = device.call("hipModuleLoadData", ctypes.addressof(self._image))
        super().__init__(lambda: device.call("hipModuleUnload", self._handle))

    def function(self, name: str) -> Function:
        """A kernel by its name in the code object, by its C++ name, or by its name expression.

        Raises:
            DeviceError: there is no such kernel; the sentence names it.
        """
        try:
            return Function(name, self._handle_of(self._lowered.get(name, name)))
        except DeviceError as error:
            symbol = find_symbol(read_kernels(self._image.raw), name)
            if symbol is None:
                raise DeviceError(f"kernel {name!r} is not in the code object: {error}") from error
            return Function(name, self._handle_of(symbol))

    def _handle_of(self, symbol: str) -> int:
        (handle,) = self.device.call("hipModuleGetFunction", self._handle, symbol.encode())
        return int(handle)


class Function:
    """A kernel of a loaded module: its name and HIP's handle for it."""

    def __init__(self, name: str, handle: int) -> None:
        self.name = name
        self.handle = handle


class Stream(Owner):
    """A queue of work on the device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        (self._object,) = device.call("hipStreamCreateWithFlags", STREAM_NON_BLOCKING)
        self.handle = int(self._object)
        super().__init__(lambda: device.call("hipStreamDestroy", self._object))

    def synchronise(self) -> None:
        """Wait for this stream's work."""
        self.device.call("hipStreamSynchronize", self._object)

    def fill(self, target: Buffer, byte: int, size_bytes: int | None = None, offset_bytes: int = 0) -> None:
        """Queue setting bytes of a buffer, to its end if no size is stated."""
        size = target.size_bytes - offset_bytes if size_bytes is None else size_bytes
        self.device.call("hipMemsetAsync", target.address + offset_bytes, byte, size, self._object)

    def copy(self, target: Buffer, source: Buffer, size_bytes: int | None = None) -> None:
        """Queue a copy between device buffers."""
        kind = self.device.selected.bindings.hip.hipMemcpyKind.hipMemcpyDeviceToDevice
        size = source.size_bytes if size_bytes is None else size_bytes
        self.device.call("hipMemcpyAsync", target.address, source.address, size, kind, self._object)

    def capture(self, enqueue: Callable[[], None]) -> Graph:
        """Record what ``enqueue`` puts on this stream, without running it, as a graph that can be launched.

        Raises:
            DeviceError: the runtime cannot capture it; the stream is usable again.
        """
        mode = self.device.selected.bindings.hip.hipStreamCaptureMode.hipStreamCaptureModeThreadLocal
        self.device.call("hipStreamBeginCapture", self._object, mode)
        try:
            enqueue()
        except BaseException:
            self._abandon_capture()
            raise
        (captured,) = self.device.call("hipStreamEndCapture", self._object)
        return Graph(self.device, captured)

    def _abandon_capture(self) -> None:
        try:
            (captured,) = self.device.call("hipStreamEndCapture", self._object)
        except DeviceError:
            return  # the capture was invalidated: there is nothing to free
        if captured is not None:
            self.device.call("hipGraphDestroy", captured)


class Event(Owner):
    """A point in a stream's work whose time the device takes."""

    def __init__(self, device: Device) -> None:
        self.device = device
        (self._object,) = device.call("hipEventCreateWithFlags", 0)
        self.handle = int(self._object)
        super().__init__(lambda: device.call("hipEventDestroy", self._object))

    def record(self, stream: Stream) -> None:
        """Queue the event on a stream."""
        self.device.call("hipEventRecord", self._object, stream._object)

    def synchronise(self) -> None:
        """Wait until the event has happened."""
        self.device.call("hipEventSynchronize", self._object)

    def elapsed_us(self, since: Event) -> float:
        """Microseconds from ``since`` to this event; both have happened."""
        (milliseconds,) = self.device.call("hipEventElapsedTime", since._object, self._object)
        return float(milliseconds) * 1000.0


class Graph(Owner):
    """A captured piece of work, instantiated: ``handle`` is what is launched."""

    def __init__(self, device: Device, captured: Any) -> None:
        self._captured = captured
        try:
            (self._executable,) = device.call("hipGraphInstantiateWithFlags", captured, 0)
        except DeviceError:
            device.call("hipGraphDestroy", captured)
            raise
        self.handle = int(self._executable)
        super().__init__(lambda: self._free(device))

    def _free(self, device: Device) -> None:
        device.call("hipGraphExecDestroy", self._executable)
        device.call("hipGraphDestroy", self._captured)


def _count(selected: Selected) -> tuple[int, int]:
    try:
        code, count = selected.bindings.hip.hipGetDeviceCount()
    except RuntimeError as error:
        raise RuntimeUnavailable(f"the {selected.chosen.name} runtime cannot count its devices: {error}") from error
    return int(code), int(count)
