"""The native loop library's functions and structs, field by field as in native/loop/loop.h."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from pytest_kernelperf.native import native_path

# What is called, and the HIP function whose address it holds; native code names the failed one by its place.
HIP_CALLS = (
    ("launch", "hipModuleLaunchKernel"),
    ("fill", "hipMemsetAsync"),
    ("copy", "hipMemcpyAsync"),
    ("synchronise", "hipStreamSynchronize"),
    ("record", "hipEventRecord"),
    ("elapsed", "hipEventElapsedTime"),
    ("launch_graph", "hipGraphLaunch"),
)

LAUNCH, FILL, COPY = 0, 1, 2


class Calls(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_void_p) for name, _ in HIP_CALLS)


class Step(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_int32),
        ("byte", ctypes.c_int32),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared_bytes", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
        ("function", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("argument_bytes", ctypes.c_size_t),
        ("target", ctypes.c_void_p),
        ("source", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
    )


class Result(ctypes.Structure):
    _fields_ = (
        ("total_ns", ctypes.c_int64),
        ("enqueue_ns", ctypes.c_int64),
        ("device_ms", ctypes.c_float),
        ("timed_out", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("failed_call", ctypes.c_int32),
        ("failed_step", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
    )


@functools.cache
def open_library() -> ctypes.CDLL:
    """The native library with its functions' types; ctypes lets other Python threads run during a call."""
    library = ctypes.CDLL(str(native_path("libkernelperf_loop.so")))
    pointer, count, rounds = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
    shapes: dict[str, list[Any]] = {
        "kernelperf_enqueue": [pointer, pointer, pointer, count, rounds, pointer],
        "kernelperf_time_loop": [pointer, pointer, pointer, count, rounds, pointer],
        "kernelperf_time_queued": [pointer, pointer, pointer, pointer, pointer, count, rounds, pointer, pointer],
        "kernelperf_time_graph": [pointer, pointer, pointer, pointer, pointer, pointer, pointer],
        "kernelperf_gate_destroy": [pointer],
        "kernelperf_gate_open": [pointer],
        "kernelperf_gate_close": [pointer],
    }
    for name, types in shapes.items():
        getattr(library, name).argtypes = types
        getattr(library, name).restype = None
    library.kernelperf_demangle.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    library.kernelperf_demangle.restype = count
    library.kernelperf_gate_create.argtypes = [pointer, pointer, rounds]
    library.kernelperf_gate_create.restype = pointer
    library.kernelperf_gate_timed_out.argtypes = [pointer]
    library.kernelperf_gate_timed_out.restype = count
    return library
