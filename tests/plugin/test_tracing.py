"""A slowed kernel's traces, through the whole plugin: the verdict first, then both arms, and files that open."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import stand_in_rocprofv3
from guarded_project import FILES, store_baselines

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.native import native_path

CASE = "[strided-8]"
FOLDER = Path(".kernelperf/traces/scale-strided-8")
ROCM = "--kernelperf-runtime=rocm"


@pytest.fixture(scope="session")
def rocm_baselines(tmp_path_factory: pytest.TempPathFactory, plugin_arguments: tuple[str, ...]) -> Path:
    """Baselines of the child project on the rocm runtime: the cpu runtime under the names of AMD's libraries."""
    folder = tmp_path_factory.mktemp("rocm")
    install(folder / "rocm")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROCM_PATH", str(folder / "rocm"))
        return store_baselines(folder, plugin_arguments, FILES, ROCM)


@pytest.fixture
def slowed_on_rocm(guarded: Any, rocm_baselines: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The slowed project with a ROCm of its own, in which the stand-in for rocprofv3 lies where AMD's would."""
    guarded.start_from(rocm_baselines)
    monkeypatch.setenv("ROCM_PATH", str(guarded.path / "rocm"))
    install(guarded.path / "rocm")
    return slow_down(guarded, monkeypatch)


@pytest.fixture
def slowed(stored: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The slowed project on the cpu runtime."""
    return slow_down(stored, monkeypatch)


def slow_down(project: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Change the strided kernel, which takes a fifth longer by the scripted clock.

    Temporary files of everything that the project runs go to its folder ``tmp``.
    """
    old = "i += threads) y[i] = factor * x[i];"
    project.replace("scale.hip", old, old.replace("x[i]", "x[i] + 0.0f * n"))
    project.set_times({"match": {"arm": "head"}, "us": 12.0, "noise_ratio": 0.001}, {"match": {}, "us": 10.0})
    (project.path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(project.path / "tmp"))
    return project


def install(root: Path) -> None:
    """Make a ROCm whose libraries are the cpu runtime's; skip where that was not built, or nothing compiles C."""
    try:
        library = native_path("hip_cpu/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    stand_in_rocprofv3.install(root, runtime=library.parent)


def misbehave(project: Any, misbehaviour: str) -> None:
    """From now on the project's rocprofv3 behaves so."""
    path = project.path / "rocm" / "behaviour.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "misbehaviour": misbehaviour}))


def record_of(project: Any, case: str = "strided-8") -> dict[str, Any]:
    """The record of a case in the last run file."""
    (record,) = [
        one for one in project.run_file()["records"] if f"{one['case']['variant']}-{one['case']['tokens']}" == case
    ]
    found: dict[str, Any] = record
    return found


def count_kernels(path: Path) -> int:
    """What anybody's SQLite finds in a trace."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        (count,) = database.execute("SELECT count(*) FROM kernels").fetchone()
    database.close()
    return int(count)


def test_a_regression_is_traced_under_rocprofv3(slowed_on_rocm: Any) -> None:
    """Claim: on the rocm runtime, with -x too, the failing case has both arms' traces, of real replays under the
    rocprofv3 of that ROCm; nothing else is left anywhere."""
    slowed = slowed_on_rocm
    result = slowed.guard(ROCM, "--kernelperf-trace=regression", "-x", "-k", CASE)
    record = record_of(slowed)
    assert record["decision"]["verdict"] == "regressed"
    trace = record["trace"]
    assert (trace["origin"], trace["notes"]) == ("rocprofv3", [])
    assert [arm["arm"] for arm in trace["arms"]] == ["head", "baseline"]
    assert [kernel["name"] for kernel in trace["arms"][0]["kernels"]] == ["scale_strided"]
    assert len(trace["arms"][0]["spans"]) == 2
    result.stdout.fnmatch_lines(["*traced times (rocprofv3) say why*", "*scale_strided*head*5*", "*trace of head*"])
    folder = slowed.path / FOLDER
    names = ["baseline.db", "case.json", "case.json.data", "head.db", "timeline.svg"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert [count_kernels(folder / f"{arm}.db") for arm in ("head", "baseline")] == [5, 5]
    assert list((slowed.path / "tmp").iterdir()) == []


@pytest.mark.weekly
@pytest.mark.parametrize("parallel", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_the_cpu_runtime_records_a_regression_by_itself(slowed: Any, parallel: tuple[str, ...]) -> None:
    """Claim: real replays, recorded by the runtime, stand side by side; SQLite and kernelperf trace open the files,
    and the kept case can be replayed by hand."""
    result = slowed.guard(*parallel, "-k", f"{CASE} or [plain-8]", "--kernelperf-trace=always")
    trace, well = record_of(slowed)["trace"], record_of(slowed, "plain-8")["trace"]
    assert record_of(slowed)["decision"]["verdict"] == "regressed"
    assert [arm["arm"] for arm in trace["arms"]] == ["head", "baseline"]
    assert [arm["arm"] for arm in well["arms"]] == ["head"]
    assert (trace["origin"], trace["notes"], well["notes"]) == ("cpu", [], [])
    for arm in trace["arms"]:
        (kernel,) = arm["kernels"]
        assert (kernel["name"], kernel["calls"], kernel["workgroups"]) == ("scale_strided", 5, [64])
        assert len(arm["spans"]) == 2
    result.stdout.fnmatch_lines(["*traced times (cpu) say why*", "*scale_strided*head*5*"])
    folder = slowed.path / FOLDER
    files = [folder / "baseline.db", folder / "head.db"]
    assert [count_kernels(path) for path in files] == [5, 5]
    assert slowed.command("trace", *map(str, files)).returncode == 0
    again = slowed.path / "again.db"
    replay = ("replay", str(folder / "case.json"), "--arm", "head", "--rounds", "3", "--trace", str(again))
    replayed = slowed.command(*replay)
    assert replayed.stdout.startswith("replayed head: 3 rounds of 1 launch in process "), replayed.stderr
    assert count_kernels(again) == 3
    assert not (slowed.path / ".kernelperf/traces/scale-plain-8/case.json").exists()
    assert list((slowed.path / "tmp").iterdir()) == []


@pytest.mark.weekly
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_ended_run_leaves_no_replay(
    slowed_on_rocm: Any, plugin_arguments: tuple[str, ...], number: signal.Signals
) -> None:
    """Claim: however a run ends while a profiler hangs, profiler and replay are gone with it; what was judged before
    is written where the run could still write."""
    slowed = slowed_on_rocm
    misbehave(slowed, "hangs_after")
    command = [sys.executable, "-m", "pytest", *plugin_arguments, "--kernelperf", ROCM]
    process = subprocess.Popen(
        [*command, "-k", f"{CASE} or [strided-1]"],
        cwd=slowed.path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait_until(lambda: bool(replays(slowed.path)))
        os.kill(process.pid, number)
        process.wait(60)
    finally:
        process.kill()
    wait_until(lambda: not replays(slowed.path))
    if number is not signal.SIGKILL:
        assert process.returncode == pytest.ExitCode.INTERRUPTED
        assert not list((slowed.path / ".kernelperf" / "traces").glob("*/.*"))
        assert list((slowed.path / "tmp").iterdir()) == []


@pytest.mark.weekly
def test_a_hanging_profiler_costs_its_time_once(slowed_on_rocm: Any) -> None:
    """Claim: both sizes regress as they would without traces, in xdist's workers too; the first is waited for."""
    slowed = slowed_on_rocm
    misbehave(slowed, "hangs_before")
    result = slowed.guard(ROCM, "--kernelperf-trace=regression", "-n", "1", "-o", "kernelperf_case_timeout_s=10")
    assert slowed.verdicts()["strided-8"] == "regressed"
    assert slowed.verdicts()["plain-8"] == "identical"
    assert record_of(slowed, "strided-1")["trace"]["notes"] == [
        "head: rocprofv3 did not end within 10 s and was stopped",
        "baseline: not traced: rocprofv3 did not come to an end before in this run",
    ]
    assert record_of(slowed)["trace"]["notes"] == ["not traced: rocprofv3 did not come to an end before in this run"]
    result.stdout.fnmatch_lines(["*not traced: rocprofv3 did not come to an end before*"])


def replays(project: Path) -> list[str]:
    """The command lines of all processes that run the project's profiler or replay."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if f"{project}/rocm/bin/rocprofv3 --kernel-trace" in line or f"replay.program {project}" in line:
                found.append(line)
    return found


def wait_until(condition: Any, limit_s: float = 60.0) -> None:
    """Wait for a condition to come true."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.05)
