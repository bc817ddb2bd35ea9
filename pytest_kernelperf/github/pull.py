"""Which pull request a run was for, asked of GitHub alone: whatever a run's artifact says, its author wrote."""

from __future__ import annotations

from typing import Any

from pytest_kernelperf.github.api import Repository
from pytest_kernelperf.github.event import RunEvent
from pytest_kernelperf.model import Frozen


class Pull(Frozen, frozen=True):
    """An open pull request and the commit that it is at now."""

    number: int
    head: str


def find_pulls(github: Repository, event: RunEvent) -> tuple[Pull, ...]:
    """Return the open pull requests from the run's head branch; their commit may be another by now.

    The event names no pull request of a fork, and GitHub finds none by a fork's commit: head owner and branch are what
    works for all. A repository and its fork may belong to one owner, so the repository is compared as well.

    Raises:
        GitHubError: GitHub cannot be asked.
    """
    if not event.owner or not event.branch:
        return ()
    found = github.pages("pulls", state="open", head=f"{event.owner}:{event.branch}")
    pulls = tuple(Pull(int(pull["number"]), str(pull["head"]["sha"])) for pull in found if _is_head(pull, event))
    # One branch may be proposed to several: of a repository's own the event says which it was.
    return tuple(pull for pull in pulls if pull.number in event.pulls) or pulls


def _is_head(pull: dict[str, Any], event: RunEvent) -> bool:
    head = pull["head"]
    repository = (head.get("repo") or {}).get("full_name", "")  # null where the fork was deleted
    return head["ref"] == event.branch and str(repository).lower() == event.repository.lower()
