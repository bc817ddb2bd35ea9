"""HIP on CUDA's two libraries through ctypes: what can be asked of them without a GPU."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_kernelperf.native import native_path
from pytest_kernelperf.runtime.cuda import WHEELS_VARIABLE, wheel_folders

ARCHITECTURE = "--gpu-architecture=sm_90"


def amdhip64() -> Path:
    """The built libamdhip64.so of HIP on CUDA. Raises RuntimeUnavailable where it was not built."""
    return native_path("hip_cuda/lib/libamdhip64.so")


def hiprtc() -> ctypes.CDLL:
    """The built libhiprtc.so, with installed NVRTC wheels made known to it."""
    os.environ.setdefault(WHEELS_VARIABLE, os.pathsep.join(wheel_folders(sys.path)))
    library = ctypes.CDLL(os.fspath(native_path("hip_cuda/lib/libhiprtc.so")))
    library.hiprtcGetErrorString.restype = ctypes.c_char_p
    return library


def nvrtc_version(library: ctypes.CDLL) -> tuple[int, int]:
    """NVRTC's version, (0, 0) where there is none."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.hiprtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return major.value, minor.value


@dataclass(frozen=True)
class Compiled:
    """What a compilation gave."""

    result: int
    log: str
    code: bytes
    lowered: dict[str, str]


def compile_hip(
    source: str,
    *options: str,
    headers: Mapping[str, str] | None = None,
    expressions: tuple[str, ...] = (),
    name: str = "user.hip",
) -> Compiled:
    """Compile HIP source for sm_90 through hiprtc's C interface."""
    library = hiprtc()
    headers = headers or {}
    program = ctypes.c_void_p()
    texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
    names = (ctypes.c_char_p * len(headers))(*(header.encode() for header in headers))
    created = library.hiprtcCreateProgram(
        ctypes.byref(program), source.encode(), name.encode(), len(headers), texts, names
    )
    assert created == 0
    try:
        for expression in expressions:
            assert library.hiprtcAddNameExpression(program, expression.encode()) == 0
        given = [ARCHITECTURE, *options] if not any("arch" in option for option in options) else list(options)
        encoded = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
        result = library.hiprtcCompileProgram(program, len(given), encoded)
        size = ctypes.c_size_t()
        library.hiprtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.hiprtcGetProgramLog(program, log)
        if result != 0:
            return Compiled(result, log.value.decode(), b"", {})
        lowered = {}
        for expression in expressions:
            text = ctypes.c_char_p()
            assert library.hiprtcGetLoweredName(program, expression.encode(), ctypes.byref(text)) == 0
            lowered[expression] = (text.value or b"").decode()
        library.hiprtcGetCodeSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        assert library.hiprtcGetCode(program, code) == 0
        return Compiled(result, log.value.decode(), code.raw, lowered)
    finally:
        library.hiprtcDestroyProgram(ctypes.byref(program))
