"""Whether a job may run on the box: one function, from the runner's variables and the event's payload alone.

It is the one rule that a pull request cannot edit. It lets in what somebody with the right to write has started, and a
fork's commit that an approver has labelled with its own SHA. Everything else is refused, above all what is missing,
damaged, unknown, or says two different things in two places.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kernelperf_runner.document import Refusal, at
from kernelperf_runner.rules import Rules

APPROVAL = ("perf-ok:", "slow-ok:")
"""Prefixes of labels whose rest is the SHA that is meant; with it 48 characters of the 50 that GitHub allows."""

SHA = re.compile(r"[0-9a-f]{40}")

PUSHES = ("opened", "synchronize", "reopened", "labeled")


def decide(variables: Mapping[str, str], payload: Mapping[str, Any], rules: Rules) -> str:
    """Return why the job may run, as a sentence, or raise ``Refusal`` with the reason why not.

    Args:
        variables: the runner's ``GITHUB_*`` variables, as a hook gets them.
        payload: what ``GITHUB_EVENT_PATH`` holds.
        rules: the box's settings.
    """
    _same("GITHUB_REPOSITORY", _variable(variables, "GITHUB_REPOSITORY"), rules.repository)
    _same("GITHUB_REPOSITORY_ID", _variable(variables, "GITHUB_REPOSITORY_ID"), str(rules.repository_id))
    event = _variable(variables, "GITHUB_EVENT_NAME")
    if event != "schedule" or "repository" in payload:  # a schedule's payload need not name its repository
        _same("the payload's repository", at(payload, "repository.full_name", str), rules.repository)
        _same("the payload's repository id", at(payload, "repository.id", int), rules.repository_id)
    file, ref = _workflow(_variable(variables, "GITHUB_WORKFLOW_REF"), rules)
    if event not in rules.workflows.get(file, ()):
        raise Refusal(f"{file} may not run here for the event {_quoted(event)}")
    _sha("GITHUB_SHA", _variable(variables, "GITHUB_SHA"))
    rule = {
        "pull_request": _pull_request,
        "push": _push,
        "merge_group": _merge_group,
        "workflow_dispatch": _default_branch_only,
        "schedule": _schedule,
    }.get(event)
    if rule is None:
        raise Refusal(f"there is no rule for the event {_quoted(event)}")
    _same("GITHUB_REF", _variable(variables, "GITHUB_REF"), ref)
    return rule(variables, payload, rules)


def _pull_request(variables: Mapping[str, str], payload: Mapping[str, Any], rules: Rules) -> str:
    number, head = at(payload, "number", int), _sha("the head's SHA", at(payload, "pull_request.head.sha", str))
    _same("GITHUB_REF", _variable(variables, "GITHUB_REF"), f"refs/pull/{number}/merge")
    _same("the pull request's number", at(payload, "pull_request.number", int), number)
    _same("the base's repository", at(payload, "pull_request.base.repo.id", int), rules.repository_id)
    _same("the pull request's state", at(payload, "pull_request.state", str), "open")
    action = at(payload, "action", str)
    if action not in PUSHES:
        raise Refusal(f"pull requests run when they are {', '.join(PUSHES)}, not when {_quoted(action)}")
    if at(payload, "pull_request.head.repo.id", int) == rules.repository_id:
        _same("the head's repository", at(payload, "pull_request.head.repo.full_name", str), rules.repository)
        return f"pull request {number} comes from {rules.repository} itself"
    return _fork(payload, rules, number, head, action)


def _fork(payload: Mapping[str, Any], rules: Rules, number: int, head: str, action: str) -> str:
    wanted = f"pull request {number} comes from a fork: it runs when an approver sets the label {APPROVAL[0]}{head}"
    if action != "labeled":
        raise Refusal(wanted)
    label = at(payload, "label.name", str)
    if label not in [prefix + head for prefix in APPROVAL]:
        raise Refusal(f"{wanted}; {_quoted(label)} is another label or names another commit")
    if label not in [name.get("name") for name in at(payload, "pull_request.labels", list) if isinstance(name, dict)]:
        raise Refusal(f"{wanted}; the pull request does not have it any more")
    sender = at(payload, "sender.login", str)
    if not is_approver(sender, rules) or at(payload, "sender.type", str) != "User":
        raise Refusal(f"{wanted}; {_quoted(sender)} is no approver of this box")
    return f"{sender} let commit {head} of pull request {number} run"


def _push(variables: Mapping[str, str], payload: Mapping[str, Any], rules: Rules) -> str:
    _default_branch_only(variables, payload, rules)
    _same("the pushed commit", at(payload, "after", str), _variable(variables, "GITHUB_SHA"))
    if at(payload, "deleted", bool):
        raise Refusal("the branch was deleted")
    return f"a push to {rules.default_branch}"


def _merge_group(variables: Mapping[str, str], payload: Mapping[str, Any], rules: Rules) -> str:
    queue = f"refs/heads/gh-readonly-queue/{rules.default_branch}/"
    if not _variable(variables, "GITHUB_REF").startswith(queue):
        raise Refusal(f"a merge queue's branch begins with {queue}")
    _same("the action", at(payload, "action", str), "checks_requested")
    _same("the queue's branch", at(payload, "merge_group.head_ref", str), _variable(variables, "GITHUB_REF"))
    _same("the queue's commit", at(payload, "merge_group.head_sha", str), _variable(variables, "GITHUB_SHA"))
    _same("the queue's base", at(payload, "merge_group.base_ref", str), f"refs/heads/{rules.default_branch}")
    return f"the merge queue of {rules.default_branch}"


def _default_branch_only(variables: Mapping[str, str], payload: Mapping[str, Any], rules: Rules) -> str:
    branch = f"refs/heads/{rules.default_branch}"
    _same("GITHUB_REF", _variable(variables, "GITHUB_REF"), branch)
    _same("the payload's ref", at(payload, "ref", str), branch)
    return f"started by hand on {rules.default_branch}"


def _schedule(variables: Mapping[str, str], payload: Mapping[str, Any], rules: Rules) -> str:
    _same("GITHUB_REF", _variable(variables, "GITHUB_REF"), f"refs/heads/{rules.default_branch}")
    at(payload, "schedule", str)
    return f"the schedule of {rules.default_branch}"


def is_approver(login: str, rules: Rules) -> bool:
    """Whether a login may let forks run. GitHub's logins are ASCII and ignore case."""
    return login.isascii() and login.lower() in [name.lower() for name in rules.approvers]


