"""The few calls to GitHub's REST API that the supervisor makes, with urllib: bounded in time, size and pages."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Protocol

from kernelperf_runner.document import LARGEST_BYTES

TIMEOUT_S = 30
WHOLE_S = 120.0
"""For a whole answer: a time-out is for each read, and an answer that drips would keep a refused job alive."""

MOST_WAIT_S = 900.0
PAGE = 100
MOST_PAGES = 20


ADVICE = {
    401: "the token is not taken: it has expired or was revoked",
    403: "the token may not do that, or GitHub's rate limit is spent",
    404: "the token does not see that, or it is not there",
    429: "GitHub's rate limit is spent",
}


class Unreachable(Exception):
    """GitHub did not answer, or not as documented; its text is a sentence.

    ``status``: GitHub's, 0 where there was none. ``wait_s``: how long GitHub wants to be left alone.
    """

    def __init__(self, sentence: str, status: int = 0, wait_s: float = 0.0) -> None:
        super().__init__(sentence)
        self.status = status
        self.wait_s = wait_s


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

    def delete(self, path: str) -> None:
        """Delete something."""
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

    def delete(self, path: str) -> None:
        """Delete something."""
        self._send("DELETE", path)

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
            with _OPENER.open(request, timeout=TIMEOUT_S) as answer:
                text = _read(answer)
                return json.loads(text) if text else None
        except urllib.error.HTTPError as problem:
            problem.close()
            raise _refused(problem, method, path) from None
        except (OSError, ValueError, RecursionError, http.client.HTTPException) as problem:
            raise Unreachable(f"GitHub could not be asked for {method} {path}: {str(problem)[:200]}") from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """urllib follows redirects by itself: sends the token along, makes a GET of a POST, which then "succeeds"."""

    def redirect_request(self, *arguments: Any) -> None:
        """Follow none."""


_OPENER = urllib.request.build_opener(_NoRedirects)


def _read(answer: http.client.HTTPResponse) -> bytes:
    ends, text = time.monotonic() + WHOLE_S, bytearray()
    while piece := answer.read1(1 << 16):
        text += piece
        if len(text) > LARGEST_BYTES:
            raise ValueError(f"the answer has more than {LARGEST_BYTES:,} bytes")
        if time.monotonic() > ends:
            raise OSError(f"the answer took longer than {WHOLE_S:g} s")
    return bytes(text)


def _refused(problem: urllib.error.HTTPError, method: str, path: str) -> Unreachable:
    if 300 <= problem.code < 400:
        return Unreachable(f"GitHub has moved {path}: is the repository's name in the settings its present one?")
    after = problem.headers.get("Retry-After", "")
    reset = problem.headers.get("X-RateLimit-Reset", "")
    spent = problem.headers.get("X-RateLimit-Remaining") == "0"
    wait_s = float(after) if after.isdecimal() else float(reset) - time.time() if spent and reset.isdecimal() else 0.0
    advice = f" ({ADVICE[problem.code]})" if problem.code in ADVICE else ""
    sentence = f"GitHub answered {problem.code} to {method} {path}{advice}"
    return Unreachable(sentence, problem.code, min(max(wait_s, 0.0), MOST_WAIT_S))
