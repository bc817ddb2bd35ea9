"""The machine moved since the baselines were stored: said once for the run, with what changed, and nobody is blamed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.terminal import render_run

FIVE = ("-o", "kernelperf_processes=5")
TOLERANCE = ("-o", "kernelperf_tolerance=1%")


def move_machine(guarded: Any, us: float) -> None:
    """Everything takes so long today, whichever binary it is; no two processes are quite alike."""
    guarded.set_times({"match": {}, "us": us, "noise_ratio": 0.001, "process_ratio": 0.002})


@pytest.fixture
def stored_by_five(guarded: Any, baselines_of_five: Path) -> Any:
    """A project whose baselines hold five processes a case, as they do by default."""
    guarded.start_from(baselines_of_five)
    move_machine(guarded, 10.0)
    return guarded


def change_fact(guarded: Any, name: str, text: str) -> None:
    """Say in the baseline that a fact was another when it was stored."""
    value = json.loads(guarded.baseline().read_text())
    for facts in value["environments"].values():
        assert name in facts
        facts[name] = text
    guarded.baseline().write_text(json.dumps(value))


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        pytest.param(("-n2",), marks=pytest.mark.weekly),
        pytest.param(("-p", "no:terminal"), marks=pytest.mark.weekly),
    ],
)
def test_a_machine_that_moved_is_a_warning_with_what_changed(stored_by_five: Any, arguments: tuple[str, ...]) -> None:
    """All cases are 8 % slower than stored and none is blamed: the run passes, run.json and both reports say why."""
    if "-n2" in arguments:
        pytest.importorskip("xdist", reason="needs pytest-xdist")
    change_fact(stored_by_five, "driver", "Linux 5.4.0")
    move_machine(stored_by_five, 10.8)
    result = stored_by_five.guard(*FIVE, "--kernelperf-full", *arguments)
    assert result.ret == 0
    assert set(stored_by_five.verdicts().values()) == {"unchanged", "caught"}
    drift = stored_by_five.run_file()["drift"]
    assert (drift["moved"], drift["cases"], drift["processes"], drift["stored_processes"]) == (True, 4, 5, 5)
    assert drift["change_ratio"] == pytest.approx(1.08, abs=0.005)
    driver = stored_by_five.run_file()["device"]["driver"]
    assert drift["changed"] == [f"driver: Linux 5.4.0 -> {driver}"]
    run = read_run(stored_by_five.path / ".kernelperf" / "run.json")
    for text in (render_run(run), render_run(run, "github")):
        assert "the machine moved: the accepted binaries of 4 cases are " in text
        assert "Linux 5.4.0" in text
        assert "--extend-baselines" in text
    if "no:terminal" not in arguments:
        result.stdout.fnmatch_lines(
            [
                "warning: the machine moved: the accepted binaries of 4 cases are * % slower today than when they were "
                "stored (p = 0.0079, 5 processes against 5 stored on *)",
                f"  changed since then: driver: Linux 5.4.0 -> {driver}",
                "  no verdict rests on it*",
            ]
        )


def test_a_run_of_changed_kernels_asks_with_the_three_processes_it_takes(stored_by_five: Any) -> None:
    """Cases that are clear stop there; their accepted binaries still tell that the machine moved."""
    for kernel in ("scale", "scale_strided"):
        text = (stored_by_five.path / "scale.hip").read_text()
        begin = text.index("y[i] = factor * x[i];", text.index(f"void {kernel}("))
        changed = text[:begin] + "y[i] = x[i] * factor + 0.0f * i;" + text[begin + len("y[i] = factor * x[i];") :]
        (stored_by_five.path / "scale.hip").write_text(changed)
    move_machine(stored_by_five, 10.8)
    result = stored_by_five.guard(*FIVE)
    assert result.ret == 0
    drift = stored_by_five.run_file()["drift"]
    assert (drift["moved"], drift["cases"], drift["processes"], drift["alpha"]) == (True, 4, 3, 0.001)
    result.stdout.fnmatch_lines(["warning: the machine moved: the accepted binaries of 4 cases are *"])


def test_a_machine_that_stayed_is_not_mentioned(stored_by_five: Any) -> None:
    """Identical code on the same machine; what changed of the facts alone is no warning."""
    change_fact(stored_by_five, "driver", "Linux 5.4.0")
    result = stored_by_five.guard(*FIVE, "--kernelperf-full")
    assert result.ret == 0
    drift = stored_by_five.run_file()["drift"]
    assert (drift["moved"], drift["cases"]) == (False, 4)
    assert "machine moved" not in result.stdout.str()


def test_a_slower_change_is_not_taken_for_the_machine(stored_by_five: Any) -> None:
    """The accepted binaries are as fast as ever: the change alone is blamed."""
    stored_by_five.set_times(
        {"match": {"arm": "head"}, "us": 13.0, "noise_ratio": 0.001},
        {"match": {}, "us": 10.0, "noise_ratio": 0.001, "process_ratio": 0.002},
    )
    result = stored_by_five.guard(*FIVE, "--kernelperf-full")
    assert result.ret == 1
    assert stored_by_five.verdicts()["plain-8"] == "regressed"
    assert not stored_by_five.run_file()["drift"]["moved"]


def test_a_run_that_times_nothing_asks_nothing(stored_by_five: Any) -> None:
    """Identical cases say nothing of the machine."""
    move_machine(stored_by_five, 20.0)
    assert stored_by_five.guard(*FIVE).ret == 0
    assert stored_by_five.run_file()["drift"] is None


@pytest.mark.weekly
def test_todays_processes_end_the_warning_once_they_are_the_baselines(stored_by_five: Any) -> None:
    """What the warning says to do does it: with today's times the entries know both states of the machine."""
    path = stored_by_five.baseline()
    day = json.loads(path.read_text())["cases"][0]["processes"][0]["day"]
    path.write_text(path.read_text().replace(day, "2026-01-05"))
    move_machine(stored_by_five, 10.8)
    result = stored_by_five.guard(*FIVE, *TOLERANCE, "--extend-baselines")
    assert result.ret == 0
    assert stored_by_five.run_file()["drift"]["moved"]
    assert stored_by_five.guard(*FIVE, *TOLERANCE, "--kernelperf-full").ret == 0
    assert not stored_by_five.run_file()["drift"]["moved"]