def _workflow(workflow_ref: str, rules: Rules) -> tuple[str, str]:
    """Split ``owner/name/.github/workflows/file.yml@refs/…`` after its repository."""
    path, separator, ref = workflow_ref.partition("@")
    prefix = rules.repository + "/"
    if not separator or not path.startswith(prefix) or path[len(prefix) :] not in rules.workflows:
        raise Refusal(f"{_quoted(workflow_ref)} is none of the workflows that may run here")
    return path[len(prefix) :], ref


def _variable(variables: Mapping[str, str], name: str) -> str:
    if not variables.get(name):
        raise Refusal(f"the runner gave no {name}")
    return variables[name]


def _sha(what: str, value: str) -> str:
    if SHA.fullmatch(value) is None:
        raise Refusal(f"{what} is no SHA: {_quoted(value)}")
    return value


def _same(what: str, value: str | int, expected: str | int) -> None:
    if value != expected:
        raise Refusal(f"{what} is {_quoted(str(value))}, not {expected}")


def _quoted(value: str) -> str:
    """Strangers' text for a log: one line, short, no workflow commands."""
    shown = "".join(sign if sign.isascii() and sign.isprintable() else "?" for sign in value[:120])
    return "'" + shown.replace("::", ":?").replace("##[", "#?[") + "'"
