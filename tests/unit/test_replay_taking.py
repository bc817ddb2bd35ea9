"""Traces are taken under a profiler that may do anything: a note is all that comes of it, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
import stand_in_rocprofv3
from rocpd_files import Dispatch, Process, write_rocpd

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import NO_DEVICE, CaseTrace, CodeObject, LaunchStep, Plan
from pytest_kernelperf.replay import guarded, rocprofv3, taking
from pytest_kernelperf.replay.command import RECEIPT, Receipt, find_receipt
from pytest_kernelperf.replay.guarded import Limits, run_guarded
from pytest_kernelperf.replay.taking import Rocprofv3, Taker, Wanted, recorder_for
from pytest_kernelperf.trace.arm import find_arm_file

LAUNCHES = ("add_kernel", "inject_kernel")
LIMIT_S, SHORT_S = 60.0, 1.0
HANGING = ("hangs_before", "hangs_after", "prints_for_ever", "version_hangs", "stops_itself")

# What the forty misbehaviours of the stand-in come to. Each is one that rocprofv3 has been seen to have
# (see its docstring), or one that the bounds of a replay have to hold against.
NOTES = {
    "hangs_before": "head: rocprofv3 did not end within 1 s and was stopped",
    "hangs_after": "head: rocprofv3 did not end within 1 s and was stopped",
    "prints_for_ever": "head: rocprofv3 did not end within 1 s and was stopped",
    "stops_itself": "head: rocprofv3 did not end within 1 s and was stopped",
    "a_hole_of_10_gb": "head: rocprofv3 exited with code 1; its last words: OSError: [Errno 27] File too large",
    "removes_its_folder": "head: no .db was written, as happens where no kernel was recorded",
    "another_layout": "_results.db: its view kernels has no column name, start, end, grid_x, grid_y, grid_z, ",
    "crashes": "head: rocprofv3 died of SIGSEGV; its last words: replayed head: 5 rounds of 2 launches in process ",
    "fatal_error": "head: rocprofv3 exited with code 1; its last words: Fatal error: Failed to resolve path: ",
    "traceback": "head: rocprofv3 exited with code 1; its last words: ModuleNotFoundError: No module named ",
    "runs_nothing": "head: rocprofv3 ended without having run the replay to its end",
    "fails_after": "head: rocprofv3 exited with code 9; its last words: replayed head",
    "no_kernels": "head: no .db was written, as happens where no kernel was recorded",
    "csv_instead": "_results_kernel_trace.csv), as happens where no kernel was recorded",
    "empty_view": "head: no kernel was recorded, so there is no trace",
    "only_the_runtimes": "head: no kernel of the plan was recorded",
    "other_kernels": "head: none of the plan's kernels was recorded, but ",
    "other_process": "head: what was recorded is not the replay (process ",
    "too_big": "head: rocprofv3 wrote more than 4 MiB and was stopped",
    "too_many_files": "head: rocprofv3 wrote more than 1,000 files and was stopped",
    "damaged": "_results.db is cut off (",
    "no_database": "_results.db is no SQLite database: ",
    "empty_file": "_results.db is empty: ",
    "old_layout": "_results.db is an old .rpd (rocmProfileData), not rocpd of ROCm 7.0 or newer: ",
    "leaves_wal": "_results.db-wal lies beside it)",
    "a_pipe": "head: no .db was written (but ",
    "a_link": "head: no .db was written (but ",
    "mixes_clocks": "days long: they cannot be of one clock",
    "thousands_of_kernels": "head: it has 1,502 kernels, and no plan launches more than 1,000",
    "times_of_zero": "head: no kernel of the plan was recorded",
    "no_version": "/bin/rocprofv3 is older than ROCm 7.0 (it knows no --version), and writes no rocpd: update ROCm",
    "version_unsaid": "/bin/rocprofv3 --version does not say which ROCm it belongs to, so it is not used",
    "version_garbage": "/bin/rocprofv3 --version does not say which ROCm it belongs to, so it is not used",
    "version_hangs": "/bin/rocprofv3 --version did not end within 1 s and was stopped",
    "version_fails": "/bin/rocprofv3 --version exited with code 1; its last words: Fatal error: Failed to resolve path",
}

# What leaves a trace all the same, with what is said of it.
NOTED = {
    "with_the_runtimes": "head: 3 kernels of the runtime's own (__amd_rocclr_…) left out",
    "loses_some": "head: 5 of 10 dispatches are missing, so rounds cannot be told apart",
    "loses_a_kernel": "head: 5 of 10 dispatches are missing, so rounds cannot be told apart",
    "records_twice": "head: it has 20 dispatches where 10 were launched, so rounds cannot be told apart",
    "without_threads": "head: dispatches that cannot be believed are left out: 2 hidden",
    "intervals_that_overlap": "head: dispatches that cannot be believed are left out: 1 negative, 2 overlapping",
    "leaves_a_daemon": "head: rocprofv3 left processes running, which were ended (s",
    "changes_folder": "",
    "logs_a_lot": "",
    "several_files": "",
    "in_a_subfolder": "",
    "": "",
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application that says what a replay says, without a device; a real one is in tests/plugin."""
    said = f"replayed {{}}: 5 rounds of {len(LAUNCHES)} launches in process"

    def command(case_file: Path, arm: str, rounds: int, trace: Path | None) -> list[str]:
        return ["/bin/sh", "-c", f"echo {said.format(arm)} $$"]

    monkeypatch.setattr(taking, "replay_command", command)
    monkeypatch.setattr(taking, "MOST_TRACE_BYTES", 4 * 2**20)
    monkeypatch.setattr(rocprofv3, "OPT", Path("/nowhere"))


