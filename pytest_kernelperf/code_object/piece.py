"""A kernel's instructions as a graph of pieces, and their digest.

A relocatable object names what each instruction refers to, so a kernel can be followed through it: from its
entry to the functions, constants and tables that it uses, and no others. What the digest must not depend on:
names of sections and local symbols, their order, where a constant landed in a section that is shared with other
kernels. What it must: every instruction, every constant, every name that is defined elsewhere.

Functions, and data with a symbol of its own, are pieces as a whole. Constants that a compiler pools are pieces
by entry (mergeable sections) or from one referenced offset to the next (``.rodata`` for constants of 64 bytes,
which GCC refers to by section and offset).
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from functools import cached_property
from typing import NamedTuple

from pytest_kernelperf.code_object.elf import (
    ALLOCATED,
    EXECUTABLE,
    MERGEABLE,
    STRINGS,
    Elf,
    Relocation,
    Section,
    Symbol,
)
from pytest_kernelperf.errors import CodeObjectError

# x86-64 relocations against the end of a four-byte field: their addend is the offset less 4, or less still when
# an immediate follows. PC32, PLT32, GOTPCREL, GOTPCRELX, REX_GOTPCRELX.
_FIELD_RELATIVE = {2, 4, 9, 41, 42}
_FIELD_BYTES = 4


class Piece(NamedTuple):
    """Bytes ``start`` to ``end`` of a section."""

    section: int
    start: int
    end: int


class PieceGraph:
    """The pieces of one relocatable object."""

    def __init__(self, elf: Elf) -> None:
        self._elf = elf
        self._x86 = elf.machine == "EM_X86_64"

    def digest(self, symbol: Symbol) -> str:
        """SHA-256 (hex) of the piece that a defined symbol starts, and of all that it refers to.

        Raises:
            CodeObjectError: a reference leads outside the object.
        """
        if symbol.section is None:
            raise CodeObjectError(f"damaged code object: {symbol.name} is not defined in it")
        start = self._elf.sections[symbol.section]
        # Pieces are numbered as they are met, so that equal graphs give equal text wherever their pieces lie.
        numbers: dict[Piece, int] = {}
        pending = [_whole(start)]
        numbers[pending[0]] = 0
        digest = hashlib.sha256(f"entry {symbol.value}\n".encode())
        for piece in pending:  # grows while it is walked
            digest.update(self._content(piece))
            for relocation in self._within(piece):
                target, place = self._target(relocation, self._elf.sections[piece.section])
                if isinstance(target, Piece):
                    if target not in numbers:
                        numbers[target] = len(numbers)
                        pending.append(target)
                    named = f"piece {numbers[target]}"
                else:
                    named = target
                digest.update(f"{relocation.offset - piece.start} {relocation.type} {place} {named}\n".encode())
        return digest.hexdigest()

    def _content(self, piece: Piece) -> bytes:
        section = self._elf.sections[piece.section]
        kind = "code" if section.has(EXECUTABLE) else "data"
        if section.type == "SHT_NOBITS":
            return f"zero {piece.end - piece.start}\n".encode()
        data = section.data[piece.start : piece.end]
        return f"{kind} {len(data)}\n".encode() + data

    def _within(self, piece: Piece) -> tuple[Relocation, ...]:
        relocations = self._elf.relocations.get(piece.section, ())
        offsets = self._offsets.get(piece.section, [])
        return relocations[bisect_left(offsets, piece.start) : bisect_left(offsets, piece.end)]

    def _target(self, relocation: Relocation, source: Section) -> tuple[Piece | str, int]:
        """What a relocation refers to, and where in it (the addend's share stays as the compiler wrote it)."""
        symbol = relocation.symbol
        if symbol.section is None:
            return f"{'absolute' if symbol.defined else 'undefined'} {symbol.name} {symbol.value}", relocation.addend
        section = self._elf.sections[symbol.section]
        place = symbol.value + relocation.addend
        piece = self._piece(section, symbol, relocation, source)
        return piece, place - piece.start

    def _piece(self, section: Section, symbol: Symbol, relocation: Relocation, source: Section) -> Piece:
        if section.has(EXECUTABLE):
            return _whole(section)
        offset = self._offset(symbol, relocation, source)
        if offset is None:
            return _whole(section)
        if not 0 <= offset < max(section.size, 1):
            raise CodeObjectError("damaged code object: a reference leads outside its section")
        if section.has(MERGEABLE) and section.has(STRINGS):
            end = section.data.find(b"\0", offset)
            return Piece(section.index, offset, section.size if end < 0 else end + 1)
        if section.has(MERGEABLE) and section.entry_bytes > 0:
            start = offset - offset % section.entry_bytes
            return Piece(section.index, start, min(start + section.entry_bytes, section.size))
        for start, end in self._objects.get(section.index, ()):
            if start <= offset < end:
                return Piece(section.index, start, min(end, section.size))
        bounds = self._bounds.get(section.index, [])
        place = bisect_right(bounds, offset)
        start = bounds[place - 1] if place else 0
        end = bounds[place] if place < len(bounds) else section.size
        return Piece(section.index, start, end)

    def _offset(self, symbol: Symbol, relocation: Relocation, source: Section) -> int | None:
        """The offset in its section that is referred to; None where it cannot be told (the whole section counts)."""
        if symbol.type != "STT_SECTION":
            return symbol.value
        if self._x86 and relocation.type in _FIELD_RELATIVE:
            if not source.has(EXECUTABLE):
                return None  # relative to a table's start, which the relocation does not name
            return _constant_at(relocation.addend + _FIELD_BYTES, self._elf.sections[symbol.section or 0])
        return relocation.addend

    @cached_property
    def _offsets(self) -> dict[int, list[int]]:
        return {index: [item.offset for item in items] for index, items in self._elf.relocations.items()}

    @cached_property
    def _objects(self) -> dict[int, list[tuple[int, int]]]:
        """Extents of data symbols with a size, by section."""
        extents: dict[int, list[tuple[int, int]]] = {}
        for symbol in self._elf.symbols:
            if symbol.section is not None and symbol.type == "STT_OBJECT" and symbol.size > 0:
                extents.setdefault(symbol.section, []).append((symbol.value, symbol.value + symbol.size))
        return extents

    @cached_property
    def _bounds(self) -> dict[int, list[int]]:
        """Offsets at which something begins in a section without symbols of its own: all that are referred to."""
        bounds: dict[int, set[int]] = {}
        for symbol in self._elf.symbols:
            if symbol.section is not None and symbol.type != "STT_SECTION":
                bounds.setdefault(symbol.section, set()).add(symbol.value)
        for index, relocations in self._elf.relocations.items():
            if not 0 <= index < len(self._elf.sections):
                continue
            source = self._elf.sections[index]
            if not source.has(ALLOCATED) or source.name == ".eh_frame":
                continue
            for relocation in relocations:
                if relocation.symbol.section is not None:
                    offset = self._offset(relocation.symbol, relocation, source)
                    if offset is not None:
                        bounds.setdefault(relocation.symbol.section, set()).add(offset)
        return {index: sorted(offsets) for index, offsets in bounds.items()}


def _constant_at(offset: int, section: Section) -> int | None:
    """Where the constant starts that a field refers to whose addend alone says ``offset``; None where it may be two.

    An immediate of one byte behind the field makes ``offset`` one too low, and constants of four bytes and more are
    aligned to four. But smaller ones (clang broadcasts 16-bit ones from ``.rodata``) lie at any offset.
    """
    rounded = -(-offset // 4) * 4
    if offset == rounded or (section.has(MERGEABLE) and section.entry_bytes >= 4):
        return rounded
    return rounded if rounded - offset == 1 and rounded < section.size else None


def _whole(section: Section) -> Piece:
    return Piece(section.index, 0, section.size)
