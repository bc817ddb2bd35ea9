"""``kernelperf drill`` in a user's project: real runs of the guard, real workers, a scripted clock."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.drill.command import NAMES

HELPERS = Path(__file__).parent.parent / "helpers"
LEFT_OUT_BY_THE_SCRIPT = {"busy", "spinning"}


@pytest.fixture
def project(guarded: Any) -> Any:
    """A guarded project; the clock knows the drill's own kernel, whose rounds really take milliseconds."""
    guarded.set_times(
        {"match": {"kernel": "drill"}, "us": 5000.0, "noise_ratio": 0.001},
        {"match": {}, "us": 10.0, "noise_ratio": 0.001},
    )
    return guarded


def run_drill(project: Any, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the drill; return its exit code and what it says of each alarm, by name."""
    result = project.command("drill", "--runtime=cpu", "--json", *arguments, timeout=600)
    assert result.stdout.startswith("{"), result.stdout + result.stderr
    found = json.loads(result.stdout)
    return result.returncode, {**found, "alarms": {alarm["name"]: alarm for alarm in found["alarms"]}}


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file of the project with its bytes; compilers' caches and the lock are not the project's."""
    kept = (path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts)
    return {str(path): path.read_bytes() for path in kept if not path.name.startswith("machine.lock")}


@pytest.mark.weekly
def test_every_alarm_rings_and_the_project_is_left_as_it_was(project: Any) -> None:
    """A whole drill: exit code 0, each alarm once, no file of the project changed, made or gone."""
    before = snapshot(project.path)
    code, found = run_drill(project, "--cases=2")
    states = {name: alarm["state"] for name, alarm in found["alarms"].items()}
    assert states == {name: "left out" if name in LEFT_OUT_BY_THE_SCRIPT else "rang" for name in NAMES}, found
    assert code == 0
    assert len(found["cases"]) == 4  # two of the project's, two of the drill's own
    assert all(alarm["found"] and alarm["did"] and alarm["must"] for alarm in found["alarms"].values())
    assert snapshot(project.path) == before


@pytest.mark.parametrize(
    ("disabled", "alarm"),
    [
        pytest.param("nothing_is_starved", "starved", marks=pytest.mark.weekly),
        ("nothing_is_wrong", "wrong"),
        pytest.param("nothing_is_wrong", "mutations", marks=pytest.mark.weekly),
        pytest.param("nothing_is_slower", "slowed", marks=pytest.mark.weekly),
        pytest.param("everything_is_slower", "untouched", marks=pytest.mark.weekly),
        ("files_are_not_looked_at", "renamed"),
        pytest.param("a_damaged_baseline_is_none", "cut-off", marks=pytest.mark.weekly),
        pytest.param("a_dead_worker_passes", "killed-worker", marks=pytest.mark.weekly),
        pytest.param("the_exit_code_is_lost", "wrong", marks=pytest.mark.weekly),
    ],
)
def test_a_drill_fails_when_an_alarm_is_disabled(
    project: Any, monkeypatch: pytest.MonkeyPatch, disabled: str, alarm: str
) -> None:
    """Exit code 1, and the alarm is the one that stayed silent."""
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p disabled_alarm")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(HELPERS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("DISABLED_ALARM", disabled)
    code, found = run_drill(project, "--cases=1", f"--alarm={alarm}")
    assert found["problem"] == ""
    assert {name: each["state"] for name, each in found["alarms"].items()} == {alarm: "silent"}
    assert code == 1


def test_code_that_does_not_pass_the_guard_is_not_drilled(project: Any) -> None:
    """One sentence that says what fails as it stands; nothing is set off."""
    project.replace("test_scale.py", "np.float32(3) * x", "np.float32(4) * x")
    code, found = run_drill(project, "--cases=1", "--alarm=wrong")
    assert code == 1
    assert found["alarms"] == {}
    assert "does not get through the guard" in found["problem"]
    assert "differ" in found["problem"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("test_scale.py::test_scale",), "a part of a file"),
        (("-k", "nothing_of_that_name"), "nothing to guard (exit code 5)"),
        (("not_there",), "nothing to guard (exit code 4)"),
    ],
)
def test_what_cannot_be_drilled_is_a_sentence(project: Any, arguments: tuple[str, ...], words: str) -> None:
    """A single test, or none."""
    code, found = run_drill(project, "--alarm=wrong", *arguments)
    assert code == 1
    assert words in found["problem"]


@pytest.mark.parametrize("command", ["drill", "calibrate"])
def test_a_command_that_is_terminated_leaves_nothing(
    project: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """As a CI does whose time is up: no pytest goes on by itself, no scratch folder stays, no file is changed."""
    before = snapshot(project.path)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    program = "from pytest_kernelperf.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, command, "--runtime=cpu"],
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 60
    while not children_of(pytests := processes_that_name(temporary)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert children_of(pytests)  # it is at work: workers and compilers are there
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM, output
    assert processes_that_name(temporary) == []
    assert list(temporary.iterdir()) == []
    assert snapshot(project.path) == before


def processes_that_name(folder: Path) -> list[int]:
    """All processes whose command line names something in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.fsencode(folder) + b"/" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


def children_of(parents: list[int]) -> list[str]:
    """All processes that one of these has started."""
    found = []
    for parent in parents:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += children.read_text().split()
    return found
