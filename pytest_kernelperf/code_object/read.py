"""Which kind of code object these bytes are, and what it says of each kernel."""

from __future__ import annotations

from pytest_kernelperf.code_object.amd import BUNDLE_MAGIC, COMPRESSED_BUNDLE_MAGIC, read_amd, read_target, unbundle
from pytest_kernelperf.code_object.container import MAGIC
from pytest_kernelperf.code_object.cpu import read_cpu
from pytest_kernelperf.code_object.cubin import read_cubin
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import KernelFacts

MOST_BYTES = 256 * 1024 * 1024

_AMDGPU, _CUDA = 224, 190


def read_kernels(data: bytes, architecture: str = "") -> dict[str, KernelFacts]:
    """Facts of every kernel in a code object, by the name that hipModuleGetFunction takes.

    Reads cpu code objects, AMD code objects (bare, or in an offload bundle, where ``architecture`` chooses) and
    cubins.

    Raises:
        CodeObjectError: damaged, cut off, too large, or of an unknown kind.
    """
    if len(data) > MOST_BYTES:
        raise CodeObjectError(f"the code object has {len(data)} bytes, more than the {MOST_BYTES} that are read")
    if data.startswith(MAGIC):
        return read_cpu(data)
    if data.startswith((BUNDLE_MAGIC, COMPRESSED_BUNDLE_MAGIC)):
        return read_amd(unbundle(data, architecture))
    machine = _machine(data)
    if machine == _AMDGPU:
        return read_amd(data)
    if machine == _CUDA:
        return read_cubin(data)
    raise CodeObjectError(
        f"unknown code object (it begins with {data[:8]!r}): a cpu code object, an AMD code object, an offload bundle "
        "or a cubin was expected"
    )


def architecture_of(data: bytes) -> str:
    """What a code object is for: ``cpu``, ``cuda``, or AMD's name of the GPU (``gfx1151``); empty where it is not said.

    Raises:
        CodeObjectError: damaged.
    """
    if data.startswith(MAGIC):
        return "cpu"
    machine = _machine(data)
    return "cuda" if machine == _CUDA else read_target(data) if machine == _AMDGPU else ""


def _machine(data: bytes) -> int | None:
    """The machine of an ELF file; None for anything else."""
    return int.from_bytes(data[18:20], "little") if data.startswith(b"\x7fELF") and len(data) >= 20 else None
