"""HIP on CUDA over a stand-in driver and CUPTI, asked in child processes: a library that was opened stays open."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest_kernelperf

OPEN = """
import ctypes, os, sys
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from pytest_kernelperf.native import native_path
hip = ctypes.CDLL(str(native_path("hip_cuda/lib/libamdhip64.so")))
hip.hipGetErrorName.restype = hip.hipGetErrorString.restype = hip.kernelperf_cuda_problem.restype = c_char_p
def name(code): return hip.hipGetErrorName(code).decode()
"""


def build_driver(folder: Path) -> Path:
    """Compile the stand-in libcuda.so.1 into a folder, and return that folder."""
    _compile("stand_in_cuda.c", folder / "libcuda.so.1", "-Wl,-soname,libcuda.so.1")
    return folder


def build_cupti(file: Path, *options: str) -> Path:
    """Compile the stand-in CUPTI as a file of this name, and return it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    _compile("stand_in_cupti.c", file, *options)
    return file


def ask(program: str, driver: Path | None, **environment: str) -> object:
    """The Python value that a child process prints after opening the library."""
    search = [str(Path(path).parent) for path in pytest_kernelperf.__path__] + [path for path in sys.path if path]
    settings = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(search)} | environment
    if driver is not None:
        settings["LD_LIBRARY_PATH"] = str(driver)
    done = subprocess.run(
        [sys.executable, "-c", OPEN + program], env=settings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


def _compile(source: str, library: Path, *options: str) -> None:
    path = Path(__file__).parent / source
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", *options, str(path), "-o", str(library)], check=True)
