"""Offload bundles: one file with code objects for several GPUs, as hipcc makes them, compressed or not.

A compressed bundle is a header and one stream; numbers are little-endian:

======  ==============================  =============================================================
bytes   versions                        meaning
======  ==============================  =============================================================
4       all                             magic ``CCOB``
2       all                             version, 1 to 3
2       all                             method: 0 zlib, 1 Zstandard
4 or 8  2 (4 bytes) and 3 (8)           size of the whole file
4 or 8  1 and 2 (4 bytes), 3 (8)        size of the bundle in it
8       all                             the first eight bytes of the bundle's MD5
======  ==============================  =============================================================

(LLVM, ``lib/Object/OffloadBundle.cpp``; compared with what clang-19 writes.)
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from io import BytesIO

from pytest_kernelperf.code_object.elf import Elf, refusing_damage
from pytest_kernelperf.code_object.target import best_target, target_of
from pytest_kernelperf.errors import CodeObjectError

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
MOST_ENTRIES = 1024
MOST_BYTES = 1024 * 1024 * 1024
"""A larger bundle is not unpacked: what a few kilobytes of a stranger's file may ask for has a limit."""

HOSTS = (62, 183, 243, 21)
"""ELF machines that run programs: x86-64, AArch64, RISC-V, PowerPC."""

SECTION = ".hip_fatbin"
ALIGNMENT = 4096

_HEADERS = {1: struct.Struct("<4sHHI8s"), 2: struct.Struct("<4sHHII8s"), 3: struct.Struct("<4sHHQQ8s")}
_ZLIB, _ZSTANDARD = 0, 1
_STEP_BYTES = 1024 * 1024


def is_bundle(data: bytes) -> bool:
    """Whether these bytes begin as an offload bundle does, compressed or not."""
    return data.startswith((MAGIC, COMPRESSED_MAGIC))


def bundle_within(data: bytes) -> bytes:
    """The bundle that a host's object file or library carries, as hipcc makes them; any other file as it is.

    Raises:
        CodeObjectError: damaged, or it carries several, one of each source.
    """
    if not data.startswith(b"\x7fELF") or int.from_bytes(data[18:20], "little") not in HOSTS:
        return data
    with refusing_damage("file of the host"):
        section = next((section for section in Elf(data).sections if section.name == SECTION), None)
    if section is None:
        return data
    starts = [at for at in range(0, len(section.data), ALIGNMENT) if is_bundle(section.data[at : at + len(MAGIC)])]
    if len(starts) != 1:
        raise CodeObjectError(
            f"it carries {len(starts)} offload bundles, one of each source: name the object file of the kernel's own "
            "source"
        )
    return section.data[starts[0] :]


def unbundle(data: bytes, device: str = "") -> bytes:
    """The code object in a bundle that a device takes (its target ID), or the only one there is.

    Raises:
        CodeObjectError: damaged, too large, or nothing in it fits.
    """
    return choose(read_bundle(data), device)


def read_bundle(data: bytes) -> dict[str, bytes]:
    """The device code in a bundle, by target ID (``gfx90a:xnack+``), in the file's order.

    Raises:
        CodeObjectError: damaged or too large.
    """
    if data.startswith(COMPRESSED_MAGIC):
        data = _unpacked(data)
    found: dict[str, bytes] = {}
    with refusing_damage("offload bundle"):
        for entry, part in _entries(data):
            kind, _, triple = entry.partition("-")
            if part and kind != "host":
                found.setdefault(target_of(triple), part)
    return found


def choose(parts: dict[str, bytes], device: str = "") -> bytes:
    """The part that a device takes, by AMD's rules for target IDs; without a device the only one.

    Raises:
        CodeObjectError: nothing fits, or without a device, there are several.
    """
    held = ", ".join(sorted(parts)) or "none"
    if device:
        target = best_target(parts, device)
        if target is None:
            raise CodeObjectError(
                f"the offload bundle has no code object for {device} (it holds {held}): compile it for that as well, "
                f"with --offload-arch={device}"
            )
        return parts[target]
    if len(parts) != 1:
        raise CodeObjectError(
            f"the offload bundle has {len(parts)} code objects for the device (it holds {held}): compile it for "
            "exactly one architecture"
        )
    return next(iter(parts.values()))


def _entries(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = len(MAGIC) + 8
    (count,) = struct.unpack_from("<Q", data, len(MAGIC))
    if count > MOST_ENTRIES:
        raise CodeObjectError(f"{count} entries")
    for _ in range(count):
        offset, size, name_bytes = struct.unpack_from("<QQQ", data, at)
        if offset + size > len(data) or at + 24 + name_bytes > len(data):
            raise CodeObjectError("an entry lies outside the file")
        yield data[at + 24 : at + 24 + name_bytes].decode(), data[offset : offset + size]
        at += 24 + name_bytes


def _unpacked(data: bytes) -> bytes:
    """The bundle in a compressed one."""
    with refusing_damage("compressed offload bundle"):
        _, version, method = struct.unpack_from("<4sHH", data)
    header = _HEADERS.get(version)
    if header is None or method not in (_ZLIB, _ZSTANDARD):
        raise CodeObjectError(
            f"the compressed offload bundle has version {version} and method {method}, of which versions 1 to "
            f"{max(_HEADERS)} with zlib (0) or Zstandard (1) are read: compile with --no-offload-compress"
        )
    with refusing_damage("compressed offload bundle"):
        _, _, _, *sizes, digest = header.unpack_from(data)
        file_bytes, bundle_bytes = sizes if len(sizes) == 2 else (len(data), *sizes)
        if not header.size <= file_bytes <= len(data):
            raise CodeObjectError(f"{len(data)} bytes, its header says {file_bytes}")
    if bundle_bytes > MOST_BYTES:
        raise CodeObjectError(
            f"the compressed offload bundle unpacks to {bundle_bytes} bytes, more than the {MOST_BYTES} that are read: "
            "compile it for fewer architectures"
        )
    with refusing_damage("compressed offload bundle"):
        unpack = _from_zlib if method == _ZLIB else _from_zstandard
        bundle = b"".join(_limited(unpack(data[header.size : file_bytes]), bundle_bytes))
        if len(bundle) != bundle_bytes or hashlib.md5(bundle, usedforsecurity=False).digest()[:8] != digest:
            raise CodeObjectError("what it unpacks to is not what its header says")
        if not bundle.startswith(MAGIC):
            raise CodeObjectError("what it unpacks to is no bundle")
    return bundle


def _limited(steps: Iterator[bytes], most_bytes: int) -> Iterator[bytes]:
    """The steps of unpacking, which end where more comes than was announced."""
    taken = 0
    for step in steps:
        taken += len(step)
        if taken > most_bytes:
            raise CodeObjectError("it unpacks to more than its header says")
        yield step


def _from_zlib(packed: bytes) -> Iterator[bytes]:
    unpacking = zlib.decompressobj()
    for start in range(0, len(packed), _STEP_BYTES):  # what is left over is copied, so little is given at a time
        waiting = packed[start : start + _STEP_BYTES]
        while step := unpacking.decompress(waiting, _STEP_BYTES):
            yield step
            waiting = unpacking.unconsumed_tail


def _from_zstandard(packed: bytes) -> Iterator[bytes]:
    import zstandard  # here, since few files are compressed

    with zstandard.ZstdDecompressor().stream_reader(BytesIO(packed)) as unpacking:
        while step := unpacking.read(_STEP_BYTES):
            yield step
