"""A pull request, as the workflow runs it: by the other commit's baselines, with its own edits shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

COMMIT = "a1" * 20
SLOWER_PLAIN = "if (i < n) y[i] = factor * x[i];", "if (i < n) y[i] = x[i] * factor + 0.0f * i;"


@pytest.mark.weekly
def test_a_slowdown_is_not_hidden_by_editing_its_baseline_and_passes_once_accepted(
    stored: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vanished case is no failure where its baseline went too, but is named; the acceptance is for this commit."""
    (stored.path / "baselines").rename(stored.path / "theirs")
    stored.replace("scale.hip", *SLOWER_PLAIN)
    stored.replace("test_scale.py", "def strided(", "def grid_stride(")
    stored.set_times({"match": {"arm": "head"}, "us": 13.3, "noise_ratio": 0.001}, {"match": {}, "us": 10.0})
    assert stored.guard("--update-baselines=mine", "-k", "plain").ret == 0
    against = ("--kernelperf-baselines=theirs", "-k", "plain or baseline")
    assert stored.guard(*against).ret == 1
    assert stored.verdicts()["plain-8"] == "regressed"
    blame = stored.run_file()["blame"]
    assert {(edit["case"]["variant"], edit["kind"]) for edit in blame["edits"]} == {
        ("plain", "changed"),
        ("strided", "removed"),
    }
    assert [case["variant"] for case in blame["vanished"]] == ["strided", "strided"]
    monkeypatch.setenv("KERNELPERF_COMMIT", COMMIT)
    accepted = {"version": 1, "commit": COMMIT, "by": "ada", "reason": "rounds right", "cases": None}
    (stored.path / "ok.json").write_text(json.dumps(accepted))
    result = stored.guard(*against, "--kernelperf-accept=ok.json")
    assert result.ret == 0, result.stdout.str()
    assert stored.verdicts()["plain-8"] == "accepted"
    assert {proposal["why"] for proposal in stored.run_file()["blame"]["proposals"]} == {"accepted"}


def test_another_commits_baselines_are_never_written(stored: Any) -> None:
    """One sentence, before anything runs."""
    result = stored.guard("--kernelperf-baselines=baselines", "--update-baselines=mine")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*leave it out where baselines are updated*"])
