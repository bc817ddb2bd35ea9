"""Who may run on the box: the gate over GitHub's real payloads and over what attackers would try."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("kernelperf_runner", reason="the runner's programs (.github/runner) are not beside these tests")

import runner_jobs
from kernelperf_runner.document import Refusal, at, parse, read
from kernelperf_runner.gate import decide
from kernelperf_runner.rules import Rules, read_rules, rules_of
from runner_jobs import ONE, WORKFLOW, Payload, examples, fork, pull_request, rules, settings, variables

HEAD = "a" * 40
EXAMPLE = Path(__file__).parents[2] / ".github" / "runner" / "gate.example.json"


def why_not(event: str, payload: Payload, box: Rules | None = None, **changed: str) -> str:
    """The sentence of the refusal."""
    with pytest.raises(Refusal) as refusal:
        decide(variables(event, payload) | changed, payload, box or rules(payload))
    return str(refusal.value)


class TestTheCorpus:
    """Every payload that GitHub documents."""

    def test_only_events_with_a_rule_ever_run(self) -> None:
        """Of 58 kinds of events, those that the box has no rule for are refused, whatever they hold."""
        refused = 0
        for event, payloads in examples().items():
            for payload in payloads:
                if event in ("pull_request", "push", "merge_group", "workflow_dispatch") or "repository" not in payload:
                    continue
                assert "may not run here for the event" in why_not(event, payload), event
                refused += 1
        assert refused > 150

    def test_pull_requests_from_within_run_when_code_came(self) -> None:
        """Opened, pushed to, reopened or labelled, and open: those run, and no others do."""
        ran = []
        for payload in examples()["pull_request"]:
            try:
                decide(variables("pull_request", payload), payload, rules(payload))
                ran.append(payload["action"])
            except Refusal:
                assert payload["action"] not in ("opened", "synchronize", "reopened", "labeled")
        assert set(ran) == {"opened", "synchronize", "reopened", "labeled"}

    def test_none_of_them_runs_once_it_comes_from_a_fork(self) -> None:
        """Not one of the examples bears an approval."""
        for payload in map(copy.deepcopy, examples()["pull_request"]):
            payload["pull_request"]["head"]["repo"] = {"id": 1, "full_name": "someone/else", "fork": True}
            why_not("pull_request", payload)

    def test_the_main_branch_and_its_queue_run(self) -> None:
        """Pushes to another branch, and deletions, do not."""
        ran = 0
        for event in ("push", "merge_group", "workflow_dispatch"):
            for payload in examples()[event]:
                branch = payload["repository"].get("default_branch") or "main"
                try:
                    decide(variables(event, payload), payload, rules(payload, default_branch=branch))
                    ran += 1
                except Refusal:
                    assert payload.get("deleted") or payload.get("ref") != f"refs/heads/{branch}"
        assert ran >= 4

    def test_a_schedule_runs_on_the_default_branch(self) -> None:
        """Its payload has hardly more than the schedule."""
        payload = {"schedule": "17 4 * * 1"}
        job = variables("schedule", payload, ".github/workflows/kernelperf-watch.yml")
        assert decide(job, payload, rules()) == "the schedule of main"
        with pytest.raises(Refusal, match="may not run here for the event 'schedule'"):
            decide(variables("schedule", payload), payload, rules())


class TestForks:
    """A stranger's code."""

    @pytest.mark.parametrize("action", ["opened", "synchronize", "reopened"])
    def test_a_fork_does_not_run_by_itself(self, action: str) -> None:
        """The sentence says what would let it run."""
        assert f"an approver sets the label perf-ok:{HEAD}" in why_not("pull_request", fork(action))

    @pytest.mark.parametrize("prefix", ["perf-ok:", "slow-ok:"])
    def test_an_approvers_label_with_the_commits_sha_lets_it_run(self, prefix: str) -> None:
        """That commit, and the log says who let it."""
        payload = fork("labeled", prefix + HEAD)
        assert decide(variables("pull_request", payload), payload, rules(payload)) == (
            f"approver let commit {HEAD} of pull request {payload['number']} run"
        )

    def test_a_push_after_the_label_does_not_run(self) -> None:
        """The label is still there, and names another commit; also where a bot sets some label after the push."""
        pushed = fork("synchronize", head="b" * 40)
        pushed["pull_request"]["labels"].append({"name": f"perf-ok:{HEAD}"})
        why_not("pull_request", pushed)
        bot = fork("labeled", "size/M", head="b" * 40, sender="bot")
        bot["pull_request"]["labels"].append({"name": f"perf-ok:{HEAD}"})
        assert "is another label or names another commit" in why_not("pull_request", bot)

    def test_a_push_between_looking_and_clicking_does_not_run(self) -> None:
        """The approver labels the commit that was looked at; the event then carries the newer head."""
        why_not("pull_request", fork("labeled", f"perf-ok:{HEAD}", head="b" * 40))

    @pytest.mark.parametrize(
        "label", ["perf-ok", "perf-ok:", f"perf-ok:{HEAD[:12]}", f"perf-ok:{HEAD} ", f"Perf-ok:{HEAD}", f"x:{HEAD}"]
    )
    def test_a_label_without_the_whole_sha_is_none(self, label: str) -> None:
        """A part of a SHA can be matched by trying."""
        why_not("pull_request", fork("labeled", label))

    @pytest.mark.parametrize("sender", ["stranger", "", "approver\n", "approver[bot]"])
    def test_others_labels_do_not_count(self, sender: str) -> None:
        """Who may set labels is not who may let code run on the box."""
        assert "no approver of this box" in why_not("pull_request", fork("labeled", f"perf-ok:{HEAD}", sender=sender))

    def test_logins_ignore_case_as_github_does(self) -> None:
        """But no look-alikes of other alphabets."""
        payload = fork("labeled", f"perf-ok:{HEAD}", sender="Approver")
        decide(variables("pull_request", payload), payload, rules(payload))
        why_not("pull_request", fork("labeled", f"perf-ok:{HEAD}", sender="аpprover"))

    def test_a_login_that_a_company_manages_may_approve(self) -> None:
        """It has an underscore, which no other has."""
        payload = fork("labeled", f"perf-ok:{HEAD}", sender="name_company")
        decide(variables("pull_request", payload), payload, rules(payload, approvers=["name_company"]))

    def test_without_approvers_no_fork_runs(self) -> None:
        """The settings as they are installed."""
        payload = fork("labeled", f"perf-ok:{HEAD}")
        why_not("pull_request", payload, rules(payload, approvers=[]))

    def test_a_bot_is_no_approver(self) -> None:
        """Even one that has an approver's name."""
        payload = fork("labeled", f"perf-ok:{HEAD}")
        payload["sender"]["type"] = "Bot"
        why_not("pull_request", payload)

    def test_a_label_that_was_taken_off_again_does_not_count(self) -> None:
        """As the payload has it."""
        payload = fork("labeled", f"perf-ok:{HEAD}")
        payload["pull_request"]["labels"] = []
        assert "does not have it any more" in why_not("pull_request", payload)

    def test_a_fork_that_is_gone_does_not_run(self) -> None:
        """GitHub then gives null for its repository."""
        payload = fork("labeled", f"perf-ok:{HEAD}")
        payload["pull_request"]["head"]["repo"] = None
        assert "has no pull_request.head.repo.id" in why_not("pull_request", payload)

    def test_a_fork_of_the_same_name_is_a_fork(self) -> None:
        """Repositories are told apart by their numbers."""
        payload = fork()
        payload["pull_request"]["head"]["repo"]["full_name"] = payload["repository"]["full_name"]
        assert "comes from a fork" in why_not("pull_request", payload)


