"""Jobs as a runner's hook sees them: GitHub's real payloads, and the variables that the runner would set with each."""

from __future__ import annotations

import copy
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from kernelperf_runner.rules import Rules, rules_of

EXAMPLES = Path(__file__).parents[1] / "data" / "webhooks" / "examples.json.gz"
WORKFLOW = ".github/workflows/kernelperf.yml"
ZERO, ONE = "0" * 40, "1" * 40

Payload = dict[str, Any]
Variables = dict[str, str]


@cache
def examples() -> dict[str, list[Payload]]:
    """All payloads of the corpus by event. Not to be changed: take a copy."""
    return json.loads(gzip.decompress(EXAMPLES.read_bytes()))  # type: ignore[no-any-return]


def settings(**changed: Any) -> Payload:
    """The settings of a box for the repository that most examples come from."""
    return {
        "repository": "Codertocat/Hello-World",
        "repository_id": 186853002,
        "default_branch": "main",
        "approvers": ["approver"],
        "labels": ["self-hosted", "linux", "x64", "gfx1151", "perf"],
        "workflows": {
            WORKFLOW: ["pull_request", "push", "merge_group", "workflow_dispatch"],
            ".github/workflows/kernelperf-watch.yml": ["schedule", "workflow_dispatch"],
        },
        "machine": {},
    } | changed


def rules(payload: Payload | None = None, **changed: Any) -> Rules:
    """The rules of a box, for the payload's own repository."""
    where = (payload or {}).get("repository") or {}
    own = {"repository": where["full_name"], "repository_id": where["id"]} if "id" in where else {}
    return rules_of(settings(**own, **changed))


def variables(event: str, payload: Payload, file: str = WORKFLOW) -> Variables:
    """What the runner sets for that payload, as GitHub documents it."""
    where = payload.get("repository") or {"full_name": "Codertocat/Hello-World", "id": 186853002}
    branch = f"refs/heads/{where.get('default_branch', 'main')}"
    ref, sha = branch, ONE
    if event == "pull_request":
        ref = f"refs/pull/{payload['number']}/merge"
    elif event == "push":
        ref, sha = payload["ref"], payload["after"]
    elif event == "merge_group":
        ref, sha = payload["merge_group"]["head_ref"], payload["merge_group"]["head_sha"]
    elif event == "workflow_dispatch":
        ref = payload["ref"]
    return {
        "GITHUB_REPOSITORY": where["full_name"],
        "GITHUB_REPOSITORY_ID": str(where["id"]),
        "GITHUB_EVENT_NAME": event,
        "GITHUB_WORKFLOW_REF": f"{where['full_name']}/{file}@{ref}",
        "GITHUB_REF": ref,
        "GITHUB_SHA": sha,
    }


def pull_request(action: str = "synchronize") -> Payload:
    """A real pull request's payload from within the repository."""
    payload = next(found for found in examples()["pull_request"] if found["action"] == action)
    return copy.deepcopy(payload)


def fork(action: str = "synchronize", label: str = "", head: str = "a" * 40, sender: str = "approver") -> Payload:
    """The same from a fork; ``label``: the label that was set, which the pull request then has."""
    payload = pull_request("labeled" if action == "labeled" else "synchronize")
    payload["action"] = action
    pull = payload["pull_request"]
    pull["head"]["sha"] = head
    pull["head"]["repo"] |= {"id": 4711, "full_name": "stranger/Hello-World", "fork": True}
    pull["state"] = "open"
    pull["labels"] = [{"name": "bug"}]
    payload["sender"] |= {"login": sender, "type": "User"}
    if action == "labeled":
        payload["label"] = {"name": label}
        pull["labels"].append({"name": label})
    return payload
