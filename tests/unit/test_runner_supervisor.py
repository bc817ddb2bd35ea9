"""Root's supervisor: what it lets onto the box, what it ends, what it leaves, from what GitHub's API says."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

pytest.importorskip("kernelperf_runner", reason="the runner's programs (.github/runner) are not beside these tests")

from kernelperf_runner import box as real_box
from kernelperf_runner.api import MOST_PAGES, Api, Unreachable
from kernelperf_runner.document import Refusal
from kernelperf_runner.supervisor import POLL_S, Supervisor, waiting
from runner_jobs import WORKFLOW, rules

OURS, FORK = 186853002, 4711
HEAD = "a" * 40
Run = dict[str, Any]


def run(number: int, event: str = "push", branch: str = "main", **changed: Any) -> Run:
    """A run as GitHub's API gives it, of the repository itself."""
    return {
        "id": number, "event": event, "path": WORKFLOW, "head_branch": branch, "head_sha": HEAD, "status": "queued",
        "repository": {"id": OURS}, "head_repository": {"id": OURS, "owner": {"login": "Codertocat"}},
    } | changed  # fmt: skip


def of_a_fork(number: int, **changed: Any) -> Run:
    """A fork's pull request's run."""
    return run(number, "pull_request", "fix", head_repository={"id": FORK, "owner": {"login": "stranger"}}) | changed


