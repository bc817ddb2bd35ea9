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
CUPTI_WHEELS_VARIABLE = "KERNELPERF_CUPTI_WHEELS"

# Where NVIDIA's wheels put a library, below a folder of sys.path: those of CUDA 13 together, of CUDA 12 one by one.
_WHEEL_FOLDERS = {
    "libnvrtc": ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"),
    "libcupti": ("nvidia/cu13/lib", "nvidia/cuda_cupti/lib"),
}


def find_problem(library: Path, environment: MutableMapping[str, str] = os.environ) -> str:
    """One sentence about what the cuda runtime lacks here, or "" if it can be used.

    The library is closed again if it cannot, so that another runtime may be opened in this process. ``environment``
    is given the folders of installed NVRTC and CUPTI wheels, which the library cannot know.
    """
    environment.setdefault(WHEELS_VARIABLE, os.pathsep.join(wheel_folders(sys.path)))
    environment.setdefault(CUPTI_WHEELS_VARIABLE, os.pathsep.join(wheel_folders(sys.path, "libcupti")))
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


def wheel_folders(search_path: list[str], library: str = "libnvrtc") -> list[str]:
    """Folders on a search path in which an installed wheel keeps NVRTC, or CUPTI (``libcupti``)."""
    found = []
    for base in search_path:
        for name in _WHEEL_FOLDERS[library]:
            folder = os.path.join(base or os.getcwd(), name)
            if glob.glob(os.path.join(glob.escape(folder), f"{library}.so*")):
                found.append(folder)
    return found
