"""Compilers that make device code of a file with host code in it: hipcc, amdclang++, nvcc, or clang alone.

=========  =====================================================================================================
runtime    looked for, in this order
=========  =====================================================================================================
rocm       what the project's compile commands name; ``$HIPCXX``; amdclang++ and hipcc in ROCm's folders, on PATH
cuda       what the project's compile commands name; ``$CUDACXX``; nvcc in CUDA's folders, on PATH
cpu        as rocm; else clang++ of 17 or newer with our own small header: enough to check, not to run
=========  =====================================================================================================

``$HIPCXX`` and ``$CUDACXX`` are CMake's own names for the two.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.model import RuntimeName
from pytest_kernelperf.native import native_path

Kind = Literal["clang", "nvcc"]

# The oldest clang has the mathematics built in that the small header rests on.
_CLANGS = (*(f"clang++-{version}" for version in range(30, 16, -1)), "clang++")

_MISSING: dict[RuntimeName, str] = {
    "cuda": "a file with host code needs CUDA's nvcc, which was found neither in /usr/local/cuda/bin nor on PATH: "
    "install the CUDA toolkit, or set CUDACXX to it",
    "rocm": "a file with host code needs ROCm's hipcc or amdclang++, which was found neither in $ROCM_PATH/bin or "
    "/opt/rocm/bin nor on PATH: install hipcc, or set HIPCXX to the compiler",
    "cpu": "no hipcc, amdclang++ or clang++ of 17 or newer was found: install clang-19 and lld-19",
}

_NVCC_KEPT = ("-D", "-U", "-std=", "--std=", "-O", "-I", "-isystem", "-include", "-Xptxas=", "-maxrregcount=")
_NVCC_OWN = (
    "--use_fast_math", "-use_fast_math", "--fmad", "-fmad", "--ftz", "-ftz", "--prec", "-prec", "--expt", "-expt",
    "--extended", "-extended", "--maxrregcount", "-maxrregcount", "-Xptxas",
)  # fmt: skip


@dataclass(frozen=True)
class Toolchain:
    """A compiler and how it is called. ``bare``: clang without ROCm, so with our header and without AMD's library."""

    program: str
    kind: Kind
    bare: bool = False

    def command(self, options: tuple[str, ...], architecture: str, main: str, output: str) -> list[str]:
        """The command that compiles ``main`` device-only for an architecture.

        Without a unit identifier: clang would make it of paths and options, and no two objects would be equal. With
        ``-c``, which gives a linked code object all the same, since hipcc adds the host's libraries when linking.
        """
        if self.kind == "nvcc":
            kept = [word for option in options if _fits_nvcc(option) for word in _split(option)]
            relaxed = ["--expt-relaxed-constexpr", "--extended-lambda"]  # as HIP's compilers have it
            return [self.program, "-x", "cu", "-cubin", f"-arch={architecture}", *relaxed, *kept, main, "-o", output]
        own = [word for option in options if not option.startswith(_NVCC_OWN) for word in _split(option)]
        optimised = any(re.match(r"-O(?:\d|fast|s|z|g)?$", option) for option in options)
        with_library = ["-nogpulib", "-nogpuinc", "-isystem", os.fspath(small_header())] if self.bare else []
        return [
            self.program, "-x", "hip", f"--offload-arch={architecture}", "--offload-device-only",
            "--no-gpu-bundle-output", "-fuse-cuid=none", "-c", *([] if optimised else ["-O3"]), *with_library, *own,
            main, "-o", output,
        ]  # fmt: skip


def small_header() -> Path:
    """The folder of our own device header for clang alone."""
    return Path(str(resources.files("pytest_kernelperf.runtime"))) / "hip_device"


def find_toolchain(runtime: RuntimeName, named: str = "") -> Toolchain:
    """The first compiler for a runtime; ``named`` is the one that the project's compile commands name.

    Raises:
        RuntimeUnavailable: there is none; the sentence says what to install.
    """
    return find_toolchains(runtime, named)[0]


def find_toolchains(runtime: RuntimeName, named: str = "") -> list[Toolchain]:
    """The compilers for a runtime that are here, in the order in which they are to be tried; at least one.

    Raises:
        RuntimeUnavailable: there is none; the sentence says what to install.
    """
    if runtime == "cuda":
        found = [Toolchain(program, "nvcc") for program in _found(_cuda_programs(named))]
    else:
        found = [Toolchain(program, "clang") for program in _found(_rocm_programs(named))]
    if runtime == "cpu":
        clangs = [*_CLANGS, *([named] if re.fullmatch(r"clang\+\+.*", Path(named).name) else [])]
        found += [Toolchain(program, "clang", bare=True) for program in _found(iter(clangs))]
    if not found:
        raise RuntimeUnavailable(_MISSING[runtime])
    return found


def cuda_headers(folder: Path) -> list[str]:
    """Put HIP's headers for nvcc into a folder; the option that finds them.

    They are those of the cuda runtime without its stand-ins for the C and C++ headers that NVRTC lacks, and with the
    names of host calls.
    """
    shipped = native_path("hip_cuda/include")
    folder.mkdir()
    for name in ("hip", "kernelperf_cuda"):
        (folder / name).symlink_to(shipped / name)
    host = small_header() / "kernelperf_device" / "host_cuda.h"
    return ["-isystem", os.fspath(folder), "-include", os.fspath(host)]


def _rocm_programs(named: str) -> Iterator[str]:
    if re.search(r"hipcc|clang", Path(named).name):
        yield named
    yield from filter(None, [os.environ.get("HIPCXX")])
    root = os.environ.get("ROCM_PATH") or os.environ.get("ROCM_HOME") or "/opt/rocm"
    yield from (f"{root}/bin/amdclang++", f"{root}/lib/llvm/bin/amdclang++", f"{root}/bin/hipcc")
    yield from ("amdclang++", "hipcc")


def _cuda_programs(named: str) -> Iterator[str]:
    if Path(named).name.startswith("nvcc"):
        yield named
    yield from filter(None, [os.environ.get("CUDACXX")])
    root = os.environ.get("CUDA_PATH") or os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    yield from (f"{root}/bin/nvcc", "nvcc")


def _found(programs: Iterator[str]) -> Iterator[str]:
    return filter(None, (shutil.which(program) for program in programs))


def _fits_nvcc(option: str) -> bool:
    """Whether an option is nvcc's too: clang's own ``-f`` and ``-m`` options are not."""
    return option.startswith(_NVCC_KEPT) or option.startswith(_NVCC_OWN)


def _split(option: str) -> list[str]:
    """Options that are kept as one word, as all compilers take them."""
    for name in ("-isystem", "-include"):
        if option.startswith(name):
            return [name, option[len(name) :]]
    if option.startswith("-mllvm="):
        return ["-mllvm", option[len("-mllvm=") :]]
    return [option]