def take(folder: Path, misbehaviour: str, *arms: str, environment: Mapping[str, str] = os.environ) -> CaseTrace:
    """Take the traces of a case's arms under the stand-in."""
    library = stand_in_rocprofv3.install(folder / "rocm", misbehaviour, launches=LAUNCHES)
    limit_s = SHORT_S if misbehaviour in HANGING else LIMIT_S
    return Taker(Rocprofv3(library, None, environment), environment, limit_s).take(wanted(folder, *arms))


def wanted(folder: Path, *arms: str) -> Wanted:
    """A case with these arms, by default the head alone, in a folder of its own."""
    (folder / "case").mkdir(exist_ok=True)
    plan = Plan(tuple(LaunchStep(name, (10, 1, 1), (256, 1, 1)) for name in LAUNCHES))
    code = CodeObject("", b"", {})
    return Wanted(
        folder / "case" / "case.json", tuple(Arm(arm, code, plan) for arm in arms or ("head",)), "traces/case"
    )


def living() -> set[str]:
    """The command lines of all processes."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                found.add((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
            except OSError:
                continue
    return found


# Each costs a fifth of a second; these go the way of another one.
WEEKLY = ("prints_for_ever", "traceback", "csv_instead", "no_database", "empty_file", "a_link", "version_garbage",
          "removes_its_folder", "another_layout", "stops_itself")  # fmt: skip


@pytest.mark.parametrize(
    "misbehaviour", [pytest.param(one, marks=pytest.mark.weekly) if one in WEEKLY else one for one in NOTES]
)
def test_a_misbehaviour_is_one_note_and_leaves_nothing(
    tmp_path: Path, misbehaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim: no trace, one sentence that says why, within the time; no process and no file is left."""
    if misbehaviour in HANGING:
        monkeypatch.setattr(taking, "VERSION_LIMIT_S", SHORT_S)
    if "version" not in misbehaviour:  # asked for below and in others, so that not every test has to wait for it
        monkeypatch.setattr(rocprofv3, "check_version", lambda *_: "7.2.0")
    started_s = time.monotonic()
    trace = take(tmp_path, misbehaviour)
    assert time.monotonic() - started_s < LIMIT_S, "stopped when its time is over, whatever it ignores"
    assert trace.arms == ()
    (note,) = trace.notes
    assert NOTES[misbehaviour] in note
    assert "\n" not in note
    assert list((tmp_path / "case").iterdir()) == []
    assert not [line for line in living() if str(tmp_path) in line]


