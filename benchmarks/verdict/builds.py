"""Other code that ought to be equally fast: the same kernels in another order, beside others, or compiled otherwise."""

from __future__ import annotations

import itertools
import re

import msgspec

from pytest_kernelperf.model import SourceBundle

PLAIN = "plain"
OPTIONS = {
    "cuda": ("--ptxas-options=-O2", "--ptxas-options=-O1", "--restrict", "--extra-device-vectorization"),
    "rocm": ("-O2", "-fno-unroll-loops"),
    "cpu": ("-O2", "-fno-unroll-loops"),
}
PADDING = (7, 21)

_KERNEL = re.compile(r'^extern "C" __global__ .*?^\}\n', re.MULTILINE | re.DOTALL)
_INCLUDES = re.compile(r"(?:^#include .*\n|^//.*\n|^\n)+", re.MULTILINE)
_INDEX = "blockIdx.x * blockDim.x + threadIdx.x"


def other_builds(bundle: SourceBundle, runtime: str) -> dict[str, SourceBundle]:
    """Bundles by what they are called; those that the source gives no way to make are left out."""
    text = bundle.files[bundle.main]
    texts = {f"{count} functions before it": pad(text, count) for count in PADDING}
    texts["functions in reverse order"] = reverse_kernels(text)
    texts["index sums the other way round"] = text.replace(_INDEX, "threadIdx.x + blockIdx.x * blockDim.x")
    found = {name: _with_text(bundle, changed) for name, changed in texts.items() if changed != text}
    for option in OPTIONS[runtime]:
        found[option] = msgspec.structs.replace(bundle, options=(*bundle.options, option))
    return found


def pad(text: str, count: int) -> str:
    """Put functions that nobody calls after the includes: the kernels then lie elsewhere in the module."""
    functions = "".join(
        f'extern "C" __global__ void kernelperf_padding_{number}(float* out) {{\n'
        f"    for (int i = threadIdx.x; i < {64 + number}; i += blockDim.x) {{\n"
        f"        out[i] = out[i] * {number + 2}.5f + i;\n    }}\n}}\n"
        for number in range(count)
    )
    found = _INCLUDES.search(text)
    end = found.end() if found else 0
    return f"{text[:end]}{functions}{text[end:]}"


def reverse_kernels(text: str) -> str:
    """Move all kernels to the end, the last one first; the text itself where preprocessor lines stand between them."""
    kernels = list(_KERNEL.finditer(text))
    if len(kernels) < 2:
        return text
    between = "".join(text[a.end() : b.start()] for a, b in itertools.pairwise(kernels))
    if re.search(r"^#", between, re.MULTILINE):
        return text
    return _KERNEL.sub("", text) + "\n".join(found.group() for found in reversed(kernels))


def _with_text(bundle: SourceBundle, text: str) -> SourceBundle:
    return msgspec.structs.replace(bundle, files={**bundle.files, bundle.main: text})
