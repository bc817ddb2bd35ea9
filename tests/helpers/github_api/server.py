"""The stand-in as two servers on this machine: the API, and the storage that artifacts are fetched from."""

from __future__ import annotations

import functools
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from werkzeug.datastructures import Headers

from github_api.call import Call, Refusal
from github_api.description import Answer, Asked, Description
from github_api.routes import ROUTES
from github_api.world import GONE, Fault, World

OWN = "/_stand_in/"


@functools.cache
def description() -> Description:
    """The description, loaded once a process."""
    return Description()


class GitHub:
    """A running stand-in. ``requests`` is what was asked, ``problems`` what broke GitHub's description."""

    def __init__(self, world: World | None = None, port: int = 0) -> None:
        self.world = world or World()
        self.requests: list[str] = []
        self.problems: list[str] = []
        self._api = _Server(("127.0.0.1", port), type("_Api", (_ApiHandler,), {"github": self}))
        self._storage = _Server(("127.0.0.1", 0), type("_Storage", (_StorageHandler,), {"github": self}))
        self.url = f"http://127.0.0.1:{self._api.server_address[1]}"
        self.storage_url = f"http://127.0.0.1:{self._storage.server_address[1]}"

    def __enter__(self) -> GitHub:
        for server in (self._api, self._storage):
            threading.Thread(target=functools.partial(server.serve_forever, poll_interval=0.02), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in (self._api, self._storage):
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hangs up, as one does that has seen enough, is no error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    github: ClassVar[GitHub]

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: ``GitHub.requests`` keeps what was asked."""

    def _send(self, status: int, body: bytes | None, headers: dict[str, str], kind: str = "application/json") -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if body is not None:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(body)


class _StorageHandler(_Handler):
    def do_GET(self) -> None:
        """Give out an artifact's bytes; a token has no business here."""
        world = self.github.world
        self.github.requests.append(f"GET storage {self.path}")
        if "authorization" in self.headers:
            self.github.problems.append("the token was sent to the storage's host")
        fault = world.fault_for("GET", f"/_storage{self.path}")
        if fault is not None:
            if fault.disconnect:
                self.close_connection = True
                return
            self._send(fault.status, fault.body or b"<Error/>", fault.headers, "application/xml")
            return
        found = re.match(r"/artifact/(\d+)\?sig=stand-in$", self.path)
        artifact = world.artifacts.get(int(found[1])) if found else None
        if artifact is None:
            self._send(404, b"<Error/>", {}, "application/xml")
        else:
            self._send(200, artifact.data, {}, "application/zip")


class _ApiHandler(_Handler):
    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.startswith(OWN):
            with self.github.world.lock:
                self._own(body)
            return
        self.github.requests.append(f"{self.command} {self.path}")
        with self.github.world.lock:
            status, payload, headers = self._answer(body)
        if status == 0:  # no answer at all
            self.close_connection = True
            return
        data = payload if isinstance(payload, bytes) or payload is None else json.dumps(payload).encode()
        self._send(status, data, headers, "application/json; charset=utf-8")

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _any

    def _answer(self, body: bytes) -> tuple[int, Any, dict[str, str]]:
        world = self.github.world
        fault = world.fault_for(self.command, self.path)
        if fault is not None and not fault.after:
            return _faulty(fault)
        # A reference has slashes of its own, which GitHub takes and a pattern of its description does not.
        target = re.sub(r"(?<=/git/)(refs?)/([^?]+)", lambda found: f"{found[1]}/{quote(found[2], '')}", self.path)
        asked = Asked(self.command, target, {k.lower(): v for k, v in self.headers.items()}, body or None)
        try:
            status, payload, headers = self._served(asked)
        except Refusal as refusal:
            status, payload, headers = refusal.status, refusal.body, {}
        answer = Answer(status, None if payload is None else json.dumps(payload).encode(), Headers(headers))
        # 401 and a spent limit are any operation's and described at few; a redirect has no body to describe.
        told_everywhere = status in (401, 302) or (status == 403 and self.github.world.rate_left <= 0)
        # Nor is it described what GitHub says of a run that is not there.
        told_everywhere |= status == 404 and re.search(r"/actions/runs/\d+$", self.path) is not None
        if not told_everywhere and "path not found" not in str(payload).lower():
            problem = description().answer_problem(asked, answer)
            if problem:
                self.github.problems.append(f"the stand-in's answer to {self.command} {self.path}: {problem}")
                return 500, {"message": f"the stand-in's answer is wrong: {problem}"}, {}
        if fault is not None:
            return _faulty(fault)
        return status, _as_it_is(payload), {**headers, **self._rate_headers()}

    def _served(self, asked: Asked) -> tuple[int, Any, dict[str, str]]:
        world, target = self.github.world, urlsplit(self.path)
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        user = world.tokens.get(token) if scheme.lower() in ("token", "bearer") else None
        if user is None:
            raise Refusal(401, "Bad credentials")
        if world.rate_left <= 0:
            raise Refusal(403, f"API rate limit exceeded for {user}.")
        world.rate_left -= 1
        problem = description().request_problem(asked)
        if problem:
            self.github.problems.append(f"{self.command} {self.path}: {problem}")
            raise Refusal(422, f"Invalid request. {problem}")
        prefix = f"/repos/{world.repository}"
        if not (target.path == prefix or target.path.startswith(f"{prefix}/")):
            raise Refusal(404, "Not Found")
        place = target.path.removeprefix(prefix)
        for method, pattern, function in ROUTES:
            match = pattern.match(place)
            if method == self.command and match:
                call = Call(world, user, dict(parse_qsl(target.query)), json.loads(asked.body or b"{}"),
                            self.github.url, self.github.storage_url, description().filled)  # fmt: skip
                status, payload = function(call, *(unquote(part) for part in match.groups()))
                return status, payload, {**call.headers, **_links(call, self.github.url + target.path)}
        raise Refusal(404, f"path not found: the stand-in has no {self.command} {place}")

    def _rate_headers(self) -> dict[str, str]:
        left = self.github.world.rate_left
        return {"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": str(max(0, left)),
                "X-RateLimit-Reset": str(int(time.time()) + 60), "X-GitHub-Api-Version": "2022-11-28"}  # fmt: skip

    def _own(self, body: bytes) -> None:
        """What a program needs that starts the stand-in: put things in, look at what came of it."""
        world, place = self.github.world, self.path.removeprefix(OWN)
        given = json.loads(body or b"{}")
        if self.command == "POST":
            actions = {"pulls": world.add_pull, "issues": world.add_issue, "comments": world.add_comment,
                       "faults": lambda **more: world.faults.append(Fault(**more))}  # fmt: skip
            if place == "runs":
                world.runs[given["id"]] = given
            elif place == "forget_artifacts":
                world.forget_artifacts(given["run_id"])
            elif place.startswith("pulls/"):
                for name, value in given.items():
                    setattr(world.issues[int(place.removeprefix("pulls/"))], name, value)
            else:
                actions[place](**given)
            self._send(204, None, {})
            return
        shown: dict[str, Any] = {
            "problems": self.github.problems,
            "requests": self.github.requests,
            "comments": [vars(one) for one in world.comments.values()],
            "issues": [vars(one) for one in world.issues.values()],
            "check_runs": world.check_runs,
        }
        self._send(200, json.dumps(shown[place]).encode(), {})


def _as_it_is(payload: Any) -> Any:
    """What the description does not know: a deleted fork is null."""
    if isinstance(payload, list):
        return [_as_it_is(item) for item in payload]
    if isinstance(payload, dict) and isinstance(payload.get("head"), dict):
        head = payload["head"]
        if (head.get("repo") or {}).get("full_name") == GONE:
            return {**payload, "head": {**head, "repo": None}}
    return payload


def _faulty(fault: Fault) -> tuple[int, Any, dict[str, str]]:
    if fault.disconnect:
        return 0, None, {}
    return fault.status, fault.body if fault.body is not None else {"message": fault.message}, dict(fault.headers)


def _links(call: Call, place: str) -> dict[str, str]:
    """The Link header of a page, with everything else that was asked kept."""
    parts = []
    for name, page in call.pages.items():
        query = "&".join(f"{key}={value}" for key, value in {**call.query, "page": str(page)}.items())
        parts.append(f'<{place}?{query}>; rel="{name}"')
    return {"Link": ", ".join(parts)} if parts else {}
