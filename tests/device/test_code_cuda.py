"""Code objects on the cuda runtime, without a GPU: NVRTC, nvcc and ready cubins with a stand-in for the driver."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pytest_kernelperf
from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.native import native_path
from pytest_kernelperf.runtime.toolchain import find_toolchain

DRIVER = Path(__file__).parent.parent / "helpers" / "stand_in_cuda.c"

# What the stand-in's function attributes are: ten and the attribute's number.
STAND_IN_RESOURCES = {"max_threads": 10, "lds_bytes": 11, "scratch_bytes": 13, "registers": 14}

OPEN = """
from pytest_kernelperf.errors import CompileError, RuntimeUnavailable
from pytest_kernelperf.model import DeviceBuild, ReadyObject, SourceBundle, digest_of_bytes
from pytest_kernelperf.runtime.code import make_code
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
HOST = '''
#include <hip/hip_runtime.h>
#include <algorithm>
namespace {
template <class T> __global__ void scale(T* p, int n, T by) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = std::max(p[i] * by, T(0));
}
}
void run(float* p, hipStream_t stream) {
    scale<float><<<dim3(1), dim3(64), 0, stream>>>(p, 2, 1.0f);
    hipLaunchKernelGGL((scale<double>), dim3(1), dim3(64), 0, stream, nullptr, 2, 1.0);
    if (hipGetLastError() != hipSuccess) return;
}
'''
def host(**changes):
    return SourceBundle("k.hip", {"k.hip": HOST}, build=DeviceBuild(), **changes)
def ready(data):
    return SourceBundle("k.cubin", {}, build=ReadyObject(digest_of_bytes(data)))
try:
    device = Device(choose("cuda")).__enter__()
except RuntimeUnavailable as error:
    print(repr(str(error)))
    raise SystemExit
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stand-in libcuda.so.1."""
    try:
        native_path("hip_cuda/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("driver")
    target = str(folder / "libcuda.so.1")
    subprocess.run(["cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", str(DRIVER), "-o", target], check=True)
    return folder


def ask(driver: Path, program: str) -> Any:
    """The value that a child prints after opening the device; skips where the cuda runtime lacks NVRTC."""
    search = [str(Path(path).parent) for path in pytest_kernelperf.__path__] + [path for path in sys.path if path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(search), "LD_LIBRARY_PATH": str(driver)}
    done = subprocess.run(
        [sys.executable, "-c", OPEN + program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    value = ast.literal_eval(done.stdout)
    if isinstance(value, str):
        pytest.skip(value)
    return value


def needs_nvcc() -> None:
    try:
        find_toolchain("cuda")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))


def test_cuda_is_asked_what_a_kernel_uses(driver: Path) -> None:
    """A cubin says little of itself; the driver's function attributes go into the record."""
    source = 'extern "C" __global__ void one(int* p) { p[0] = 1; }'
    program = f"print(make_code(device, SourceBundle('k.hip', {{'k.hip': {source!r}}})).kernels['one'].resources)"
    assert ask(driver, program) == STAND_IN_RESOURCES


def test_nvcc_compiles_a_file_with_host_code_for_the_device(driver: Path) -> None:
    """Templates in an anonymous namespace are found by name, though nvcc's symbols change from folder to folder."""
    needs_nvcc()
    program = """
codes = [make_code(device, host(), ("scale<float>", "scale<double>")) for _ in range(2)]
names = ["(anonymous namespace)::scale<float>", "(anonymous namespace)::scale<double>"]
print([[[c.kernels[n].instruction_digest for n in names] for c in codes], codes[0].kernels[names[0]].resources,
       [p.size_bytes for p in codes[0].kernels[names[0]].parameters]])
"""
    (first, second), resources, sizes = ask(driver, program)
    assert first == second
    assert first[0] != first[1]
    assert resources == STAND_IN_RESOURCES
    assert sizes == [8, 4, 4]


def test_a_ready_cubin_is_taken_as_it_is(driver: Path) -> None:
    """The same bytes, the same kernels; another maker's object is refused by name."""
    needs_nvcc()
    program = """
made = make_code(device, host())
taken = make_code(device, ready(made.data), ("scale<float>",), made.data)
try:
    make_code(device, ready(b"KPCPUOBJ"), (), b"KPCPUOBJ")
except CompileError as error:
    said = str(error)
print([taken.digest == made.digest, taken.kernels == made.kernels, taken.cannot_run, said])
"""
    same_bytes, same_kernels, cannot_run, said = ask(driver, program)
    assert (same_bytes, same_kernels, cannot_run) == (True, True, "")
    assert said.startswith("k.cubin: damaged code object")


def test_a_template_that_nobody_launches_is_instantiated_by_name(driver: Path) -> None:
    """Name expressions with nvcc."""
    needs_nvcc()
    program = "print(sorted(make_code(device, host(name_expressions=('scale<int>',)), ('scale<int>',)).kernels))"
    assert "(anonymous namespace)::scale<int>" in ask(driver, program)
