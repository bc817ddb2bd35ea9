"""The commenting workflow, under act, on a stand-in for GitHub's API that is held to GitHub's own description of it.

That GitHub starts it when a run begins and ends is played by the tests, with GitHub's own example of such an event.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import pytest
from act_runs import FILES, SLOWED, STRANGER, Finished, Repository, clock

from pytest_kernelperf.units import format_change

pytest.importorskip("kernelperf_runner", reason="the workflows are not beside these tests")


def workflow_run(repository: Repository, payload: dict[str, Any], number: int, action: str) -> dict[str, Any]:
    """The event of a run of kernelperf.yml, from GitHub's own example of one."""
    from runner_jobs import examples

    event = copy.deepcopy(examples()["workflow_run"][1])
    own, pull = payload["repository"], payload["pull_request"]
    event["action"] = action
    event["repository"] |= own
    event["workflow_run"] |= {
        "id": 1000 + number, "run_number": number, "run_attempt": 1, "name": "kernelperf", "event": "pull_request",
        "path": ".github/workflows/kernelperf.yml", "head_sha": pull["head"]["sha"], "head_branch": pull["head"]["ref"],
        "head_repository": pull["head"]["repo"], "repository": own, "pull_requests": [],
        "status": "completed" if action == "completed" else "queued",
        "conclusion": "failure" if action == "completed" else None,
        "html_url": f"https://github.com/{own['full_name']}/actions/runs/{1000 + number}",
    }  # fmt: skip
    return event


def comment(
    repository: Repository, world: Any, payload: dict[str, Any], number: int, run: Finished | None = None
) -> Finished:
    """Let the commenting workflow see that a run began, or what it ended with."""
    event = workflow_run(repository, payload, number, "requested" if run is None else "completed")
    if run is not None and not world.artifacts_of(event["workflow_run"]["id"]):
        for place in sorted(run.artifacts.iterdir()):
            files = {path.relative_to(place).as_posix(): path for path in place.rglob("*") if path.is_file()}
            packed = {name: path.read_bytes() for name, path in files.items()}
            world.add_artifact(event["workflow_run"]["id"], place.name, packed)
    # Such a workflow runs on the default branch, whatever the run was for.
    return repository.run("workflow_run", event, repository.checkout("main"), "kernelperf-comment.yml")


