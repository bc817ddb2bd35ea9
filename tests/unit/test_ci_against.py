"""What a commit is measured against, from real payloads, and the job that does it, in a real git repository."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.baseline.exported import read_export
from pytest_kernelperf.ci.against import Against, read_against
from pytest_kernelperf.ci.checkout import Git
from pytest_kernelperf.ci.job import Job, run_job
from pytest_kernelperf.errors import UsageError

SHA, HEAD = "c" * 40, "a" * 40


def read(folder: Path, event: str, payload: Any) -> Against:
    """Read an event as CI does."""
    file = folder / "event.json"
    file.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return read_against(event, file, SHA)


def pull_request(base: str = "main") -> dict[str, Any]:
    """A pull request's payload, as much of it as is read."""
    return {
        "number": 3, "repository": {"default_branch": "main", "id": 1},
        "pull_request": {"head": {"sha": HEAD, "ref": "fix"}, "base": {"ref": base, "sha": "b" * 40}},
    }  # fmt: skip


class TestAgainst:
    """The commits whose code and whose baselines count."""

    def test_a_pull_request_is_held_against_the_commit_that_it_is_merged_into(self, tmp_path: Path) -> None:
        """Its own baselines are not its yardstick."""
        found = read(tmp_path, "pull_request", pull_request())
        assert found == Against(HEAD, HEAD, f"{SHA}^1", f"{SHA}^1")

    def test_a_stacked_one_is_blamed_beside_the_branch_below_by_mains_baselines(self, tmp_path: Path) -> None:
        """The branch below may have moved the yardstick as well."""
        found = read(tmp_path, "pull_request", pull_request("feature"))
        assert found == Against(HEAD, HEAD, f"{SHA}^1", "refs/remotes/origin/main")

    def test_a_merge_queue_is_held_against_what_it_would_be_merged_into(self, tmp_path: Path) -> None:
        """That may be another group of the queue."""
        payload = {"merge_group": {"base_sha": "d" * 40, "head_sha": SHA}, "repository": {"default_branch": "main"}}
        assert read(tmp_path, "merge_group", payload) == Against(SHA, "", "d" * 40, "d" * 40)

    def test_main_is_held_against_what_it_was_by_its_own_baselines(self, tmp_path: Path) -> None:
        """They were reviewed with it; what stays without one is not new for ever."""
        payload = {"before": "e" * 40, "ref": "refs/heads/main", "repository": {"default_branch": "main"}}
        assert read(tmp_path, "push", payload) == Against(SHA, "", "e" * 40, "", 7)
        assert read(tmp_path, "push", payload | {"before": "0" * 40}).parent == ""

    @pytest.mark.parametrize("event", ["schedule", "workflow_dispatch", ""])
    def test_other_events_are_held_against_nothing_but_the_baselines(self, tmp_path: Path, event: str) -> None:
        """Whatever their payload is."""
        assert read(tmp_path, event, "{") == Against(SHA)

    @pytest.mark.parametrize("payload", ["{", "[]", {}, {"pull_request": {"head": {}}}, '{"number": "x"}'])
    def test_a_payload_that_is_none_is_one_sentence(self, tmp_path: Path, payload: Any) -> None:
        """Never a guess."""
        with pytest.raises(UsageError, match="payload"):
            read(tmp_path, "pull_request", payload)
        with pytest.raises(UsageError, match="GITHUB_EVENT_PATH is not set"):
            read_against("push", None, SHA)


