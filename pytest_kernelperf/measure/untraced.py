"""Finds profilers and other preloaded libraries: a traced time is not a time.

Three places tell: the environment (what a launcher asked for), the libraries mapped into this process (what
got in, by whatever way), and ``LD_PRELOAD`` as it stands, since nobody can know what a preloaded library does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_PRELOADS = ("LD_PRELOAD", "LD_AUDIT")

_VARIABLES = re.compile(
    r"ROCP_TOOL_LIBRARIES|ROCP_TOOL_LIB|ROCPROFILER_\w+|ROCPROF_\w+|ROCTRACER_\w+|HSA_TOOLS_LIB"
    r"|CUDA_INJECTION(32|64)_PATH|NVTX_INJECTION(32|64)_PATH|NV_COMPUTE_PROFILER_\w+|NSYS_\w+|RPDT_\w+|RPD_\w+|OMNITRACE_\w+"
    r"|ROCPROFSYS_\w+"
)

_LIBRARIES = re.compile(
    r"lib(rocprofiler|rocprofv3|rocprof-sys|rocprofsys|roctracer|roctx-trace|rpd_tracer|omnitrace|cupti|nvperf_host"
    r"|ToolsInjection|cuda-injection|cudaInjection|nvtx-injection|TreeLauncherTargetInjection|hsa-runtime-tools"
    r"|asan|clang_rt\.asan|tsan|ubsan|lsan|msan)[\w.+-]*\.so[\w.]*"
)

# Registered with by every ROCm library, profiled or not: mapped, it says nothing.
_HARMLESS = re.compile(r"librocprofiler-register\.so")

# Off switches: a variable that says no asks for nothing.
_NO = {"", "0", "no", "off", "false"}

_MAX_MAPS_BYTES = 16 * 1024 * 1024


def find_in_environment(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Name what the environment preloads or asks a profiler to do, as ``NAME=value``, sorted."""
    return tuple(
        f"{name}={_shorten(value)}"
        for name, value in sorted(environment.items())
        if value.strip().lower() not in _NO and (name in _PRELOADS or _VARIABLES.fullmatch(name))
    )


def find_in_maps(text: str) -> tuple[str, ...]:
    """Name the profilers' and sanitizers' libraries in the text of a ``/proc/<pid>/maps``, sorted."""
    found = set()
    for line in text.splitlines():
        _, slash, path = line.partition("/")
        name = path.rpartition("/")[2].removesuffix(" (deleted)")
        if slash and _LIBRARIES.match(name) and not _HARMLESS.match(name):
            found.add(name)
    return tuple(sorted(found))


def find_profilers(
    environment: Mapping[str, str] | None = None, maps: Path = Path("/proc/self/maps")
) -> tuple[str, ...]:
    """Name everything that may distort this process's times; empty: untraced.

    A ``maps`` that cannot be read is named too: what cannot be verified is not untraced.
    """
    try:
        with maps.open("rb") as file:
            mapped = find_in_maps(file.read(_MAX_MAPS_BYTES).decode(errors="replace"))
    except OSError as error:
        mapped = (f"{maps} cannot be read ({error.strerror})",)
    return (*find_in_environment(os.environ if environment is None else environment), *mapped)


def _shorten(value: str) -> str:
    return value if len(value) <= 120 else value[:119] + "…"
