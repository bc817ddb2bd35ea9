"""From a run's event to the pull request's comment, over a stand-in that is held to GitHub's description of its API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from github_api import BOT, Fault, GitHub, World
from github_api.world import GONE

from pytest_kernelperf.cli import main
from pytest_kernelperf.errors import GitHubError
from pytest_kernelperf.github.artifact import MAX_ARCHIVE_BYTES
from pytest_kernelperf.github.body import MAX_CHARACTERS, Body, Mark, read_body
from pytest_kernelperf.github.client import Client
from pytest_kernelperf.github.event import RunEvent, read_event
from pytest_kernelperf.github.posting import Wish, post
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.comment import Links
from pytest_kernelperf.report.judging import Judging
from pytest_kernelperf.report.room import characters

OWN, FORK = "owner/project", "stranger/project"
FIRST, SECOND = "a" * 40, "c" * 40
GOLDEN = (Path(__file__).parents[1] / "golden" / "run.json").read_bytes()
NESTED = b"".join(b"[%d," % place for place in range(50_000))
WISH = Wish(OWN, "https://github.test", ("kernelperf", "kernelperf-hosted"), BOT)


def run_json(commit: str = FIRST) -> bytes:
    """A run file of a commit."""
    return json.dumps({**json.loads(GOLDEN), "commit": commit}).encode()


def unaccepted() -> bytes:
    """A run file in which nobody has accepted anything."""
    run = json.loads(run_json())
    run["records"] = [one for one in run["records"] if one["decision"]["verdict"] != "accepted"]
    return json.dumps(run).encode()


class Plain:
    """Says what it was given."""

    def result(self, found: Run | str, links: Links, judging: Judging) -> str:
        return found if isinstance(found, str) else f"result of {found.commit[:4]}"

    def banner(self, state: str, links: Links) -> str:
        return f"{state} {links.commit[:4]} at {links.head[:4]}"


class Place:
    """A pull request on the stand-in, and events about it."""

    def __init__(self, github: GitHub) -> None:
        self.github, self.world = github, github.world
        self.slept: list[float] = []
        self.client = Client(OWN, "ghs_stand_in", github.url, self.slept.append, lambda: 1_000_000.0)
        self.pull = self.world.add_pull(OWN, "change", FIRST)
        self.world.runs = {number: {"event": "pull_request", "status": "completed"} for number in (7, 8, 9)}

    @staticmethod
    def event(run: int = 7, commit: str = FIRST, *, over: bool = True, **more: Any) -> RunEvent:
        """A run of a commit has begun, or is over."""
        fields = {"is_over": over, "kind": "pull_request", "run": run, "attempt": 1, "owner": "owner",
                  "repository": OWN, "branch": "change", "commit": commit, "conclusion": "failure" if over else "",
                  **more}  # fmt: skip
        return RunEvent(**fields)

    def ends(self, run: int = 7, commit: str = FIRST, data: bytes | None = None, **more: Any) -> str:
        """A run ends, with an artifact."""
        files = {"run.json": run_json(commit) if data is None else data, "traces/x/head.db": b"SQLite"}
        self.world.add_artifact(run, "kernelperf", files)
        return self.post(run, commit, **more)

    def post(self, run: int = 7, commit: str = FIRST, **more: Any) -> str:
        """Act on an event."""
        return post(self.client, self.event(run, commit, **more), WISH, Plain())

    def said(self) -> str:
        """The one comment of ours, without its hidden lines."""
        (comment,) = [one for one in self.world.comments.values() if one.author == BOT]
        body = read_body(comment.body)
        assert body is not None
        assert len(comment.body) <= MAX_CHARACTERS
        return " / ".join(part for part in (body.banner, body.result) if part)

    @property
    def writes(self) -> list[str]:
        """What was asked of GitHub that changes something."""
        return [asked for asked in self.github.requests if not asked.startswith("GET")]


@pytest.fixture
def place() -> Iterator[Place]:
    """A pull request; at the end nothing that was asked or answered may break GitHub's description."""
    with GitHub(World()) as github:
        yield Place(github)
        assert github.problems == []


