"""The cpu runtime's C interface through ctypes, for tests: no hip-python, no layer of ours in between."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_kernelperf.native import native_path

INVALID_VALUE, INVALID_CONFIGURATION, INVALID_IMAGE, INVALID_HANDLE = 1, 9, 200, 400
NOT_FOUND, NOT_READY, CAPTURE_UNSUPPORTED, CAPTURE_INVALIDATED, CAPTURE_UNJOINED = 500, 600, 900, 901, 904
COMPILATION = 6
ILLEGAL_ADDRESS, ASSERT, LAUNCH_FAILURE, NOT_SUPPORTED = 700, 710, 719, 801

Array = npt.NDArray[Any]


class HipFailure(Exception):
    """A call returned an error; ``code`` is its number, ``log`` the compiler's words."""

    def __init__(self, call: str, code: int, log: str = "") -> None:
        super().__init__(f"{call} returned {code}\n{log}")
        self.call, self.code, self.log = call, code, log


class HipCpu:
    """One process's view of the cpu runtime."""

    def __init__(self) -> None:
        self.amdhip64 = ctypes.CDLL(str(native_path("hip_cpu/lib/libamdhip64.so")))
        self.hiprtc = ctypes.CDLL(str(native_path("hip_cpu/lib/libhiprtc.so")))
        for library in (self.amdhip64, self.hiprtc):
            library.kernelperf_cpu_compiler.restype = ctypes.c_char_p
        self.amdhip64.hipGetErrorName.restype = ctypes.c_char_p
        self.amdhip64.kernelperf_cpu_last_problem.restype = ctypes.c_char_p

    def code(self, name: str, *arguments: object) -> int:
        """The result code of a call."""
        library = self.hiprtc if name.startswith("hiprtc") else self.amdhip64
        return int(getattr(library, name)(*arguments))

    def __call__(self, name: str, *arguments: object) -> None:
        """Call; anything but success raises HipFailure."""
        code = self.code(name, *arguments)
        if code != 0:
            raise HipFailure(name, code)

    def problem(self) -> tuple[int, str]:
        """Wait for all work: the result code, and what the runtime says of it."""
        code = self.code("hipDeviceSynchronize")
        return code, self.amdhip64.kernelperf_cpu_last_problem().decode() if code else ""

    def handle(self, name: str, *arguments: object) -> ctypes.c_void_p:
        """The handle that a call writes through its first parameter."""
        value = ctypes.c_void_p()
        self(name, ctypes.byref(value), *arguments)
        return value

    def graph(self, stream: ctypes.c_void_p) -> ctypes.c_void_p:
        """End a capture; the graph."""
        value = ctypes.c_void_p()
        self("hipStreamEndCapture", stream, ctypes.byref(value))
        return value

    # --- compiling ---------------------------------------------------------------------------

    def compile(
        self,
        source: str,
        *options: str,
        name: str = "kernel.hip",
        headers: Mapping[str, str] | None = None,
        expressions: Sequence[str] = (),
    ) -> Compiled:
        """Compile; raises HipFailure with the log."""
        headers = headers or {}
        texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        names = (ctypes.c_char_p * len(headers))(*(header.encode() for header in headers))
        program = self.handle("hiprtcCreateProgram", source.encode(), name.encode(), len(headers), texts, names)
        try:
            for expression in expressions:
                self("hiprtcAddNameExpression", program, expression.encode())
            words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            code = self.code("hiprtcCompileProgram", program, len(options), words)
            log = self._text(program, "ProgramLog")[:-1].decode()
            if code != 0:
                raise HipFailure("hiprtcCompileProgram", code, log)
            lowered = {}
            for expression in expressions:
                found = ctypes.c_char_p()
                self("hiprtcGetLoweredName", program, expression.encode(), ctypes.byref(found))
                lowered[expression] = (found.value or b"").decode()
            return Compiled(self._text(program, "Code"), log, lowered)
        finally:
            self("hiprtcDestroyProgram", ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self(f"hiprtcGet{what}Size", program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self(f"hiprtcGet{what}", program, text)
        return text.raw

    # --- running -----------------------------------------------------------------------------

    def load(self, compiled: Compiled) -> ctypes.c_void_p:
        """A module."""
        return self.handle("hipModuleLoadData", compiled.object)

    def function(self, module: ctypes.c_void_p, name: str) -> ctypes.c_void_p:
        """A kernel of a module."""
        return self.handle("hipModuleGetFunction", module, name.encode())

    def upload(self, array: Array) -> ctypes.c_void_p:
        """A device buffer with an array's bytes."""
        buffer = self.handle("hipMalloc", ctypes.c_size_t(array.nbytes))
        self("hipMemcpy", buffer, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), 1)
        return buffer

    def download(self, buffer: ctypes.c_void_p, like: Array) -> Array:
        """A device buffer's bytes as an array of the type and shape of another."""
        array = np.empty_like(like)
        self("hipMemcpy", array.ctypes.data_as(ctypes.c_void_p), buffer, ctypes.c_size_t(array.nbytes), 2)
        return array

    def launch_code(
        self,
        function: ctypes.c_void_p,
        grid: Sequence[int],
        block: Sequence[int],
        *arguments: Any,
        stream: ctypes.c_void_p | None = None,
        shared: int = 0,
    ) -> int:
        """Launch; arguments are ctypes values. Returns the result code."""
        pointers = (ctypes.c_void_p * max(1, len(arguments)))(*(ctypes.addressof(value) for value in arguments))
        shape = (*_three(grid), *_three(block))
        return self.code("hipModuleLaunchKernel", function, *shape, shared, stream, pointers, None)

    def launch(
        self, function: ctypes.c_void_p, grid: Sequence[int], block: Sequence[int], *arguments: Any, **rest: Any
    ) -> None:
        """Launch; raises HipFailure."""
        code = self.launch_code(function, grid, block, *arguments, **rest)
        if code != 0:
            raise HipFailure("hipModuleLaunchKernel", code)

    def run(
        self,
        source: str,
        kernel: str,
        grid: Sequence[int],
        block: Sequence[int],
        *arguments: Any,
        options: Sequence[str] = (),
    ) -> list[Array]:
        """Compile, load and launch one kernel; arrays among the arguments are buffers, and come back in order."""
        module = self.load(self.compile(source, *options))
        arrays = [argument for argument in arguments if isinstance(argument, np.ndarray)]
        buffers = [self.upload(array) for array in arrays]
        given = iter(buffers)
        passed = [next(given) if isinstance(argument, np.ndarray) else argument for argument in arguments]
        self.launch(self.function(module, kernel), grid, block, *passed)
        found = [self.download(buffer, array) for buffer, array in zip(buffers, arrays, strict=True)]
        for buffer in buffers:
            self("hipFree", buffer)
        self("hipModuleUnload", module)
        return found


class Compiled:
    """A code object, the log, and the lowered names."""

    def __init__(self, code_object: bytes, log: str, lowered: Mapping[str, str]) -> None:
        self.object, self.log, self.lowered = code_object, log, lowered


def _three(dimensions: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*dimensions, 1, 1)[:3]
    return x, y, z
