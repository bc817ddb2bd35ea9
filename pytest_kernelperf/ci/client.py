"""GitHub's REST API for one repository, by urllib: bounded in time, size, pages and tries."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from pytest_kernelperf.errors import KernelperfError, UsageError

TIMEOUT_S = 30
MAX_ANSWER_BYTES = 32 * 1024 * 1024
PAGE = 100
MAX_PAGES = 50
TRIES = 4
MAX_WAIT_S = 60.0


class Client:
    """One repository's API (``ci.api.Repository``)."""

    def __init__(self, repository: str, token: str, url: str, sleep: Callable[[float], None] = time.sleep) -> None:
        self._base = f"{url.rstrip('/')}/repos/{repository}"
        self._token = token
        self._sleep = sleep

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Client:
        """Return the client of a workflow's variables.

        Raises:
            UsageError: one of them is not set.
        """
        for name in ("GITHUB_TOKEN", "GITHUB_REPOSITORY"):
            if not environment.get(name):
                raise UsageError(f"{name} is not set: this command runs in a workflow of GitHub's")
        url = environment.get("GITHUB_API_URL") or "https://api.github.com"
        return cls(environment["GITHUB_REPOSITORY"], environment["GITHUB_TOKEN"], url)

    def get(self, path: str, **query: str | int) -> Any:
        """Return one answer."""
        return self._send("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""), None)

    def pages(self, path: str, **query: str | int) -> list[dict[str, Any]]:
        """Return the entries of all pages. More of them than are read are an error: a part could pass for all."""
        found: list[dict[str, Any]] = []
        for page in range(1, MAX_PAGES + 1):
            entries = self.get(path, **query, per_page=PAGE, page=page)
            if not isinstance(entries, list):
                raise KernelperfError(f"GitHub's answer to {path} is no list")
            found += entries
            if len(entries) < PAGE:
                return found
        raise KernelperfError(f"GitHub has more than {MAX_PAGES} pages of {path}")

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Make something."""
        return self._send("POST", path, body)

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        """Change something."""
        return self._send("PATCH", path, body)

    def _send(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        for attempt in range(1, TRIES + 1):
            try:
                with urllib.request.urlopen(self._request(method, path, body), timeout=TIMEOUT_S) as answer:
                    text = answer.read(MAX_ANSWER_BYTES + 1)
                break
            except urllib.error.HTTPError as problem:
                wait_s = _wait_s(problem, attempt)
                said = problem.read(2000).decode("utf-8", "replace")
                problem.close()
                # Making something is not tried again after a 5xx: it may have been made.
                if wait_s is None or attempt == TRIES or (method == "POST" and problem.code >= 500):
                    raise KernelperfError(
                        f"GitHub answered {problem.code} to {method} {path}: {_message(said)}"
                    ) from None
            except OSError as problem:
                if attempt == TRIES or method == "POST":
                    raise KernelperfError(f"GitHub could not be reached for {method} {path}: {problem}") from None
                wait_s = float(2**attempt)
            self._sleep(wait_s)
        if len(text) > MAX_ANSWER_BYTES:
            raise KernelperfError(f"GitHub's answer to {path} has more than {MAX_ANSWER_BYTES:,} bytes")
        try:
            return json.loads(text) if text else None
        except ValueError:
            raise KernelperfError(f"GitHub's answer to {path} is no JSON") from None

    def _request(self, method: str, path: str, body: dict[str, Any] | None) -> urllib.request.Request:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._token}",
            "User-Agent": "pytest-kernelperf",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body).encode("utf-8")
        return urllib.request.Request(f"{self._base}/{path}", data=data, headers=headers, method=method)


def _wait_s(problem: urllib.error.HTTPError, attempt: int) -> float | None:
    """How long to wait before the next try; None where another try would be answered alike."""
    after = problem.headers.get("Retry-After", "")
    spent = bool(after) or problem.headers.get("X-RateLimit-Remaining") == "0"
    limited = problem.code == 429 or (problem.code == 403 and spent)
    if not limited and problem.code < 500:
        return None
    return min(float(after), MAX_WAIT_S) if after.isdigit() else float(2**attempt)


def _message(text: str) -> str:
    try:
        return str(json.loads(text)["message"])[:300]
    except (ValueError, KeyError, TypeError):
        return "no reason"
