"""What is asked of GitHub's REST API."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from pytest_kernelperf.errors import GitHubError


class Repository(Protocol):
    """One repository's API; paths are relative to ``repos/OWNER/NAME/``. All raise ``GitHubError``."""

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


class Storage(Repository, Protocol):
    """A repository's API with the files that its runs have left."""

    def download(self, path: str, limit_bytes: int) -> bytes:
        """Return a file, of which no more than ``limit_bytes`` are read: one byte more says that there are more."""
        ...


@contextmanager
def as_described() -> Iterator[None]:
    """Something between here and GitHub may answer in its place, and leave out what GitHub never does."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError) as problem:
        raise GitHubError(f"an answer is not as GitHub describes it ({type(problem).__name__}: {problem})") from problem
