"""GitHub's REST API for one repository, by urllib: bounded in time, size, pages and tries.

The token is sent to the API's own address and to no other: redirects are followed for downloads alone, without it.
"""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from email.message import Message
from typing import Any, NamedTuple

from pytest_kernelperf.errors import GitHubError, UsageError

TIMEOUT_S = 30
MAX_ANSWER_BYTES = 32 * 1024 * 1024
PAGE = 100
MAX_PAGES = 50
TRIES = 4
MAX_REDIRECTS = 3

MAX_WAIT_S = 120.0
"""Longest wait before one more try. Where GitHub asks for a longer one, the job's time would run out first."""

SECONDARY_WAIT_S = 60.0
"""GitHub's documentation on its secondary limits: without Retry-After "wait for at least one minute"."""

_REDIRECTS = (301, 302, 303, 307, 308)


class Client:
    """One repository's API (``github.api.Storage``).

    Args:
        repository: ``OWNER/NAME``.
        token: what GitHub knows us by.
        url: the API's address.
        sleep: waits for some seconds.
        now: the time, in seconds since 1970, as limits name their end.
    """

    def __init__(
        self,
        repository: str,
        token: str,
        url: str,
        sleep: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._base = f"{url.rstrip('/')}/repos/{repository}"
        self._token = token
        self._sleep = sleep
        self._now = now

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
        path = _with_query(path, query)
        return _value(self._send("GET", f"{self._base}/{path}", path), path)

    def pages(self, path: str, **query: str | int) -> list[dict[str, Any]]:
        """Return the entries of all pages. More of them than are read are an error: a part could pass for all."""
        found: list[dict[str, Any]] = []
        url = f"{self._base}/{_with_query(path, {**query, 'per_page': PAGE, 'page': 1})}"
        for page in range(1, MAX_PAGES + 1):
            answer = self._send("GET", url, path)
            entries = _value(answer, path)
            if not isinstance(entries, list):
                raise GitHubError(f"GitHub's answer to {path} is no list")
            found += entries
            links = answer.headers.get("Link")
            if links is None and len(entries) < PAGE:
                return found
            following = _next(links or "")
            if links is not None and not following:
                return found
            # A whole page without word of a next one: ask, rather than take a part for all.
            url = following or f"{self._base}/{_with_query(path, {**query, 'per_page': PAGE, 'page': page + 1})}"
            if not url.startswith(self._base.partition("/repos/")[0] + "/"):
                raise GitHubError(f"GitHub's next page of {path} is at another address than its API")
        raise GitHubError(f"GitHub has more than {MAX_PAGES} pages of {path}")

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """Make something."""
        return _value(self._send("POST", f"{self._base}/{path}", path, body), path)

    def patch(self, path: str, body: dict[str, Any]) -> Any:
        """Change something."""
        return _value(self._send("PATCH", f"{self._base}/{path}", path, body), path)

    def download(self, path: str, limit_bytes: int) -> bytes:
        """Return a file, wherever the API says it is; at most ``limit_bytes`` + 1 of it are read."""
        url, own = f"{self._base}/{path}", True
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._send("GET", url, path, limit_bytes=limit_bytes, own=own)
            if not answer.moved_to:
                return answer.data
            url, own = urllib.parse.urljoin(url, answer.moved_to), False
            if urllib.parse.urlsplit(url).scheme != urllib.parse.urlsplit(self._base).scheme:
                raise GitHubError(f"GitHub sends {path} to an address that is not as safe as its own")
        raise GitHubError(f"GitHub sends {path} from one address to the next, more than {MAX_REDIRECTS} times")

    def _send(
        self,
        method: str,
        url: str,
        path: str,
        body: dict[str, Any] | None = None,
        limit_bytes: int = MAX_ANSWER_BYTES,
        own: bool = True,
    ) -> _Answer:
        """Ask until there is an answer; ``own``: the address is the API's, which may see the token."""
        for attempt in range(1, TRIES + 1):
            try:
                with _OPENER.open(self._request(method, url, body, own), timeout=TIMEOUT_S) as answer:
                    return _Answer(_read(answer, limit_bytes), answer.headers)
            except urllib.error.HTTPError as problem:
                with problem:
                    said = _message(problem.read(2000).decode("utf-8", "replace"))
                if problem.code in _REDIRECTS and method == "GET":
                    return _Answer(b"", problem.headers, problem.headers.get("Location", ""))
                wait_s = _wait_s(problem, said, attempt, self._now())
                refusal = f"GitHub answered {problem.code} to {method} {path}: {said}"
                if wait_s is not None and wait_s > MAX_WAIT_S:
                    raise GitHubError(f"{refusal} (it asks to wait {wait_s:,.0f} s)", problem.code) from None
                # Making something is not tried again after a 5xx: it may have been made.
                if wait_s is None or attempt == TRIES or (method == "POST" and problem.code >= 500):
                    raise GitHubError(refusal, problem.code) from None
            except (OSError, http.client.HTTPException) as problem:
                if attempt == TRIES or method == "POST":
                    raise GitHubError(f"GitHub could not be reached for {method} {path}: {problem}") from None
                wait_s = float(2**attempt)
            self._sleep(wait_s)
        raise AssertionError("the last try returns or raises")

    def _request(self, method: str, url: str, body: dict[str, Any] | None, own: bool) -> urllib.request.Request:
        headers = {"User-Agent": "pytest-kernelperf"}
        if own:
            headers |= {
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self._token}",
                "X-GitHub-Api-Version": "2022-11-28",
            }
        if body is not None:
            headers["Content-Type"] = "application/json"
        data = None if body is None else json.dumps(body).encode("utf-8")
        return urllib.request.Request(url, data=data, headers=headers, method=method)


