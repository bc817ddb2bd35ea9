"""Kernels of a cubin: sections ``.text.<kernel>``, ``.nv.info.<kernel>`` and ``.nv.constant*.<kernel>``.

As in AMD objects, what belongs to no kernel (device functions, global data, user constants) counts for all.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

from pytest_kernelperf.code_object.elf import Elf, Section, refusing_damage
from pytest_kernelperf.errors import CodeObjectError
from pytest_kernelperf.model import KernelFacts, Parameter

# Attributes of .nv.info: one format byte, one attribute byte, then two bytes of value or of size.
_SIZED = 4
_PARAMETER = 0x17
# Limits that the kernel was compiled for; others hold symbol numbers, which its neighbours change.
_LIMITS = {0x05, 0x10, 0x19, 0x1B, 0x1C}  # MAX_THREADS, REQNTID, CBANK_PARAM_SIZE, MAXREG_COUNT, EXIT_INSTR_OFFSETS

_SHARED = (".nv.global", ".nv.global.init", ".nv.constant3", ".nv.constant4")


def read_cubin(data: bytes) -> dict[str, KernelFacts]:
    """Facts of every kernel in a cubin, by name.

    Raises:
        CodeObjectError: damaged.
    """
    with refusing_damage("cubin"):
        elf = Elf(data)
        texts = {section.name[len(".text.") :]: section for section in elf.sections if _is_text(section)}
        kernels = [name for name in texts if elf.section(f".nv.info.{name}") is not None]
        rest = _rest(elf, [section for name, section in texts.items() if name not in kernels])
        return {name: _facts(elf, name, texts[name], rest) for name in kernels}


def _is_text(section: Section) -> bool:
    return section.type == "SHT_PROGBITS" and section.name.startswith(".text.") and len(section.name) > len(".text.")


def _facts(elf: Elf, name: str, text: Section, rest: bytes) -> KernelFacts:
    information = elf.section(f".nv.info.{name}")
    attributes = list(_attributes(information.data if information is not None else b""))
    digest = hashlib.sha256()
    for part in (text.data, _references(elf, text), *_constants(elf, name), _limits(attributes), rest):
        digest.update(len(part).to_bytes(8, "little") + part)
    shared = elf.section(f".nv.shared.{name}")
    return KernelFacts(
        digest.hexdigest(), _parameters(attributes), {"lds_bytes": shared.size if shared is not None else 0}
    )


def _references(elf: Elf, text: Section) -> bytes:
    lines = (f"{r.offset} {r.type} {r.symbol.name} {r.addend}" for r in elf.relocations.get(text.index, ()))
    return "\n".join(lines).encode()


def _constants(elf: Elf, name: str) -> Iterator[bytes]:
    for section in elf.sections:
        if section.name.startswith(".nv.constant") and section.name.endswith(f".{name}"):
            yield f"{section.name.split('.')[2]} {section.size}".encode() + section.data


def _rest(elf: Elf, functions: list[Section]) -> bytes:
    digest = hashlib.sha256()
    for section in functions:
        digest.update(section.data)
    for section in elf.sections:
        if section.name in _SHARED:
            digest.update(f"{section.name} {section.size}".encode() + section.data)
    return digest.digest()


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        layout, attribute, value = struct.unpack_from("<BBH", data, at)
        at += 4
        if layout != _SIZED:
            yield attribute, value.to_bytes(2, "little")
            continue
        if at + value > len(data):
            raise CodeObjectError("an attribute lies outside its section")
        yield attribute, data[at : at + value]
        at += value


def _limits(attributes: list[tuple[int, bytes]]) -> bytes:
    return b"".join(
        bytes([attribute]) + content for attribute, content in attributes if attribute in _LIMITS | {_PARAMETER}
    )


def _parameters(attributes: list[tuple[int, bytes]]) -> tuple[Parameter, ...] | None:
    """Sizes in order; kinds are not stated. None where the cubin lists none."""
    found = []
    for attribute, content in attributes:
        if attribute == _PARAMETER and len(content) >= 12:
            _, ordinal, _, flags = struct.unpack_from("<IHHI", content)
            found.append((ordinal, flags >> 18))
    return tuple(Parameter("unknown", size) for _, size in sorted(found)) or None
