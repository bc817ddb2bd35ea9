"""An ELF file's sections, symbols and relocations as plain records, safe on damaged data.

pyelftools reads; this module first makes sure that every table lies within the file, so that no damaged count
can make it loop, and turns whatever goes wrong into one sentence.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

from pytest_kernelperf.errors import CodeObjectError

MOST_SECTIONS = 65_536
MOST_ENTRIES = 500_000

ALLOCATED = 0x2
EXECUTABLE = 0x4
MERGEABLE = 0x10
STRINGS = 0x20


@dataclass(frozen=True)
class Section:
    """A section: its bytes (empty where the file holds none), size, flags and entry size."""

    index: int
    name: str
    type: str
    flags: int
    data: bytes
    size: int
    address: int
    entry_bytes: int

    def has(self, flag: int) -> bool:
        """Whether a flag (``EXECUTABLE``, …) is set."""
        return bool(self.flags & flag)


@dataclass(frozen=True)
class Symbol:
    """A symbol: its section's index (None: undefined, absolute or common), value, size and type."""

    name: str
    section: int | None
    defined: bool
    value: int
    size: int
    type: str


@dataclass(frozen=True)
class Relocation:
    """A relocation: offset in its section, machine-specific type, symbol and addend."""

    offset: int
    type: int
    symbol: Symbol
    addend: int


class Elf:
    """An ELF file read from bytes.

    Raises:
        CodeObjectError: it is none, or damaged.
    """

    def __init__(self, data: bytes) -> None:
        with refusing_damage("ELF"):
            self._data = data
            self._file = ELFFile(io.BytesIO(data))
            self.machine = str(self._file["e_machine"])
            self.sections = self._read_sections()

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols of ``.symtab``, or of ``.dynsym`` in a file without it."""
        with refusing_damage("ELF symbol table"):
            for kind in ("SHT_SYMTAB", "SHT_DYNSYM"):
                for section in self.sections:
                    if section.type == kind:
                        return self._read_symbols(section)
        return ()

    def section(self, name: str) -> Section | None:
        """The first section of a name, or None."""
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def relocations(self) -> dict[int, tuple[Relocation, ...]]:
        """Relocations by the index of the section that they apply to, by offset."""
        found: dict[int, tuple[Relocation, ...]] = {}
        with refusing_damage("ELF relocations"):
            for section in self.sections:
                if section.type in ("SHT_RELA", "SHT_REL"):
                    target = int(self._file.get_section(section.index)["sh_info"])
                    found[target] = found.get(target, ()) + self._read_relocations(section)
        return {index: tuple(sorted(items, key=lambda item: item.offset)) for index, items in found.items()}

    def _read_sections(self) -> tuple[Section, ...]:
        count, offset, entry = self._file.num_sections(), self._file["e_shoff"], self._file["e_shentsize"]
        if count > MOST_SECTIONS or entry < 40 or offset + count * entry > len(self._data):
            raise CodeObjectError("the section table lies outside the file")
        return tuple(self._read_section(index) for index in range(count))

    def _read_section(self, index: int) -> Section:
        raw = self._file.get_section(index)
        kind, offset, size = str(raw["sh_type"]), int(raw["sh_offset"]), int(raw["sh_size"])
        if kind not in ("SHT_NOBITS", "SHT_NULL") and offset + size > len(self._data):
            raise CodeObjectError(f"section {index} lies outside the file")
        return Section(
            index=index,
            name=raw.name,
            type=kind,
            flags=int(raw["sh_flags"]),
            data=b"" if kind in ("SHT_NOBITS", "SHT_NULL") else self._data[offset : offset + size],
            size=size,
            address=int(raw["sh_addr"]),
            entry_bytes=int(raw["sh_entsize"]),
        )

    def _read_symbols(self, section: Section) -> tuple[Symbol, ...]:
        table = self._file.get_section(section.index)
        if not isinstance(table, SymbolTableSection) or not _plausible(section, 16):
            raise CodeObjectError("the symbol table has an impossible size")
        symbols = []
        for raw in table.iter_symbols():
            place = raw["st_shndx"]
            symbols.append(
                Symbol(
                    name=raw.name,
                    section=place if isinstance(place, int) and 0 < place < len(self.sections) else None,
                    defined=place != "SHN_UNDEF",
                    value=int(raw["st_value"]),
                    size=int(raw["st_size"]),
                    type=str(raw["st_info"]["type"]),
                )
            )
        return tuple(symbols)

    def _read_relocations(self, section: Section) -> tuple[Relocation, ...]:
        table = self._file.get_section(section.index)
        if not isinstance(table, RelocationSection) or not _plausible(section, 8):
            raise CodeObjectError("a relocation table has an impossible size")
        return tuple(
            Relocation(
                offset=int(raw["r_offset"]),
                type=int(raw["r_info_type"]),
                symbol=self.symbols[int(raw["r_info_sym"])],
                addend=int(raw["r_addend"]) if raw.is_RELA() else 0,
            )
            for raw in table.iter_relocations()
        )


def _plausible(section: Section, least_entry_bytes: int) -> bool:
    return section.entry_bytes >= least_entry_bytes and section.size // section.entry_bytes <= MOST_ENTRIES


@contextmanager
def refusing_damage(what: str) -> Iterator[None]:
    """Turn anything that reading damaged data raises into one CodeObjectError."""
    try:
        yield
    except CodeObjectError as error:
        raise CodeObjectError(f"damaged code object ({what}): {error}") from error
    except Exception as error:  # pyelftools and msgspec raise many types on damage, none of them the user's concern
        raise CodeObjectError(f"damaged code object ({what}): {type(error).__name__} {error}".strip()) from error