class TestTheRest:
    """Workflow, repository, references."""

    @pytest.mark.parametrize(
        "reference",
        [
            "Codertocat/Hello-World/.github/workflows/mine.yml@refs/pull/2/merge",
            "stranger/Hello-World/.github/workflows/kernelperf.yml@refs/pull/2/merge",
            "Codertocat/Hello-World/.github/workflows/../workflows/kernelperf.yml@refs/pull/2/merge",
            f"Codertocat/Hello-World/{WORKFLOW}",
            f"Codertocat/Hello-World/{WORKFLOW}@refs/heads/main",
            "",
        ],
    )
    def test_only_our_workflows_run(self, reference: str) -> None:
        """By file and reference, as the runner says them."""
        why_not("pull_request", pull_request(), GITHUB_WORKFLOW_REF=reference)

    @pytest.mark.parametrize(
        "event", ["pull_request_target", "workflow_run", "issue_comment", "repository_dispatch", "x"]
    )
    def test_events_that_carry_others_code_never_run(self, event: str) -> None:
        """Nor can a settings file allow them."""
        why_not("pull_request", pull_request(), GITHUB_EVENT_NAME=event)
        with pytest.raises(Refusal, match="in workflows"):
            rules_of(settings(workflows={WORKFLOW: [event]}))

    def test_another_repository_does_not_run(self) -> None:
        """A box that was registered for an organisation by mistake."""
        other = rules_of(settings(repository_id=1))
        assert "GITHUB_REPOSITORY_ID" in why_not("pull_request", pull_request(), other)

    @pytest.mark.parametrize("name", list(variables("push", examples()["push"][0])))
    def test_each_variable_must_be_there(self, name: str) -> None:
        """Missing and empty are the same."""
        assert name in why_not("pull_request", pull_request(), **{name: ""})

    def test_a_merge_groups_commit_is_the_jobs(self) -> None:
        """And its base is the main branch."""
        payload = copy.deepcopy(examples()["merge_group"][0])
        assert "the queue's commit" in why_not("merge_group", payload, GITHUB_SHA=ONE)
        payload["merge_group"]["base_ref"] = "refs/heads/other"
        assert "the queue's base" in why_not("merge_group", payload)

    def test_what_is_started_by_hand_is_mains_workflow(self) -> None:
        """A branch's own version of the file is not."""
        payload = copy.deepcopy(examples()["workflow_dispatch"][0])
        payload["ref"] = "refs/heads/mine"
        assert "not refs/heads/main" in why_not("workflow_dispatch", payload)

    def test_strangers_text_stays_one_harmless_line(self) -> None:
        """A refusal goes into the job's log, where lines that begin with :: are commands."""
        said = why_not("pull_request", fork("labeled", "x\n::stop-commands::y##[add-path]z\x1b[31m"))
        assert "\n" not in said
        assert "::" not in said
        assert "##[" not in said, "which older runners took for one anywhere in a line"
        assert "\x1b" not in said


