"""Real code objects for tests: cpu containers by the compilers found here, AMD code objects by Debian's clang."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from pytest_kernelperf.code_object.container import CpuObject, write_container

FLAGS = ("-c", "-O3", "-fPIC", "-ffunction-sections", "-fdata-sections", "-fno-ident", "-ffp-contract=fast")

COMPILERS = ("g++", "clang++-19")

TABLE_STRUCT = """
struct kernelperf_parameter {
    char kind, pointee; unsigned short alignment; unsigned size, pointee_size, zero;
};
"""

DEVICE_HEADER = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
static __device__ inline unsigned thread() { return __builtin_amdgcn_workitem_id_x(); }
"""


def kernel(name: str, body: str, parameters: str = "float* p, int n") -> str:
    """A kernel's thunk and parameter table as the cpu runtime writes them, with ``body`` in place of the kernel."""
    return f"""
extern "C" void kernelperf_thunk_{name}({parameters}) {{ {body} }}
extern "C" __attribute__((used)) const kernelperf_parameter kernelperf_parameters_{name}[] = {{
    {{'p', 'f', 8, 8, 4, 0}}, {{'i', '?', 4, 4, 0, 0}},
}};
"""


def cpu_object(source: str, compiler: str = "g++", *options: str) -> bytes:
    """A cpu code object of C++ source; skips the test where the compiler is missing."""
    return _cpu_object(TABLE_STRUCT + source, compiler, options)


def amd_object(source: str, architecture: str = "gfx1151", *options: str) -> bytes:
    """An AMD code object of device source (linked), or a bundle where ``options`` ask for one.

    Skips the test where what makes it is missing.
    """
    needed = [("clang-19", "clang-19"), ("ld.lld-19", "lld-19")]
    if _is_bundle(options):
        needed.append(("clang-offload-bundler-19", "clang-tools-19"))
    for program, package in needed:
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here: apt-get install {package}")
    return _amd_object(DEVICE_HEADER + source, architecture, options)


def _is_bundle(options: tuple[str, ...]) -> bool:
    return any(option.startswith(("--offload-arch", "--gpu-bundle-output")) for option in options)


@functools.cache
def _cpu_object(source: str, compiler: str, options: tuple[str, ...]) -> bytes:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here: apt-get install {compiler.replace('++', '')}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "unit.cpp")
        path.write_text(source)
        subprocess.run([compiler, *FLAGS, *options, str(path), "-o", f"{folder}/unit.o"], check=True)
        return write_container(CpuObject(b"", Path(folder, "unit.o").read_bytes()))


@functools.cache
def _amd_object(source: str, architecture: str, options: tuple[str, ...]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "unit.hip")
        path.write_text(source)
        subprocess.run(
            [
                "clang-19", "-x", "hip", f"--offload-arch={architecture}", "--offload-device-only", "-nogpulib",
                "-nogpuinc", "-O3", *([] if _is_bundle(options) else ["--no-gpu-bundle-output"]), *options,
                str(path), "-o", f"{folder}/unit.co",
            ],
            check=True,
        )  # fmt: skip
        return Path(folder, "unit.co").read_bytes()