class TestOneComment:
    """It follows the pull request."""

    def test_it_says_that_a_run_is_on_and_then_what_it_found(self, place: Place) -> None:
        """Made once, edited afterwards."""
        assert place.post(over=False) == "made the comment on #1"
        assert place.said() == "running aaaa at aaaa"
        assert place.ends() == "edited the comment on #1"
        assert place.said() == "result of aaaa"
        assert len(place.world.comments) == 1

    def test_a_second_push_keeps_the_first_result_until_there_is_another(self, place: Place) -> None:
        """Nobody loses what they were reading."""
        place.ends()
        place.pull.head_sha = SECOND
        place.post(8, SECOND, over=False)
        assert place.said() == "running cccc at cccc / result of aaaa"
        place.ends(8, SECOND)
        assert place.said() == "result of cccc"

    def test_a_result_for_a_commit_that_was_pushed_over_is_superseded(self, place: Place) -> None:
        """Its figures are not posted, and what was said before is marked as old."""
        place.ends()
        place.pull.head_sha = SECOND
        assert place.ends(8, FIRST) == "edited the comment on #1"
        assert place.said() == "superseded aaaa at cccc / result of aaaa"
        place.ends(9, SECOND)
        assert place.said() == "result of cccc"

    def test_what_is_said_of_the_latest_commit_is_not_superseded_by_an_older_ones_run(self, place: Place) -> None:
        """A label may start a run for a commit that is pushed over meanwhile."""
        place.pull.head_sha = SECOND
        place.ends(7, SECOND)
        assert "is at cccccccccccc by now" in place.ends(8, FIRST)
        assert place.said() == "result of cccc"

    def test_with_no_comment_yet_a_superseded_result_makes_none(self, place: Place) -> None:
        """There is nothing that it could mark as old."""
        place.pull.head_sha = SECOND
        assert "is at cccccccccccc by now" in place.ends()
        assert place.writes == []

    @pytest.mark.parametrize("late", [{"over": True}, {"over": False}, {"over": True, "conclusion": "cancelled"}])
    def test_an_older_run_that_ends_late_changes_nothing(self, place: Place, late: dict[str, Any]) -> None:
        """Whatever it says: runs are numbered in order."""
        place.ends(8)
        before = place.writes
        place.world.add_artifact(7, "kernelperf", {"run.json": run_json()})
        assert place.post(7, **late) == "the comment on #1 shows a later run: nothing is posted"
        assert place.writes == before

    def test_a_later_run_that_github_does_not_know_is_somebodys_invention(self, place: Place) -> None:
        """Another bot of the repository may repeat what a stranger wrote: no comment of ours would follow again."""
        mark = Body(Mark(10**17, 1, "result", FIRST), "", "forged").text()
        place.world.add_comment(1, mark)
        assert place.ends() == "edited the comment on #1"
        assert place.said() == "result of aaaa"

    def test_where_github_cannot_say_whether_it_is_a_run_nothing_is_overwritten(self, place: Place) -> None:
        """A fault is no word on it."""
        place.ends(8)
        place.world.faults.append(Fault(403, times=9, path="actions/runs/8$"))
        with pytest.raises(GitHubError):
            place.ends(7)

    def test_a_begin_that_is_told_after_the_end_changes_nothing(self, place: Place) -> None:
        """Events are not delivered in order."""
        place.ends()
        assert "shows a later run" in place.post(over=False)
        assert place.said() == "result of aaaa"

    def test_a_second_attempt_is_later_than_the_first_and_takes_its_own_artifact(self, place: Place) -> None:
        """The first one's is still there, under the same name."""
        place.ends()
        assert place.post(attempt=2, over=False) == "edited the comment on #1"
        place.post(attempt=2, conclusion="cancelled", started_at="2030-01-01T00:00:00Z")
        assert place.said() == "The run was cancelled: nothing was measured."

    def test_what_says_the_same_is_not_edited(self, place: Place) -> None:
        """An edit is news to whoever follows the pull request."""
        place.ends()
        before = place.writes
        assert place.post() == "the comment on #1 says so already"
        assert place.writes == before

    def test_a_run_that_was_skipped_gives_back_what_was_there(self, place: Place) -> None:
        """It measured nothing, so the last result stands."""
        place.ends()
        place.post(8, over=False)
        place.post(8, conclusion="skipped")
        assert place.said() == "result of aaaa"

    def test_the_comment_is_found_behind_pages_of_others(self, place: Place) -> None:
        """And nobody's with our mark is taken for ours, nor ours that only quotes it."""
        mark = Body(Mark(1, 1, "result", FIRST), "", "mine").text()
        for number in range(230):
            place.world.add_comment(1, mark if number % 2 else f"{number}", "stranger")
        quoting = place.world.add_comment(1, f"> {mark}")
        ours = place.world.add_comment(1, mark)
        for number in range(30):
            place.world.add_comment(1, f"{number}", "stranger")
        assert place.ends() == "edited the comment on #1"
        assert ours.body != mark
        assert quoting.edits == 0
        assert [one.edits for one in place.world.comments.values() if one.author == "stranger"] == [0] * 260

    def test_a_comment_by_somebody_unexpected_is_said(self, place: Place) -> None:
        """With another token each run would add a comment."""
        client = Client(OWN, "ghp_maintainer", place.github.url)
        with pytest.raises(GitHubError, match="is by maintainer, not by"):
            post(client, place.event(over=False), WISH, Plain())