ODD = (
    None,
    True,
    0,
    -1,
    1e308,
    "",
    "labeled",
    "approver",
    f"perf-ok:{HEAD}",
    "\ud800",
    [],
    {},
    [{"name": f"perf-ok:{HEAD}"}],
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a payload."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(value[key], (*path, key))


@pytest.mark.parametrize(
    ("payload", "lets_in"),
    [
        (fork(), set()),
        (fork("labeled", "bug"), set()),
        (fork("labeled", f"perf-ok:{'b' * 40}"), set()),
        (fork("labeled", f"perf-ok:{HEAD}", sender="stranger"), {(("sender", "login"), "approver")}),
    ],
    ids=["pushed", "another label", "another commit", "by a stranger"],
)
def test_no_single_field_lets_a_fork_in(payload: Payload, lets_in: set[Any]) -> None:
    """Each place of a payload, gone or odd: a refusal, never a crash; but for the one field that says who approved."""
    box, job, found, asked = rules(payload), variables("pull_request", payload), set(), 0
    for path in list(places(payload)):
        holder = payload
        for key in path[:-1]:
            holder = holder[key]
        kept = holder[path[-1]]
        for odd in ODD:
            holder[path[-1]] = odd
            asked += 1
            with suppress(Refusal):
                decide(job, payload, box)
                found.add((path, odd))
        holder[path[-1]] = kept
    assert found == lets_in
    assert asked > 2500


class TestDamage:
    """Payloads and settings that are not what they should be."""

    @pytest.mark.parametrize(
        "text",
        [b"", b"[]", b"{", b"\xff\xfe", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000, b'{"a": Infinity}'],
    )
    def test_a_damaged_file_is_refused(self, text: bytes, tmp_path: Path) -> None:
        """With a sentence, never a traceback."""
        (tmp_path / "event.json").write_bytes(text)
        with pytest.raises(Refusal, match="the payload is damaged"):
            read(tmp_path / "event.json", "the payload")

    @pytest.mark.parametrize("kind", ["pipe", "folder", "device", "loop"])
    def test_what_is_no_file_is_refused_and_not_waited_for(self, kind: str, tmp_path: Path) -> None:
        """A gate that hangs lets nobody in, and nobody else out."""
        path = tmp_path / "event.json"
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "folder":
            path.mkdir()
        else:
            path.symlink_to("/dev/zero" if kind == "device" else path)
        with pytest.raises(Refusal, match=r"is no file|cannot be read"):
            read(path, "the payload")

    def test_a_file_that_is_not_there_is_refused(self, tmp_path: Path) -> None:
        """Nor one that is a folder, nor one without a name."""
        for path in (tmp_path / "none", tmp_path, Path(""), Path("a\0b")):
            with pytest.raises(Refusal, match="cannot be read"):
                read(path, "the payload")

    @pytest.mark.parametrize(("path", "kind"), [("a.b", int), ("a.c", str), ("a.b.d", str), ("x", dict), ("a", list)])
    def test_a_value_of_another_type_is_missing(self, path: str, kind: type) -> None:
        """True is no number, and null no text."""
        with pytest.raises(Refusal, match="the event's payload has no"):
            at({"a": {"b": True, "c": None}}, path, kind)

    def test_the_settings_that_are_installed_are_valid(self) -> None:
        """And let no fork run."""
        assert read_rules(EXAMPLE).approvers == ()

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("repository", "x"), ("repository_id", True), ("repository_id", "1"), ("approvers", "me"),
            ("approvers", ["*"]), ("approvers", [""]), ("workflows", []), ("workflows", {"../x.yml": ["push"]}),
            ("machine", {"unknown": 1}), ("machine", {"wait_s": "1"}), ("labels", None), ("more", 1),
        ],
    )  # fmt: skip
    def test_settings_that_could_be_meant_otherwise_are_refused(self, name: str, value: Any) -> None:
        """A slip of the pen must not open the gate."""
        with pytest.raises(Refusal, match="the settings"):
            rules_of(settings(**{name: value}))

    def test_settings_without_a_part_are_refused(self) -> None:
        """There are no defaults for who may run."""
        for name in settings():
            with pytest.raises(Refusal, match="must hold exactly"):
                rules_of({key: value for key, value in settings().items() if key != name})


def test_the_corpus_is_read_strictly_too() -> None:
    """The strict parser takes every real payload, so it refuses none that GitHub sends."""
    for payloads in runner_jobs.examples().values():
        for payload in payloads:
            assert parse(json.dumps(payload).encode(), "it") == payload
