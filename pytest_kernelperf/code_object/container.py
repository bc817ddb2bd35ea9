"""The cpu runtime's code object: a header, the shared object that is loaded, and the relocatable it was linked from.

======  =====  =========================================
offset  bytes  meaning (little-endian)
======  =====  =========================================
0       8      magic ``KPCPUOBJ``
8       4      version, 1
12      4      zero
16      8      total size in bytes
24      16     offset and size of the shared object
40      16     offset and size of the relocatable
======  =====  =========================================

Version history: 1, the first.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pytest_kernelperf.errors import CodeObjectError

MAGIC = b"KPCPUOBJ"
VERSION = 1

_HEADER = struct.Struct("<8sIIQQQQQ")


@dataclass(frozen=True)
class CpuObject:
    """The two ELF files of a container."""

    shared: bytes
    relocatable: bytes


def read_container(data: bytes) -> CpuObject:
    """Take a container apart.

    Raises:
        CodeObjectError: no container, cut off, or of an unknown version.
    """
    if len(data) < _HEADER.size or not data.startswith(MAGIC):
        raise CodeObjectError("damaged code object: not a cpu code object, or cut off within its header")
    _, version, _, total, shared_at, shared_bytes, relocatable_at, relocatable_bytes = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CodeObjectError(
            f"the cpu code object has version {version}, this pytest-kernelperf reads {VERSION}: compile it again"
        )
    if total != len(data):
        raise CodeObjectError(f"damaged code object: {len(data)} bytes, its header says {total}")
    return CpuObject(_part(data, shared_at, shared_bytes), _part(data, relocatable_at, relocatable_bytes))


def write_container(parts: CpuObject) -> bytes:
    """Put a container together."""
    shared_at = _HEADER.size
    relocatable_at = shared_at + len(parts.shared)
    total = relocatable_at + len(parts.relocatable)
    header = _HEADER.pack(
        MAGIC, VERSION, 0, total, shared_at, len(parts.shared), relocatable_at, len(parts.relocatable)
    )
    return header + parts.shared + parts.relocatable


def _part(data: bytes, offset: int, size: int) -> bytes:
    if offset < _HEADER.size or offset + size > len(data):
        raise CodeObjectError("damaged code object: a part lies outside the file")
    return data[offset : offset + size]
