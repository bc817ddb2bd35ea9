"""Which kernel a launch means: names as people write them beside the names that a code object has.

A name is looked for in three steps; the first that finds any counts, and finds several only where they are alike:

1. as it stands in the code object;
2. without what does not matter: spaces, suffixes of integers (``4u``), anonymous namespaces, and which of its names
   a type goes by (``uint8_t``, ``unsigned char``; ``half``, ``__half``, ``_Float16``);
3. with parts left out: namespaces (inline ones need never be written), the last template arguments (which may have
   defaults), parameters.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MOST_NAMED = 8

_ANONYMOUS = "(anonymousnamespace)::"

# One type by its many names: what a source writes, and what the compilers make of it.
_TYPES = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
    "size_t": "unsigned long", "uint": "unsigned int", "half": "_Float16", "__half": "_Float16",
    "__half2": "half2", "__hip_bfloat16": "__bf16", "hip_bfloat16": "__bf16", "__nv_bfloat16": "__bf16",
    "nv_bfloat16": "__bf16", "bfloat16_t": "__bf16",
}  # fmt: skip
_TYPE = re.compile(rf"\b(?:std::)?({'|'.join(_TYPES)})\b")
_BARE_UNSIGNED = re.compile(r"\bunsigned\b(?!\s+(?:int|char|short|long)\b)")
_ENUMERATOR = re.compile(r"\((?:\w+::)+(\w+)\)(-?\d)")
_VECTOR = re.compile(r"\bHIP_vector_type<\s*([\w ]+?)\s*,\s*(\d)u?\s*>")


def find_kernel(names: Iterable[str], written: str) -> str | None:
    """The one of ``names`` that ``written`` means, or None: none, or several."""
    meant = kernels_meant(names, written)
    return meant[0] if len(meant) == 1 else None


def kernels_meant(names: Iterable[str], written: str) -> list[str]:
    """All of ``names`` that ``written`` may mean, by the first step that finds any."""
    known = list(names)
    if written in known:
        return [written]
    wanted = plain_name(written)
    alike = [name for name in known if plain_name(name) == wanted]
    if alike:
        return alike
    parts = _taken_apart(wanted)
    return [name for name in known if _is_part_of(parts, _taken_apart(plain_name(name)))]


def explain_missing(names: Iterable[str], written: str) -> str:
    """Why ``written`` means no kernel or too many, with what could be meant."""
    known = sorted(names)
    shown = [name for name in known if not name.startswith("_Z")] or known
    meant = kernels_meant(shown, written)
    if len(meant) > 1:
        return f"{written!r} may mean {_list(meant, 'or')}: write one of them"
    bases = {name: _taken_apart(plain_name(name)).base for name in shown}
    alike = difflib.get_close_matches(_taken_apart(plain_name(written)).base, bases.values(), MOST_NAMED)
    near = [name for name in shown if bases[name] in alike]
    if near:
        enumerators = any(re.search(r"\([\w:]+\)\d", name) for name in near)
        as_numbers = " (an enumerator is written as its type and number)" if enumerators and "::" in written else ""
        return f"no kernel is called {written!r}; near it {_are(near)}{as_numbers}"
    return f"no kernel is called {written!r}; there {_are(shown)}"


@functools.lru_cache(maxsize=65536)
def plain_name(name: str) -> str:
    """A kernel's name without what does not matter."""
    typed = _TYPE.sub(lambda match: _TYPES[match[1]], _VECTOR.sub(r"\1\2", name.strip().removeprefix("void ")))
    bare = re.sub(r"\s+", "", _BARE_UNSIGNED.sub("unsigned int", typed))
    bare = _ENUMERATOR.sub(r"(\1)\2", bare.replace(_ANONYMOUS, ""))
    return re.sub(r"(?<=\d)[uUlL]+\b", "", bare.removeprefix("&").removeprefix("::"))


class _Parts(NamedTuple):
    """A plain name's parts; None where they are not written."""

    scopes: tuple[str, ...]
    base: str
    template_arguments: tuple[str, ...] | None
    parameters: str | None


@functools.lru_cache(maxsize=65536)
def _taken_apart(plain: str) -> _Parts:
    *scopes, last = _split(plain, "::")
    parameters = None
    head, bracket, tail = _before(last, "(")
    if bracket and head:
        last, parameters = head, tail
    base, bracket, tail = _before(last, "<")
    return _Parts(tuple(scopes), base, tuple(_split(tail[:-1], ",")) if bracket else None, parameters)


def _is_part_of(written: _Parts, whole: _Parts) -> bool:
    """Whether a name says nothing that another does not say too."""
    scopes = iter(whole.scopes)
    if written.base != whole.base or not all(scope in scopes for scope in written.scopes):
        return False
    if written.parameters is not None and whole.parameters is not None and written.parameters != whole.parameters:
        return False
    stated = written.template_arguments or ()
    return (whole.template_arguments or ())[: len(stated)] == stated


def _before(text: str, bracket: str) -> tuple[str, str, str]:
    """Text before the first such bracket outside of others, the bracket, and the rest."""
    for at in _outside(text):
        if text[at] == bracket:
            return text[:at], bracket, text[at + 1 :]
    return text, "", ""


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators that stand outside of brackets."""
    parts, start = [], 0
    for at in _outside(text):
        if at >= start and text.startswith(separator, at):
            parts.append(text[start:at])
            start = at + len(separator)
    return [*parts, text[start:]]


def _outside(text: str) -> Iterator[int]:
    """Places outside of all brackets; an opening bracket itself still is."""
    depth = 0
    for at, letter in enumerate(text):
        if depth == 0:
            yield at
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}" and depth:
            depth -= 1


def _are(names: list[str]) -> str:
    return f"{'is' if len(names) < 2 else 'are'} {_list(names, 'and') or 'none'}"


def _list(names: list[str], joining: str) -> str:
    """``a, b and c``, or the first few and how many more there are."""
    shown = names[:MOST_NAMED]
    if len(names) > MOST_NAMED:
        return f"{', '.join(shown)} {joining} {len(names) - MOST_NAMED} more"
    return f" {joining} ".join([*([", ".join(shown[:-1])] if shown[:-1] else []), *shown[-1:]])
