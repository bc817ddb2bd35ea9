"""What the workflows under act ask of GitHub's API: pull requests, labels and who set them, issues, commits, branches.

A small stateful server on this machine. It answers what it knows and 404 for all else.
"""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

BOT = "github-actions[bot]"
Answer = tuple[int, Any]


class State:
    """One repository."""

    def __init__(self) -> None:
        self.pulls: dict[int, dict[str, Any]] = {}
        self.events: dict[int, list[dict[str, Any]]] = {}
        self.permissions = {"maintainer": "write", "triager": "read"}
        self.issues: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, dict[str, Any]] = {}
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, list[dict[str, Any]]] = {}
        self.commits: dict[str, dict[str, Any]] = {}
        self.refs: dict[str, str] = {}
        self.denied: list[str] = []

    def label(self, number: int, name: str, reason: str, by: str) -> dict[str, Any]:
        """Somebody sets a label on a pull request."""
        label = {"name": name, "description": reason, "color": "ededed"}
        self.pulls[number]["labels"].append(label)
        event = {"event": "labeled", "actor": {"login": by, "type": "User"}, "label": {"name": name}}
        self.events.setdefault(number, []).append(event)
        return label

    def answer(self, method: str, path: str, query: dict[str, str], body: dict[str, Any]) -> Answer:
        """What GitHub would say."""
        for wanted, pattern, act in ROUTES:
            if wanted == method and (found := re.fullmatch(pattern, path)):
                answered: Answer = act(self, query, body, *found.groups())
                return answered
        self.denied.append(f"{method} {path}")
        return 404, {"message": "Not Found"}

    def _number(self) -> int:
        return max([*self.pulls, *self.issues, 0]) + 1

    def list_pulls(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        return 200, [
            pull
            for pull in self.pulls.values()
            if pull["state"] == query.get("state", "open")
            and query.get("head") in (None, f"{pull['head']['repo']['owner']['login']}:{pull['head']['ref']}")
        ]

    def open_pull(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        if f"refs/heads/{body['head']}" not in self.refs:
            return 422, {"message": "Validation Failed: head"}
        number = self._number()
        self.pulls[number] = {"number": number, "labels": [], "state": "open", **body}
        return 201, self.pulls[number]

    def pull(self, query: dict[str, str], body: dict[str, Any], number: str) -> Answer:
        return (200, self.pulls[int(number)]) if int(number) in self.pulls else (404, {"message": "Not Found"})

    def pull_events(self, query: dict[str, str], body: dict[str, Any], number: str) -> Answer:
        return 200, self.events.get(int(number), [])

    def permission(self, query: dict[str, str], body: dict[str, Any], login: str) -> Answer:
        found = self.permissions.get(login, "none")
        return 200, {"permission": found, "role_name": found, "user": {"login": login}}

    def list_issues(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        states = ("open", "closed") if query.get("state") == "all" else (query.get("state", "open"),)
        return 200, [
            issue
            for issue in self.issues.values()
            if issue["state"] in states and query.get("creator") in (None, issue["user"]["login"])
        ]

    def open_issue(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        number = self._number()
        self.issues[number] = {"number": number, "state": "open", "user": {"login": BOT}, **body}
        return 201, self.issues[number]

    def change_issue(self, query: dict[str, str], body: dict[str, Any], number: str) -> Answer:
        self.issues[int(number)] |= body
        return 200, self.issues[int(number)]

    def comment(self, query: dict[str, str], body: dict[str, Any], number: str) -> Answer:
        user = {"login": BOT, "id": 41898282, "type": "Bot"}
        made = {"id": len(self.comments) + 1, "issue": int(number), "user": user, "body": body["body"]}
        self.comments[made["id"]] = made
        return 201, made

    def ref(self, query: dict[str, str], body: dict[str, Any], name: str) -> Answer:
        found = self.refs.get(f"refs/{name}")
        return (200, {"object": {"sha": found}}) if found else (404, {"message": "Not Found"})

    def make_ref(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        if body["ref"] in self.refs or body["sha"] not in self.commits:
            return 422, {"message": "Reference already exists"}
        self.refs[body["ref"]] = body["sha"]
        return 201, {"ref": body["ref"]}

    def make_blob(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        data = base64.b64decode(body["content"], validate=True)
        return 201, {"sha": self._keep(self.blobs, data, data)}

    def make_tree(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        if any(entry["sha"] is not None and entry["sha"] not in self.blobs for entry in body["tree"]):
            return 422, {"message": "tree.sha does not exist"}
        return 201, {"sha": self._keep(self.trees, json.dumps(body).encode(), body["tree"])}

    def make_commit(self, query: dict[str, str], body: dict[str, Any]) -> Answer:
        return 201, {"sha": self._keep(self.commits, json.dumps(body).encode(), body)}

    def commit(self, query: dict[str, str], body: dict[str, Any], sha: str) -> Answer:
        return 200, {"sha": sha, "tree": {"sha": "0" * 40}}

    @staticmethod
    def _keep(shelf: dict[str, Any], data: bytes, value: Any) -> str:
        sha = hashlib.sha1(data, usedforsecurity=False).hexdigest()
        shelf[sha] = value
        return sha


ROUTES: list[tuple[str, str, Any]] = [
    ("GET", "pulls", State.list_pulls), ("POST", "pulls", State.open_pull), ("GET", r"pulls/(\d+)", State.pull),
    ("GET", r"issues/(\d+)/events", State.pull_events), ("GET", r"collaborators/([^/]+)/permission", State.permission),
    ("GET", "issues", State.list_issues), ("POST", "issues", State.open_issue),
    ("PATCH", r"issues/(\d+)", State.change_issue), ("POST", r"issues/(\d+)/comments", State.comment),
    ("GET", r"git/ref/(heads/.+)", State.ref), ("POST", "git/refs", State.make_ref),
    ("POST", "git/blobs", State.make_blob), ("POST", "git/trees", State.make_tree),
    ("POST", "git/commits", State.make_commit), ("GET", r"git/commits/([0-9a-f]{40})", State.commit),
]  # fmt: skip


@contextmanager
def served(state: State, repository: str, token: str) -> Iterator[str]:
    """Serve a repository's state on this machine; the API's URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            prefix = f"/repos/{repository}/"
            if self.headers["Authorization"] != f"Bearer {token}":
                status, found = 401, {"message": "Bad credentials"}
            elif not url.path.startswith(prefix):
                status, found = 404, {"message": "Not Found"}
            else:
                body = json.loads(sent) if sent else {}
                status, found = state.answer(self.command, url.path[len(prefix) :], query, body)
                if isinstance(found, list) and query.get("page", "1") != "1":
                    found = []
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        do_POST = do_PATCH = do_GET

        def log_message(self, *arguments: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{serving.server_port}"
        finally:
            serving.shutdown()