def git(folder: Path, *arguments: str) -> str:
    """Run git as nobody in particular."""
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a branch that is merged into main, and a pytest in it that tells what it was given."""
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "baselines").mkdir()
    (folder / "baselines" / "who").write_text("main")
    (folder / "kernels").mkdir()
    (folder / "kernels" / "test_nothing.py").write_text("def test_nothing(): print('::error::not from us')\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "main")
    git(folder, "checkout", "-qb", "fix")
    (folder / "baselines" / "who").write_text("the change itself")
    git(folder, "commit", "-qam", "fix")
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "merge", "fix")
    return folder


class TestTheTrees:
    """git, as the job uses it."""

    def test_another_commits_tree_lies_beside_and_is_taken_away(self, project: Path, tmp_path: Path) -> None:
        """The tree at hand stays as it is."""
        found = Git(project)
        with found.tree(found.commit("HEAD^1"), tmp_path / "other") as other:
            assert (other / "baselines" / "who").read_text() == "main"
        assert not (tmp_path / "other").exists()
        assert (project / "baselines" / "who").read_text() == "the change itself"
        assert git(project, "worktree", "list").count("\n") == 0

    def test_a_commit_that_is_not_here_says_how_to_get_it(self, project: Path) -> None:
        """Checkouts are shallow unless told otherwise."""
        with pytest.raises(UsageError, match="check out with fetch-depth: 0"):
            Git(project).commit("f" * 40)

    def test_hooks_of_the_repository_are_not_run(self, project: Path, tmp_path: Path) -> None:
        """Whoever wrote them."""
        hook = project / ".git" / "hooks" / "post-checkout"
        hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        hook.chmod(0o755)
        with Git(project).tree("HEAD", tmp_path / "other"):
            assert not (tmp_path / "ran").exists()

    def test_what_two_commits_share_is_seen(self, project: Path) -> None:
        """By content."""
        assert Git(project).same("HEAD", "HEAD^1", "kernels")
        assert not Git(project).same("HEAD", "HEAD^1", "baselines")


class TestTheJob:
    """What pytest and the reports are started with; they are played by a program that writes it down."""

    @pytest.fixture
    def played(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Stands for Python: notes each call, makes the plans that it is asked for, and ends as it is told to."""
        program = tmp_path / "python"
        program.write_text(
            f"""#!{sys.executable}
import os, pathlib, sys
folder = pathlib.Path({str(tmp_path)!r})
what = "pytest" if "import pytest;" in sys.argv[2] else sys.argv[3]
with (folder / "calls").open("a") as calls:
    print(what, os.getcwd(), os.environ.get("KERNELPERF_COMMIT", "-"), *sys.argv[3:], sep="|", file=calls)
for argument in sys.argv:
    name, _, value = argument.partition("=")
    if name == "--kernelperf-baselines":
        (folder / "yardstick").write_text((pathlib.Path(value) / "who").read_text())
    if name == "--kernelperf-parent":
        (folder / "parent").write_bytes(pathlib.Path(value).read_bytes())
    if name == "--kernelperf-accept":
        (folder / "accepted").write_text(pathlib.Path(value).read_text())
    if name == "--kernelperf-out":
        (pathlib.Path(value) / "run.json").write_text("{{}}")
if what == "plans" and not (folder / "no-plans").exists():
    pathlib.Path(sys.argv[sys.argv.index("--output") + 1]).write_text("plans")
print("::error::from the kernel")
sys.exit(3 if what == "pytest" else 9 if what != "plans" else 0)
"""
        )
        program.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(program))
        return tmp_path

    def calls(self, played: Path) -> list[list[str]]:
        """What was called, in order."""
        return [line.split("|") for line in (played / "calls").read_text().splitlines()]

    def test_the_yardstick_is_the_parents_and_the_gate_is_pytests(self, project: Path, played: Path) -> None:
        """Plans from the parent's tree, its baselines, then the reports, which change nothing."""
        head = git(project, "rev-parse", "HEAD^2")
        against = Against(head, head, "HEAD^1", "HEAD^1")
        assert run_job(Job(project, played / "out", acceptance='{"a":1}'), against, ["kernels", "-k", "x"]) == 3
        plans, tests, summary, annotations = self.calls(played)
        assert (plans[0], plans[-1]) == ("plans", "kernels")
        assert plans[1] != str(project)
        assert (tests[0], tests[1], tests[2], tests[-3:]) == ("pytest", str(project), head, ["kernels", "-k", "x"])
        assert any(option.startswith("--kernelperf-parent=") for option in tests)
        assert (played / "yardstick").read_text() == "main"
        assert json.loads((played / "accepted").read_text()) == {"a": 1}
        assert [summary[0], annotations[0]] == ["summary", "annotations"]

    def test_what_kernels_print_is_no_command_to_the_runner(
        self, project: Path, played: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Commands are stopped before anything of the change runs, by a word that it cannot know."""
        run_job(Job(project, played / "out"), Against("HEAD"), [])
        said = capfd.readouterr().out
        before, _, rest = said.partition("::stop-commands::")
        token = rest.partition("\n")[0]
        assert "::error::from the kernel" not in before
        assert len(token) == 32
        assert rest.count(f"::{token}::") == 1
        assert rest.partition(f"::{token}::")[0].count("::error::from the kernel") == 1

    def test_a_parent_without_plans_leaves_the_baselines_and_the_run_says_so(self, project: Path, played: Path) -> None:
        """A log alone is read by nobody: the guard is given a file that holds nothing but the reason."""
        (played / "no-plans").touch()
        run_job(Job(project, played / "out"), Against("HEAD", "", "HEAD^1", "HEAD^1"), [])
        assert any(option.startswith("--kernelperf-parent=") for option in self.calls(played)[1])
        export = read_export(played / "parent")
        assert export.commit == git(project, "rev-parse", "HEAD^1")
        assert export.sentences == (
            "kernelperf plans ended with exit code 0 on the commit that is measured against: see the job's log",
        )
        assert (played / "yardstick").read_text() == "main"

    @pytest.mark.parametrize(
        ("arguments", "passed_on"),
        [
            (["kernels", "other"], ["kernels"]),
            (["-k", "x", "-o", "kernelperf_tolerance=50%"], []),
            (["other"], None),
        ],
    )
    def test_of_the_arguments_the_paths_that_the_parent_has_are_the_parents(
        self, project: Path, played: Path, arguments: list[str], passed_on: list[str] | None
    ) -> None:
        """A change that brings the first kernel has no parent's, and its options say nothing of the parent's limits."""
        (project / "other").mkdir()
        run_job(Job(project, played / "out"), Against("HEAD", "", "HEAD^1", "HEAD^1"), arguments)
        plans = [call for call in self.calls(played) if call[0] == "plans"]
        assert [call[call.index("--runtime") + 2 :] for call in plans] == ([] if passed_on is None else [passed_on])

    def test_a_checkout_of_something_else_is_refused(self, project: Path, played: Path) -> None:
        """A head that is not what was merged would put one commit's result beside another's name."""
        with pytest.raises(UsageError, match="does not merge"):
            run_job(Job(project, played / "out"), Against(HEAD, HEAD, "HEAD^1", "HEAD^1"), [])
        assert not (played / "calls").exists()

    def test_main_is_told_how_long_a_case_may_be_new(self, project: Path, played: Path) -> None:
        """Seven days."""
        run_job(Job(project, played / "out"), Against("HEAD", new_limit_days=7), [])
        assert "--kernelperf-new-limit-days=7" in self.calls(played)[0]
