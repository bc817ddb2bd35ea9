"""Kernels of a cpu code object: parameters from its tables, digests from its relocatable."""

from __future__ import annotations

import hashlib
import struct

from pytest_kernelperf.code_object.container import read_container
from pytest_kernelperf.code_object.elf import Elf, Symbol, refusing_damage
from pytest_kernelperf.code_object.piece import PieceGraph
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import KernelFacts, Parameter, ParameterKind

THUNK = "kernelperf_thunk_"
TABLE = "kernelperf_parameters_"

_ENTRY = struct.Struct("<ccHIII")  # kind, pointee kind, alignment, size, pointee size, zero
_KINDS: dict[bytes, ParameterKind] = {
    b"p": "pointer",
    b"i": "signed",
    b"u": "unsigned",
    b"f": "float",
    b"b": "bool",
    b"s": "struct",
    b"?": "unknown",
}


def read_cpu(data: bytes) -> dict[str, KernelFacts]:
    """Facts of every kernel in a cpu code object, by name.

    Raises:
        CodeObjectError: damaged, or without a table for one of its kernels.
    """
    with refusing_damage("cpu"):
        elf = Elf(read_container(data).relocatable)
        graph = PieceGraph(elf)
        tables = {symbol.name: symbol for symbol in elf.symbols if symbol.name.startswith(TABLE)}
        kernels = {}
        for symbol in elf.symbols:
            if symbol.name.startswith(THUNK) and symbol.section is not None:
                name = symbol.name[len(THUNK) :]
                table = _table(elf, tables.get(TABLE + name), name)
                digest = hashlib.sha256(table + graph.digest(symbol).encode()).hexdigest()
                kernels[name] = KernelFacts(digest, _parameters(table))
        return kernels


def _table(elf: Elf, symbol: Symbol | None, name: str) -> bytes:
    if symbol is None or symbol.section is None:
        raise CodeObjectError(f"kernel {name} has no parameter table")
    section = elf.sections[symbol.section]
    if symbol.size % _ENTRY.size or symbol.value + symbol.size > section.size:
        raise CodeObjectError(f"the parameter table of kernel {name} has an impossible size")
    if section.type == "SHT_NOBITS":
        return bytes(symbol.size)
    return section.data[symbol.value : symbol.value + symbol.size]


def _parameters(table: bytes) -> tuple[Parameter, ...]:
    return tuple(
        Parameter(_KINDS[kind], size, _KINDS[pointee], pointee_size)
        for kind, pointee, _, size, pointee_size, _ in _ENTRY.iter_unpack(table)
    )