@pytest.mark.parametrize("misbehaviour", NOTED)
def test_what_can_be_read_is_read_and_what_is_wrong_with_it_is_said(
    tmp_path: Path, misbehaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claim: a trace that lacks something is shown with a note; a folder with more files yields the replay's own."""
    if misbehaviour:
        monkeypatch.setattr(rocprofv3, "check_version", lambda *_: "7.2.0")
    trace = take(tmp_path, misbehaviour)
    (arm,) = trace.arms
    assert {kernel.name for kernel in arm.kernels} <= set(LAUNCHES)
    assert (arm.path, trace.origin, trace.compute_units) == ("traces/case/head.db", "rocprofv3", 40)
    assert NOTED[misbehaviour] in "; ".join(trace.notes)
    assert bool(trace.notes) == bool(NOTED[misbehaviour])
    rounds_known = not any("rounds cannot be told apart" in note for note in trace.notes)
    assert len(arm.spans) == (4 if rounds_known else 0)
    assert [path.name for path in (tmp_path / "case").iterdir()] == ["head.db"]
    assert not [line for line in living() if str(tmp_path) in line]


@pytest.mark.parametrize("misbehaviour", ["writes_late", pytest.param("forks_for_ever", marks=pytest.mark.weekly)])
def test_what_a_profiler_leaves_running_comes_to_nothing(tmp_path: Path, misbehaviour: str) -> None:
    """Claim: a process that would write later, or that starts another before it can be ended, is ended and said."""
    started_s = time.monotonic()
    trace = take(tmp_path, misbehaviour)
    assert time.monotonic() - started_s < LIMIT_S
    assert "head: rocprofv3 left processes running, which were ended (rocprofv3)" in trace.notes
    assert (trace.arms, len(trace.notes)) == ((), 2)
    assert list((tmp_path / "case").iterdir()) == []
    assert not [line for line in living() if str(tmp_path) in line]


@pytest.mark.weekly
def test_a_profiler_that_stops_its_watch_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: who asked ends both once the watch, too, is late; that is waited for once in a run."""
    monkeypatch.setattr(guarded, "OVERTIME_S", SHORT_S)
    monkeypatch.setattr(rocprofv3, "check_version", lambda *_: "7.2.0")
    library = stand_in_rocprofv3.install(tmp_path / "rocm", "stops_the_watch", launches=LAUNCHES)
    trace = Taker(Rocprofv3(library, None, os.environ), os.environ, SHORT_S).take(wanted(tmp_path, "head", "baseline"))
    assert trace.notes == (
        "head: rocprofv3 was killed together with what watches over it",
        "baseline: not traced: rocprofv3 did not come to an end before in this run",
    )
    assert not [line for line in living() if str(tmp_path) in line]


def test_a_sign_is_kept_whatever_comes_before_and_after_it(tmp_path: Path) -> None:
    """Claim: of words in pieces, with more around them than are kept, the first whole receipt is found."""
    noise = "head -c 300000 /dev/zero | tr '\\0' '.'"
    said = "printf 'replayed head: 5 rounds of 2 launches in process 12'; sleep 0.2; printf '345\\n'"
    command = ["/bin/sh", "-c", f"{noise}; {said}; {noise}; echo replayed late: 1 rounds of 1 launch in process 1"]
    ended = run_guarded(command, tmp_path, os.environ, Limits(LIMIT_S, 2**30), RECEIPT)
    assert find_receipt(ended.sign) == Receipt("head", 5, 2, 12345)
    assert run_guarded(command, tmp_path, os.environ, Limits(LIMIT_S, 2**30)).sign == ""


def test_only_so_many_files_are_read(tmp_path: Path) -> None:
    """Claim: a replay's file is found by its name among a thousand others, of which few are looked at."""
    process = Process([Dispatch("k", 1000, 2000)], pid=4711)
    files = [write_rocpd(tmp_path / "replay_4711_results.db", [process])]
    for number in range(100):
        files.append(tmp_path / f"a{number}_results.db")
        files[-1].write_bytes(b"")
    assert find_arm_file(files[::-1], 4711) == files[0]
    with pytest.raises(TraceError, match="is empty"):
        find_arm_file([*files[1:], files[0].rename(tmp_path / "z.db")], 4711)


def test_two_rounds_are_shown_without_the_first(tmp_path: Path) -> None:
    """Claim: spans are rounds two and three from 0; averages hold the first round, medians and gaps do not."""
    (arm,) = take(tmp_path, "").arms
    assert [(arm.kernels[one.kernel].name, one.start_us, one.duration_us, one.workgroups) for one in arm.spans] == [
        ("add_kernel", 0.0, 1.0, 10),
        ("inject_kernel", 3.0, 1.5, 10),
        ("add_kernel", 6.5, 1.0, 10),
        ("inject_kernel", 9.5, 1.5, 10),
    ]
    add = next(kernel for kernel in arm.kernels if kernel.name == "add_kernel")
    assert (add.calls, add.average_us, add.median_us, add.minimum_us, add.total_us) == (5, 1.4, 1.0, 1.0, 7.0)
    assert (add.workgroups, add.starved) == ((10,), True)
    assert (arm.rounds, arm.median_gap_us, arm.starving) == (5, 2.0, True)
    assert arm.busy_ratio == pytest.approx(10 / 24)  # four rounds of 2.5 us, seven gaps of 2 us


def test_a_profiler_that_hung_is_not_asked_again(tmp_path: Path) -> None:
    """Claim: one time-out is waited for in a whole run, not one for each arm and case."""
    library = stand_in_rocprofv3.install(tmp_path / "rocm", "hangs_before", launches=LAUNCHES)
    taker = Taker(Rocprofv3(library, None, os.environ), os.environ, 0.5)
    first = taker.take(wanted(tmp_path, "head", "baseline"))
    assert first.notes == (
        "head: rocprofv3 did not end within 0.5 s and was stopped",
        "baseline: not traced: rocprofv3 did not come to an end before in this run",
    )
    second = taker.take(wanted(tmp_path))
    assert second.notes == ("not traced: rocprofv3 did not come to an end before in this run",)


def test_one_arm_may_fail_and_the_other_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: each arm is by itself; both of a case have the same origin."""
    trace = take(tmp_path, "", "head", "baseline")
    assert [arm.arm for arm in trace.arms] == ["head", "baseline"]
    assert trace.notes == ()
    assert sorted(path.name for path in (tmp_path / "case").iterdir()) == ["baseline.db", "head.db"]


def test_each_runtime_has_its_recorder(tmp_path: Path) -> None:
    """Claim: AMD's GPUs are recorded by the rocprofv3 beside their library, ours by themselves; the origin is told."""
    library = stand_in_rocprofv3.install(tmp_path / "rocm", launches=LAUNCHES)
    amd = msgspec.structs.replace(NO_DEVICE, runtime="rocm", library=str(library))
    recorders = [
        recorder_for(device, None, os.environ)
        for device in (amd, NO_DEVICE, msgspec.structs.replace(NO_DEVICE, runtime="cuda"))
    ]
    assert [recorder.origin for recorder in recorders] == ["rocprofv3", "cpu", "cupti"]
    trace = Taker(recorders[0], os.environ, LIMIT_S).take(wanted(tmp_path))
    assert (trace.notes, len(trace.arms)) == ((), 1)


def test_the_profiler_is_found_beside_the_runtime_whatever_else_is_there(tmp_path: Path) -> None:
    """Claim: the runtime's own installation wins over $ROCM_PATH and PATH, a setting over all; wheels are known."""
    library = stand_in_rocprofv3.install(tmp_path / "rocm-7.2.0")
    other = stand_in_rocprofv3.install(tmp_path / "other").parent.parent
    environment = {"ROCM_PATH": str(other), "PATH": str(other / "bin")}
    find = rocprofv3.find_rocprofv3
    assert find(library, None, environment) == tmp_path / "rocm-7.2.0" / "bin" / "rocprofv3"
    assert find(library, other / "bin" / "rocprofv3", environment) == other / "bin" / "rocprofv3"
    assert find(Path("/nowhere/lib/x.so"), None, environment) == other / "bin" / "rocprofv3"
    core = stand_in_rocprofv3.install(tmp_path / "site-packages" / "_rocm_sdk_core")
    assert find(core, None, environment) == tmp_path / "site-packages" / "_rocm_sdk_core" / "bin" / "rocprofv3"


@pytest.mark.parametrize("stated", [None, "rocm/bin/rocprofv3", "nothing"])
def test_a_profiler_that_is_missing_or_cannot_be_run_is_said(tmp_path: Path, stated: str | None) -> None:
    """Claim: not found, not executable, and a setting that names neither are one note each, with what to do."""
    library = stand_in_rocprofv3.install(tmp_path / "rocm")
    (tmp_path / "rocm" / "bin" / "rocprofv3").chmod(0o644)
    environment = {"PATH": "/nowhere"}
    recorder = Rocprofv3(library, tmp_path / stated if stated else None, environment)
    (note,) = Taker(recorder, environment, LIMIT_S).take(wanted(tmp_path)).notes
    expected = "is no program that can be run" if stated else "cannot be run: make it executable, or set kernelperf_r"
    assert expected.replace("is no", "that is no") in note
    if stated is None:
        (tmp_path / "rocm" / "bin" / "rocprofv3").unlink()
        (note,) = Taker(Rocprofv3(library, None, environment), environment, LIMIT_S).take(wanted(tmp_path)).notes
        assert note.startswith(f"not traced: rocprofv3 was found neither beside {library} nor in $ROCM_PATH/bin, ")
        assert note.endswith("or set kernelperf_rocprofv3")


@pytest.mark.parametrize(
    ("runtime", "profiler", "words"),
    [
        ("7.2.0", "7.2.0", ""),
        ("10.1.0", "10.1.0", ""),
        ("7.2.0", "7.2.1", "is of ROCm 7.2.1 and "),
        ("7.0.0", "10.0.0", "is of ROCm 10.0.0 and "),
        ("7.2.0", "7.3.0", "is of ROCm 7.3.0 and "),
        ("6.4.3", "6.4.3", "is of ROCm 6.4.3, which writes no rocpd: 7.0 or newer does"),
        ("", "7.2.0", "nothing says that "),
    ],
)
def test_only_the_runtimes_own_rocm_may_record(tmp_path: Path, runtime: str, profiler: str, words: str) -> None:
    """Claim: another ROCm than the runtime's, one before 7.0, and one of which nobody can tell are refused."""
    beside = stand_in_rocprofv3.install(tmp_path / "runtime", version=runtime)
    if not runtime:
        (tmp_path / "runtime" / ".info" / "version").unlink()
    stand_in_rocprofv3.install(tmp_path / "profiler", version=profiler, launches=LAUNCHES)
    stated = tmp_path / "profiler" / "bin" / "rocprofv3"
    trace = Taker(Rocprofv3(beside, stated, os.environ), os.environ, LIMIT_S).take(wanted(tmp_path))
    assert bool(trace.arms) == (not words)
    assert words in "; ".join(trace.notes)


def test_a_profiler_in_the_runtimes_own_folder_needs_no_other_word(tmp_path: Path) -> None:
    """Claim: where an installation does not say its version, or is a patch further, lying in it is enough."""
    library = stand_in_rocprofv3.install(tmp_path / "rocm", launches=LAUNCHES)
    said = tmp_path / "rocm" / ".info" / "version"

    def notes() -> tuple[str, ...]:
        return Taker(Rocprofv3(library, None, os.environ), os.environ, LIMIT_S).take(wanted(tmp_path)).notes

    said.write_text("7.2.4")
    assert notes() == ()
    said.write_text("7.3.0")
    assert "is of ROCm 7.2.0 and " in notes()[0]
    said.unlink()
    assert notes() == ()


def test_another_profilers_wishes_do_not_reach_the_replay(tmp_path: Path) -> None:
    """Claim: rocprofv3 appends to what it finds in its variables, so it finds nothing; temporary files go our way."""
    environment = {**os.environ, "ROCPROF_OUTPUT_FORMAT": "csv", "ROCP_TOOL_LIBRARIES": "x"}
    assert take(tmp_path, "", environment=environment).notes == ()
    kept = rocprofv3.trace_environment(environment, tmp_path)
    assert kept["TMPDIR"] == str(tmp_path)
    assert not [name for name in kept if name.startswith("ROCP")]


def test_a_folder_that_cannot_be_written_to_is_a_note(tmp_path: Path) -> None:
    """Claim: a full or missing folder is said, and raises nothing."""
    library = stand_in_rocprofv3.install(tmp_path / "rocm", launches=LAUNCHES)
    case = wanted(tmp_path)
    (tmp_path / "case").rmdir()
    (note,) = Taker(Rocprofv3(library, None, os.environ), os.environ, LIMIT_S).take(case).notes
    assert note.startswith("not traced: ")


def test_nothing_is_left_when_who_asked_is_killed(tmp_path: Path) -> None:
    """Claim: SIGKILL of the process that takes a trace ends profiler and replay too."""
    library = stand_in_rocprofv3.install(tmp_path / "rocm", "hangs_before", launches=LAUNCHES)
    command = rocprofv3.trace_command(library.parent.parent / "bin" / "rocprofv3", tmp_path, ["/bin/true"])
    program = (
        "import os, sys; from pathlib import Path; from pytest_kernelperf.replay.guarded import Limits, run_guarded\n"
        f"run_guarded({command}, Path({str(tmp_path)!r}), os.environ, Limits(60, 2**30))"
    )
    asking = subprocess.Popen([sys.executable, "-c", program])

    def run() -> list[str]:
        return [line for line in living() if f"{tmp_path}/rocm/bin/rocprofv3 --kernel" in line]

    try:
        wait_until(lambda: bool(run()))
    finally:
        asking.kill()
        asking.wait()
    wait_until(lambda: not run())


def test_nothing_is_left_when_the_warden_is_killed(tmp_path: Path) -> None:
    """Claim: should what watches over a profiler die itself, that is said, and the profiler goes too."""
    program = tmp_path / "hangs"
    program.write_text(f"#!/bin/sh\nkill -9 $PPID\n/bin/sh -c 'sleep 611; : {tmp_path}'\n")
    program.chmod(0o755)
    ended = run_guarded([str(program)], tmp_path, os.environ, Limits(60, 2**30))
    assert ended.problem == "was killed together with what watches over it"
    wait_until(lambda: not [line for line in living() if str(tmp_path) in line])


def wait_until(condition: object, limit_s: float = 20.0) -> None:
    """Wait for a condition to come true."""
    assert callable(condition)
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)
