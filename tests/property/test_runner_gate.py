"""The gate over generated variants of real payloads: what must never run does not, and nothing makes it fall over."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("kernelperf_runner", reason="the runner's programs (.github/runner) are not beside these tests")

from kernelperf_runner.document import Refusal, parse
from kernelperf_runner.gate import APPROVAL, decide
from runner_jobs import examples, fork, rules, variables

shas = st.text("0123456789abcdef", min_size=40, max_size=40)
names = st.text(max_size=60) | st.sampled_from(["perf-ok", "perf-ok:", "slow-ok:", "bug"])
actions = st.sampled_from(["opened", "synchronize", "reopened", "labeled", "unlabeled", "edited", "closed"])
junk = st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just([]) | st.just({}) | st.just("approver")


def runs(event: str, payload: Any, **changed: str) -> bool:
    """Whether the job may run; anything but a refusal or a sentence is a failure of the gate."""
    box = rules({"repository": {"full_name": "Codertocat/Hello-World", "id": 186853002}})
    job = variables("pull_request", fork()) | {"GITHUB_EVENT_NAME": event} | changed
    try:
        return bool(decide(job, payload, box))
    except Refusal:
        return False


@given(action=actions, head=shas, labels=st.lists(names | shas.map("perf-ok:{}".format)), label=names, sender=names)
def test_a_fork_without_an_approval_of_its_commit_never_runs(
    action: str, head: str, labels: list[str], label: str, sender: str
) -> None:
    """Whatever labels it has, whoever set them, whatever happened to it."""
    payload = fork(action, label, head, sender)
    payload["label"] = {"name": label}
    payload["pull_request"]["labels"] = [{"name": name} for name in labels if name != f"perf-ok:{head}"]
    assert not runs("pull_request", payload)


@given(
    approved=shas,
    other=shas,
    moved=st.booleans(),
    action=actions,
    prefix=st.sampled_from(APPROVAL),
    sender=st.sampled_from(["approver", "x"]),
)
def test_a_push_after_the_label_never_runs(
    approved: str, other: str, moved: bool, action: str, prefix: str, sender: str
) -> None:
    """The label that is set names one commit; the head is another."""
    pushed = other if moved else approved
    payload = fork(action, "", pushed, sender)
    payload["label"] = {"name": prefix + approved}
    payload["pull_request"]["labels"] = [{"name": prefix + approved}]
    allowed = runs("pull_request", payload)
    assert allowed == (approved == pushed and action == "labeled" and sender == "approver")


@given(data=st.data())
def test_an_approved_payload_that_was_damaged_anywhere_never_runs_anything_else(data: st.DataObject) -> None:
    """One value replaced by junk: either the job is refused, or what decides is untouched."""
    payload = fork("labeled", "perf-ok:" + "a" * 40)
    path: list[str] = []
    place: Any = payload
    while isinstance(place, dict) and place and (not path or data.draw(st.booleans())):
        path.append(data.draw(st.sampled_from(sorted(place))))
        place = place[path[-1]]
    damaged = copy.deepcopy(payload)
    inner = damaged
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value = data.draw(junk)
    if runs("pull_request", damaged):
        deciding = (
            "action",
            "number",
            "label",
            "sender",
            "repository",
            "sha",
            "state",
            "head",
            "base",
            "repo",
            "labels",
        )
        touched = path[-1] in (*deciding, "pull_request", "login", "type", "id", "full_name", "name")
        assert not touched or value == place or _not_asked(path), path


def _not_asked(path: list[str]) -> bool:
    """Places of those names that no rule reads."""
    read = {
        "action", "number", "label", "label.name", "sender", "sender.login", "sender.type", "repository",
        "repository.id", "repository.full_name", "pull_request", "pull_request.number", "pull_request.state",
        "pull_request.head", "pull_request.head.sha", "pull_request.head.repo", "pull_request.head.repo.id",
        "pull_request.base", "pull_request.base.repo", "pull_request.base.repo.id", "pull_request.labels",
    }  # fmt: skip
    return ".".join(path) not in read


@given(text=st.binary(max_size=200), cut=st.integers(0, 3000), flip=st.integers(0, 3000))
def test_a_damaged_payload_never_runs(text: bytes, cut: int, flip: int) -> None:
    """Cut off, or with one byte that breaks it, it is refused as a whole."""
    whole = json.dumps(fork("labeled", "perf-ok:" + "a" * 40)).encode()
    for damaged in (whole[: min(cut, len(whole) - 1)], text, whole[:flip] + b"\x00" + whole[flip + 1 :]):
        with pytest.raises(Refusal):
            decide({}, parse(damaged, "the payload"), rules())


@given(event=st.sampled_from(sorted(set(examples()) - {"pull_request"})), number=st.integers(0, 400), data=st.data())
def test_no_event_passes_for_another(event: str, number: int, data: st.DataObject) -> None:
    """A real payload of one event under another event's name: refused, and without falling over."""
    payload = examples()[event][number % len(examples()[event])]
    name = data.draw(st.sampled_from(["pull_request", "push", "merge_group", "workflow_dispatch", "schedule"]))
    if name != event:
        assert not runs(name, payload)
