"""The workflows run for real, under act: a pull request's way from its event to the required check.

Real are git, the workflow files, action.yml, the scripts, the guard, the kernel on the cpu runtime, the box's gate.
Played are the clock, GitHub's own actions, and what starts a workflow. ``weekly`` runs take real times.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import act_runs
import pytest
from act_runs import FILES, SLOWED, STRANGER, WRONG, Finished, Repository, clock

KIT = act_runs.ROOT / ".github" / "runner"
if not KIT.is_dir():
    pytest.skip("the workflows are not beside these tests", allow_module_level=True)


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


@pytest.mark.weekly
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
    assert run.run_file()["blame"]["parent_commit"] == before


@pytest.mark.weekly
def test_a_stacked_pull_request_is_blamed_for_what_it_adds_to_the_branch_below(repository: Repository) -> None:
    """By main's baselines: the branch below has moved its own."""
    repository.commit(SLOWED, "Slower", "below")
    repository.store_baselines("nothing to see here", clock(head=12.0), "below")
    repository.commit({"README.md": "x"}, "Change", "change", start="below")
    run = pull(repository, {}, clock(head=12.0, parent=12.0), base="below")
    assert run.jobs == {"hosted": "success", "box": "success", "gate": "success"}, run.text
    (record,) = run.run_file()["records"]
    assert (record["decision"]["verdict"], record["decision"]["code"]) == ("identical", "main_creep")
    slower = {"kernels/scale.hip": SLOWED["kernels/scale.hip"].replace("turn < 4", "turn < 8")}
    run = pull(repository, slower, clock(head=14.0, parent=12.0), base="below")
    assert run.jobs == {"hosted": "success", "box": "failure", "gate": "failure"}, run.text
    (record,) = run.run_file()["records"]
    assert record["decision"]["code"] == "slower_than_parent"
    below = repository.git("rev-parse", "below")
    assert run.run_file()["blame"]["parent_commit"] == below


@pytest.mark.weekly
def test_a_branch_that_is_named_like_a_program_is_a_name(repository: Repository, tmp_path: Path) -> None:
    """No value of an event becomes part of what a shell reads."""
    branch = f"x$(touch${{IFS}}{tmp_path}/ran)"
    run = pull(repository, FILES, clock(), branch=branch)
    assert run.jobs["gate"] == "success", run.text
    assert not (tmp_path / "ran").exists()
