"""``kernelperf calibrate`` in a user's project: real kernels, real processes, a scripted clock."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from pytest_kernelperf.baseline.calibration import read_calibration

QUICK = ("calibrate", "--runtime=cpu", "--budget=1", "--mode=graph", "-k", "plain-8")


def stored_file(project: Any) -> Path:
    """Return the calibration beside the project's baselines."""
    (path,) = (project.path / "baselines").glob("*/calibration.json")
    assert isinstance(path, Path)
    return path


def files(project: Any) -> dict[str, bytes]:
    """Return every file of the project with its bytes."""
    return {
        str(path.relative_to(project.path)): path.read_bytes()
        for path in sorted(project.path.rglob("*"))
        if path.is_file() and not path.name.startswith("machine.lock") and ".cache" not in path.parts
    }


def test_it_stores_what_identical_code_looked_like_and_the_guard_does_not_mind(stored: Any, tmp_path: Path) -> None:
    """Nothing else changes; the baselines' own check and a run of the guard go on as before. A picture is asked for."""
    before = files(stored)
    result = stored.command(*QUICK, "--svg", str(tmp_path / "new"))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 of 3 comparisons in 1 group of processes; at most 95 % with 95 % confidence" in result.stdout
    path = stored_file(stored)
    after = files(stored)
    assert set(after) - set(before) == {str(path.relative_to(stored.path))}
    assert {name: after[name] for name in before} == before

    picture = tmp_path / "new" / "calibration.spread.svg"
    assert f"drawn in {picture}\n" in result.stderr
    assert "scale plain at 8 tokens" in "".join(ElementTree.parse(picture).getroot().itertext())

    calibration = read_calibration(path.parent.parent, path.parent.name)
    assert calibration is not None
    (case,) = calibration.cases
    assert (case.kernel, case.variant, case.tokens, case.mode, case.gate) == ("scale", "plain", 8, "graph", True)
    assert calibration.processes == 3  # the project's own setting
    guarded = stored.guard()
    assert guarded.ret == 0
    assert "calibration" not in guarded.stdout.str()


@pytest.mark.weekly
def test_a_copy_that_the_clock_calls_slower_is_a_false_alarm(guarded: Any) -> None:
    """The decision is the guard's own, in the child's real processes."""
    guarded.set_times(
        {"match": {"arm": "copy-3"}, "us": 12.0, "noise_ratio": 0.001},
        {"match": {}, "us": 10.0, "noise_ratio": 0.001},
    )
    result = guarded.command(*QUICK, "--json", "--no-store")
    assert result.returncode == 0, result.stdout + result.stderr
    found = json.loads(result.stdout)
    assert found["summary"]["gate"]["groups"] == {"events": 1, "checks": 3, "clusters_hit": 1, "clusters": 1}
    assert found["outcome"]["calibration"]["cases"][0]["groups"][0]["verdicts"] == [
        "unchanged",
        "regressed",
        "unchanged",
    ]
    assert not (guarded.path / "baselines").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("test_scale.py", "import numpy", "import nothing_of_that_name\nimport numpy"), "nothing_of_that_name"),
        (("pytest.ini", "kernelperf_processes = 3", "kernelperf_processes = 2"), "kernelperf_processes"),
    ],
)
def test_what_keeps_pytest_from_running_is_shown(guarded: Any, change: tuple[str, str, str], words: str) -> None:
    """Exit code 1 and pytest's own words."""
    guarded.replace(*change)
    result = guarded.command(*QUICK)
    assert result.returncode == 1
    assert words in result.stdout


def test_no_case_is_a_sentence(guarded: Any) -> None:
    """A -k that takes all cases away is said."""
    result = guarded.command("calibrate", "--runtime=cpu", "--budget=1", "-k", "nothing_of_that_name")
    assert result.returncode == 1
    assert "no case of a guarded kernel was collected" in result.stdout


def test_an_interrupted_calibration_leaves_nothing(stored: Any) -> None:
    """Ctrl-C: the workers go, no file is half-written, the project is as it was."""
    before = files(stored)
    program = "from pytest_kernelperf.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "calibrate", "--runtime=cpu", "--budget=600"],
        cwd=stored.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        while not _descendants(process.pid, "pytest_kernelperf.worker.program"):
            assert process.poll() is None
            time.sleep(0.05)
        workers = _descendants(process.pid, "pytest_kernelperf.worker.program")
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode != 0
    assert b"Traceback" not in output
    assert files(stored) == before
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def _descendants(root: int, words: str) -> list[int]:
    """Return the processes below ``root`` whose command line holds ``words``."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                commands[int(entry.name)] = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            parents[int(entry.name)] = int(stat[1])
    found = []
    for pid, command in commands.items():
        above = pid
        while above > 1 and above != root:
            above = parents.get(above, 0)
        if above == root and words in command:
            found.append(pid)
    return found
