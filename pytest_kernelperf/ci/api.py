"""What CI's commands ask of GitHub's REST API."""

from __future__ import annotations

from typing import Any, Protocol


class Repository(Protocol):
    """One repository's API; paths are relative to ``repos/OWNER/NAME/``. All raise ``KernelperfError``."""

    def get(self, path: str, **query: str | int) -> Any:
        """Return one answer."""
        ...

    def pages(self, path: str, **query: str | int) -> list[dict[str, Any]]:
        """Return the entries of all pages."""
        ...

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Make something."""
        ...

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        """Change something."""
        ...
