"""Profilers are found wherever they show."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_kernelperf.measure.untraced import find_in_environment, find_in_maps, find_profilers

MAPS = """\
55d0c0a00000-55d0c0a02000 r--p 00000000 08:01 1 /usr/bin/python3.11
7f0000000000-7f0000001000 r-xp 00000000 08:01 2                  /opt/rocm/lib/{name}
7f0000002000-7f0000003000 rw-p 00000000 00:00 0
7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                  [vdso]
"""


@pytest.mark.parametrize(
    "name",
    [
        "librocprofiler-sdk-tool.so.1.0.0",
        "librocprofiler64.so.2",
        "librocprofv3-attach.so",
        "libroctracer64.so.4",
        "librpd_tracer.so",
        "libcupti.so.12",
        "libToolsInjection64.so",
        "libcuda-injection.so",
        "libasan.so.8",
        "libclang_rt.asan-x86_64.so",
        "librocprof-sys-dl.so.1",
        "librocprofiler-sdk.so.1 (deleted)",
    ],
)
def test_a_profilers_mapped_library_is_named(name: str) -> None:
    """Whatever way it came in, its mapping shows."""
    assert find_in_maps(MAPS.format(name=name)) == (name.removesuffix(" (deleted)"),)


@pytest.mark.parametrize(
    "name",
    ["libamdhip64.so.7", "librocprofiler-register.so.0", "libhsa-runtime64.so.1", "anotherlibasan.so", "libcuda.so.1"],
)
def test_libraries_that_every_rocm_program_maps_are_not(name: str) -> None:
    """rocprofiler-register is mapped by ROCm itself; names that merely contain another's are none of it."""
    assert find_in_maps(MAPS.format(name=name)) == ()


@pytest.mark.parametrize(
    "variable",
    [
        "LD_PRELOAD",
        "LD_AUDIT",
        "ROCP_TOOL_LIBRARIES",
        "HSA_TOOLS_LIB",
        "ROCPROFILER_LIBRARY_CTOR",
        "ROCPROF_KERNEL_TRACE",
        "ROCTRACER_DOMAIN",
        "RPDT_FILENAME",
        "CUDA_INJECTION64_PATH",
        "NVTX_INJECTION64_PATH",
    ],
)
def test_a_variable_that_asks_for_one_is_named_with_its_value(variable: str) -> None:
    """Launchers leave their settings in the environment."""
    assert find_in_environment({"HOME": "/root", variable: "/x/lib.so"}) == (f"{variable}=/x/lib.so",)


@pytest.mark.parametrize("value", ["", " ", "0", "OFF", "false"])
def test_a_variable_that_says_no_asks_for_nothing(value: str) -> None:
    """An empty preload preloads nothing."""
    assert find_in_environment({"LD_PRELOAD": value, "ROCPROF_KERNEL_TRACE": value}) == ()


def test_rocm_and_cuda_settings_that_trace_nothing_are_left_alone() -> None:
    """Paths and device choices are no profilers."""
    harmless = {"ROCM_PATH": "/opt/rocm", "HIP_VISIBLE_DEVICES": "0", "CUDA_HOME": "/usr/local/cuda", "RPD": "1"}
    assert find_in_environment(harmless) == ()


def test_what_cannot_be_verified_is_not_untraced(tmp_path: Path) -> None:
    """Without the list of mappings nobody can say that no profiler is there."""
    (found,) = find_profilers({}, tmp_path / "missing")
    assert found.endswith("missing cannot be read (No such file or directory)")


def test_this_process_is_untraced_by_its_mappings() -> None:
    """The test process maps no profiler."""
    assert find_profilers({}) == ()
