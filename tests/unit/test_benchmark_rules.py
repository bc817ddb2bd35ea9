"""The benchmark of rules over processes: its arithmetic by hand, and one run on samples made up."""

from __future__ import annotations

import gzip
import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pytest_kernelperf.stats.policy import Policy

ROOT = Path(__file__).parents[2]
POLICY = Policy(tolerance=0.01)


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program, as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("rules")


def write_samples(folder: Path, slower: dict[int, float]) -> None:
    """Nine processes that spin and nine that do not, whose changes are given by process."""
    random = np.random.default_rng(0)
    lines = []
    for process in range(9):
        for cycles, change in ((0, 0.0), (100, slower.get(process, 0.0))):
            us = 2 * (1 + change) * np.exp(random.normal(0, 0.0005, 30))
            lines.append(
                {"process": process, "mode": "graph", "variant": "plain", "tokens": 7, "spin_cycles": cycles}
                | {"us": us.tolist()}
            )
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / "made.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


def test_every_group_is_asked_and_the_truth_is_the_other_processes(
    rules: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three of nine processes hardly slow down: groups that hold all three are the ones most processes miss."""
    write_samples(tmp_path / "data", dict.fromkeys(range(3, 9), 0.03))
    file = tmp_path / "rules.json"
    asked = ["--data", str(tmp_path / "data"), "--tolerance", "0.01", "--simulated", "50", "--json", str(file)]
    assert rules.main(asked) == 0
    caught = json.loads(file.read_text())["caught"]
    assert sum(count for _, count in caught["kernelperf"].values()) == math.comb(9, 5)
    # With all three or two of them in the group the others are slow by 3 %, with one by 1.5 %, with none not at all.
    three, two, one, none = (math.comb(3, held) * math.comb(6, 5 - held) for held in (3, 2, 1, 0))
    assert caught["most processes"] == {
        "<0.5": [none, none],
        "0.5-1": [0, 0],
        "1-2": [one, one],
        "2-5": [two, two + three],
        ">5": [0, 0],
    }
    assert caught["4 in 5 processes"]["2-5"] == [0, two + three]
    assert caught["all processes"]["1-2"] == [0, one]
    assert caught["any process"]["2-5"] == [two + three, two + three]
    assert caught["kernelperf"]["1-2"] == [one, one]
    assert "every group of 5 processes" in capsys.readouterr().out


def test_nothing_to_count_is_said_by_the_exit_status(rules: ModuleType, tmp_path: Path) -> None:
    """A folder without slowed code, and one that is not there."""
    (tmp_path / "empty").mkdir()
    assert rules.main(["--data", str(tmp_path / "empty"), "--simulated", "5"]) == 2
    assert rules.main(["--data", str(tmp_path / "none"), "--simulated", "5"]) == 2


def test_blame_is_of_code_that_is_equally_fast(rules: ModuleType) -> None:
    """At a tolerance of one standard deviation one of five processes is beyond it in 56 of 100 groups, all in none."""
    asked = rules.rules_of(POLICY, 5)
    any_, all_ = (rules.blame_of(asked[name], POLICY, 5, 2_000)["1"] for name in ("any process", "all processes"))
    # SHARP beyond the tolerance: 1.03 standard deviations.
    assert any_ == pytest.approx(1 - (1 - 0.1515) ** 5, abs=0.04)
    assert all_ < 0.005


def test_the_guards_rule_is_the_guards_own(rules: ModuleType) -> None:
    """Look by look: three that agree suffice, whatever the others would have said; else none may say faster."""
    kernelperf = rules.rules_of(POLICY, 5)["kernelperf"]

    def said(*effects: float) -> object:
        return rules._simulated(effects, POLICY.tolerance_log)

    assert kernelperf(said(0.05, 0.0501, 0.0499, -0.05, -0.05))
    assert kernelperf(said(0.05, 0.02, 0.05, 0.0, 0.04))
    assert not kernelperf(said(0.05, 0.02, 0.05, -0.05, 0.04))
    assert not kernelperf(said(0.0, 0.0, 0.0, 0.05, 0.05))
    assert not kernelperf(said(0.2, 0.011, 0.0, 0.011, 0.0))
