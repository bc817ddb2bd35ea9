"""Whether a run may have this box, from what GitHub's API says of it: the gate's rules once more, before a job comes.

The gate runs inside the runner, whose behaviour a hostile workflow can bend (a working directory that does not exist
keeps a hook from starting). This one runs before there is a runner, and reads nothing that a job could have written.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from typing import Any

from kernelperf_runner.api import GitHub
from kernelperf_runner.document import Refusal, at
from kernelperf_runner.gate import APPROVAL, is_approver
from kernelperf_runner.rules import Rules

RUN = "the run"


def vet(run: Mapping[str, Any], github: GitHub, rules: Rules) -> str:
    """Return why the run may have the box, as a sentence, or raise ``Refusal``."""
    if at(run, "repository.id", int, RUN) != rules.repository_id:
        raise Refusal("the run belongs to another repository")
    file, event = at(run, "path", str, RUN).partition("@")[0], at(run, "event", str, RUN)
    if event not in rules.workflows.get(file, ()):
        raise Refusal(f"{file} may not run here for the event {event}")
    branch, main = at(run, "head_branch", str, RUN), rules.default_branch
    if at(run, "head_repository.id", int, RUN) != rules.repository_id:
        if event != "pull_request":
            raise Refusal(f"a run of a fork for the event {event}")
        return _fork(run, github, rules)
    if event == "merge_group" and not branch.startswith(f"gh-readonly-queue/{main}/"):
        raise Refusal(f"a merge queue's branch begins with gh-readonly-queue/{main}/")
    if event in ("push", "workflow_dispatch", "schedule") and branch != main:
        raise Refusal(f"{event} runs on {main} alone, not on another branch")
    return f"{event} of {rules.repository} itself"


def _fork(run: Mapping[str, Any], github: GitHub, rules: Rules) -> str:
    head, branch = at(run, "head_sha", str, RUN), at(run, "head_branch", str, RUN)
    owner = at(run, "head_repository.owner.login", str, RUN)
    for pull in github.pages("pulls", state="open", head=f"{owner}:{branch}"):
        same = (
            at(pull, "head.sha", str, "a pull request") == head
            and at(pull, "head.repo.id", int, "a pull request") == at(run, "head_repository.id", int, RUN)
            and at(pull, "base.repo.id", int, "a pull request") == rules.repository_id
        )
        if same and (who := _approved(at(pull, "number", int, "a pull request"), head, github, rules)):
            return f"{who} let commit {head} run"
    raise Refusal(f"a fork's commit that no approver has labelled {APPROVAL[0]}{urllib.parse.quote(head)}")


def _approved(number: int, head: str, github: GitHub, rules: Rules) -> str:
    """Who set one of the commit's labels, if it is there still; the last one to set it counts."""
    setters: dict[str, str] = {}
    for event in github.pages(f"issues/{number}/events"):
        name = event.get("label", {}).get("name") if isinstance(event.get("label"), dict) else None
        if name in [prefix + head for prefix in APPROVAL] and event.get("event") in ("labeled", "unlabeled"):
            setters.pop(name, None)
            actor = event.get("actor")
            if event["event"] == "labeled" and isinstance(actor, dict) and actor.get("type") == "User":
                setters[name] = str(actor.get("login", ""))
    return next((login for login in setters.values() if is_approver(login, rules)), "")
