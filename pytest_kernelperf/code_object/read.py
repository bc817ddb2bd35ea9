"""Which kind of code object these bytes are, and what it says of each kernel."""

from __future__ import annotations

from pytest_kernelperf.model import KernelFacts


def read_kernels(data: bytes) -> dict[str, KernelFacts]:
    """Facts of every kernel in a code object, by the name that hipModuleGetFunction takes.

    Reads CPU containers, AMD code objects (bare, or in an offload bundle) and cubins.

    Raises:
        CodeObjectError: damaged, cut off, or of an unknown kind.
    """
    raise NotImplementedError
