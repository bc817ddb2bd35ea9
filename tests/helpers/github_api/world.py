"""What the stand-in knows: one repository with its issues, pull requests, comments, runs, artifacts and faults."""

from __future__ import annotations

import io
import itertools
import re
import threading
import zipfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

BOT = "github-actions[bot]"
TOKEN = "ghs_stand_in"
GONE = "gone/gone"
"""The head repository of a pull request whose fork was deleted."""

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)


@dataclass
class Fault:
    """An answer on command, instead of the right one, the next ``times`` times that a request matches.

    ``path`` is a pattern for the path and query. ``after``: what was asked for is done, and only the answer is this
    one. ``disconnect``: there is no answer. ``body``: raw bytes instead of GitHub's error object.
    """

    status: int = 500
    times: int = 1
    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "Server Error"
    after: bool = False
    disconnect: bool = False
    body: bytes | None = None

    def matches(self, method: str, target: str) -> bool:
        """Whether this request is to meet the fault."""
        return self.times > 0 and self.method in ("", method) and bool(re.search(self.path, target))


@dataclass
class Issue:
    """An issue, or a pull request, which is an issue with a head."""

    number: int
    title: str = "A change"
    body: str = ""
    state: str = "open"
    labels: list[str] = field(default_factory=list)
    author: str = "someone"
    head_repository: str = ""
    head_branch: str = ""
    head_sha: str = ""
    base_branch: str = "main"
    base_sha: str = "b" * 40
    files: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_pull(self) -> bool:
        """Whether it is a pull request."""
        return bool(self.head_repository)


@dataclass
class Comment:
    """A comment on an issue."""

    id: int
    issue: int
    author: str
    body: str
    created_at: str
    updated_at: str
    edits: int = 0


@dataclass
class Artifact:
    """An artifact of a run; ``data`` is the archive's bytes, whatever they are.

    ``claimed_bytes``: the size that GitHub says it has, where a test would rather not make that much.
    """

    id: int
    run_id: int
    name: str
    data: bytes
    created_at: str
    expired: bool = False
    claimed_bytes: int | None = None


class World:
    """All that is known; a lock keeps requests apart."""

    def __init__(self, repository: str = "owner/project", artifacts_folder: Path | None = None) -> None:
        self.repository = repository
        self.lock = threading.RLock()
        self.tokens = {TOKEN: BOT, "ghp_maintainer": "maintainer"}
        self.permissions = {"maintainer": "maintain", "someone": "read"}
        self.issues: dict[int, Issue] = {}
        self.comments: dict[int, Comment] = {}
        self.runs: dict[int, dict[str, Any]] = {}
        self.runners: dict[int, dict[str, Any]] = {}
        self.artifacts: dict[int, Artifact] = {}
        self.check_runs: dict[int, dict[str, Any]] = {}
        self.labels: dict[str, str] = {}
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, list[dict[str, Any]]] = {}
        self.commits: dict[str, dict[str, Any]] = {}
        self.refs: dict[str, str] = {}
        self.faults: list[Fault] = []
        self.rate_left = 5000
        self._artifacts_folder = artifacts_folder
        self._ids = itertools.count(1000)
        self._ticks = itertools.count()

    def next_id(self) -> int:
        """Return a number that nothing has yet."""
        return next(self._ids)

    def now(self) -> str:
        """Return a time that is later than all before."""
        return (START + timedelta(seconds=next(self._ticks))).isoformat().replace("+00:00", "Z")

    def add_issue(self, **fields: Any) -> Issue:
        """Add an issue, or a pull request where the fields name a head."""
        number = fields.pop("number", None) or max(self.issues, default=0) + 1
        self.issues[number] = Issue(number, **fields)
        return self.issues[number]

    def add_pull(self, repository: str = "", branch: str = "change", sha: str = "a" * 40, **fields: Any) -> Issue:
        """Add a pull request from a branch of this repository, or of a fork."""
        return self.add_issue(
            head_repository=repository or self.repository, head_branch=branch, head_sha=sha, **fields
        )  # fmt: skip

    def set_label(self, issue: Issue, name: str, by: str, description: str | None = None) -> None:
        """Somebody sets a label, which is made if there is none of its name."""
        self.labels.setdefault(name, "")
        if description is not None:
            self.labels[name] = description
        if name not in issue.labels:
            issue.labels.append(name)
            self._keep_event(issue, "labeled", name, by)

    def take_label(self, issue: Issue, name: str, by: str) -> None:
        """Somebody takes a label off."""
        issue.labels.remove(name)
        self._keep_event(issue, "unlabeled", name, by)

    def _keep_event(self, issue: Issue, event: str, name: str, by: str) -> None:
        label = {"name": name, "color": "ededed"}
        issue.events.append({"event": event, "label": label, "actor": by, "created_at": self.now()})

    def add_comment(self, issue: int, body: str, author: str = BOT) -> Comment:
        """Add a comment by anybody."""
        moment = self.now()
        comment = Comment(self.next_id(), issue, author, body, moment, moment)
        self.comments[comment.id] = comment
        return comment

    def add_artifact(
        self, run_id: int, name: str, data: bytes | dict[str, bytes], *, expired: bool = False
    ) -> Artifact:
        """Add an artifact: an archive's bytes, or files to make an archive of."""
        archive = data if isinstance(data, bytes) else zipped(data)
        artifact = Artifact(self.next_id(), run_id, name, archive, self.now(), expired)
        self.artifacts[artifact.id] = artifact
        return artifact

    def artifacts_of(self, run_id: int) -> list[Artifact]:
        """Return a run's artifacts; those of the folder ``<artifacts folder>/<run id>/<name>/`` are taken up first."""
        known = {artifact.name for artifact in self.artifacts.values() if artifact.run_id == run_id}
        folder = self._artifacts_folder / str(run_id) if self._artifacts_folder else None
        if folder is not None and folder.is_dir():
            for place in sorted(folder.iterdir()):
                if place.is_dir() and place.name not in known:
                    files = {f.relative_to(place).as_posix(): f.read_bytes() for f in place.rglob("*") if f.is_file()}
                    self.add_artifact(run_id, place.name, files)
        return [artifact for artifact in self.artifacts.values() if artifact.run_id == run_id]

    def forget_artifacts(self, run_id: int) -> None:
        """Drop a run's artifacts, so that the folder's are taken up anew: act gives every run the same number."""
        self.artifacts = {key: value for key, value in self.artifacts.items() if value.run_id != run_id}

    def fault_for(self, method: str, target: str) -> Fault | None:
        """Return the fault that a request meets, which is used up by that."""
        for fault in self.faults:
            if fault.matches(method, target):
                fault.times -= 1
                return fault
        return None

    def comments_of(self, issue: int) -> list[Comment]:
        """Return an issue's comments, oldest first."""
        return [comment for comment in self.comments.values() if comment.issue == issue]


def zipped(files: dict[str, bytes]) -> bytes:
    """Return an archive of files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()