class GitHub:
    """A repository's runs, jobs, pull requests and events, as the API would give them."""

    def __init__(self, *runs: Run) -> None:
        self.runs = list(runs)
        self.pulls = [{"number": 7, "head": {"sha": HEAD, "repo": {"id": FORK}}, "base": {"repo": {"id": OURS}}}]
        self.events: list[Run] = []
        self.labels = ["self-hosted", "Linux", "gfx1151", "perf"]
        self.on: dict[int, str] = {}
        self.posted: list[str] = []

    def get(self, path: str, **query: str | int) -> Any:
        raise AssertionError(path)

    def pages(self, path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
        if path == "actions/runs":
            return [found for found in self.runs if found["status"] == query["status"]]
        if path.endswith("/jobs"):
            number = int(path.split("/")[2])
            status = "in_progress" if number in self.on else "queued"
            return [{"status": status, "labels": self.labels, "runner_name": self.on.get(number)}]
        if path == "pulls":
            return self.pulls if query["head"] == "stranger:fix" else []
        assert path == "issues/7/events"
        return self.events

    def post(self, path: str, body: Any = None) -> Any:
        self.posted.append(path)
        if path.endswith("/cancel"):
            self.runs = [found for found in self.runs if found["id"] != int(path.split("/")[2])]
            return None
        assert body["labels"][0] == "self-hosted"
        self.name = body["name"]
        return {"encoded_jit_config": "once", "runner": {"id": 1}}


class Box:
    """A machine that writes down what is done to it; the job ends after a few looks."""

    def __init__(self, looks: int = 3, fails: str = "") -> None:
        self.did: list[str] = []
        self.looks, self.fails = looks, fails

    def _do(self, what: str) -> None:
        self.did.append(what)
        if what == self.fails:
            raise OSError(f"{what} failed")

    def prepare(self, configuration: str) -> None:
        assert configuration == "once"
        self._do("prepare")

    def start(self) -> None:
        self._do("start")

    def running(self) -> bool:
        self.looks -= 1
        return self.looks >= 0

    def kill(self) -> None:
        if "start" in self.did:
            self.looks = 0
        self._do("kill")

    def clear(self) -> None:
        self._do("clear")


def serve(github: GitHub, box: Box, sleep: Any = lambda seconds: None) -> tuple[bool, list[str]]:
    """One round; whether a job was served, and what was said."""
    said: list[str] = []
    return Supervisor(github, box, rules(), said.append, sleep).serve_once(), said


def label(name: str = f"perf-ok:{HEAD}", who: str = "approver", event: str = "labeled", kind: str = "User") -> Run:
    """An event of the pull request's history."""
    return {"event": event, "label": {"name": name}, "actor": {"login": who, "type": kind}}


class TestVetting:
    """Which runs may have the box."""

    @pytest.mark.parametrize(
        "allowed",
        [
            run(1),
            run(1, "pull_request", "mine"),
            run(1, "merge_group", "gh-readonly-queue/main/pr-1-abc"),
            run(1, "schedule", path=".github/workflows/kernelperf-watch.yml@refs/heads/main"),
        ],
    )
    def test_the_repositorys_own_runs_have_it(self, allowed: Run) -> None:
        """Its pull requests, its main branch, its queue, its schedule."""
        assert [each.allowed for each in waiting(GitHub(allowed), rules())] == [True]

    @pytest.mark.parametrize(
        "refused",
        [
            run(1, "push", "other"),
            run(1, "workflow_dispatch", "mine"),
            run(1, "pull_request_target"),
            run(1, path=".github/workflows/mine.yml"),
            run(1, "merge_group", "main"),
            run(1, repository={"id": 1}),
            run(1, head_repository=None),
            of_a_fork(1),
            of_a_fork(1, event="push"),
        ],
    )
    def test_others_are_cancelled_and_no_runner_is_registered(self, refused: Run) -> None:
        """Not even for the run beside it that may: the job that a runner gets is GitHub's choice."""
        github, box = GitHub(refused, run(2)), Box()
        served, said = serve(github, box)
        assert (served, github.posted, box.did) == (False, ["actions/runs/1/cancel"], [])
        assert "run 1 may NOT have this box" in said[0]
        assert serve(github, box)[0], "the one beside it has its turn in the next round"

    def test_a_fork_runs_once_an_approver_has_labelled_its_commit(self) -> None:
        """From the pull request's history, which GitHub writes."""
        github = GitHub(of_a_fork(1))
        github.events = [label()]
        assert [each.sentence for each in waiting(github, rules())] == [f"approver let commit {HEAD} run"]

    @pytest.mark.parametrize(
        "events",
        [
            [label(who="stranger")],
            [label(kind="Bot")],
            [label("perf-ok")],
            [label(f"perf-ok:{'b' * 40}")],
            [label(), label(event="unlabeled")],
            [label(), label(event="unlabeled"), label(who="stranger")],
            [label(event="unlabeled")],
            [{"event": "labeled", "label": None, "actor": None}, {"event": "closed"}],
        ],
    )
    def test_nothing_else_in_its_history_lets_it_run(self, events: list[Run]) -> None:
        """Others' labels, other commits' labels, labels that were taken off."""
        github = GitHub(of_a_fork(1))
        github.events = events
        assert [each.allowed for each in waiting(github, rules())] == [False]

    def test_a_label_of_another_pull_request_does_not_count(self) -> None:
        """The head's SHA and its repository are the run's."""
        github = GitHub(of_a_fork(1))
        github.events = [label()]
        github.pulls[0]["head"]["sha"] = "b" * 40  # type: ignore[index]
        assert not waiting(github, rules())[0].allowed
        github.pulls[0]["head"] = {"sha": HEAD, "repo": {"id": FORK + 1}}
        assert not waiting(github, rules())[0].allowed

    def test_jobs_for_other_machines_are_no_matter(self) -> None:
        """A fork's hosted job runs elsewhere; a job that wants only a part of our labels would come here."""
        github = GitHub(of_a_fork(1))
        github.labels = ["ubuntu-24.04"]
        assert waiting(github, rules()) == ()
        github.labels = ["self-hosted"]
        assert len(waiting(github, rules())) == 1


class TestAJob:
    """From its runner's registration to the empty box."""

    def test_a_job_gets_a_fresh_runner_and_leaves_nothing(self) -> None:
        """Registered for one job, watched, ended, cleared."""
        github, box = GitHub(run(1)), Box()
        assert serve(github, box)[0]
        assert github.posted == ["actions/runners/generate-jitconfig"]
        assert box.did == ["prepare", "start", "kill", "clear"]

    def test_it_begins_with_a_clean_box_and_goes_on_after_what_went_wrong(self) -> None:
        """A job that outlived its supervisor is ended; an answer that did not come is said, and asked for again."""
        github, box = GitHub(run(1)), Box()
        said: list[str] = []
        rounds = iter([Unreachable("GitHub answered 502"), None])

        def sleep(seconds: float) -> None:
            if "start" in box.did:
                github.runs.clear()  # it has its job
                if seconds == POLL_S:
                    raise KeyboardInterrupt

        def pages(path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
            problem = next(rounds, None)
            if problem is not None:
                raise problem
            return GitHub.pages(github, path, key, **query)

        github.pages = pages  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            Supervisor(github, box, rules(), said.append, sleep).serve()
        assert said[0] == "GitHub answered 502"
        assert box.did[:4] == ["kill", "clear", "prepare", "start"]

    def test_whatever_goes_wrong_in_a_round_is_said(self) -> None:
        """Also what nobody thought of: a supervisor that ends leaves the box to nobody."""
        said: list[str] = []
        box = Box()

        def prepare(configuration: str) -> None:
            raise RecursionError("too deep")

        def sleep(seconds: float) -> None:
            raise KeyboardInterrupt

        box.prepare = prepare  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            Supervisor(GitHub(run(1)), box, rules(), said.append, sleep).serve()
        assert said[-1] == "this round failed: RecursionError('too deep')"
        assert "start" not in box.did

    def test_nothing_waits_nothing_listens(self) -> None:
        """A box without work has no runner."""
        github, box = GitHub(), Box()
        assert not serve(github, box)[0]
        assert (github.posted, box.did) == ([], [])

    @pytest.mark.parametrize("fails", ["prepare", "start"])
    def test_whatever_fails_the_box_is_cleared(self, fails: str) -> None:
        """A full disk, a unit that does not start."""
        box = Box(fails=fails)
        with pytest.raises(OSError, match=fails):
            serve(GitHub(run(1)), box)
        assert box.did[-2:] == ["kill", "clear"]

    def test_a_runner_that_gets_no_job_is_ended(self) -> None:
        """What it was registered for was cancelled; only GitHub's own word counts, not its silence."""
        github, box = GitHub(run(1)), Box(looks=10_000)
        served, said = serve(github, box)
        assert served
        assert said[-1] == "no job came within 600 s"
        assert box.did == ["prepare", "start", "kill", "clear"]
        github, box = GitHub(run(1)), Box(looks=10_000)
        real = github.pages

        def silent(path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
            if "start" in box.did and path == "actions/runs":
                raise Unreachable("GitHub answered 502")
            return real(path, key, **query)

        github.pages = silent  # type: ignore[method-assign]
        said = serve(github, box)[1]
        assert said[-1] == "GitHub answered 502; the gate inside the runner still holds"
        assert box.looks <= 0

    @pytest.mark.parametrize(("late", "ended"), [(of_a_fork(2), True), (run(2, "pull_request", "mine"), False)])
    def test_a_job_that_slipped_in_is_vetted_and_ended(self, late: Run, ended: bool) -> None:
        """It came after the vetting, and GitHub gave it the runner."""
        github, box = GitHub(run(1)), Box(looks=4)

        def sleep(seconds: float) -> None:
            if len(github.runs) == 1:
                github.runs.append(late | {"status": "in_progress"})
                github.on[2] = github.name

        assert serve(github, box, sleep)[0]
        assert box.did == ["prepare", "start", *["kill"] * ended, "kill", "clear"]


class TestTheApi:
    """urllib against a server on this machine."""

    @pytest.fixture
    def server(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """A server that answers what it is told to; what it was asked stands in ``asked``."""
        answers: dict[str, Any] = {"asked": []}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                answers["asked"].append((url.path, dict(parse_qsl(url.query)), self.headers["Authorization"]))
                status, body = answers["answer"](dict(parse_qsl(url.query)))
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            def log_message(self, *arguments: Any) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as serving:
            threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
            yield f"http://127.0.0.1:{serving.server_port}", answers
            serving.shutdown()

    def test_all_pages_are_read(self, server: tuple[str, dict[str, Any]]) -> None:
        """A label on the second page is one too."""
        url, answers = server
        answers["answer"] = lambda query: (200, {"jobs": [{"n": 1}] * (100 if query["page"] == "1" else 3)})
        assert len(Api("o/r", "secret", url).pages("actions/runs/1/jobs", "jobs")) == 103
        assert answers["asked"][0] == (
            "/repos/o/r/actions/runs/1/jobs",
            {"per_page": "100", "page": "1"},
            "Bearer secret",
        )

    @pytest.mark.parametrize("answer", [(500, {}), (403, {}), (200, b"<html>"), (200, {"jobs": None}), (200, [])])
    def test_what_is_no_answer_is_an_error_and_never_an_empty_list(
        self, server: tuple[str, dict[str, Any]], answer: Any
    ) -> None:
        """Nothing found and nothing known are two things."""
        url, answers = server
        answers["answer"] = lambda query: answer
        with pytest.raises(Unreachable) as problem:
            Api("o/r", "secret", url).pages("jobs", "jobs")
        assert "secret" not in str(problem.value)

    def test_endless_pages_are_an_error(self, server: tuple[str, dict[str, Any]]) -> None:
        """A part could look like all."""
        url, answers = server
        answers["answer"] = lambda query: (200, [{}] * 100)
        with pytest.raises(Unreachable, match=f"more than {MOST_PAGES} pages"):
            Api("o/r", "secret", url).pages("issues/1/events")


def test_the_supervisor_and_githubs_own_description_of_its_api_agree() -> None:
    """Its requests and what it reads are those that GitHub publishes; a labelled fork is served, another is not."""
    server = pytest.importorskip("github_api.server", reason="the stand-in needs openapi-core")
    world = pytest.importorskip("github_api.world").World("Codertocat/Hello-World")
    job = {"status": "queued", "labels": ["self-hosted", "gfx1151"]}
    fork = {"event": "pull_request", "path": WORKFLOW, "status": "queued", "head_branch": "fix", "head_sha": HEAD,
            "head_repository": "stranger/Hello-World", "jobs": [job]}  # fmt: skip
    world.runs[1] = fork
    with server.GitHub(world) as github:
        api = Api(world.repository, next(iter(world.tokens)), github.url)
        box_rules = rules({"repository": {"full_name": world.repository, "id": 1 + sum(world.repository.encode())}})
        said: list[str] = []
        box = Box()
        box.prepare = lambda configuration: box.did.append("prepare")  # type: ignore[method-assign]
        supervisor = Supervisor(api, box, box_rules, said.append, lambda seconds: None)
        assert not supervisor.serve_once()
        assert world.runs[1]["conclusion"] == "cancelled"
        assert "no approver has labelled" in said[0]
        world.runs[2] = fork | {"status": "queued", "conclusion": None}
        pull = world.add_pull("stranger/Hello-World", "fix", HEAD, number=7)
        world.set_label(pull, f"perf-ok:{HEAD}", "approver")
        assert supervisor.serve_once()
        assert said[-1] == f"run 2 may have this box: approver let commit {HEAD} run"
        assert box.did == ["prepare", "start", "kill", "clear"]
        assert github.problems == []


class TestWhatAJobLeaves:
    """The job's folder, emptied by root."""

    @pytest.fixture
    def levels(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """A job's folder of our own; returns the performance levels that were set."""
        levels: list[str] = []
        monkeypatch.setattr(real_box, "JOB", tmp_path / "job")
        monkeypatch.setattr(real_box, "CONFIGURATION", tmp_path / "jitconfig")
        monkeypatch.setattr(real_box, "set_performance_level", lambda root, level: levels.append(level))
        (tmp_path / "job").mkdir()
        return levels

    def test_however_deep_it_is_it_goes(self, tmp_path: Path, levels: list[str]) -> None:
        """A tree deeper than a program may recurse or a path may be long, names that look like options, links."""
        job, outside = tmp_path / "job", tmp_path / "outside"
        outside.mkdir()
        (outside / "kept").touch()
        (job / "-rf").mkdir()
        (job / "link").symlink_to(outside)
        place = os.open(job, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("deep", dir_fd=place)
            below = os.open("deep", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = below
        os.close(place)
        real_box.SystemdBox(rules().machine).clear()
        assert list(job.iterdir()) == []
        assert (outside / "kept").exists()
        assert levels == ["auto"]

    def test_what_left_the_unit_is_ended(
        self, tmp_path: Path, levels: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A process of the job's user that is not in the unit's group any more; nobody else's."""
        ended: list[tuple[int, int]] = []
        for process, user, state in ((41, 990, "S (sleeping)"), (42, 0, "S"), (43, 9900, "S"), (44, 990, "Z (zombie)")):
            (tmp_path / "proc" / str(process)).mkdir(parents=True)
            status = f"Name:\tsystemd\nState:\t{state}\nUid:\t{user}\t{user}\t{user}\t{user}\n"
            (tmp_path / "proc" / str(process) / "status").write_text(status)
        monkeypatch.setattr(real_box, "PROC", tmp_path / "proc")
        monkeypatch.setattr(real_box, "_account", lambda: 990)
        monkeypatch.setattr(os, "kill", lambda process, signal: ended.append((process, signal)))
        with pytest.raises(Refusal, match="left its unit: 41"):
            real_box.SystemdBox(rules().machine).clear()
        assert ended == [(41, 9)]
        assert levels == ["auto"]

    def test_clocks_are_given_back_even_where_something_stays(
        self, tmp_path: Path, levels: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And that it stays is an error, so that no job follows on it."""
        (tmp_path / "job" / "left").touch()
        monkeypatch.setattr(real_box, "REMOVE", ("false",))
        with pytest.raises(Refusal, match="what the last job left could not be deleted"):
            real_box.SystemdBox(rules().machine).clear()
        assert levels == ["auto"]