def push(repository: Repository, world: Any, payload: dict[str, Any], number: int, times: str) -> tuple[Finished, Any]:
    """All that GitHub runs for a push to a pull request; the run, and the one comment that there then is."""
    head = payload["pull_request"]["head"]["sha"]
    changed = repository.git("diff", "--name-only", f"main...{head}").splitlines()
    world.issues[7].head_sha, world.issues[7].files = head, [{"filename": name} for name in changed]
    run = repository.run("pull_request", payload, repository.checkout(head, "main"), times=times)
    for ended in (None, run):
        posted = comment(repository, world, payload, number, ended)
        assert posted.jobs == {"comment": "success"}, posted.text
    (said,) = world.comments_of(7)
    assert head in said.body
    return run, said


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Times are refused where others are active, such as other tests: then there is nothing to see here."""
    try:
        yield
    except AssertionError as failed:
        if "the device is busy" in str(failed):
            pytest.skip("somebody else is active on this machine: run this test alone")
        raise


def test_one_comment_follows_the_pull_request(repository: Repository, world: Any) -> None:
    """It says the slowdown, and what was edited to hide it; fixed, it turns green; a late run changes nothing.

    Baselines and limits are the parent's, so that a change cannot move its own yardstick.
    """
    world.add_pull(number=7, branch="change")
    first = repository.payload(7, repository.commit(SLOWED, "Slower", "change"), "change")
    slowed, said = push(repository, world, first, 1, clock(head=12.0))
    assert slowed.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, slowed.text
    assert slowed.verdicts("kernelperf-hosted") == {"scaled": "new"}
    assert "❌ **Slows 1 of 1**: scaled at 64 tokens 10.00 → 12.00 us (+20 %, 3 of 3 processes)" in said.body
    assert slowed.run_file()["blame"]["parent_commit"] == repository.git("rev-parse", "main")
    # As an author could: measure the slower kernel at home, store it as accepted, and allow oneself half as much again.
    repository.store_baselines("nothing to see here", clock(head=13.0), "change")
    lax = {"pytest.ini": FILES["pytest.ini"] + "kernelperf_tolerance = 50%\n"}
    second = repository.payload(7, repository.commit(lax, "Lax", "change"), "change")
    hidden, said = push(repository, world, second, 2, clock(head=13.0))
    assert hidden.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, hidden.text
    assert hidden.verdicts() == {"scaled": "regressed"}
    assert "**This pull request changes what judges it.**" in said.body
    assert "❌ **Slows 1 of 1**: scaled at 64 tokens 10.00 → 13.00 us (+30 %, 3 of 3 processes)" in said.body
    assert "**This change edits baselines**; it was not judged by them: scale scaled at 64 tokens changed" in said.body
    assert "10.00 → 13.00 us, holds this very code: nothing to see here" in said.body
    assert "**This change states other limits**; it was judged by those of what it is merged into" in said.body
    repository.git("rm", "-r", "--quiet", "baselines")
    repository.git("checkout", "--quiet", "main", "--", "baselines")
    fixed = repository.payload(7, repository.commit(FILES, "Fixed", "change"), "change")
    run, said = push(repository, world, fixed, 3, clock())
    assert run.jobs == {"hosted": "success", "box": "success", "gate": "success"}, run.text
    assert "\n✅ **Nothing slower** in 1 case" in said.body
    assert "what judges it" not in said.body
    text, edits = said.body, said.edits
    late = comment(repository, world, first, 1, slowed)
    assert late.jobs == {"comment": "success"}, late.text
    assert [(each.body, each.edits) for each in world.comments_of(7)] == [(text, edits)]


@pytest.mark.weekly
def test_a_really_slower_kernel_is_really_said_to_be(repository: Repository, world: Any) -> None:
    """No clock is played: the kernel does its work 40 times over, on this machine's cores."""
    repository.scripted = False
    repository.git("rm", "-r", "--quiet", "baselines")
    with alone():
        repository.store_baselines()
    world.add_pull(number=7, branch="change")
    slowed = {"kernels/scale.hip": SLOWED["kernels/scale.hip"].replace("turn < 4", "turn < 40")}
    head = repository.commit(slowed, "Slower", "change")
    run, said = push(repository, world, repository.payload(7, head, "change"), 1, "")
    with alone():
        assert "the device is busy" not in run.text
    assert run.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, run.text
    assert run.verdicts() == {"scaled": "regressed"}
    (comparison,) = [one for one in run.run_file()["records"][0]["comparisons"] if one["against"] == "baseline"]
    change = format_change(comparison["change_ratio"])
    assert comparison["change_ratio"] > 1.5
    assert f"us ({change}, 3 of 3 processes)" in said.body.split("\n❌ **Slows 1 of 1**: scaled at 64 tokens ")[1]
    head = repository.commit(FILES, "Fixed", "change")
    run, said = push(repository, world, repository.payload(7, head, "change"), 2, "")
    with alone():
        assert "the device is busy" not in run.text
    assert run.jobs == {"hosted": "success", "box": "success", "gate": "success"}, run.text
    assert "\n✅ **Nothing slower** in 1 case" in said.body


@pytest.mark.weekly
def test_a_forks_result_is_posted_without_the_fork_having_a_token(repository: Repository, world: Any) -> None:
    """Found by head repository, branch and SHA; the branch's name is a program, and stays a name."""
    branch = "x$(touch${IFS}ran)`touch${IFS}ran`"
    head = repository.commit(SLOWED, "Change", branch)
    payload = repository.payload(7, head, branch, head_repo=STRANGER)
    world.add_pull(STRANGER["full_name"], branch, head, number=7)
    run = repository.run("pull_request", payload, repository.checkout(head, "main"))
    posted = comment(repository, world, payload, 1, run)
    assert posted.jobs == {"comment": "success"}, posted.text
    (said,) = world.comments_of(7)
    assert "timed nothing; what was checked without a GPU:\n\n✅ **1 case right and not starved**" in said.body, (
        said.body
    )
    assert not list(repository.folder.rglob("ran"))


@pytest.mark.weekly
def test_another_commits_result_is_not_posted(repository: Repository, world: Any) -> None:
    """The run is for one commit, its artifact says another: a sentence at most, and no figure."""
    head = repository.commit(SLOWED, "Change", "change")
    payload = repository.payload(7, head, "change")
    world.add_pull(number=7, branch="change", sha=head)
    run = repository.run("pull_request", payload, repository.checkout(head, "main"), times=clock(head=12.0))
    file = run.artifacts / "kernelperf" / "run.json"
    file.write_text(file.read_text().replace(head, "b" * 40))
    posted = comment(repository, world, payload, 1, run)
    assert posted.jobs == {"comment": "success"}, posted.text
    assert not any("+20 %" in each.body for each in world.comments_of(7))
