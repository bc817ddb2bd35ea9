"""Headers that AMD's hiprtc has built in but does not find as files, so that the same source compiles everywhere.

``#include <hip/hip_runtime.h>`` fails in hiprtc unless a file of that name is passed (seen with HIP 5.2). An empty one
will do: its content is there before the source begins. What is not built in is found in ROCm's own include folder
where there is one.
"""

from __future__ import annotations

from pathlib import Path

from pytest_kernelperf.runtime.toolchain import small_header

_EMPTY = ("hip/hip_runtime.h", "hip/hip_runtime_api.h", "hip/hip_vector_types.h")
_EMPTY_ALONE = ("hip/hip_fp16.h",)  # built in too; where ROCm's own is there it is found, and guards itself
_OURS = ("hip/hip_bf16.h", "hip/hip_bfloat16.h")
_BUILT_IN = "// built into hiprtc\n"
# Before HIP 7 hiprtc defined the wider fixed-width integers itself, in conflict with the system's.
_STANDARD = ("cstdint", "stdint.h")
_INTEGERS = """#if HIP_VERSION_MAJOR >= 7
#include_next <{name}>
#else
#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
namespace std {{
using ::int16_t, ::int32_t, ::int64_t, ::int8_t, ::uint16_t, ::uint32_t, ::uint64_t, ::uint8_t;
}}
#endif
"""


def built_in_headers(hiprtc: Path) -> dict[str, str]:
    """Names and texts of the headers to pass to AMD's hiprtc, a library at this path."""
    headers = dict.fromkeys(_EMPTY, _BUILT_IN) | {name: _INTEGERS.format(name=name) for name in _STANDARD}
    if header_folder(hiprtc) is None:
        headers |= dict.fromkeys(_EMPTY_ALONE, _BUILT_IN)
        headers |= {name: (small_header() / name).read_text(encoding="utf-8") for name in _OURS}
    return headers


def header_folder(hiprtc: Path) -> Path | None:
    """ROCm's include folder beside a library, if HIP's headers are in it."""
    folder = hiprtc.resolve().parent.parent / "include"
    return folder if (folder / "hip" / "hip_runtime.h").is_file() else None