class TestWhichPullRequest:
    """Asked of GitHub, by the run's head."""

    def test_a_forks_is_found(self, place: Place) -> None:
        """The event names none."""
        fork = place.world.add_pull(FORK, "change", FIRST)
        place.ends(owner="stranger", repository=FORK)
        assert [one.issue for one in place.world.comments.values()] == [fork.number]

    @pytest.mark.parametrize(
        "other",
        [
            {"repository": FORK, "owner": "stranger"},
            {"branch": "another"},
            {"repository": "", "owner": ""},
            {"kind": "push"},
            {"kind": "merge_group"},
        ],
        ids=str,
    )
    def test_nothing_is_posted_on_one_that_does_not_match(self, place: Place, other: dict[str, Any]) -> None:
        """Whatever the artifact would say."""
        assert "nothing is posted" in place.ends(**other)
        assert place.writes == []

    def test_a_closed_one_and_one_whose_fork_is_gone_get_none(self, place: Place) -> None:
        """The latter's head repository is null."""
        place.pull.state = "closed"
        place.world.add_pull(GONE, "change", FIRST)
        assert "no open pull request" in place.ends(owner="gone", repository="gone/gone")

    def test_of_two_from_one_branch_the_event_says_which(self, place: Place) -> None:
        """Where it does not, neither gets another one's figures."""
        second = place.world.add_pull(OWN, "change", FIRST, base_branch="next")
        assert "2 open pull requests" in place.ends()
        place.post(pulls=(second.number,))
        assert [one.issue for one in place.world.comments.values()] == [second.number]

    def test_more_pull_requests_than_were_asked_for_are_sorted_out(self, place: Place) -> None:
        """GitHub leaves a filter out that it does not understand."""
        everything = json.dumps(place.client.pages("pulls")).encode()
        place.world.faults.append(Fault(200, path="pulls", body=everything))
        assert "no open pull request" in place.ends(branch="another")

    def test_an_answer_without_what_it_must_have_is_said_so(self, place: Place) -> None:
        """Something between here and GitHub may answer in its place."""
        for body in (b'[{"number": 1}]', b"[7]", b'[{"head": null}]'):
            place.world.faults.append(Fault(200, path="pulls", body=body))
            with pytest.raises(GitHubError, match="is not as GitHub describes it"):
                place.ends()

    def test_a_branch_may_be_called_anything(self, place: Place) -> None:
        """It is a value, not a part of an address."""
        name = "x&state=closed#$(touch ran)/é ?"
        place.pull.head_branch = name
        assert place.ends(branch=name) == "made the comment on #1"


