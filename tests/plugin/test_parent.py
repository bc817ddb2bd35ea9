"""A pull request held against the commit that it is merged into, as the workflow does it."""

from __future__ import annotations

import json
from typing import Any

import pytest

SOURCE = "if (i < n) y[i] = factor * x[i];"
MAINS = "if (i < n) y[i] = x[i] * factor + 0.0f * i;"
HEADS = "if (i < n) y[i] = x[i] * factor + 0.0f * (i + 1);"


def times(**arms_us: float) -> tuple[dict[str, Any], ...]:
    """Script the arms' times; 10 us for any other."""
    rules = [{"match": {"arm": arm}, "us": us, "noise_ratio": 0.001} for arm, us in arms_us.items()]
    return (*rules, {"match": {}, "us": 10.0, "noise_ratio": 0.001})


@pytest.mark.weekly
def test_a_change_is_blamed_for_what_it_did_to_its_parent_and_for_nothing_else(stored: Any) -> None:
    """Exported by the command, run beside head, and said: regressed against the parent, creep, main's creep."""
    stored.replace("scale.hip", SOURCE, MAINS)
    exported = stored.command("plans", "--runtime=cpu", "--commit", "a1" * 20, "--changed-against=baselines", "--json")
    assert exported.returncode == 3, exported.stderr
    said = json.loads(exported.stdout)
    assert {(change["case"]["variant"], change["what"]) for change in said["changed"]} == {("plain", "changed")}
    guard = ("--kernelperf-parent=plans.kernelperf", "-k", "plain-8")
    stored.set_times(*times(head=10.7))
    assert stored.guard(*guard).ret == 0  # main is slow, and head is main's code
    assert record(stored)["decision"]["code"] == "main_creep"
    stored.replace("scale.hip", MAINS, HEADS)
    stored.set_times(*times(head=10.71, parent=10.4))
    result = stored.guard(*guard)
    assert (result.ret, record(stored)["decision"]["code"]) == (1, "creep")
    stored.set_times(*times(head=10.0, parent=9.0))
    result = stored.guard(*guard)
    assert (result.ret, record(stored)["decision"]["code"]) == (1, "slower_than_parent")
    result.stdout.fnmatch_lines(["*slower than the parent's code*", "*head / parent*"])
    blame = stored.run_file()["blame"]
    assert (blame["parent_commit"], blame.get("parent_problems", [])) == ("a1" * 20, [])


def record(project: Any) -> Any:
    """Return the record of the one case that was run."""
    (found,) = project.run_file()["records"]
    return found


def test_a_file_that_is_no_export_is_refused_before_anything_runs(guarded: Any) -> None:
    """One sentence."""
    (guarded.path / "plans.kernelperf").write_text("{}")
    result = guarded.guard("--kernelperf-parent=plans.kernelperf")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*is damaged, or no file of kernelperf plans*"])
