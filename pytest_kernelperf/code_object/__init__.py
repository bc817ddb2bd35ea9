"""What a compiled code object says of its kernels, read from its bytes alone."""

from pytest_kernelperf.code_object.read import read_kernels

__all__ = ["read_kernels"]
