"""The event that starts the commenting workflow: a run of the measuring one has begun or ended."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Frozen

MAX_EVENT_BYTES = 32 * 1024 * 1024


class RunEvent(Frozen, frozen=True):
    """What of a ``workflow_run`` event counts. All of it is GitHub's word, but for the branch's name, a stranger's.

    ``owner``, ``repository`` (``OWNER/NAME``), ``branch`` and ``commit`` are the head's; ``owner`` is empty where its
    repository was deleted. ``kind`` is the event that the run was for, ``workflow`` its file's path. ``pulls`` is empty
    for forks, and no order.
    """

    is_over: bool
    kind: str
    run: int
    attempt: int
    owner: str
    repository: str
    branch: str
    commit: str
    conclusion: str = ""
    started_at: str = ""
    url: str = ""
    pulls: tuple[int, ...] = ()
    workflow: str = ""


class _Owner(msgspec.Struct):
    login: str


class _Head(msgspec.Struct):
    full_name: str
    owner: _Owner


class _Pull(msgspec.Struct):
    number: int


class _Run(msgspec.Struct):
    id: int
    event: str
    head_sha: str
    head_branch: str | None = None
    head_repository: _Head | None = None
    run_attempt: int = 1
    conclusion: str | None = None
    run_started_at: str | None = None
    html_url: str = ""
    path: str = ""
    pull_requests: list[_Pull] = []


class _Event(msgspec.Struct):
    action: str
    workflow_run: _Run


def read_event(path: Path) -> RunEvent:
    """Read an event's file.

    Raises:
        UsageError: it is not there, or of another event.
    """
    advice = "kernelperf comment posts in a workflow of GitHub's that starts on workflow_run"
    try:
        with path.open("rb") as file:
            event = msgspec.json.decode(file.read(MAX_EVENT_BYTES), type=_Event)
    except OSError as problem:
        raise UsageError(
            f"GITHUB_EVENT_PATH names {path}, which cannot be read ({problem.strerror}): {advice}"
        ) from None
    except (msgspec.DecodeError, ValueError, RecursionError) as problem:
        raise UsageError(f"{path} is no event of workflow_run ({problem}): {advice}") from None
    run = event.workflow_run
    if not re.fullmatch(r"[0-9a-f]{40}", run.head_sha):
        raise UsageError(f"{path}: the run's head_sha is not 40 digits: {advice}")
    head = run.head_repository
    return RunEvent(
        is_over=event.action == "completed",
        kind=run.event,
        run=run.id,
        attempt=run.run_attempt,
        owner=head.owner.login if head else "",
        repository=head.full_name if head else "",
        branch=run.head_branch or "",
        commit=run.head_sha,
        conclusion=run.conclusion or "",
        started_at=run.run_started_at or "",
        url=run.html_url,
        pulls=tuple(pull.number for pull in run.pull_requests),
        workflow=run.path.partition("@")[0],
    )
