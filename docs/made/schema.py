"""JSON Schemas (draft 2020-12) of the files, from the very records that read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec

from made.files import File


def schema_of(file: File) -> dict[str, Any]:
    """Return a file's schema; its ``version`` is the one that is read."""
    made = msgspec.json.schema(file.record)
    root = made["$defs"].pop(made.pop("$ref").rpartition("/")[2])
    if file.version is not None:
        root["properties"]["version"] = {"const": file.version}
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "title": file.title.replace("`", ""),
        "$defs": made["$defs"],
    }
    walked: dict[str, Any] = _walk(whole, _common)
    return walked


def text_of(schema: dict[str, Any]) -> str:
    """Return the text of a schema's file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _walk(value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if isinstance(value, dict):
        return change({key: _walk(item, change) for key, item in value.items()})
    return [_walk(item, change) for item in value] if isinstance(value, list) else value


def _common(schema: dict[str, Any]) -> dict[str, Any]:
    """Say in JSON Schema's words what the records say in Python's."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        # Python's ends of a text; JSON Schema's expressions are those of ECMAScript, which has only these.
        schema["pattern"] = pattern.replace(r"\A", "^").replace(r"\Z", "$")
    if isinstance(schema.get("description"), str):
        schema["description"] = schema["description"].replace("``", "`")
    # OpenAPI's word, which JSON Schema does not know: the records' own field `type` tells them apart.
    schema.pop("discriminator", None)
    return schema
