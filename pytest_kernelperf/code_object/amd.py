"""Kernels of an AMD code object: the metadata note, the kernel descriptor and the instructions.

A linked object no longer says what an instruction refers to. A kernel's digest therefore covers its own
instructions, its descriptor and metadata, and everything in the object that belongs to no kernel: functions that
were not inlined, and data. So a change of a shared function shows in every kernel of the object, which costs a
timing; the other way round it would hide one.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator
from typing import Any

import msgspec

from pytest_kernelperf.code_object.elf import EXECUTABLE, Elf, Section, Symbol, refusing_damage
from pytest_kernelperf.code_object.target import target_of
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import KernelFacts, Parameter

METADATA_NOTE = 32
DESCRIPTOR_BYTES = 64

# Bytes of the descriptor that say how far away the instructions are: where, not what.
_ENTRY_OFFSET = slice(16, 24)
# Words between functions: s_code_end, s_nop 0 and zero. How many there are depends on the neighbours.
_PADDING = {b"\x00\x00\x9f\xbf", b"\x00\x00\x80\xbf", b"\x00\x00\x00\x00"}

# Metadata that names things rather than saying what runs.
_NAMING = {".name", ".symbol", ".type_name", ".args"}

_RESOURCES = {
    ".vgpr_count": "vgprs",
    ".agpr_count": "agprs",
    ".sgpr_count": "sgprs",
    ".group_segment_fixed_size": "lds_bytes",
    ".private_segment_fixed_size": "scratch_bytes",
    ".wavefront_size": "wave_size",
    ".workgroup_processor_mode": "wgp_mode",
    ".max_flat_workgroup_size": "max_threads",
}


def read_amd(data: bytes) -> dict[str, KernelFacts]:
    """Facts of every kernel in an AMD code object, by name.

    Raises:
        CodeObjectError: damaged, or its metadata and symbols disagree.
    """
    with refusing_damage("AMD"):
        elf = Elf(data)
        symbols = {symbol.name: symbol for symbol in elf.symbols if symbol.section is not None}
        described = [_described(symbols, entry) for entry in _metadata(elf).get("amdhsa.kernels", [])]
        taken = [symbol for _, function, descriptor in described for symbol in (function, descriptor)]
        rest = _rest(elf, taken)
        return {
            str(entry[".name"]): KernelFacts(
                _digest(elf, entry, function, descriptor, rest), _parameters(entry), _resources(entry)
            )
            for entry, function, descriptor in described
        }


def read_target(data: bytes) -> str:
    """The target ID that an AMD code object is for (``gfx1151``, ``gfx90a:xnack+``); empty where it does not say.

    Raises:
        CodeObjectError: damaged.
    """
    with refusing_damage("AMD"):
        return target_of(str(_metadata(Elf(data)).get("amdhsa.target", "")))


def _metadata(elf: Elf) -> dict[str, Any]:
    for section in elf.sections:
        if section.type == "SHT_NOTE":
            for kind, owner, content in _notes(section.data):
                if kind == METADATA_NOTE and owner == b"AMDGPU":
                    return msgspec.msgpack.decode(content, type=dict[str, Any])
    raise CodeObjectError("no metadata note (code object version 3 or newer is needed)")


def _notes(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    at = 0
    while at + 12 <= len(data):
        name_bytes, content_bytes, kind = struct.unpack_from("<III", data, at)
        name_at, content_at = at + 12, at + 12 + (name_bytes + 3) // 4 * 4
        yield kind, data[name_at : name_at + name_bytes].rstrip(b"\0"), data[content_at : content_at + content_bytes]
        at = content_at + (content_bytes + 3) // 4 * 4


def _described(symbols: dict[str, Symbol], entry: Any) -> tuple[dict[str, Any], Symbol, Symbol]:
    """A kernel's metadata with its function's and its descriptor's symbol."""
    metadata = msgspec.convert(entry, dict[str, Any])
    name = str(metadata[".name"])
    function, descriptor = symbols.get(name), symbols.get(f"{name}.kd")
    if function is None or descriptor is None or descriptor.size != DESCRIPTOR_BYTES:
        raise CodeObjectError(f"kernel {name} has no function or no descriptor")
    return metadata, function, descriptor


def _content(elf: Elf, symbol: Symbol) -> bytes:
    section = elf.sections[symbol.section or 0]
    start = symbol.value - section.address
    if start < 0 or start + symbol.size > len(section.data):
        raise CodeObjectError(f"{symbol.name} lies outside its section")
    return section.data[start : start + symbol.size]


def _digest(elf: Elf, entry: dict[str, Any], function: Symbol, descriptor: Symbol, rest: bytes) -> str:
    described = bytearray(_content(elf, descriptor))
    described[_ENTRY_OFFSET] = bytes(8)
    stated = {key: value for key, value in entry.items() if key not in _NAMING}
    arguments = [{key: value for key, value in argument.items() if key not in _NAMING} for argument in _args(entry)]
    digest = hashlib.sha256()
    for part in (
        _content(elf, function),
        bytes(described),
        json.dumps([stated, arguments], sort_keys=True).encode(),
        rest,
    ):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _rest(elf: Elf, taken: list[Symbol]) -> bytes:
    """What belongs to no kernel: other functions without the padding between them, and data."""
    digest = hashlib.sha256()
    for section in elf.sections:
        if section.type == "SHT_NOBITS" and section.name.startswith((".bss", ".tbss")):  # .relro_padding is layout
            digest.update(f"zero {section.size}\n".encode())
        if section.type != "SHT_PROGBITS" or not section.name.startswith((".text", ".rodata", ".data", ".tdata")):
            continue
        for run in _runs(section, taken):
            digest.update(_unpadded(run) if section.has(EXECUTABLE) else run.strip(b"\0"))
            digest.update(b"\n")
    return digest.digest()


def _runs(section: Section, taken: list[Symbol]) -> Iterator[bytes]:
    """The parts of a section between the symbols that are taken, empty ones left out."""
    base, at = section.address, 0
    spans = sorted((s.value - base, s.value - base + s.size) for s in taken if s.section == section.index)
    for start, end in [*spans, (len(section.data), len(section.data))]:
        run = section.data[at:start]
        if run.strip(b"\0"):
            unpadded = _unpadded(run) if section.has(EXECUTABLE) else run
            if unpadded:
                yield run
        at = max(at, end)


def _unpadded(run: bytes) -> bytes:
    words = (run[at : at + 4] for at in range(0, len(run), 4))
    return b"".join(word for word in words if word not in _PADDING)


def _args(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return msgspec.convert(entry.get(".args", []), list[dict[str, Any]])


def _parameters(entry: dict[str, Any]) -> tuple[Parameter, ...]:
    visible = [argument for argument in _args(entry) if not str(argument[".value_kind"]).startswith("hidden_")]
    visible.sort(key=lambda argument: int(argument[".offset"]))
    return tuple(
        Parameter("unknown" if argument[".value_kind"] == "by_value" else "pointer", int(argument[".size"]))
        for argument in visible
    )


def _resources(entry: dict[str, Any]) -> dict[str, int]:
    resources = {ours: int(entry[theirs]) for theirs, ours in _RESOURCES.items() if theirs in entry}
    resources["spills"] = int(entry.get(".sgpr_spill_count", 0)) + int(entry.get(".vgpr_spill_count", 0))
    return resources