class TestThePoisonedArtifact:
    """One plain sentence, and nothing else."""

    @pytest.mark.parametrize(
        ("data", "sentence"),
        [
            (run_json(SECOND), "is of another commit than the run's"),
            (b"", "is empty"),
            (NESTED, "is no run file"),
            (b'{"version": 1, "records": ' + NESTED, "run.json"),
            (GOLDEN.replace(b'"time_us": ', b'"time_us": NaN, "x": ', 1), "run.json"),
            (GOLDEN.replace(b'"version"', b'"pull_request": 1, "version"', 1), "pull_request"),
            (GOLDEN.replace(b'"version": 1', b'"version": 99', 1), "version 99"),
            (GOLDEN[: len(GOLDEN) // 2], "is cut off"),
            (b"\x00" * (65 * 1024 * 1024), "more than 67,108,864 bytes"),
            (b"0" * (32 * 1024 * 1024), "unpacks to more than 200 times"),
        ],
        ids=["wrong SHA", "empty", "nested list", "deep", "NaN", "unknown field", "version", "half", "large", "bomb"],
    )
    def test_a_run_file_that_cannot_be_used(self, place: Place, data: bytes, sentence: str) -> None:
        """Whatever is wrong with it."""
        place.ends(data=data)
        assert place.said().startswith("The result is not shown: the run's ")
        assert sentence in place.said()
        assert len(place.said()) < 700

    def test_another_pull_requests_number_in_it_is_not_even_read(self, place: Place) -> None:
        """Only GitHub says which pull request a run was for."""
        other = place.world.add_pull(OWN, "other", SECOND)
        files = {"run.json": run_json(), "pr.txt": str(other.number).encode(), "event.json": b'{"number": 2}'}
        place.world.add_artifact(7, "kernelperf", files)
        place.post()
        assert [one.issue for one in place.world.comments.values()] == [place.pull.number]

    def test_two_hundred_megabytes_are_not_even_fetched(self, place: Place) -> None:
        """GitHub says how large an artifact is."""
        artifact = place.world.add_artifact(7, "kernelperf", b"")
        artifact.claimed_bytes = 200 * 1024 * 1024
        place.post()
        assert f"has more than {MAX_ARCHIVE_BYTES:,} bytes and is not read" in place.said()
        assert not [asked for asked in place.github.requests if "zip" in asked or "storage" in asked]

    def test_the_token_stays_with_the_api(self, place: Place) -> None:
        """The file is at another host; the stand-in counts a token there as a problem."""
        place.ends()
        assert "GET storage /artifact/1000?sig=stand-in" in place.github.requests

    @pytest.mark.parametrize("conclusion", ["cancelled", "action_required", "skipped", "timed_out", "failure"])
    def test_a_run_that_left_none_is_said_so(self, place: Place, conclusion: str) -> None:
        """In a sentence that tells why, as far as GitHub does."""
        place.post(conclusion=conclusion)
        assert place.said().startswith("The run ")

    def test_what_was_checked_without_a_gpu_is_not_taken_for_a_measured_result(self, place: Place) -> None:
        """Where the box failed before it wrote anything."""
        place.world.add_artifact(7, "kernelperf-hosted", {"run.json": run_json()})
        place.post()
        assert place.said().startswith("The run ended as failure and timed nothing")

    def test_an_expired_artifact_is_none(self, place: Place) -> None:
        """GitHub lists it all the same."""
        place.world.add_artifact(7, "kernelperf", {"run.json": run_json()}, expired=True)
        place.post()
        assert place.said() == "The run left no result: its log says why."

    def test_a_text_that_would_not_fit_becomes_a_sentence(self, place: Place) -> None:
        """GitHub refuses a longer one."""

        class Long(Plain):
            def result(self, found: Run | str, links: Links, judging: Judging) -> str:
                return found if isinstance(found, str) else "x" * MAX_CHARACTERS

        place.world.add_artifact(7, "kernelperf", {"run.json": run_json()})
        post(place.client, place.event(), WISH, Long())
        assert "longer than a comment may be" in place.said()


class TestFaults:
    """Limits are waited for; what may have been done is looked for, not done twice."""

    def test_limits_and_server_errors_are_waited_out(self, place: Place) -> None:
        """As long as GitHub says; its clock is the reference."""
        place.world.faults += [
            Fault(502, path="pulls"),
            Fault(403, path="pulls", headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000030"}),
            Fault(429, path="comments", method="GET", headers={"Retry-After": "9"}),
            Fault(403, path="comments", method="POST", message="You have exceeded a secondary rate limit."),
        ]
        assert place.ends() == "made the comment on #1"
        assert place.slept == [2.0, 31.0, 9.0, 60.0]

    def test_a_limit_that_outlasts_the_job_is_not_waited_for(self, place: Place) -> None:
        """The sentence says how long it would be."""
        spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1003000"}
        place.world.faults.append(Fault(403, path="pulls", headers=spent, message="API rate limit exceeded"))
        with pytest.raises(GitHubError, match=r"API rate limit exceeded \(it asks to wait 3,001 s\)"):
            place.ends()
        assert place.slept == []

    @pytest.mark.parametrize("fault", [{"status": 502}, {"disconnect": True}], ids=str)
    @pytest.mark.parametrize("after", [True, False], ids=["done", "not done"])
    def test_a_comment_is_made_once_though_its_answer_is_lost(
        self, place: Place, fault: dict[str, Any], after: bool
    ) -> None:
        """Whether it was made before that or not."""
        place.world.faults.append(Fault(method="POST", path="comments", after=after, **fault))
        place.ends()
        assert place.said() == "result of aaaa"

    def test_a_refusal_is_told_with_githubs_reason(self, place: Place) -> None:
        """A token that may not comment."""
        no = Fault(403, 9, "POST", "comments", message="Resource not accessible by integration")
        place.world.faults.append(no)
        with pytest.raises(GitHubError, match="answered 403 to POST issues/1/comments: Resource not accessible"):
            place.ends()
        assert place.slept == []

    def test_a_storage_that_fails_is_asked_again(self, place: Place) -> None:
        """The address that GitHub gave is still good."""
        place.world.faults += [Fault(503, path="_storage"), Fault(disconnect=True, path="_storage")]
        place.ends()
        assert place.said() == "result of aaaa"


class TestTheCommand:
    """``kernelperf comment``: its exit code is no gate."""

    @staticmethod
    def call(
        place: Place, folder: Path, *options: str, token: str = "ghs_stand_in", action: str = "completed"
    ) -> Result:
        """Call it as the workflow does, on GitHub's own example of the event."""
        from runner_jobs import examples

        payload = json.loads(json.dumps(examples()["workflow_run"][1]))
        payload["action"] = action
        payload["workflow_run"] |= {"id": 7, "run_attempt": 1, "event": "pull_request", "head_sha": FIRST,
                                    "head_branch": "change", "conclusion": "failure", "pull_requests": [],
                                    "run_started_at": "2020-01-01T00:00:00Z"}  # fmt: skip
        payload["workflow_run"]["head_repository"] |= {"full_name": OWN}
        payload["workflow_run"]["head_repository"]["owner"] |= {"login": "owner"}
        event = folder / "event.json"
        event.write_text(json.dumps(payload))
        variables = {"GITHUB_TOKEN": token, "GITHUB_API_URL": place.github.url, "GITHUB_REPOSITORY": OWN,
                     "GITHUB_EVENT_PATH": str(event)}  # fmt: skip
        return CliRunner().invoke(main, ["comment", *options], env=variables)

    def test_it_posts(self, place: Place, tmp_path: Path) -> None:
        """The whole way."""
        assert self.call(place, tmp_path, action="requested").exit_code == 0
        place.world.add_artifact(7, "kernelperf", {"run.json": run_json()})
        done = self.call(place, tmp_path)
        assert (done.exit_code, done.output) == (0, "edited the comment on #1\n")

    def test_what_judges_and_is_changed_stands_above_a_green_result(self, place: Place, tmp_path: Path) -> None:
        """The run file is the change's own word; which files it changes is GitHub's."""
        patch = (
            '@@ -1,2 +1,2 @@\n [tool.pytest.ini_options]\n-kernelperf_tolerance = "1%"\n+kernelperf_tolerance = "50%"'
        )
        place.pull.files = [
            {"filename": "pyproject.toml", "patch": patch},
            {"filename": "guard/judge.py", "patch": "+pass"},
            {"filename": ".github/workflows/kernelperf.yml"},
        ]
        place.world.add_artifact(7, "kernelperf", {"run.json": unaccepted()})
        assert self.call(place, tmp_path, "--judges", "guard/*").exit_code == 0
        lines = place.said().splitlines()
        assert lines[0].startswith("> ⚠️ **This pull request changes what judges it.**")
        assert lines[1:4] == [
            "> - the workflow that measures: .github/workflows/kernelperf.yml",
            "> - the guard itself: guard/judge.py",
            '> - settings: pyproject.toml (kernelperf\\_tolerance "1%" → "50%")'.replace("\\", ""),
        ]
        assert lines[4] == ""
        assert "**" in lines[5], "and the result's own first line below it"

    def test_where_github_does_not_list_the_files_that_is_said(self, place: Place, tmp_path: Path) -> None:
        """A change that is too large to be shown is no way around it."""
        place.world.faults.append(Fault(422, times=9, path=r"pulls/1/files", message="this diff is @too large"))
        place.world.add_artifact(7, "kernelperf", {"run.json": unaccepted()})
        assert self.call(place, tmp_path).exit_code == 0
        first = place.said().splitlines()[0]
        assert first.startswith("> ⚠️ Whether it changes what judges it is not known: GitHub does not list the files")
        assert "@too" not in first

    @pytest.mark.parametrize(
        ("label", "by", "role", "why"),
        [
            (f"slow-ok:{FIRST}", "maintainer", "maintain", ""),
            ("", "", "", f"no label slow-ok:{FIRST}"),
            (f"slow-ok:{SECOND}", "maintainer", "maintain", f"no label slow-ok:{FIRST}"),
            (f"slow-ok:{FIRST}", "someone", "read", "may not accept a slowdown"),
        ],
    )
    def test_that_a_maintainer_accepted_it_is_githubs_word_alone(
        self, place: Place, tmp_path: Path, label: str, by: str, role: str, why: str
    ) -> None:
        """A run file can say so of anybody, and its verdicts with it."""
        if label:
            place.world.permissions[by] = role
            place.world.set_label(place.pull, label, by, "worth it")
        run = json.loads(run_json())
        run["records"][0]["accepted"] = {"by": "maintainer", "reason": "trust me", "commit": FIRST}
        run["records"][0]["decision"] |= {"verdict": "accepted", "fails": False}
        place.world.add_artifact(7, "kernelperf", {"run.json": json.dumps(run).encode()})
        assert self.call(place, tmp_path).exit_code == 0
        first = place.said().splitlines()[0]
        assert first.startswith("> ⛔ **Not accepted**, whatever the result below says: ") is bool(why)
        assert why.replace(FIRST, "") in first.replace("\u200b", "").replace(FIRST, "")

    def test_where_github_cannot_say_who_accepted_it_nobody_has(self, place: Place, tmp_path: Path) -> None:
        """An answer that does not come is no acceptance."""
        run = json.loads(run_json())
        run["records"][0]["decision"] |= {"verdict": "accepted", "fails": False}
        place.world.add_artifact(7, "kernelperf", {"run.json": json.dumps(run).encode()})
        place.world.faults.append(Fault(404, times=9, path=r"pulls/1$"))
        assert self.call(place, tmp_path).exit_code == 0
        assert place.said().startswith(
            "> ⛔ **Not accepted**, whatever the result below says: GitHub could not be asked"
        )

    def test_a_long_result_leaves_room_for_it(self, place: Place, tmp_path: Path) -> None:
        """GitHub refuses a comment that is too long as a whole."""
        run = json.loads(run_json())
        record = run["records"][0]
        run["records"] = [{**record, "case": {**record["case"], "tokens": n}} for n in range(1, 2001)]
        name = "\U0001f600" * 300
        place.pull.files = [
            {"filename": f"{folder}/{name}{number}"}
            for folder in (".github/workflows", "baselines", "guard")
            for number in range(9)
        ]
        place.pull.files += [{"filename": f"{name}/conftest.py"}, {"filename": "x.py"}]
        place.pull.files += [
            {"filename": f"{name}/{file}", "patch": f"+kernelperf_tolerance = {name}"}
            for file in ("tox.ini", "setup.cfg", "pytest.ini")
        ]
        place.world.add_artifact(7, "kernelperf", {"run.json": json.dumps(run).encode()})
        assert self.call(place, tmp_path, "--judges", "guard/*").exit_code == 0
        assert place.said().startswith("> ⚠️ **This pull request")
        assert "left out" in place.said() or "not shown" in place.said()
        assert "and 6 more files" in place.said()
        assert characters(next(iter(place.world.comments.values())).body) <= MAX_CHARACTERS

    def test_not_being_able_to_changes_no_gate(self, place: Place, tmp_path: Path) -> None:
        """A warning; a code of its own where that was asked for."""
        done = self.call(place, tmp_path, token="stolen")
        assert done.exit_code == 0
        assert done.stdout.startswith(
            "::warning title=kernelperf::the comment could not be posted: GitHub answered 401"
        )
        assert self.call(place, tmp_path, "--strict", token="stolen").exit_code == 3
        assert "stolen" not in done.output

    @pytest.mark.parametrize("event", [None, "{", "[]", '{"action": "completed"}', "[" * 5000])
    def test_called_wrongly_it_says_what_it_needs(self, tmp_path: Path, event: str | None) -> None:
        """In a sentence, with code 2."""
        path = tmp_path / "event.json"
        if event is not None:
            path.write_text(event)
        variables = {"GITHUB_TOKEN": "x", "GITHUB_REPOSITORY": OWN, "GITHUB_EVENT_PATH": str(path)}
        done = CliRunner().invoke(main, ["comment"], env=variables)
        assert done.exit_code == 2
        assert "starts on workflow_run" in done.output
        assert CliRunner().invoke(main, ["comment"], env={"GITHUB_TOKEN": ""}).exit_code == 2
        assert CliRunner().invoke(main, ["comment", "--dry-run"]).exit_code == 2

    def test_githubs_own_examples_are_read(self, tmp_path: Path) -> None:
        """All of the event that there are."""
        from runner_jobs import examples

        for payload in examples()["workflow_run"]:
            path = tmp_path / "event.json"
            path.write_text(json.dumps(payload))
            assert read_event(path).run == payload["workflow_run"]["id"]
