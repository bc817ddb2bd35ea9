"""JSON that decides something: read whole and strictly, or refused."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

LARGEST_BYTES = 32 << 20
"""GitHub caps a payload at 25 MB."""

Kind = TypeVar("Kind")


class Refusal(Exception):
    """A job that may not run; its text is the sentence for the job's log."""


def parse(text: bytes, what: str) -> dict[str, Any]:
    """Parse an object. Names that occur twice, NaN and anything but an object are refused: readers could differ."""
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise Refusal(f"{what} is damaged: {str(problem)[:200]}") from None
    if not isinstance(found, dict):
        raise Refusal(f"{what} is damaged: it holds no JSON object")
    return found


def read(path: Path, what: str) -> dict[str, Any]:
    """Read a file as ``parse`` does."""
    try:
        # A pipe of that name must not be waited for: a gate that hangs keeps the box from everybody.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Refusal(f"{what} is no file")
            text = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise Refusal(f"{what} cannot be read: {problem}") from None
    if len(text) > LARGEST_BYTES:
        raise Refusal(f"{what} has more than {LARGEST_BYTES:,} bytes")
    return parse(text, what)


def at(document: Mapping[str, Any], path: str, kind: type[Kind], what: str = "the event's payload") -> Kind:
    """Return what stands under a dotted path, of exactly that type: ``True`` is no number."""
    found: Any = document
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            raise Refusal(f"{what} has no {path}")
        found = found[name]
    if type(found) is not kind:
        raise Refusal(f"{what} has no {kind.__name__} in {path}")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
