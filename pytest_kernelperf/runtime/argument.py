"""A launch's arguments as the bytes that HIP takes, and addresses checked against their buffers."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Argument, BufferArgument
from pytest_kernelperf.runtime.memory import Buffer

POINTER_BYTES = 8


def pack_arguments(arguments: tuple[Argument, ...], buffers: Mapping[str, Buffer]) -> bytes:
    """A launch's argument buffer as HIP lays it out: each value at its own alignment, in order, padding zero.

    Raises:
        UsageError: an argument names a buffer that is not there, or lies outside it.
    """
    packed = bytearray()
    for argument in arguments:
        if isinstance(argument, BufferArgument):
            address = buffer_address(buffers, argument.buffer, argument.offset_bytes, 0)
            value, alignment = address.to_bytes(POINTER_BYTES, "little"), POINTER_BYTES
        else:
            value, alignment = argument.data, argument.alignment
        packed += bytes(-len(packed) % alignment)
        packed += value
    return bytes(packed)


def buffer_address(buffers: Mapping[str, Buffer], name: str, offset_bytes: int, size_bytes: int) -> int:
    """The device address of ``size_bytes`` bytes at an offset of a buffer.

    Raises:
        UsageError: there is no such buffer, or the bytes lie outside it.
    """
    if name not in buffers:
        raise UsageError(f"the plan uses buffer {name!r}, which is not among {', '.join(sorted(buffers)) or 'none'}")
    buffer = buffers[name]
    if offset_bytes < 0 or size_bytes < 0 or offset_bytes + size_bytes > buffer.size_bytes:
        raise UsageError(
            f"the plan reaches {offset_bytes + size_bytes} bytes into buffer {name!r}, which has {buffer.size_bytes}"
        )
    return buffer.address + offset_bytes
