"""Which kind of code object these bytes are, and what it says of each kernel."""

from __future__ import annotations

from pytest_kernelperf.code_object.amd import read_amd, read_target
from pytest_kernelperf.code_object.bundle import HOSTS, bundle_within, is_bundle, unbundle
from pytest_kernelperf.code_object.container import MAGIC
from pytest_kernelperf.code_object.cpu import read_cpu
from pytest_kernelperf.code_object.cubin import read_cubin
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import KernelFacts

MOST_BYTES = 256 * 1024 * 1024

_AMDGPU, _CUDA = 224, 190

_FOREIGN = {
    b"\x50\xed\x55\xba": "it is a CUDA fat binary, which holds code for several GPUs: take out the one for yours "
    "(cuobjdump --extract-elf all FILE), or compile with nvcc -cubin -arch=…",
    b"BC\xc0\xde": "it is LLVM bitcode, as -fgpu-rdc leaves it: compile it without -fgpu-rdc, or link it first "
    "(hipcc -fgpu-rdc --hip-link)",
    b"\x10\xff\x10\xad": "it is an LLVM offload package: take out the code for your GPU with clang-offload-packager "
    "FILE --image=file=kernels.co,triple=amdgcn-amd-amdhsa,arch=…",
    b"!<arch>\n": "it is a static library: name a code object of its kernels, as hipcc --genco and nvcc -cubin make "
    "them",
}
"""How files begin that hold device code, but none that a device loads as it is, and what to do with them."""


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
    data = bundle_within(data)
    if is_bundle(data):
        data = unbundle(data, architecture)
    machine = _machine(data)
    if machine == _AMDGPU:
        return read_amd(data)
    if machine == _CUDA:
        return read_cubin(data)
    raise CodeObjectError(_kind_of(data, machine))


def architecture_of(data: bytes) -> str:
    """What a code object is for: ``cpu``, ``cuda``, or AMD's target ID (``gfx1151``); empty where it is not said.

    Raises:
        CodeObjectError: damaged.
    """
    if data.startswith(MAGIC):
        return "cpu"
    machine = _machine(data)
    return "cuda" if machine == _CUDA else read_target(data) if machine == _AMDGPU else ""


def _kind_of(data: bytes, machine: int | None) -> str:
    """What these bytes are, if they are nothing that a device loads as it is, and what to do with them."""
    for magic, sentence in _FOREIGN.items():
        if data.startswith(magic):
            return sentence
    if machine in HOSTS:
        return (
            "it is a program, library or object file of the host without HIP's device code: name a code object of its "
            "kernels, as hipcc --genco and nvcc -cubin make them"
        )
    if b".target sm_" in data[:4096]:
        return "it is PTX, which is not code yet: compile it for the GPU with nvcc -cubin -arch=…"
    return (
        f"unknown code object (it begins with {data[:8]!r}): a cpu code object, an AMD code object, an offload bundle "
        "or a cubin was expected"
    )


def _machine(data: bytes) -> int | None:
    """The machine of an ELF file; None for anything else."""
    return int.from_bytes(data[18:20], "little") if data.startswith(b"\x7fELF") and len(data) >= 20 else None
