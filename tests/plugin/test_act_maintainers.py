"""What maintainers do, under act: accepting a slower commit, baselines that move by review, a box that needs a look.

GitHub's API is the stand-in that is held to GitHub's description of it; the rest is as in ``test_act``.
"""

from __future__ import annotations

from typing import Any

import pytest
from act_runs import FILES, SLOWED, Finished, Repository, clock


def accepted(
    repository: Repository, world: Any, *, by: str, sha: str = "", reason: str = "rounds correctly"
) -> Finished:
    """A slower commit that somebody labels as accepted."""
    head = repository.commit(SLOWED, "Change", "change")
    label = {"name": f"slow-ok:{sha or head}"}
    world.set_label(world.add_pull(number=7, branch="change", sha=head), label["name"], by, reason)
    payload = repository.payload(7, head, "change", "labeled", label=label, labels=[label])
    return repository.run("pull_request", payload, repository.checkout(head, "main"), times=clock(head=12.0))


@pytest.mark.weekly
def test_a_maintainer_accepts_a_slower_commit(repository: Repository, world: Any) -> None:
    """By a label with its SHA and a reason; who set it is asked of GitHub."""
    run = accepted(repository, world, by="maintainer")
    assert "maintainer accepts commit" in run.text
    assert run.jobs == {"hosted": "success", "box": "success", "gate": "success"}, run.text
    assert run.verdicts() == {"scaled": "accepted"}


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"by": "triager"}, "triager has the role triage and may not accept a slowdown"),
        ({"by": "maintainer", "reason": ""}, "needs a reason"),
        ({"by": "maintainer", "sha": "b" * 40}, "nothing is accepted"),
    ],
    ids=["no right to", "no reason", "another commit"],
)
def test_nobody_else_does(repository: Repository, world: Any, changed: dict[str, str], why: str) -> None:
    """The commit is measured, and fails."""
    run = accepted(repository, world, **changed)
    assert why in run.text
    assert run.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, run.text


@pytest.mark.weekly
def test_baselines_of_a_commit_are_proposed_as_a_pull_request(repository: Repository, world: Any) -> None:
    """Measured on the box, checked and committed by a hosted job; a second pull request never touches main."""
    sha = repository.commit(SLOWED, "A correctness fix that costs time")
    world.refs["refs/heads/main"] = sha
    inputs = {"sha": sha, "reason": "a fix, $(touch ran) @all"}
    payload = {
        "inputs": inputs,
        "ref": "refs/heads/main",
        "repository": repository.payload(7, sha, "main")["repository"],
    }
    run = repository.run(
        "workflow_dispatch", payload, repository.checkout("main"), "kernelperf-baselines.yml", clock(head=12.0)
    )
    assert run.jobs == {"measure": "success", "propose": "success"}, run.text
    (pull,) = world.issues.values()
    assert "scale: scaled at 64 tokens: 10.00 → 12.00 us (+20 %)" in pull.body
    assert "@all" not in pull.body
    commit = world.commits[world.refs[f"refs/heads/{pull.head_branch}"]]
    assert commit["parents"] == [sha]
    paths = {entry["path"] for entry in world.trees[commit["tree"]]}
    assert all(path.startswith("baselines/scripted-cpu-") for path in paths)
    assert any(path.endswith("/scale.json") for path in paths)
    assert world.refs["refs/heads/main"] == sha


@pytest.mark.weekly
def test_a_merge_that_changed_instructions_proposes_its_baselines_and_another_does_not(
    repository: Repository, world: Any
) -> None:
    """So that an improvement is not lost unseen, and nobody is asked about nothing."""
    for files, jobs in (({"README.md": "x"}, {"measure": "success"}),
                        (SLOWED, {"measure": "success", "propose": "success"})):  # fmt: skip
        sha = repository.commit(files, "Merge")
        world.refs["refs/heads/main"] = sha
        own = repository.payload(7, sha, "main")["repository"]
        payload = {"repository": own, "ref": "refs/heads/main", "before": "0" * 40, "after": sha}
        times = clock(head=7.0)
        run = repository.run("push", payload, repository.checkout(sha), "kernelperf-baselines.yml", times)
        assert run.jobs == jobs, run.text
        assert len(world.issues) == (files is SLOWED)
    assert "10.00 → 7.00 us (-30 %)" in world.issues[1].body


@pytest.mark.weekly
@pytest.mark.parametrize("sha", ["main", "a" * 39, "a" * 40, "$(touch ran)"])
def test_only_a_commit_of_main_is_measured_for_baselines(repository: Repository, world: Any, sha: str) -> None:
    """In full; anything else ends the job before it is used."""
    payload = {"inputs": {"sha": sha, "reason": "x"}, "ref": "refs/heads/main",
               "repository": repository.payload(7, "a" * 40, "main")["repository"]}  # fmt: skip
    run = repository.run("workflow_dispatch", payload, repository.checkout("main"), "kernelperf-baselines.yml")
    assert run.jobs == {"measure": "failure"}, run.text
    assert not world.issues


@pytest.mark.weekly
def test_a_machine_that_moved_opens_one_issue_that_follows_it_and_closes_when_it_is_well(
    repository: Repository, world: Any
) -> None:
    """The accepted code, timed again. The drill is cut to one alarm here: it has tests of its own, of minutes."""
    workflow = repository.origin / ".github/workflows/kernelperf-watch.yml"
    drill = "scripts/action drill --cases 1 kernels"
    assert drill in workflow.read_text()
    text = workflow.read_text().replace(drill, f"{drill} --alarm identical")
    # Of fewer than three cases nobody can say that the machine moved.
    test = FILES["kernels/test_scale.py"].replace("tokens=(64,)", "tokens=(64, 128, 192)")
    repository.commit({".github/workflows/kernelperf-watch.yml": text, "kernels/test_scale.py": test}, "Three cases")
    repository.store_baselines()
    own = repository.payload(7, "a" * 40, "main")["repository"]
    payload = {"schedule": "41 3 * * 2", "repository": own}
    said = []
    for us, state in ((12.0, "open"), (13.0, "open"), (10.0, "closed")):
        times = clock(head=us, baseline=us)
        run = repository.run("schedule", payload, repository.checkout("main"), "kernelperf-watch.yml", times)
        assert run.jobs["report"] == "success", run.text
        (issue,) = world.issues.values()
        assert issue.state == state, run.text
        said.append(issue.body)
    assert "the machine moved: the accepted binaries of 3 cases are 20 % slower" in said[0]
    assert "the machine moved: the accepted binaries of 3 cases are 30 % slower" in said[1]
    assert [comment.issue for comment in world.comments.values()] == [issue.number], "it says once that the box is well"
