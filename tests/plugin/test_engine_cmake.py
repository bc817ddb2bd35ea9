"""An engine as CMake really configures it, with clang in ROCm's place: its commands, headers and flags are found."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest

PROJECT = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.18)
project(engine LANGUAGES CXX)
configure_file(include/engine/version.h.in made/engine/version.h)
add_library(engine OBJECT src/norm.hip "src/rope of today.hip")
set_source_files_properties(src/norm.hip "src/rope of today.hip" PROPERTIES LANGUAGE CXX)
set_source_files_properties("src/rope of today.hip" PROPERTIES COMPILE_DEFINITIONS "BASE=10000.f;NAME=\\"a b\\"")
target_include_directories(engine PRIVATE include "${CMAKE_CURRENT_BINARY_DIR}/made")
target_include_directories(engine SYSTEM PRIVATE /opt/rocm/include)
target_compile_features(engine PRIVATE cxx_std_17)
target_compile_options(engine PRIVATE -xhip --offload-arch=gfx1151,gfx1100 -fno-gpu-rdc -Wall -ffast-math)
target_precompile_headers(engine PRIVATE <vector> <algorithm> "include/engine/common.h")
""",
    "include/engine/version.h.in": '#pragma once\n#define ENGINE_VERSION "@PROJECT_NAME@"\n',
    "include/engine/common.h": """
#pragma once
#include <hip/hip_runtime.h>
#include "engine/version.h"
constexpr int kBlock = 256;
""",
    "src/norm.hip": """
namespace engine {
template <int kThreads>
__global__ void norm(float* x, int n) {
    const int i = blockIdx.x * kThreads + threadIdx.x;
    if (i < n) x[i] *= 2.f;
}
void run(float* x, int n) {
    std::vector<int> order{2, 1};
    std::sort(order.begin(), order.end());
    norm<kBlock><<<std::max(1, n / kBlock), kBlock>>>(x, n);
}
}  // namespace engine
""",
    "src/rope of today.hip": """
namespace {
__global__ void rope(float* x, int n) {
    const int i = blockIdx.x * kBlock + threadIdx.x;
    if (i < n) x[i] += powf(BASE, -static_cast<float>(i));
}
}  // namespace
const char* version() { return ENGINE_VERSION NAME; }
void run_rope(float* x, int n) { rope<<<(n + 255) / 256, 256>>>(x, n); }
""",
    "tests/test_kernels.py": """
import numpy as np
import pytest
from pytest_kernelperf import Kernel, Launch

norm = Kernel("norm", source="../src/norm.hip", build="device", tokens=(1, 8))
rope = Kernel("rope", source="../src/rope of today.hip", build="device", tokens=(1, 8))
for kernel, name in ((norm, "engine::norm<256>"), (rope, "rope")):
    kernel.inputs(lambda tokens: {"x": np.ones(tokens * 2560, np.float32)})
    kernel.reference(lambda tokens, x: {"x": 2 * x})

    def plain(tokens, device, name=name):
        return [Launch(name, grid=10 * tokens, block=256, args=["x", np.int32(2560 * tokens)])]

    kernel.variant(plain)


@pytest.mark.kernelperf(norm)
def test_norm(kernelperf):
    kernelperf.check()


@pytest.mark.kernelperf(rope)
def test_rope(kernelperf):
    kernelperf.check()
""",
    "pytest.ini": "[pytest]\nkernelperf_target = gfx1151\n",
}


@pytest.mark.parametrize("generator", ["Ninja", "Unix Makefiles"])
def test_a_configured_project_is_checked_for_its_gpu(
    guarded: Any, monkeypatch: pytest.MonkeyPatch, generator: str
) -> None:
    """Precompiled and generated headers, a path with spaces, macros of one file; ten workgroups starve."""
    for program in ("cmake", "clang++-19", "ld.lld-19", {"Ninja": "ninja"}.get(generator, "make")):
        if shutil.which(program) is None:
            pytest.skip(f"no {program} here")
    monkeypatch.delenv("HIPCXX", raising=False)
    monkeypatch.setenv("ROCM_PATH", "/nonexistent")
    root = guarded.path / "my engine"
    for name, text in PROJECT.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    command = ["cmake", "-S", root, "-B", root / "build" / "strix", "-G", generator, "-DCMAKE_BUILD_TYPE=Release"]
    command += ["-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DCMAKE_CXX_COMPILER=clang++-19"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False)
    assert configured.returncode == 0, configured.stderr
    result = guarded.guard("--rootdir", str(root), "-c", str(root / "pytest.ini"), str(root / "tests"))
    result.assert_outcomes(failed=2, skipped=2)
    result.stdout.fnmatch_lines(["*engine::norm<256>: 10 workgroups, 40 compute units (gfx1151)*"])
    output = result.stdout.str()
    assert "norm.hip needs a GPU" in output
    assert output.count("were counted and checked against its code by clang++") >= 2
