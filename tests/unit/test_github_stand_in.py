"""The stand-in for GitHub's API refuses what GitHub refuses, and keeps what it was told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from github_api import Fault, GitHub, World
from github_api.world import GONE

from pytest_kernelperf.errors import GitHubError
from pytest_kernelperf.github.client import Client

OWN, HEAD, MAIN = "owner/project", "a" * 40, "b" * 40
HELPERS = Path(__file__).parents[1] / "helpers"


@pytest.fixture
def github() -> Iterator[GitHub]:
    """A repository with a pull request."""
    world = World()
    world.add_pull("stranger/project", "change", HEAD)
    world.refs["refs/heads/main"] = MAIN
    with GitHub(world) as github:
        yield github


def client(github: GitHub) -> Client:
    """A client that waits for nothing."""
    return Client(OWN, "ghs_stand_in", github.url, lambda seconds: None)


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("post", "issues/1/comments", {"text": "x"}, "'body' is a required property"),
        ("post", "issues/1/comments", {"body": 7}, "not of type 'string'"),
        ("post", "issues/1/comments", {"body": "é" * 65_537}, "body is too long (maximum is 65536 characters)"),
        ("post", "issues/9/comments", {"body": "x"}, "404"),
        ("post", "issues", {"title": "x" * 257}, "title is too long (maximum is 256 characters)"),
        ("post", "labels", {"name": "x" * 51}, "name is too long (maximum is 50 characters)"),
        ("post", "labels", {"name": "x", "description": "x" * 101}, "description is too long (maximum is 100"),
        ("patch", "issues/1", {"state": "gone"}, "is not one of"),
        ("post", "git/refs", {"ref": "refs/heads/x", "sha": "c" * 40}, "Object does not exist"),
        ("post", "git/refs", {"ref": "refs/heads/main", "sha": MAIN}, "Reference already exists"),
        ("post", "pulls", {"head": "nowhere", "base": "main", "title": "x"}, "422"),
    ],
)
def test_what_github_refuses_is_refused(github: GitHub, method: str, path: str, body: Any, said: str) -> None:
    """By its description, or by the limits that it leaves out."""
    with pytest.raises(GitHubError) as refusal:
        getattr(client(github), method)(path, body)
    assert said in str(refusal.value) + " ".join(github.problems)
    assert not github.world.comments


def test_a_request_that_the_description_does_not_know_is_a_problem(github: GitHub) -> None:
    """So that no test passes on an operation that GitHub does not have."""
    for path in ("issue/1", "pulls?state=ajar"):
        with pytest.raises(GitHubError):
            client(github).get(path)
    assert len(github.problems) == 2


def test_its_own_answers_are_checked_alike(github: GitHub) -> None:
    """A stand-in that answers as GitHub never does would prove nothing."""
    github.world.issues[1].state = "ajar"
    with pytest.raises(GitHubError, match="answered 500"):
        client(github).get("pulls/1")
    assert all("the stand-in's answer to GET" in problem for problem in github.problems)


def test_nobody_gets_in_without_a_token(github: GitHub) -> None:
    """And every request counts."""
    with pytest.raises(GitHubError, match="answered 401"):
        Client(OWN, "another", github.url).get("pulls/1")
    github.world.rate_left = 1
    client(github).get("pulls/1")
    with pytest.raises(GitHubError, match="API rate limit exceeded"):
        client(github).get("pulls/1")


def test_a_commit_is_made_of_files_and_proposed(github: GitHub) -> None:
    """As baselines are."""
    api = client(github)
    blob = api.post("git/blobs", {"content": "eA==", "encoding": "base64"})["sha"]
    entry = {"path": "baselines/x.json", "mode": "100644", "type": "blob", "sha": blob}
    tree = api.post("git/trees", {"base_tree": MAIN, "tree": [entry, {**entry, "path": "old", "sha": None}]})["sha"]
    commit = api.post("git/commits", {"message": "x", "tree": tree, "parents": [MAIN]})["sha"]
    api.post("git/refs", {"ref": "refs/heads/kernelperf/x", "sha": commit})
    assert api.get("git/ref/heads/kernelperf/x")["object"]["sha"] == commit
    pull = api.post("pulls", {"head": "kernelperf/x", "base": "main", "title": "x", "body": "y"})
    assert (pull["head"]["sha"], api.get(f"git/commits/{commit}")["tree"]["sha"]) == (commit, tree)
    assert github.problems == []


def test_who_set_a_label_is_kept(github: GitHub) -> None:
    """With its reason, and who took it off."""
    issue = github.world.issues[1]
    github.world.set_label(issue, f"slow-ok:{HEAD}", "maintainer", "rounds correctly")
    api = client(github)
    assert [label["description"] for label in api.get("pulls/1")["labels"]] == ["rounds correctly"]
    github.world.take_label(issue, f"slow-ok:{HEAD}", "stranger")
    events = [(event["event"], event["actor"]["login"]) for event in api.pages("issues/1/events")]
    assert events == [("labeled", "maintainer"), ("unlabeled", "stranger")]
    assert github.problems == []


def test_runs_wait_have_jobs_and_are_cancelled_once(github: GitHub) -> None:
    """As the box's supervisor asks of them."""
    github.world.runs[7] = {
        "status": "queued",
        "head_sha": HEAD,
        "jobs": [{"id": 3, "name": "box", "labels": ["perf"]}],
    }
    api = client(github)
    assert [run["id"] for run in api.get("actions/runs", status="queued")["workflow_runs"]] == [7]
    assert api.get("actions/runs/7/jobs")["jobs"][0]["labels"] == ["perf"]
    api.post("actions/runs/7/cancel", {})
    assert api.get("actions/runs", status="queued")["total_count"] == 0
    with pytest.raises(GitHubError, match="Cannot cancel"):
        api.post("actions/runs/7/cancel", {})
    assert github.problems == []


