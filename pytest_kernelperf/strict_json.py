"""JSON as baselines and run files hold it: decoded strictly into records, laid out for reading and for git.

Both files may be a stranger's, so decoding has limits and a refusal is one sentence: file, field, what
was expected. Layout is a function of the value alone, so equal values are equal bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from pytest_kernelperf.errors import KernelperfError

T = TypeVar("T")

LINE_CHARACTERS = 110
"""An object or list that fits in this many characters stays on one line."""

MOST_CHARACTERS = 400
"""How much of what a file says is repeated in a refusal."""

_KINDS = {"float": "a number", "int": "a whole number", "str": "text", "array": "a list", "object": "an object",
          "bool": "true or false", "bytes": "base64 text"}  # fmt: skip


def decode(data: bytes | msgspec.Raw, kind: type[T], *, subject: str, error: type[KernelperfError], advice: str) -> T:
    """Decode JSON bytes into a record of type ``kind``.

    ``subject`` opens the sentence (the file, and the case where known), ``advice`` closes it (what to do now).

    Raises:
        error: malformed, cut off, not finite, a field missing, unknown or out of range.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as refusal:
        problem = _problem(str(refusal))
    except (msgspec.DecodeError, ValueError, RecursionError) as refusal:
        problem = _damage(bytes(data), str(refusal))
    # The file may be a stranger's: its names must not paint the terminal or fill the screen.
    raise error(one_line(f"{subject}: {problem[:MOST_CHARACTERS]}: {advice}"))


def one_line(text: str) -> str:
    """Return text with everything that is no printable letter replaced by ``?``."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def layout(value: object) -> bytes:
    """Return a record as JSON text: keys sorted, short values on one line, a newline at the end.

    Raises:
        ValueError: a number is not finite (JSON has no word for it, and nobody could compare with it).
    """
    plain = msgspec.to_builtins(value)
    for path, number in non_finite(plain):
        raise ValueError(f"field {path} is {number}: only finite numbers can be stored")
    return ("".join(_lines(plain, "")) + "\n").encode()


def non_finite(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the path and value of every NaN or infinity inside lists and dictionaries."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from non_finite(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from non_finite(item, f"{path}[{index}]")


def _lines(value: object, indent: str) -> Iterator[str]:
    flat = _flat(value)
    if not isinstance(value, (dict, list, tuple)) or len(flat) <= LINE_CHARACTERS or _is_plain_list(value):
        yield flat
        return
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    yield opening
    items = sorted(value.items()) if isinstance(value, dict) else [(None, item) for item in value]
    for place, (key, item) in enumerate(items):
        yield f"{',' if place else ''}\n{indent}  "
        if key is not None:
            yield f"{_flat(key)}: "
        yield from _lines(item, indent + "  ")
    yield f"\n{indent}{closing}"


def _flat(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def _is_plain_list(value: object) -> bool:
    """Whether a list holds numbers only: samples stay on one line however many they are."""
    return isinstance(value, (list, tuple)) and all(isinstance(item, (int, float)) for item in value)


def _problem(message: str) -> str:
    """Turn msgspec's words into ours: the field first, then what was expected of it."""
    what, _, where = message.partition(" - at ")
    what = re.sub(r"`(\w+)`", lambda match: _KINDS.get(match[1], match[0]), what)
    if missing := re.fullmatch(r"Object missing required field (.*)", what):
        what = f"has no field {missing[1]}"
    elif unknown := re.fullmatch(r"Object contains unknown field (.*)", what):
        what = f"has an unknown field {unknown[1]}"
    else:
        what = what[:1].lower() + what[1:]
    field = where.strip("`").removeprefix("$").removeprefix(".")
    return f"field {field}: {what}" if field else what


def _damage(data: bytes, message: str) -> str:
    """Say what is wrong with bytes that are no JSON: cut off, not finite, or something else."""
    if not data.strip():
        return "is empty"
    try:
        for path, number in non_finite(json.loads(data)):  # Python's reader takes NaN, so it can say where it is
            return f"field {path} is {number}, not a finite number"
    except (ValueError, RecursionError):
        pass
    opened = data.lstrip().startswith(b"{")
    if "truncated" in message or (opened and not data.rstrip().endswith(b"}")):
        return "is cut off: it ends in the middle"
    what = message.removeprefix("JSON is malformed: ")[:200]
    return f"is not JSON ({what[:1].lower()}{what[1:]})"
