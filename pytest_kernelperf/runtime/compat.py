"""hip-python, whichever version is installed: where its modules are, how its loader is told a path,
how results are returned. Nothing else in the package knows that versions differ.

=====================  =============================  =======================================
difference             6.4, 7.x                       10.x
=====================  =============================  =======================================
modules                ``hip.hip``, ``hip.hiprtc``    ``rocm.bindings.hip``, ``….hiprtc``
library path           ``hip.chip.DLL`` (bytes)       ``rocm.bindings.util.paths`` (function)
hipGraphInstantiate    three arguments                two (so the ``WithFlags`` form is used)
hipGetDeviceProperties ``(prop, id)``                 ``(id)`` (so attributes are used)
=====================  =============================  =======================================

hip-python's ``hipDeviceGetName`` and ``hipDeviceGetPCIBusId`` hand the library a null pointer to write to
(7.2 and 10 alike); those two are called through ctypes in :mod:`pytest_kernelperf.runtime.hip`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_kernelperf.errors import DeviceError, RuntimeUnavailable
from pytest_kernelperf.runtime.result import advice

SUCCESS = 0


class Bindings:
    """hip-python's two modules behind one error gate.

    ``hip`` and ``hiprtc`` are the modules themselves (for enumerations); calls go through :meth:`call`
    and :meth:`compile_call`, which return the outputs alone or raise.
    """

    def __init__(self, hip: Any, hiprtc: Any, version: str, properties_returned: bool) -> None:
        self.hip = hip
        self.hiprtc = hiprtc
        self.version = version
        self._properties_returned = properties_returned
        self.last_problem: Callable[[], str] = str  # what the library says of its last error; most say nothing

    def call(self, name: str, *arguments: object) -> tuple[Any, ...]:
        """Call a HIP function and return its outputs without the error code.

        Raises:
            DeviceError: the call failed, or the library does not have the function.
        """
        return self.check(name, _invoke(self.hip, name, arguments))

    def check(self, call: str, result: object) -> tuple[Any, ...]:
        """The error gate: hip-python's result tuple, or a bare code from native code; outputs, or DeviceError."""
        code, outputs = _split(result)
        if code != SUCCESS:
            problem = self.last_problem()
            said = f": {problem}" if problem else ""
            raise DeviceError(f"{call} failed: {self.describe(code)}{said}; {advice(self.error_name(code))}")
        return outputs

    def error_name(self, code: int) -> str:
        """``hipErrorInvalidValue`` for 1; ``error 4711`` for a code that hip-python does not know."""
        try:
            return str(self.hip.hipError_t(code).name)
        except ValueError:
            return f"error {code}"

    def describe(self, code: int) -> str:
        """Name, number and the library's own words for a HIP error code."""
        name = self.error_name(code)
        try:
            _, text = self.hip.hipGetErrorString(self.hip.hipError_t(code))
            words = _text(text)
        except (ValueError, RuntimeError):
            words = ""
        return f"{name} ({code})" + (f", {words}" if words and words != name else "")

    def compile_call(self, name: str, *arguments: object) -> tuple[int, tuple[Any, ...]]:
        """Call a hiprtc function; its result code (0 = success) and outputs."""
        return _split(_invoke(self.hiprtc, name, arguments))

    def compile_error_text(self, code: int) -> str:
        """hiprtc's words for one of its result codes."""
        try:
            result = self.hiprtc.hiprtcResult(code)
        except ValueError:
            return f"hiprtc error {code}"
        return str(result.name)

    def architecture(self, index: int) -> str:
        """``gcnArchName`` of a device, features included (``gfx90a:sramecc+:xnack-``)."""
        if self._properties_returned:
            (properties,) = self.call("hipGetDeviceProperties", index)
        else:
            properties = self.hip.hipDeviceProp_t()
            self.call("hipGetDeviceProperties", properties, index)
        return _text(properties.gcnArchName)

    def answer_address(self) -> int:
        """An address inside the library that answers HIP calls: that of its constant text for success."""
        _, name = self.hip.hipGetErrorName(self.hip.hipError_t(SUCCESS))
        return int(name or 0)

    def compile_answer_address(self) -> int:
        """An address inside the library that answers hiprtc calls."""
        text = self.hiprtc.hiprtcGetErrorString(self.hiprtc.hiprtcResult(SUCCESS))
        return int((text[-1] if isinstance(text, tuple) else text) or 0)


def open_bindings(amdhip64: Path, hiprtc: Path) -> Bindings:
    """Import hip-python and set the absolute paths its loader opens at the first call.

    Raises:
        RuntimeUnavailable: hip-python is not installed, or too old or new for this package.
    """
    paths = {"amdhip64": os.fsencode(amdhip64), "hiprtc": os.fsencode(hiprtc)}
    version = _installed_version()
    try:
        try:
            resolver = importlib.import_module("rocm.bindings.util.paths")
        except ModuleNotFoundError:
            return _open_classic(paths, version)
        return _open_lazy(resolver, paths, version)
    except (ImportError, AttributeError) as error:
        raise RuntimeUnavailable(
            f"hip-python {version} cannot be used here ({error}): install hip-python 6.4 to 10, "
            "for example with: pip install 'hip-python>=7.2'"
        ) from error


def _open_lazy(resolver: Any, paths: dict[str, bytes], version: str) -> Bindings:
    """hip-python 10: its modules ask ``get_library_path`` when they are first called."""
    original: Callable[..., bytes] = resolver.get_library_path

    def get_library_path(shortname: str, *arguments: Any, **keywords: Any) -> bytes:
        return paths[shortname] if shortname in paths else original(shortname, *arguments, **keywords)

    resolver.get_library_path = get_library_path
    return Bindings(
        importlib.import_module("rocm.bindings.hip"), importlib.import_module("rocm.bindings.hiprtc"), version, True
    )


def _open_classic(paths: dict[str, bytes], version: str) -> Bindings:
    """hip-python 6.4 and 7.x: each low-level module opens the name in its ``DLL``."""
    for module, library in (("hip.chip", "amdhip64"), ("hip.chiprtc", "hiprtc")):
        low_level = importlib.import_module(module)
        if not isinstance(low_level.DLL, bytes):
            raise AttributeError(f"{module}.DLL is not bytes")
        low_level.DLL = paths[library]  # type: ignore[attr-defined]
    return Bindings(importlib.import_module("hip.hip"), importlib.import_module("hip.hiprtc"), version, False)


def _installed_version() -> str:
    for distribution in ("hip-python", "rocm-bindings-hip"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "(not installed)"


def _invoke(module: Any, name: str, arguments: tuple[object, ...]) -> object:
    try:
        return getattr(module, name)(*arguments)
    except (RuntimeError, AttributeError) as error:  # hip-python's own word for a symbol that is not there
        raise DeviceError(
            f"{name} cannot be called: the HIP library or hip-python does not have it ({error}); "
            "use a HIP library and a hip-python of one release"
        ) from error


def _split(result: object) -> tuple[int, tuple[Any, ...]]:
    if isinstance(result, tuple):
        return int(result[0]), tuple(result[1:])
    return int(result), ()  # type: ignore[call-overload]


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):  # hip-python 10 decodes the fields of structs
        return value or ""
    raw = value if isinstance(value, bytes) else value.decode()
    return raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
