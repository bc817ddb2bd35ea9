"""Whether a maintainer has accepted a pull request's commit as it is, slower or not.

An acceptance is a label ``slow-ok:<SHA of the head, 40 digits>`` whose description is the reason. Making such a label
takes the right to write; who set it on the pull request is asked of GitHub all the same.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_kernelperf.github.api import Repository
from pytest_kernelperf.model import Frozen

PREFIX = "slow-ok:"
MAY_ACCEPT = ("admin", "maintain", "write")
MAX_REASON = 200


class Found(Frozen, frozen=True):
    """An acceptance, or why there is none.

    ``by`` is empty where there is none; ``sentence`` says which it is, for the job's log.
    """

    commit: str
    sentence: str
    by: str = ""
    reason: str = ""

    def document(self) -> dict[str, Any]:
        """What the guard reads with ``--kernelperf-accept``; all cases of the commit are meant."""
        return {"version": 1, "commit": self.commit, "by": self.by, "reason": self.reason, "cases": None}


def find_acceptance(repository: Repository, number: int) -> Found:
    """Look for the acceptance of a pull request's present head.

    Args:
        repository: GitHub.
        number: the pull request's number.

    Raises:
        KernelperfError: GitHub cannot be asked.
    """
    pull = repository.get(f"pulls/{number}")
    head = str(pull["head"]["sha"])
    name = PREFIX + head
    label = next((label for label in pull["labels"] if label.get("name") == name), None)
    if label is None:
        return Found(head, f"no label {name}: nothing is accepted")
    reason = re.sub(r"\s+", " ", str(label.get("description") or "")).strip()[:MAX_REASON]
    if not reason:
        return Found(
            head, f"the label {name} has no description, and an acceptance needs a reason: nothing is accepted"
        )
    by = _who_set(repository.pages(f"issues/{number}/events"), name)
    if not by:
        return Found(head, f"GitHub does not say who set the label {name}: nothing is accepted")
    permission = repository.get(f"collaborators/{by}/permission")
    role = str(permission.get("role_name") or permission.get("permission") or "none")
    if not {role, str(permission.get("permission"))} & set(MAY_ACCEPT):
        return Found(head, f"{by} has the role {role} and may not accept a slowdown: nothing is accepted")
    return Found(head, f"{by} accepts commit {head}: {reason}", by, reason)


def _who_set(events: list[dict[str, Any]], name: str) -> str:
    """The user who set the label last, if it was not taken off since."""
    by = ""
    for event in events:
        label, actor = event.get("label"), event.get("actor")
        if not isinstance(label, dict) or label.get("name") != name:
            continue
        if event.get("event") == "labeled":
            is_user = isinstance(actor, dict) and actor.get("type") == "User"
            by = str(actor["login"]) if is_user else ""  # type: ignore[index]
        elif event.get("event") == "unlabeled":
            by = ""
    return by if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", by) else ""
