"""Rules of our workflows that no linter has: what a pull request could use against us stays out."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / "action.yml"
if not WORKFLOWS:
    pytest.skip("the workflows are not beside these tests", allow_module_level=True)
YAML = pytest.importorskip("ruamel.yaml", reason="ruamel.yaml comes with check-jsonschema")


def load(path: Path) -> dict[str, Any]:
    """Read a workflow; ``on`` is a key, not a truth value, as YAML 1.2 has it."""
    loaded: dict[str, Any] = YAML.YAML(typ="safe", pure=True).load(path)
    return loaded


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    """A workflow's jobs."""
    found: dict[str, dict[str, Any]] = load(path)["jobs"]
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    """All steps of a workflow, or of the action."""
    if path == ACTION:
        return list(load(path)["runs"]["steps"])
    return [step for job in jobs(path).values() for step in job["steps"]]


every = pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


@every
def test_a_workflow_fits_on_two_screens(path: Path) -> None:
    """Under 100 lines: what does more belongs into a program with tests."""
    assert len(path.read_text().splitlines()) < 100


@every
def test_no_expression_becomes_part_of_a_program(path: Path) -> None:
    """A branch may be named ``$(…)``: values reach programs as variables."""
    for step in steps(path):
        assert "${{" not in step.get("run", "")


@every
def test_foreign_actions_are_pinned_by_commit(path: Path) -> None:
    """By all 40 digits, with the release beside it; only GitHub's own are used."""
    for line in path.read_text().splitlines():
        if (used := re.search(r"uses: (\S+)(.*)", line)) and used[1] != "./":
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", used[1])
            assert re.fullmatch(r" # v\d+\.\d+\.\d+", used[2])


@workflow
def test_nothing_is_permitted_but_what_a_job_names(path: Path) -> None:
    """And each permission says what it is for."""
    assert load(path)["permissions"] == {}
    for job in jobs(path).values():
        assert "permissions" in job
    for line in path.read_text().splitlines():
        if re.match(r"\s+(contents|actions|issues|pull-requests): (read|write)", line):
            assert " # to " in line or " # for " in line


@workflow
def test_events_that_give_strangers_code_our_rights_are_not_used(path: Path) -> None:
    """``pull_request_target`` nowhere; checkouts leave no credential behind and take nobody else's commit unasked."""
    text = path.read_text()
    assert "pull_request_target" not in text
    assert "allow-unsafe-pr-checkout" not in text
    for step in steps(path):
        if "actions/checkout@" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
            assert "ref" not in step["with"]


@workflow
def test_every_job_ends(path: Path) -> None:
    """With a time-out of its own."""
    for job in jobs(path).values():
        assert job["timeout-minutes"] <= 90


def test_the_box_has_no_secret_and_no_right_to_write() -> None:
    """A job on our own machine runs a pull request's code."""
    boxes = [job for path in WORKFLOWS for job in jobs(path).values() if "self-hosted" in job["runs-on"]]
    assert len(boxes) == 3
    for job in boxes:
        assert job["runs-on"] == ["self-hosted", "linux", "x64", "gfx1151", "perf"]
        assert set(job["permissions"].values()) == {"read"}
        assert "secrets." not in str(job)
        assert "github.token" not in str(job)
        assert "environment" not in job


def test_no_run_of_main_is_lost_and_old_runs_of_a_pull_request_are_ended() -> None:
    """A waiting run of a group is replaced by the next, so only pull requests share one."""
    group = load(ROOT / ".github/workflows/kernelperf.yml")["concurrency"]
    assert group["group"] == "kernelperf-${{ github.event.pull_request.number || github.run_id }}"
    assert group["cancel-in-progress"] == "${{ github.event_name == 'pull_request' }}"


def test_the_required_check_cannot_be_skipped() -> None:
    """A job that is skipped counts as passed, so the gate always runs."""
    gate = jobs(ROOT / ".github/workflows/kernelperf.yml")["gate"]
    assert (gate["if"], sorted(gate["needs"]), gate["name"]) == ("always()", ["box", "hosted"], "kernelperf")


def test_the_commenting_workflow_runs_our_code_alone() -> None:
    """It listens to the other's name, and checks out, downloads and caches nothing of the run."""
    text = (ROOT / ".github/workflows/kernelperf-comment.yml").read_text()
    listens = load(ROOT / ".github/workflows/kernelperf-comment.yml")["on"]["workflow_run"]
    assert listens["workflows"] == [load(ROOT / ".github/workflows/kernelperf.yml")["name"]]
    assert "download-artifact" not in text
    assert "cache" not in text


def test_the_gate_on_the_box_knows_these_workflows() -> None:
    """The settings that are installed allow the workflows that use the box, for the events that start them."""
    rules = pytest.importorskip("kernelperf_runner.rules").read_rules(ROOT / ".github/runner/gate.example.json")
    for path in WORKFLOWS:
        if any("self-hosted" in job["runs-on"] for job in jobs(path).values()):
            assert set(load(path)["on"]) == set(rules.workflows[f".github/workflows/{path.name}"])
            for job in jobs(path).values():
                assert isinstance(job["runs-on"], str) or set(job["runs-on"]) == set(rules.labels)


def documented(page: str) -> list[str]:
    """The code spans in the first cells of a page's tables."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    cells = re.findall(r"^ *\| (`[^|]*) \|", text, flags=re.MULTILINE)
    return [span for cell in cells for span in re.findall(r"`([^`]+)`", cell)]


def test_the_actions_inputs_are_documented() -> None:
    """All of them, in the action's order."""
    assert documented("action.md") == list(load(ACTION)["inputs"])


def test_the_boxs_settings_are_documented() -> None:
    """As the gate reads them."""
    rules = pytest.importorskip("kernelperf_runner.rules")
    top = [field.name for field in dataclasses.fields(rules.Rules) if field.name != "machine"]
    machine = [f"machine.{field.name}" for field in dataclasses.fields(rules.Limits)]
    assert sorted(documented("runner.md")) == sorted(top + machine)


def test_every_workflow_is_documented() -> None:
    """What it does, when and where."""
    page = (ROOT / "docs" / "pull-requests.md").read_text(encoding="utf-8")
    for path in WORKFLOWS:
        assert f"`{path.name}`" in page or path.name in ("ci.yml", "drill.yml")
