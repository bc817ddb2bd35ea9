"""The few calls to GitHub's REST API that the supervisor makes, with urllib: bounded in time, size and pages."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Protocol

from kernelperf_runner.document import LARGEST_BYTES

TIMEOUT_S = 30
PAGE = 100
MOST_PAGES = 20


class Unreachable(Exception):
    """GitHub did not answer, or not as documented; its text is a sentence."""


class GitHub(Protocol):
    """What the supervisor needs of GitHub; paths are relative to the repository."""

    def get(self, path: str, **query: str | int) -> Any:
        """Return one answer."""
        ...

    def pages(self, path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
        """Return the entries of all pages; ``key``: the answer's field that holds them."""
        ...

    def post(self, path: str, body: Any = None) -> Any:
        """Send a request and return its answer."""
        ...


class Api:
    """GitHub's REST API for one repository."""

    def __init__(self, repository: str, token: str, url: str = "https://api.github.com") -> None:
        self._base = f"{url.rstrip('/')}/repos/{repository}"
        self._token = token

    def get(self, path: str, **query: str | int) -> Any:
        """Return one answer."""
        return self._send("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def pages(self, path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
        """Return the entries of all pages. More pages than are read are an error: a part could look like all."""
        found: list[dict[str, Any]] = []
        for page in range(1, MOST_PAGES + 1):
            answer = self.get(path, **query, per_page=PAGE, page=page)
            entries = answer if not key else answer.get(key) if isinstance(answer, dict) else None
            if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
                raise Unreachable(f"GitHub's answer to {path} is not as documented")
            found += entries
            if len(entries) < PAGE:
                return found
        raise Unreachable(f"GitHub has more than {MOST_PAGES} pages for {path}")

    def post(self, path: str, body: Any = None) -> Any:
        """Send a request and return its answer."""
        return self._send("POST", path, json.dumps(body if body is not None else {}).encode("ascii"))

    def _send(self, method: str, path: str, body: bytes | None = None) -> Any:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "kernelperf-runner",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(f"{self._base}/{path}", data=body, headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                text = answer.read(LARGEST_BYTES)
                return json.loads(text) if text else None
        except urllib.error.HTTPError as problem:
            problem.close()
            raise Unreachable(f"GitHub answered {problem.code} to {method} {path}") from None
        except (OSError, ValueError) as problem:
            raise Unreachable(f"GitHub could not be asked for {method} {path}: {problem}") from None
