"""GitHub's description of its API: is this request right, is this answer, and what must an answer hold at least?"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from openapi_core import OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.exceptions import OpenAPIError
from werkzeug.datastructures import Headers, ImmutableMultiDict

FILE = Path(__file__).parent / "openapi.json"
HOST = "http://github.test"


@dataclass
class Asked:
    """A request as openapi-core wants it."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes | None = None
    host_url: str = HOST
    parameters: RequestParameters = field(init=False)

    def __post_init__(self) -> None:
        self.method = self.method.lower()
        query = parse_qsl(urlsplit(self.target).query, keep_blank_values=True)
        self.parameters = RequestParameters(query=ImmutableMultiDict(query), header=Headers(self.headers))

    @property
    def path(self) -> str:
        """The path without its query."""
        return urlsplit(self.target).path

    @property
    def content_type(self) -> str:
        """What the body is."""
        return self.headers.get("content-type", "application/json").split(";")[0].strip().lower()


@dataclass
class Answer:
    """An answer as openapi-core wants it."""

    status_code: int
    data: bytes | None
    headers: Headers = field(default_factory=Headers)
    content_type: str = "application/json"


class Description:
    """The cut description, loaded once."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
        self._paths = OpenAPI.from_dict({**self.document, "servers": [{"url": HOST}]})

    def request_problem(self, asked: Asked) -> str:
        """Say what is wrong with a request; empty where nothing is."""
        try:
            self._paths.validate_request(asked)
        except (OpenAPIError, ValueError) as problem:
            return _words(problem)
        return ""

    def answer_problem(self, asked: Asked, answer: Answer) -> str:
        """Say what is wrong with an answer; empty where nothing is."""
        try:
            self._paths.validate_response(asked, answer)
        except (OpenAPIError, ValueError) as problem:
            return _words(problem)
        return ""

    def filled(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        """Return ``given`` with every further field that the schema requires, each of the smallest right value."""
        return self._filled(self.document["components"]["schemas"][name], given)

    def _filled(self, schema: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        for part in schema.get("allOf", ()):
            given = self._filled(self._resolved(part), given)
        missing = {name: self._smallest(schema["properties"][name], name) for name in schema.get("required", ())
                   if name not in given}  # fmt: skip
        nested = {
            name: self._filled(inner, value)
            for name, value in given.items()
            if isinstance(value, dict) and (inner := self._resolved(schema.get("properties", {}).get(name, {})))
        }
        return {**missing, **given, **nested}

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return schema

    def _smallest(self, schema: dict[str, Any], name: str) -> Any:
        schema = self._resolved(schema)
        if schema.get("nullable"):
            return None
        if choices := schema.get("enum"):
            return choices[0]
        for many in ("oneOf", "anyOf"):
            if many in schema:
                return self._smallest(schema[many][0], name)
        kind = schema.get("type", "object")
        text = {"uri": f"{HOST}/{name}", "date-time": "2026-01-02T03:04:05Z", "email": "a@example.org"}
        plain = {"string": text.get(schema.get("format", ""), name), "integer": 1, "number": 1.0, "boolean": False,
                 "array": []}  # fmt: skip
        return plain[kind] if kind in plain else self._filled(schema, {})


def _words(problem: BaseException) -> str:
    """Where the problem is and what was expected there, in one line; never the whole body."""
    chain: BaseException | None = problem
    seen: list[str] = []
    while chain is not None:
        errors = getattr(chain, "schema_errors", ())
        seen += [f"{'.'.join(str(part) for part in error.absolute_path)}: {error.message[-300:]}" for error in errors]
        if not errors:
            seen.append(f"{type(chain).__name__} {str(chain)[:200]}")
        chain = chain.__cause__
    return " ".join("; ".join(seen).split())
