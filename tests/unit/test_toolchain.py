"""Which compiler makes device code, how it is called, and the headers that hiprtc is passed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.runtime.built_in import built_in_headers, header_folder
from pytest_kernelperf.runtime.toolchain import Toolchain, find_toolchain, find_toolchains, small_header

VARIABLES = ("HIPCXX", "CUDACXX", "ROCM_PATH", "ROCM_HOME", "CUDA_PATH", "CUDA_HOME")

TOOLKITS = ("/opt/rocm", "/usr/local/cuda")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no compiler but those that a test puts into its folder, of which ``path`` is on PATH."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name.startswith(TOOLKITS) else real(name))
    return tmp_path


def put(path: Path) -> str:
    """Make a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_projects_own_compiler_comes_first(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then CMake's variable, then ROCm's folder, then PATH."""
    on_path = put(machine / "path" / "hipcc")
    assert find_toolchain("rocm").program == on_path
    monkeypatch.setenv("ROCM_PATH", str(machine / "rocm"))
    in_folder = put(machine / "rocm" / "bin" / "amdclang++")
    assert find_toolchain("rocm").program == in_folder
    stated = put(machine / "own" / "hipcc")
    monkeypatch.setenv("HIPCXX", stated)
    assert find_toolchain("rocm").program == stated
    named = put(machine / "engine" / "clang++")
    assert find_toolchain("rocm", named) == Toolchain(named, "clang")


@pytest.mark.parametrize("named", ["/usr/bin/c++", "/nowhere/clang++", "nvcc", ""])
def test_what_cannot_compile_for_amd_or_is_not_there_is_passed_over(machine: Path, named: str) -> None:
    """Compile commands may be another machine's, or name the host's compiler."""
    on_path = put(machine / "path" / "amdclang++")
    assert find_toolchain("rocm", named).program == on_path


def test_cuda_has_nvcc_and_nothing_else(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HIP's compilers do not make code for NVIDIA GPUs here."""
    put(machine / "path" / "hipcc")
    with pytest.raises(RuntimeUnavailable, match=r"nvcc.*install the CUDA toolkit, or set CUDACXX"):
        find_toolchain("cuda", "/opt/rocm/bin/hipcc")
    monkeypatch.setenv("CUDA_HOME", str(machine / "cuda"))
    nvcc = put(machine / "cuda" / "bin" / "nvcc")
    assert find_toolchain("cuda") == Toolchain(nvcc, "nvcc")


def test_on_the_cpu_clang_alone_will_do_and_on_rocm_not(machine: Path) -> None:
    """What is only checked may be compiled without AMD's library; what is run may not."""
    put(machine / "path" / "clang++-17")
    newest = put(machine / "path" / "clang++-19")
    assert find_toolchain("cpu") == Toolchain(newest, "clang", bare=True)
    with pytest.raises(RuntimeUnavailable, match=r"install hipcc, or set HIPCXX"):
        find_toolchain("rocm")


def test_on_the_cpu_rocms_compilers_are_tried_before_clang_alone(machine: Path) -> None:
    """All that are here, each at most to be passed over; a clang that only the project knows may be one of them."""
    hipcc, clang = put(machine / "path" / "hipcc"), put(machine / "path" / "clang++-19")
    named = put(machine / "llvm" / "clang++")
    assert find_toolchains("cpu", named) == [
        Toolchain(named, "clang"),
        Toolchain(hipcc, "clang"),
        Toolchain(clang, "clang", bare=True),
        Toolchain(named, "clang", bare=True),
    ]
    assert find_toolchains("rocm", named) == [Toolchain(named, "clang"), Toolchain(hipcc, "clang")]


def test_without_any_compiler_the_packages_are_named(machine: Path) -> None:
    """One sentence that can be typed."""
    with pytest.raises(RuntimeUnavailable, match="install clang-19 and lld-19"):
        find_toolchain("cpu")


OPTIONS = (
    "-DN=1", "-O2", "-ffast-math", "-mcumode", "-mllvm=-x", "--use_fast_math", "-maxrregcount=64", "-Iinclude",
    "-isystem/opt/x", "-includefirst.h",
)  # fmt: skip


def test_clang_is_given_what_is_clangs() -> None:
    """Options of two words are two words again; nvcc's own are left out."""
    command = Toolchain("hipcc", "clang").command(OPTIONS, "gfx1151", "k.hip", "k.co")
    assert command[:4] == ["hipcc", "-x", "hip", "--offload-arch=gfx1151"]
    given = " ".join(command)
    assert "-DN=1 -O2 -ffast-math -mcumode -mllvm -x -Iinclude -isystem /opt/x -include first.h k.hip -o k.co" in given
    assert "-O3" not in command


def test_clang_optimises_where_the_project_does_not_say() -> None:
    """As hipcc does; a project's -O0 is its own."""
    assert "-O3" in Toolchain("hipcc", "clang").command(("-DN=1",), "gfx1151", "k.hip", "k.co")
    assert "-O3" not in Toolchain("hipcc", "clang").command(("-O0",), "gfx1151", "k.hip", "k.co")


def test_clang_alone_gets_our_header_and_no_library() -> None:
    """ROCm's are not there to be found."""
    command = Toolchain("clang++", "clang", bare=True).command((), "gfx1151", "k.hip", "k.co")
    assert {"-nogpulib", "-nogpuinc", str(small_header())} <= set(command)
    assert (small_header() / "hip" / "hip_runtime.h").is_file()


def test_nvcc_is_given_what_is_nvccs() -> None:
    """Clang's -f and -m options are left out."""
    command = Toolchain("nvcc", "nvcc").command(OPTIONS, "sm_90", "k.hip", "k.cubin")
    assert command[:5] == ["nvcc", "-x", "cu", "-cubin", "-arch=sm_90"]
    given = " ".join(command)
    assert "-DN=1 -O2 --use_fast_math -maxrregcount=64 -Iinclude -isystem /opt/x -include first.h" in given
    assert "-ffast-math" not in given
    assert "-mcumode" not in given


def test_hiprtc_is_passed_what_it_has_built_in(tmp_path: Path) -> None:
    """Empty under the names that sources include; bfloat16 is ours where ROCm's headers are not installed."""
    library = tmp_path / "lib" / "libhiprtc.so"
    headers = built_in_headers(library)
    assert headers["hip/hip_runtime.h"].startswith("//")
    assert "__float2bfloat16" in headers["hip/hip_bf16.h"]
    assert header_folder(library) is None
    put(tmp_path / "include" / "hip" / "hip_runtime.h")
    assert header_folder(library) == tmp_path / "include"
    assert not {"hip/hip_bf16.h", "hip/hip_fp16.h"} & set(built_in_headers(library))
