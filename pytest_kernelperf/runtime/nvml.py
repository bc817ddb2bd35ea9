"""NVIDIA's management library, opened by ctypes: which processes have a GPU open for computing.

Where it is missing, or refuses (containers, virtual machines), nobody else is seen, and the samples themselves must
tell.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

LIBRARY = "libnvidia-ml.so.1"

_SUCCESS, _TOO_SMALL = 0, 7
_MOST_PROCESSES = 4096


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used_memory_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def open_users(bus_id: str, library: str = LIBRARY) -> Callable[[], tuple[int, ...]]:
    """A function that lists the processes (by id) that have the GPU at a PCI address open; it never raises."""
    try:
        nvml = ctypes.CDLL(library)
        device = ctypes.c_void_p()
        started = nvml.nvmlInit_v2() == _SUCCESS
        found = started and nvml.nvmlDeviceGetHandleByPciBusId_v2(bus_id.encode(), ctypes.byref(device)) == _SUCCESS
        list_processes = nvml.nvmlDeviceGetComputeRunningProcesses_v3
    except (OSError, AttributeError):  # not installed, or older than CUDA 11
        return _nobody
    return (lambda: _processes(list_processes, device)) if found else _nobody


def _nobody() -> tuple[int, ...]:
    return ()


def _processes(list_processes: Any, device: ctypes.c_void_p) -> tuple[int, ...]:
    room = 64
    while room <= _MOST_PROCESSES:
        count, processes = ctypes.c_uint(room), (_Process * room)()
        code = list_processes(device, ctypes.byref(count), processes)
        if code == _SUCCESS:
            return tuple(process.pid for process in processes[: count.value])
        if code != _TOO_SMALL:
            return ()
        room *= 4  # others may come between two calls, so not just as many as it said
    return ()
