"""What a CI run's commit is measured against, from the event that started it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Frozen

MAX_PAYLOAD_BYTES = 32 * 1024 * 1024
NEW_LIMIT_DAYS = 7


class Against(Frozen, frozen=True):
    """What a commit is held against. Commits are given as git takes them; empty: none.

    Attributes:
        measured: the commit that the result is for: a pull request's head, else the commit at hand.
        head: of a pull request, the commit that must be the second parent of the merge that is at hand.
        parent: whose code is the arm ``parent``.
        baselines: whose baselines count; empty: those that lie in the tree.
        new_limit_days: after so many days a case without a baseline fails.
    """

    measured: str
    head: str = ""
    parent: str = ""
    baselines: str = ""
    new_limit_days: int | None = None


class _Commit(msgspec.Struct):
    sha: str
    ref: str = ""


class _Label(msgspec.Struct):
    name: str


class _PullRequest(msgspec.Struct):
    head: _Commit
    base: _Commit
    labels: tuple[_Label, ...] = ()


class _MergeGroup(msgspec.Struct):
    base_sha: str


class _Repository(msgspec.Struct):
    default_branch: str = "main"


class _Payload(msgspec.Struct):
    repository: _Repository = msgspec.field(default_factory=_Repository)
    pull_request: _PullRequest | None = None
    merge_group: _MergeGroup | None = None
    before: str = ""
    ref: str = ""
    number: int | None = None


class Labelled(Frozen, frozen=True):
    """A pull request as its event has it: number, SHA of its head, names of its labels."""

    number: int
    head: str
    labels: tuple[str, ...]


def read_labels(payload: Path) -> Labelled:
    """Read an event's pull request.

    Raises:
        UsageError: the payload cannot be read, or is no pull request's.
    """
    found = _read(payload)
    if found.number is None or found.pull_request is None:
        raise UsageError(f"the event's payload {payload} is no pull request's")
    pull = found.pull_request
    return Labelled(found.number, pull.head.sha, tuple(label.name for label in pull.labels))


def read_against(event: str, payload: Path | None, commit: str) -> Against:
    """Read an event and say what its commit is measured against.

    Args:
        event: ``GITHUB_EVENT_NAME``; empty outside GitHub.
        payload: the file ``GITHUB_EVENT_PATH``.
        commit: ``GITHUB_SHA``.

    Raises:
        UsageError: the payload cannot be read, or is not that event's.
    """
    if event not in ("pull_request", "merge_group", "push"):
        return Against(commit)
    if payload is None:
        raise UsageError(f"the event {event} needs its payload: GITHUB_EVENT_PATH is not set")
    return against(event, _read(payload), commit)


def _read(payload: Path) -> _Payload:
    try:
        with payload.open("rb") as file:
            return msgspec.json.decode(file.read(MAX_PAYLOAD_BYTES), type=_Payload)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise UsageError(f"the event's payload {payload} cannot be used: {problem}") from None


def against(event: str, payload: _Payload, commit: str) -> Against:
    """Decide it. Baselines come from the commit that is measured against, so that no change moves its own yardstick."""
    main = payload.repository.default_branch
    if event == "pull_request":
        if payload.pull_request is None:
            raise UsageError("the payload of a pull request's event has no pull_request")
        base = payload.pull_request.base
        parent = f"{commit}^1"
        # A stacked pull request is blamed beside the branch below, by the yardstick of the default branch.
        baselines = parent if base.ref == main else f"refs/remotes/origin/{main}"
        return Against(payload.pull_request.head.sha, payload.pull_request.head.sha, parent, baselines)
    if event == "merge_group":
        if payload.merge_group is None:
            raise UsageError("the payload of a merge queue's event has no merge_group")
        return Against(commit, "", payload.merge_group.base_sha, payload.merge_group.base_sha)
    # On the default branch the baselines of the tree have been reviewed with it.
    before = payload.before if payload.before.strip("0") else ""
    limit = NEW_LIMIT_DAYS if payload.ref == f"refs/heads/{main}" else None
    return Against(commit, "", before, "", limit)
