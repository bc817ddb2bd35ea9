"""A request that has been found right, refusals, and the objects that all answers are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from github_api.world import BOT, World

MOST_PER_PAGE = 100


class Refusal(Exception):
    """An error answer: status and message."""

    def __init__(self, status: int, message: str, errors: list[dict[str, str]] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "documentation_url": "https://docs.github.com/rest"}
        if errors is not None:
            self.body = {**self.body, "errors": errors}  # type: ignore[dict-item]


@dataclass
class Call:
    """A request that has been found right, with who asks and where the stand-in is."""

    world: World
    user: str
    query: dict[str, str]
    body: dict[str, Any]
    api: str
    storage: str
    found: Callable[[str, dict[str, Any]], dict[str, Any]]
    pages: dict[str, int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    def page_of(self, items: list[Any]) -> list[Any]:
        """Return the page that was asked for, and remember which others there are."""
        size = min(int(self.query.get("per_page", 30)), MOST_PER_PAGE)
        page, last = int(self.query.get("page", 1)), max(1, -(-len(items) // size))
        if page < last:
            self.pages |= {"next": page + 1, "last": last}
        if page > 1:
            self.pages |= {"prev": page - 1, "first": 1}
        return items[(page - 1) * size : page * size]


Result = tuple[int, Any]


def user(call: Call, login: str) -> dict[str, Any]:
    """A user's object; a login in brackets is an app's bot."""
    number = 41898282 if login == BOT else 1 + sum(login.encode())
    return call.found("simple-user", {"login": login, "id": number, "type": "Bot" if "[bot]" in login else "User"})


def repository(call: Call, name: str, schema: str = "repository") -> dict[str, Any]:
    """A repository's object."""
    owner = user(call, name.split("/")[0])
    given = {"full_name": name, "name": name.split("/")[1], "owner": owner, "fork": name != call.world.repository}
    return call.found(schema, {**given, "default_branch": "main", "id": 1 + sum(name.encode())})


def whole(text: str) -> int:
    """Return a number out of a path; more digits than any has is nothing that is there."""
    if len(text) > 18:
        raise Refusal(404, "Not Found")
    return int(text)