class _Answer(NamedTuple):
    data: bytes
    headers: Message
    moved_to: str = ""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """urllib follows redirects by itself, and sends the token along, whoever is at the other end."""

    def redirect_request(self, *arguments: Any) -> None:
        """Follow none."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _read(answer: http.client.HTTPResponse, limit_bytes: int) -> bytes:
    data = answer.read(limit_bytes + 1)
    # read() with a size takes what came before the connection was lost for all there is.
    length = answer.headers.get("Content-Length", "")
    if length.isdigit() and len(data) < min(int(length), limit_bytes + 1):
        raise http.client.IncompleteRead(data, int(length) - len(data))
    return data


def _with_query(path: str, query: Mapping[str, str | int]) -> str:
    return path + ("?" + urllib.parse.urlencode(query) if query else "")


def _value(answer: _Answer, path: str) -> Any:
    if answer.moved_to:
        raise GitHubError(f"GitHub has moved {path}: is GITHUB_REPOSITORY the repository's present name?")
    if len(answer.data) > MAX_ANSWER_BYTES:
        raise GitHubError(f"GitHub's answer to {path} has more than {MAX_ANSWER_BYTES:,} bytes")
    try:
        return json.loads(answer.data) if answer.data else None
    except (ValueError, RecursionError):
        raise GitHubError(f"GitHub's answer to {path} is no JSON") from None


def _next(links: str) -> str:
    """The next page's address in a Link header; empty where there is none."""
    found = re.search(r'<([^<>]*)>\s*;[^,<]*\brel="next"', links)
    return found[1] if found else ""


def _wait_s(problem: urllib.error.HTTPError, said: str, attempt: int, now_s: float) -> float | None:
    """How long to wait before the next try; None where another try would be answered alike."""
    after = problem.headers.get("Retry-After", "")
    reset = problem.headers.get("X-RateLimit-Reset", "")
    spent = problem.headers.get("X-RateLimit-Remaining") == "0"
    secondary = "secondary rate limit" in said.lower()
    limited = problem.code == 429 or (problem.code == 403 and (bool(after) or spent or secondary))
    if not limited and problem.code < 500:
        return None
    if after.isdigit():
        return float(after)
    if limited and spent and reset.isdigit():
        return max(1.0, float(reset) + 1 - now_s)
    return SECONDARY_WAIT_S if secondary else float(2**attempt)


def _message(text: str) -> str:
    try:
        said = json.loads(text)
        reasons = [str(each["message"]) for each in said.get("errors") or () if "message" in each]
        return " ".join(": ".join([str(said["message"]), *reasons]).split())[:300]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return "no reason"