def test_a_deleted_forks_repository_is_null(github: GitHub) -> None:
    """GitHub's description says otherwise, GitHub does not."""
    github.world.add_pull(GONE, "y", HEAD)
    assert [pull["head"]["repo"] is None for pull in client(github).pages("pulls")] == [True, False]


def test_a_fault_may_come_after_the_deed(github: GitHub) -> None:
    """The comment is there, and nobody was told."""
    github.world.faults.append(Fault(502, path="comments", after=True))
    with pytest.raises(GitHubError, match="502"):
        client(github).post("issues/1/comments", {"body": "x"})
    assert len(github.world.comments) == 1


def test_it_runs_as_a_program(tmp_path: Path) -> None:
    """Filled from a file and a folder of artifacts; told and asked over HTTP; its log is written at the end."""
    (tmp_path / "artifacts" / "7" / "kernelperf").mkdir(parents=True)
    (tmp_path / "artifacts" / "7" / "kernelperf" / "run.json").write_text("{}")
    (tmp_path / "world.json").write_text(json.dumps({"pulls": [{"branch": "x", "sha": HEAD}]}))
    command = [sys.executable, "-m", "github_api", "--world", str(tmp_path / "world.json"), "--repository", "o/r"]
    command += ["--artifacts", str(tmp_path / "artifacts"), "--log", str(tmp_path / "log.json")]
    variables = {**os.environ, "PYTHONPATH": str(HELPERS)}
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            url = program.stdout.readline().strip()
            api = Client("o/r", "ghs_stand_in", url)
            (artifact,) = api.get("actions/runs/7/artifacts", name="kernelperf")["artifacts"]
            assert api.download(f"actions/artifacts/{artifact['id']}/zip", 1000).startswith(b"PK")
            fault = json.dumps({"status": 404, "path": "pulls"}).encode()
            urllib.request.urlopen(urllib.request.Request(f"{url}/_stand_in/faults", fault, method="POST")).close()
            with pytest.raises(GitHubError, match="404"):
                api.get("pulls/1")
            assert api.get("pulls/1")["head"]["sha"] == HEAD
        finally:
            program.send_signal(signal.SIGTERM)
    log = json.loads((tmp_path / "log.json").read_text())
    assert log["problems"] == []
    assert log["requests"][-1] == "GET /repos/o/r/pulls/1"
