"""Whether HIP on CUDA can be used here: asked of its library, which looks for driver, device and NVRTC."""

from __future__ import annotations

import _ctypes
import ctypes
import glob
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

WHEELS_VARIABLE = "KERNELPERF_NVRTC_WHEELS"

# Where NVRTC's wheels put it, below a folder of sys.path: nvidia-cuda-nvrtc (CUDA 13) and nvidia-cuda-nvrtc-cu12.
_WHEEL_FOLDERS = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")


def find_problem(library: Path, environment: MutableMapping[str, str] = os.environ) -> str:
    """One sentence about what the cuda runtime lacks here, or "" if it can be used.

    The library is closed again if it cannot, so that another runtime may be opened in this process. ``environment``
    is given the folders of installed NVRTC wheels, which the library cannot know.
    """
    environment.setdefault(WHEELS_VARIABLE, os.pathsep.join(wheel_folders(sys.path)))
    try:
        handle = ctypes.CDLL(os.fspath(library))
    except OSError as error:
        return f"its library cannot be opened: {error}"
    function = handle.kernelperf_cuda_problem
    function.restype, function.argtypes = ctypes.c_char_p, []
    problem = function()
    if problem is None:
        return ""
    text = bytes(problem).decode(errors="replace")
    _ctypes.dlclose(handle._handle)
    return text


def wheel_folders(search_path: list[str]) -> list[str]:
    """Folders on a search path in which an installed wheel keeps NVRTC."""
    found = []
    for base in search_path:
        for name in _WHEEL_FOLDERS:
            folder = os.path.join(base or os.getcwd(), name)
            if glob.glob(os.path.join(glob.escape(folder), "libnvrtc.so*")):
                found.append(folder)
    return found
