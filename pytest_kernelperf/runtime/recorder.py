"""Records the launches of a device where its runtime can do so by itself (cpu, cuda); AMD's leaves it to rocprofv3.

with Recorder(device) as recorder:
    loop.run(rounds, 5)
write_trace(path, recorder.take(facts, command="kernelperf replay case.json"))
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np

from pytest_kernelperf.errors import DeviceError, RuntimeUnavailable
from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.recording import DISPATCH, Dispatches, RecordedKernel, Recording
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.name import demangle

MOST_DISPATCHES = 1 << 21
CHUNK_DISPATCHES = 1 << 14

_ORIGINS = {"cpu": "cpu", "cuda": "cupti"}

# struct kernelperf_dispatch is restated by DISPATCH; these are the functions of native/hip_common/trace.h.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "kernelperfTraceStart": (ctypes.c_int, [ctypes.c_size_t]),
    "kernelperfTraceStop": (ctypes.c_int, []),
    "kernelperfTraceProblem": (ctypes.c_char_p, []),
    "kernelperfTraceTake": (ctypes.c_size_t, [ctypes.c_void_p, ctypes.c_size_t]),
    "kernelperfTraceLost": (ctypes.c_uint64, []),
    "kernelperfTraceKernelName": (ctypes.c_char_p, [ctypes.c_uint64]),
}


class Recorder:
    """A device's recording, used with ``with`` or by ``start`` and ``stop``; then ``take`` hands out what there is.

    Raises:
        RuntimeUnavailable: this runtime cannot record by itself.
    """

    def __init__(self, device: Device, most_dispatches: int = MOST_DISPATCHES) -> None:
        self.device = device
        self._most_dispatches = most_dispatches
        self._functions = {name: _function(device, name) for name in _FUNCTIONS}

    def __enter__(self) -> Recorder:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.stop()
        else:  # the work failed, and a wait for it would only say so once more
            self._call("kernelperfTraceStop")

    def start(self) -> None:
        """Record what is launched from now on; what was queued before is waited for.

        Raises:
            DeviceError: it is recording already, or it cannot record here; the sentence says why.
        """
        self.device.synchronise()
        self._check("start", self._call("kernelperfTraceStart", self._most_dispatches))

    def stop(self) -> None:
        """Wait for all launches, and record no more.

        Raises:
            DeviceError: a kernel failed, it was not recording, or records were lost on the way.
        """
        try:
            self.device.synchronise()
        finally:
            code = self._call("kernelperfTraceStop")
        self._check("stop", code)

    @property
    def lost(self) -> int:
        """How many dispatches could not be kept since ``start``."""
        return int(self._call("kernelperfTraceLost"))

    def take(self, facts: DeviceFacts, command: str = "") -> Recording:
        """All dispatches of the recording that was stopped, by start; they are handed out once."""
        dispatches = self._take_all()
        numbers = np.unique(dispatches["kernel"]).tolist()
        kernels = {number: self._name(number) for number in numbers}
        origin = _ORIGINS[self.device.chosen.name]
        return Recording(origin, facts, dispatches, kernels, command, os.getpid(), self.lost)

    def _take_all(self) -> Dispatches:
        chunks = [np.zeros(0, DISPATCH)]
        while True:
            chunk = np.zeros(CHUNK_DISPATCHES, DISPATCH)
            count = int(self._call("kernelperfTraceTake", chunk.ctypes.data, len(chunk)))
            if not count:
                break
            chunks.append(chunk[:count])
        dispatches = np.concatenate(chunks)
        return dispatches[np.argsort(dispatches["start_ns"], kind="stable")]

    def _name(self, number: int) -> RecordedKernel:
        name: bytes | None = self._call("kernelperfTraceKernelName", number)
        symbol = name.decode(errors="replace") if name is not None else f"unknown_kernel_{number}"
        return RecordedKernel(symbol, demangle(symbol))

    def _call(self, name: str, *arguments: object) -> Any:
        return self._functions[name](*arguments)

    def _check(self, what: str, code: int) -> None:
        if code:
            problem = (self._call("kernelperfTraceProblem") or b"").decode(errors="replace")
            raise DeviceError(f"the {self.device.chosen.name} runtime cannot {what} recording: {problem or code}")


def _function(device: Device, name: str) -> Any:
    result, arguments = _FUNCTIONS[name]
    runtime = device.chosen.name
    if runtime not in _ORIGINS:
        raise RuntimeUnavailable(
            f"the {runtime} runtime does not record launches itself: run the program under rocprofv3"
        )
    try:
        function = getattr(device.selected.handle, name)
    except AttributeError:
        raise RuntimeUnavailable(
            f"{device.chosen.amdhip64} has no function {name}, so it cannot record launches: install "
            "pytest-kernelperf again"
        ) from None
    function.restype, function.argtypes = result, arguments
    return function
