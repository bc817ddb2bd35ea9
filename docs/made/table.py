"""Tables of fields as Markdown: names and types from the schema, meanings from the records' own docstrings."""

from __future__ import annotations

import re
from typing import Any

from made.files import File
from made.schema import schema_of

UNITS = {
    "_gb_per_s": "GB/s",
    "_digests": "SHA-256 in hexadecimal",
    "_digest": "SHA-256 in hexadecimal",
    "_ratios": "1.0 is no change",
    "_ratio": "1.0 is no change",
    "_share": "0.01 is 1 %",
    "_bytes": "bytes",
    "_mhz": "MHz",
    "_us": "us",
    "_s": "seconds",
    "_w": "W",
}
"""What a field holds by the end of its name, longer ends first."""

BAR = "\\|"
_PLAIN = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "null"}
_DEFAULTS = {"None": "null", "''": "empty", "[]": "none", "()": "none", "{}": "none", "False": "false", "True": "true"}


def tables_of(file: File, known: set[str]) -> str:
    """Return a file's records, each with its table; records in ``known`` were shown before and are left out."""
    schema = schema_of(file)
    records = {file.record.__name__: schema, **schema["$defs"]}
    parts = []
    for name, record in records.items():
        if name not in known and "properties" in record:
            parts.append(_table(name, record, schema["$defs"]))
            known.add(name)
    return "\n\n".join(parts)


def meanings(record: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Split a record's docstring: what is said of it as a whole, and what of each field that it names."""
    fields = set(record["properties"])
    (summary, *sentences), of_field = _sentences(record["description"]), dict[str, str]()
    whole = [summary]
    for sentence in sentences:
        named = [name for name in re.findall(r"`(\w+)`", sentence) if name in fields]
        if not named:
            whole.append(sentence)
            continue
        # "`field`: what it is." and "`field` is what it is." stand beside its name already.
        said = re.sub(rf"^`{named[0]}`(?: is|:) ", "", sentence)
        before = of_field.get(named[0], "")
        of_field[named[0]] = f"{before} {sentence}" if before and not before.startswith("see ") else said
        of_field |= {name: f"see `{named[0]}`" for name in named[1:] if name not in of_field}
    return " ".join(whole), of_field


def _sentences(text: str) -> list[str]:
    """Sentences, and parts behind a semicolon that begin with a field."""
    plain = re.sub(r"\bNone\b", "null", " ".join(text.split()))
    return [part.rstrip(";.") + "." for part in re.split(r"(?<=[.])\s+(?=[A-Z`])|(?<=;)\s+(?=`)", plain)]


def _table(name: str, record: dict[str, Any], others: dict[str, Any]) -> str:
    whole, of_field = meanings(record)
    lines = [f"### {name}", "", whole, "", "| field | holds | left out | |", "|---|---|---|---|"]
    required = set(record.get("required", ()))
    for field, kind in record["properties"].items():
        absent = "" if field in required else _default(kind["default"]) if "default" in kind else "none, or not known"
        cells = (f"`{field}`", _holds(field, kind, others), absent, of_field.get(field, ""))
        lines.append(f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |")
    return "\n".join(lines)


def _holds(field: str, kind: dict[str, Any], others: dict[str, Any]) -> str:
    unit = next((unit for end, unit in UNITS.items() if field.endswith(end)), "")
    text = _type(kind, others)
    return text if not unit else f"{text}, {unit}"


def _type(kind: dict[str, Any], others: dict[str, Any]) -> str:
    if "$ref" in kind:
        name = kind["$ref"].rpartition("/")[2]
        return _type(others[name], others) if "enum" in others[name] else f"[{name}](#{name.lower()})"
    if "const" in kind:
        return f"`{kind['const']}`"
    if "enum" in kind:
        return " or ".join(f"`{value}`" if value else "empty" for value in kind["enum"])
    if "anyOf" in kind:
        return " or ".join(_type(one, others) for one in kind["anyOf"])
    if kind.get("type") == "array":
        count = len(kind.get("prefixItems", ()))
        inner = _type(kind["prefixItems"][0] if count else kind["items"], others)
        many = f"{inner}s" if inner in _PLAIN.values() else inner
        return f"{count} {many}" if count else f"list of {many}"
    if kind.get("type") == "object":
        return f"{_type(kind['additionalProperties'], others)}, by name"
    return "bytes in base64" if kind.get("contentEncoding") == "base64" else _PLAIN[kind["type"]]


def _default(value: object) -> str:
    return _DEFAULTS.get(repr(value), f"`{value}`")
