"""Root's supervisor: what it lets onto the box, what it ends, what it leaves, from what GitHub's API says."""

from __future__ import annotations

import http.server
import json
import os
import pwd
import signal
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

pytest.importorskip("kernelperf_runner", reason="the runner's programs (.github/runner) are not beside these tests")

from kernelperf_runner import api as api_module
from kernelperf_runner import box as real_box
from kernelperf_runner import command
from kernelperf_runner.api import MOST_PAGES, Api, Unreachable
from kernelperf_runner.document import Refusal
from kernelperf_runner.supervisor import POLL_S, Supervisor, waiting
from runner_jobs import WORKFLOW, rules, settings

OURS, FORK = 186853002, 4711
HEAD = "a" * 40
NOBODY_MAY = struct.pack("<I" + "HHI" * 3, 2, 1, 0, 0xFFFFFFFF, 4, 0, 0xFFFFFFFF, 32, 0, 0xFFFFFFFF)
"""An ACL as Linux keeps it, of version 2: owner, group and others may do nothing."""

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
        self.always = False
        self.deleted: list[str] = []
        self.runners: list[Run] = []

    def get(self, path: str, **query: str | int) -> Any:
        raise AssertionError(path)

    def pages(self, path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
        if path == "actions/runs":
            return [found for found in self.runs if found["status"] == query["status"]]
        if path.endswith("/jobs"):
            number = int(path.split("/")[2])
            status = "in_progress" if number in self.on else "queued"
            return [{"status": status, "labels": self.labels, "runner_name": self.on.get(number)}]
        if path == "actions/runners":
            return self.runners
        if path == "pulls":
            return self.pulls if query["head"] == "stranger:fix" else []
        assert path == "issues/7/events"
        return self.events

    def post(self, path: str, body: Any = None) -> Any:
        self.posted.append(path)
        if path.endswith("cancel"):
            if path.endswith("/cancel") and self.always:
                return None
            self.runs = [found for found in self.runs if found["id"] != int(path.split("/")[2])]
            return None
        assert body["labels"][0] == "self-hosted"
        self.name = body["name"]
        return {"encoded_jit_config": "once", "runner": {"id": 1}}

    def delete(self, path: str) -> None:
        self.deleted.append(path)


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

    def test_a_refused_job_that_always_runs_does_not_stop_the_box(self) -> None:
        """``if: always()`` keeps a job queued through a cancellation: by itself the box would have no runner again."""
        github, box = GitHub(of_a_fork(1), run(2)), Box()
        github.always = True
        supervisor = Supervisor(github, box, rules(), lambda text: None, lambda seconds: None)
        assert [supervisor.serve_once() for _ in range(3)] == [False, False, True]
        assert github.posted[:2] == ["actions/runs/1/cancel", "actions/runs/1/force-cancel"]
        assert supervisor.cancelled == set()

    def test_a_run_that_cannot_be_cancelled_is_said_and_the_others_still_are(self) -> None:
        """GitHub answers 409 for one that ended meanwhile."""
        github, box = GitHub(of_a_fork(1), of_a_fork(2)), Box()
        real = github.post

        def post(path: str, body: Any = None) -> Any:
            if path == "actions/runs/1/cancel":
                raise Unreachable(f"GitHub answered 409 to POST {path}", 409)
            return real(path, body)

        github.post = post  # type: ignore[method-assign]
        served, said = serve(github, box)
        assert not served
        assert github.posted == ["actions/runs/2/cancel"]
        assert "run 1 was not cancelled, and is tried again: GitHub answered 409" in said[1]

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

    @pytest.mark.parametrize("labels", [None, "perf", [{"name": "perf"}], {"perf": 1}, [1]])
    def test_a_job_whose_labels_cannot_be_read_is_not_taken_for_anothers(self, labels: Any) -> None:
        """It might be one for this box that may not run."""
        github = GitHub(of_a_fork(1))
        github.labels = labels
        with pytest.raises(Unreachable, match="not as documented"):
            waiting(github, rules())


class TestAJob:
    """From its runner's registration to the empty box."""

    def test_a_job_gets_a_fresh_runner_and_leaves_nothing(self) -> None:
        """Registered for one job, watched, ended, cleared."""
        github, box = GitHub(run(1)), Box()
        assert serve(github, box)[0]
        assert github.posted == ["actions/runners/generate-jitconfig"]
        assert github.deleted == ["actions/runners/1"]
        assert box.did == ["prepare", "start", "kill", "clear"]

    @pytest.mark.parametrize("status", [404, 422, 0])
    def test_a_runner_that_github_has_forgotten_already_is_as_it_should_be(self, status: int) -> None:
        """All else is said; the job has been served."""
        github, box = GitHub(run(1)), Box()

        def delete(path: str) -> None:
            raise Unreachable(f"no {path}", status)

        github.delete = delete  # type: ignore[method-assign]
        served, said = serve(github, box)
        assert served
        assert (said[-1] == "no actions/runners/1") is (status != 404)

    @pytest.mark.parametrize(
        "answer", [None, [], "x", {}, {"encoded_jit_config": 1}, {"encoded_jit_config": "x", "runner": {"id": "1"}}]
    )
    def test_a_registration_that_is_no_registration_is_an_error(self, answer: Any) -> None:
        """And the box is cleared, whatever the answer was."""
        github, box = GitHub(run(1)), Box()
        real = github.post
        github.post = lambda path, body=None: answer if path.endswith("jitconfig") else real(path, body)  # type: ignore[method-assign]
        said: list[str] = []

        def sleep(seconds: float) -> None:
            raise KeyboardInterrupt

        box.prepare = lambda configuration: box._do("prepare")  # type: ignore[method-assign]
        supervisor = Supervisor(github, box, rules(), said.append, sleep)
        with pytest.raises(KeyboardInterrupt):
            supervisor.serve()
        assert "GitHub's answer has no" in " ".join(said) or "the registration has no" in " ".join(said)
        assert box.did[-2:] == ["kill", "clear"]

    def test_a_spent_rate_limit_is_waited_for(self) -> None:
        """GitHub's word for how long; asking on makes it longer."""
        slept: list[float] = []

        def pages(path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
            raise Unreachable("GitHub answered 403", 403, 77.0)

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            raise KeyboardInterrupt

        github = GitHub(run(1))
        github.pages = pages  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            Supervisor(github, Box(), rules(), lambda text: None, sleep).serve()
        assert slept == [77.0]

    @pytest.mark.parametrize("odd", [{}, {"id": "x"}, {"id": None}])
    def test_an_odd_answer_while_a_job_is_measured_does_not_end_it(self, odd: dict[str, Any]) -> None:
        """The job was vetted; whose it is, is asked again."""
        github, box = GitHub(run(1)), Box(looks=4)
        real, asked = github.pages, [0]

        def pages(path: str, key: str = "", **query: str | int) -> list[dict[str, Any]]:
            if "start" in box.did and path == "actions/runs":
                asked[0] += 1
                return [odd]
            return real(path, key, **query)

        github.pages = pages  # type: ignore[method-assign]
        assert serve(github, box)[0]
        assert asked[0] == 4
        assert box.did == ["prepare", "start", "kill", "clear"]

    def test_it_begins_with_a_clean_box_and_goes_on_after_what_went_wrong(self) -> None:
        """A job that outlived its supervisor is ended; an answer that did not come is said, and asked for again."""
        github, box = GitHub(run(1)), Box()
        said: list[str] = []
        rounds = iter([None, Unreachable("GitHub answered 502"), None])

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

    @pytest.mark.parametrize("fails", [False, True])
    def test_runners_that_a_killed_supervisor_left_are_forgotten(self, fails: bool) -> None:
        """Ours, and not at work; that GitHub cannot be asked keeps no box from serving."""
        github, said = GitHub(), []
        names = (f"box-{'0' * 16}", f"box-{'1' * 16}", "box-mine", f"other-box-{'0' * 16}")
        github.runners = [{"id": n, "name": name, "status": "offline"} for n, name in enumerate(names)]
        github.runners[1]["status"] = "online"
        if fails:
            github.runners[0]["id"] = None

        def sleep(seconds: float) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            Supervisor(github, Box(), rules(), said.append, sleep).serve()
        assert github.deleted == ([] if fails else ["actions/runners/0"])
        assert said == (["a runner has no int in id"] if fails else [])

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


def test_a_supervisor_that_is_stopped_clears_up_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM by itself ends Python on the spot: a job would go on, with clocks that nobody gives back."""
    cleared: list[bool] = []

    class Serving:
        def __init__(self, *given: Any) -> None: ...

        def serve(self) -> None:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.1)
            finally:
                cleared.append(True)

    (tmp_path / "gate.json").write_text(json.dumps(settings()))
    (tmp_path / "token").write_text("secret\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.setattr(command, "Supervisor", Serving)
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with pytest.raises(SystemExit) as ended:
            command.main(["supervise", "--settings", str(tmp_path / "gate.json")])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (ended.value.code, cleared) == (143, [True])


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
                status, body, *headers = answers["answer"](dict(parse_qsl(url.query)))
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body if isinstance(body, bytes) else json.dumps(body).encode())

            do_POST = do_DELETE = do_GET

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

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    @pytest.mark.parametrize("method", ["get", "post", "delete"])
    def test_a_redirect_is_not_followed(self, server: tuple[str, dict[str, Any]], status: int, method: str) -> None:
        """The token would go along, and a cancellation would become a look that "succeeds"."""
        url, answers = server
        answers["answer"] = lambda query: (status, b"", ("Location", f"{url}/elsewhere"))
        with pytest.raises(Unreachable, match="GitHub has moved actions/runs/1/cancel: is the repository's name"):
            getattr(Api("o/r", "secret", url), method)("actions/runs/1/cancel")
        assert [path for path, _, _ in answers["asked"]] == ["/repos/o/r/actions/runs/1/cancel"]

    @pytest.mark.parametrize(
        ("status", "headers", "wait_s", "said"),
        [
            (401, [], 0, "expired or was revoked"),
            (404, [], 0, "does not see that"),
            (429, [("Retry-After", "61")], 61, "rate limit is spent"),
            (403, [("Retry-After", "soon")], 0, "rate limit"),
            (403, [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "1")], 0, "rate limit"),
            (403, [("X-RateLimit-Remaining", "0"), ("X-RateLimit-Reset", "99999999999")], 900, "rate limit"),
            (500, [("Retry-After", "9" * 400)], 900, "answered 500"),
        ],
    )
    def test_an_error_says_what_to_do_and_how_long_to_wait(
        self, server: tuple[str, dict[str, Any]], status: int, headers: list[tuple[str, str]], wait_s: float, said: str
    ) -> None:
        """A quarter of an hour at most: a clock may be wrong."""
        url, answers = server
        answers["answer"] = lambda query: (status, b"", *headers)
        with pytest.raises(Unreachable, match=said) as problem:
            Api("o/r", "secret", url).get("x")
        assert (problem.value.status, problem.value.wait_s) == (status, wait_s)

    @pytest.mark.parametrize(
        ("body", "headers", "why"),
        [
            (b'{"jobs": [', [], "could not be asked"),
            (b"[" * 100_000, [], "could not be asked"),
            (b'{"a": 1}', [("Content-Length", "9000")], None),
            (b"zz\r\n", [("Transfer-Encoding", "chunked")], "could not be asked"),
            (b" " * 2000, [], "could not be asked"),
        ],
    )
    def test_half_an_answer_is_an_error_of_the_round(
        self,
        server: tuple[str, dict[str, Any]],
        body: bytes,
        headers: list[tuple[str, str]],
        why: str | None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Cut off, nested too deep, not as its headers say, or larger than GitHub's are."""
        monkeypatch.setattr(api_module, "LARGEST_BYTES", 150_000 if len(body) != 2000 else 1000)
        url, answers = server
        answers["answer"] = lambda query: (200, body, *headers)
        if why is None:
            assert Api("o/r", "secret", url).get("x") == {"a": 1}
            return
        with pytest.raises(Unreachable, match=why):
            Api("o/r", "secret", url).get("x")

    def test_an_answer_that_drips_is_an_error(
        self, server: tuple[str, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A time-out is for each read: a byte now and then would hold the supervisor for ever."""
        monkeypatch.setattr(api_module, "WHOLE_S", -1.0)
        url, answers = server
        answers["answer"] = lambda query: (200, b"{}")
        with pytest.raises(Unreachable, match="took longer"):
            Api("o/r", "secret", url).get("x")

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
        assert world.runners == {}
        world.runners[77] = {"name": f"box-{'0' * 16}", "status": "offline", "labels": []}
        supervisor._forget_left()
        assert world.runners == {}
        world.runs[3] = fork | {"status": "queued", "conclusion": None, "always": True, "head_sha": "b" * 40}
        supervisor.serve_once()
        assert world.runs[3]["status"] == "queued"
        supervisor.serve_once()
        assert world.runs[3]["conclusion"] == "cancelled"
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
        for _ in range(1100):
            os.mkdir("deep", dir_fd=place)
            below = os.open("deep", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = below
        os.close(place)
        real_box.SystemdBox(rules().machine).clear()
        assert list(job.iterdir()) == []
        assert (outside / "kept").exists()
        assert levels == ["auto"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="root's part needs root")
    def test_what_it_did_to_the_folder_itself_does_not_outlive_it(
        self, tmp_path: Path, levels: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """``chmod 0`` by one job would keep every later runner from starting; the folder is root's, not a job's."""
        job, pristine = tmp_path / "job", tmp_path / "pristine"
        (pristine / "bin").mkdir(parents=True)
        (pristine / "run.sh").write_text("#!/bin/sh\n")
        (pristine / "run.sh").chmod(0o755)
        (pristine / "bin" / "link").symlink_to("/etc/passwd")
        monkeypatch.setattr(real_box, "PRISTINE", pristine)
        monkeypatch.setattr(real_box.pwd, "getpwnam", lambda name: pwd.struct_passwd((name, "x", 4242, 4243, *"abc")))
        os.chown(job, 4242, 4243)
        job.chmod(0)
        with suppress(OSError):  # a file system without ACLs
            os.setxattr(job, "system.posix_acl_default", NOBODY_MAY)
        owner = os.stat("/etc/passwd").st_uid
        real_box.SystemdBox(rules().machine).prepare("once")
        assert (job.stat().st_uid, job.stat().st_mode & 0o7777) == (0, 0o711)
        assert "system.posix_acl_default" not in os.listxattr(job)
        for place in (job / "runner", job / "home"):
            assert (place.stat().st_uid, place.stat().st_gid, place.stat().st_mode & 0o7777) == (4242, 4243, 0o700)
        assert (job / "runner" / "run.sh").stat().st_mode & 0o7777 == 0o755
        assert (job / "runner" / "run.sh").stat().st_uid == (job / "runner" / "bin" / "link").lstat().st_uid == 4242
        assert os.stat("/etc/passwd").st_uid == owner
        assert (tmp_path / "jitconfig").read_text() == "once"
        assert (tmp_path / "jitconfig").stat().st_mode & 0o777 == 0o600

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
