"""``kernelperf trace``: the lesson's table, gaps, what is left out, two traces, Perfetto, unusable files."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from rocpd_files import LESSON, VERSIONS, Agent, Dispatch, Process, lesson_dispatches, write_rocpd

from pytest_kernelperf.cli import main
from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.trace.comparison import compare_traces, without_arguments
from pytest_kernelperf.trace.file import MAGIC
from pytest_kernelperf.trace.record import LeftOut
from pytest_kernelperf.trace.summary import summarise_trace


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[object, str, str]:
    """Run the command; return its exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main(["trace", *map(str, arguments)])
    return ended.value.code, *capsys.readouterr()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_lessons_trace_prints_the_lessons_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    """Claim: each of several processes has its own table, with the lesson's calls, averages and workgroups."""
    processes = [Process(lesson_dispatches()), Process(lesson_dispatches(2 * 10**9), pid=4712)]
    path = write_rocpd(tmp_path / "run1_results.db", processes, version=version)
    code, out, err = run(capsys, path)
    assert (code, err) == (0, "")
    rows = [line.split()[:5] for line in out.splitlines() if line.split()[1:2] == ["5"]]
    lesson = [
        ["fused_one_block_per_token", "5", "3.31", "16.55", "1"],
        ["fused_column_tiles", "5", "1.16", "5.80", "10"],
        ["add_kernel", "5", "1.07", "5.35", "10"],
        ["inject_kernel", "5", "1.02", "5.10", "40"],
    ]
    assert rows == lesson * 2
    assert out.count("starved: 3 kernels with fewer workgroups than the 40 compute units of the device") == 2
    assert "starving: gaps longer than kernels" in out


def test_a_folder_is_all_its_processes_files(tmp_path: Path) -> None:
    """rocprofv3 writes one file for each process; a folder of them is one trace."""
    for pid in (11, 12):
        write_rocpd(tmp_path / f"{pid}_results.db", [Process(lesson_dispatches(), pid=pid)])
    assert [process.pid for process in summarise_trace(tmp_path).processes] == [11, 12]
    (tmp_path / "none").mkdir()
    with pytest.raises(TraceError, match=r"holds no \.db file"):
        summarise_trace(tmp_path / "none")


def test_workgroups_are_counted_for_each_dispatch_and_rounded_up(tmp_path: Path) -> None:
    """Grids are work-items: 257 of 256 are two workgroups, and axes multiply within a dispatch alone."""
    shapes = [((257, 1, 1), (256, 1, 1)), ((512, 1, 1), (256, 1, 1)), ((256, 3, 5), (256, 1, 2))]
    dispatches = [Dispatch("k", 100 + 20 * n, 110 + 20 * n, *shape) for n, shape in enumerate(shapes)]
    kernel = summarise_trace(write_rocpd(tmp_path / "a.db", [Process(dispatches)])).processes[0].kernels[0]
    assert kernel.workgroups == (2, 9)


def test_median_and_minimum_leave_the_first_call_out(tmp_path: Path) -> None:
    """The first launch of anything is slower; calls, average and total are of all."""
    times_ns = (9000, 1000, 2000, 3000)
    dispatches = [Dispatch("k", 10_000 * n, 10_000 * n + one) for n, one in enumerate(times_ns, 1)]
    kernel = summarise_trace(write_rocpd(tmp_path / "a.db", [Process(dispatches)])).processes[0].kernels[0]
    assert (kernel.calls, kernel.average_us, kernel.total_us) == (4, 3.75, 15.0)
    assert (kernel.median_us, kernel.minimum_us) == (2.0, 1.0)


def test_gaps_lie_between_the_kernel_that_ended_last_and_the_next(tmp_path: Path) -> None:
    """A short kernel inside a long one of another stream ends no busy time."""
    once = [("long", 1000, 9000, 0), ("short", 2000, 3000, 1), ("next", 10_000, 11_000, 0)]
    dispatches = [
        Dispatch(name, start + shift, end + shift, stream=stream)
        for shift in (0, 20_000)
        for name, start, end, stream in once
    ]
    timeline = summarise_trace(write_rocpd(tmp_path / "a.db", [Process(dispatches)])).timelines[0]
    assert [(gap.before, gap.after, gap.count, gap.total_us) for gap in timeline.gaps] == [
        ("next", "long", 1, 10.0),
        ("long", "next", 1, 1.0),
    ]
    assert (timeline.window_us, timeline.busy_us) == (30.0, 18.0)
    assert timeline.busy_ratio == 18 / 30
    assert not timeline.starving


def test_neighbours_that_overlap_by_a_clocks_steps_follow_each_other(tmp_path: Path) -> None:
    """As kernels of a graph do on an H200, whose clock steps by 32 ns: 64 ns are no gap, 65 an overlap."""
    dispatches = [Dispatch("k", 1000, 2000), Dispatch("k", 1936, 3000), Dispatch("k", 2967, 4000)]
    summary = summarise_trace(write_rocpd(tmp_path / "a.db", [Process(dispatches)]))
    assert summary.left_out == LeftOut()
    timeline = summary.timelines[0]
    assert (timeline.window_us, timeline.busy_us, timeline.median_gap_us) == (3.0, 3.0, 0.0)

    apart = [Dispatch("k", 1000, 2000), Dispatch("k", 1935, 3000)]
    summary = summarise_trace(write_rocpd(tmp_path / "b.db", [Process(apart)]))
    assert summary.left_out == LeftOut(overlapping=2)


def test_intervals_that_cannot_be_believed_are_counted_and_left_out(tmp_path: Path) -> None:
    """Zero, negative, absurd, overlapping and missing times, and rows that the view loses; the sound ones remain."""
    second_ns = 1_000_000_000
    dispatches = [
        Dispatch("k", 1000, 2000),
        Dispatch("k", 3000, 3000),
        Dispatch("k", 5000, 4000),
        Dispatch("k", 0, 4000),
        Dispatch("k", 20 * second_ns, 40 * second_ns),
        Dispatch("k", 50 * second_ns, 52 * second_ns),
        Dispatch("k", 6000, 8000),
        Dispatch("k", 7000, 9000),
        Dispatch("k", 10_000, 11_000),
        Dispatch("k", 12_000, 13_000),
    ]
    process = Process(dispatches)
    suffix = process.guid.replace("-", "_")
    lost = [f'UPDATE "rocpd_kernel_dispatch_{suffix}" SET event_id = NULL WHERE id = 10']
    summary = summarise_trace(write_rocpd(tmp_path / "a.db", [process], statements=lost))
    assert summary.left_out == LeftOut(hidden=1, timeless=1, empty=1, negative=1, absurd=2, overlapping=2)
    assert (summary.dispatches, summary.processes[0].kernels[0].total_us) == (2, 2.0)


def test_each_device_has_its_own_table_and_compute_units(tmp_path: Path) -> None:
    """Twenty workgroups starve a device of 40 compute units, not one of 16; unknown is not starved."""
    agents = (Agent(1, 40), Agent(2, 16), Agent(3, None))
    dispatches = [Dispatch("k", 1000, 2000, (20 * 256, 1, 1), agent=agent.node_id) for agent in agents]
    summary = summarise_trace(write_rocpd(tmp_path / "a.db", [Process(dispatches, agents=agents)]))
    assert [(one.device.index, one.kernels[0].starved) for one in summary.processes] == [
        (1, True),
        (2, False),
        (3, None),
    ]
    assert len(summary.timelines) == 3


def test_two_traces_are_compared_kernel_by_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The greatest difference first, names with and without arguments meet, new and vanished kernels are said so."""
    a = [Dispatch(name, 1000 + 20_000 * n, 3000 + 20_000 * n) for n, name in enumerate(["f(int)", "gone", "same"])]
    b = [
        Dispatch("f", 1000, 4000),
        Dispatch("same", 5000, 7000),
        Dispatch("added", 8000, 9000),
    ]
    path_a = write_rocpd(tmp_path / "a.db", [Process(a)])
    path_b = write_rocpd(tmp_path / "b.db", [Process(b)])
    found = compare_traces(summarise_trace(path_a), summarise_trace(path_b))
    assert [(one.name, one.change_ratio) for one in found.kernels] == [
        ("f(int)", 1.5),
        ("same", 1.0),
        ("gone", None),
        ("added", None),
    ]
    code, out, _ = run(capsys, path_a, path_b)
    assert code == 0
    assert "+50 %" in out
    assert [line.split()[0] for line in out.splitlines() if " new " in line] == ["added"]
    assert [line.split()[0] for line in out.splitlines() if " vanished " in line] == ["gone"]


def test_traced_is_never_compared_with_untraced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The sidecar tells where times come from; two that differ are refused in one sentence."""
    for name in ("a", "b"):
        write_rocpd(tmp_path / f"{name}.db", [Process(lesson_dispatches())])
    (tmp_path / "b.db.json").write_text('{"version": 1, "origin": "untraced"}')
    code, out, err = run(capsys, tmp_path / "a.db", tmp_path / "b.db")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "are not compared" in err
    (tmp_path / "a.db.json").write_text('{"version": 1, "origin": "untraced"}')
    assert run(capsys, tmp_path / "a.db", tmp_path / "b.db")[0] == 0


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("add_kernel", "add_kernel"),
        ("void ns::scale<float, (int)3>(float const*, float (*)(int))", "ns::scale<float, (int)3>"),
        ("ns::f::operator()(int) const", "ns::f::operator()(int) const"),
        ("f::operator()", "f::operator()"),
        (")", ")"),
    ],
)
def test_arguments_are_left_out_of_names(name: str, short: str) -> None:
    """Template arguments stay; what is no argument list stays too."""
    assert without_arguments(name) == short


def test_kernels_whose_long_names_begin_alike_are_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of template libraries have thousands of letters; cut, they still tell kernels apart, and meet again."""
    begin = "void cutlass::Kernel<" + "Shape<128, 64>, " * 200
    names = [f"{begin}{last}>(Params)" for last in ("half", "float")]
    rows = [Dispatch(name, 1000 + 3000 * n, 2000 + 3000 * n) for n, name in enumerate(names * 2)]
    path = write_rocpd(tmp_path / "a.db", [Process(rows)])
    shown = [kernel.name for kernel in summarise_trace(path).processes[0].kernels]
    assert (len(set(shown)), {len(name) for name in shown}) == (2, {1000})
    assert [kernel.calls for kernel in summarise_trace(path).processes[0].kernels] == [2, 2]
    summary = summarise_trace(path)
    assert [one.change_ratio for one in compare_traces(summary, summary).kernels] == [1.0, 1.0]
    for form in ("--markdown", "--json"):
        _, out, _ = run(capsys, path, form)
        assert all(name[-8:] in out.replace("\u200b", "") for name in shown)  # that breaks what looks like a commit


def test_json_holds_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One object with a version; times in microseconds by their names."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    code, out, _ = run(capsys, path, "--json")
    trace = json.loads(out)["trace"]
    assert (code, trace["dispatches"], trace["origin"]) == (0, 5 * len(LESSON), "rocprofv3")
    assert {one["name"]: one["workgroups"] for one in trace["processes"][0]["kernels"]} == {
        "add_kernel": [10],
        "inject_kernel": [40],
        "fused_one_block_per_token": [1],
        "fused_column_tiles": [10],
    }
    assert json.loads(run(capsys, path, path, "--json")[1])["comparison"]["kernels"][0]["change_ratio"] == 1.0


def test_markdown_keeps_a_strangers_name_in_its_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel's name cannot end its cell, begin a tag, picture or code, or paint the terminal."""
    path = write_rocpd(tmp_path / "a.db", [Process([Dispatch("a|<b>\x1b![`x`](//x.y)z", 1000, 2000)])])
    out = run(capsys, path, "--markdown")[1]
    assert "| a\\|&lt;b&gt;?\\!\\[\\`x\\`\\](//x.y)z |" in out


def test_perfettos_file_holds_each_kernel_on_its_track(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Complete events with exact times; those of one track follow each other; tracks and processes are named."""
    dispatches = [*lesson_dispatches(), Dispatch("side", 1_000_000_500, 1_000_009_500, stream=7)]
    path = write_rocpd(tmp_path / "a.db", [Process(dispatches), Process(lesson_dispatches(), pid=4712)])
    out = tmp_path / "out.json"
    assert run(capsys, path, "--perfetto", out)[0] == 0
    events = json.loads(out.read_text())["traceEvents"]
    kernels = [one for one in events if one["ph"] == "X"]
    assert len(kernels) == 41
    assert {(one["ts"], one["dur"]) for one in kernels if one["name"] == "side"} == {(0.5, 9.0)}
    tracks: dict[tuple[int, int], float] = {}
    for one in kernels:
        assert one["ts"] >= tracks.get((one["pid"], one["tid"]), 0)
        tracks[one["pid"], one["tid"]] = one["ts"] + one["dur"]
    named = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name"}
    assert named == set(tracks)
    assert len({one["pid"] for one in events if one["name"] == "process_name"}) == 2
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.db", "out.json"]


def test_perfettos_file_never_replaces_the_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Naming the trace as output is refused."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    before = path.read_bytes()
    code, _, err = run(capsys, path, "--perfetto", path)
    assert (code, path.read_bytes()) == (2, before)
    assert "is a trace" in err


def foreign(path: Path, *statements: str) -> Path:
    """Write a database of a stranger's."""
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    return path


def cut(path: Path, size_bytes: int) -> Path:
    """Write a trace of which only the beginning is there."""
    write_rocpd(path, [Process(lesson_dispatches())])
    os.truncate(path, size_bytes)
    return path


def unfinished(path: Path) -> Path:
    """Write a trace whose writer left its journal."""
    write_rocpd(path, [Process(lesson_dispatches())])
    path.with_name(path.name + "-journal").write_bytes(b"journal")
    return path


UNUSABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing": (lambda path: None, "cannot be read"),
    "empty": (lambda path: path.write_bytes(b""), "is empty"),
    "text": (lambda path: path.write_text("kernel,calls\n"), "is no SQLite database"),
    "run file": (lambda path: path.write_text('{"version": 1}'), "is no SQLite database"),
    "header alone": (lambda path: path.write_bytes(MAGIC), "is cut off within its header"),
    "cut off": (lambda path: cut(path, 40_000), "is cut off"),
    "foreign": (lambda path: foreign(path, "CREATE TABLE t (a)"), "is a database, but no trace"),
    "old": (lambda path: foreign(path, "CREATE TABLE rocpd_api (a)", "CREATE TABLE rocpd_op (a)"), "is an old .rpd"),
    "no views": (lambda path: foreign(path, "CREATE TABLE rocpd_kernel_dispatch_1 (a)"), "not its view kernels"),
    "no columns": (
        lambda path: foreign(path, "CREATE TABLE kernels (name, start, grid_x)"),
        "no column end, grid_y",
    ),
    "broken view": (
        lambda path: write_rocpd(path, [Process([])], statements=["DROP VIEW rocpd_event"]),
        "is damaged (no such table: main.rocpd_event)",
    ),
    "unfinished": (unfinished, "is unfinished"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Exit code 2, nothing on stdout, one line that says what it is."""
    make, words = UNUSABLE[name]
    make(tmp_path / "a.db")
    code, out, err = run(capsys, tmp_path / "a.db")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert words in err


def test_a_locked_file_is_said_to_be_locked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace that is being written is not read."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    code, _, err = run(capsys, path)
    writer.close()
    assert (code, len(err.splitlines())) == (2, 1)
    assert "is locked by another program" in err
    assert run(capsys, path)[0] == 0


def test_reading_leaves_no_mark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file keeps its bytes, and nothing appears beside it; in write-ahead mode neither."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    wal = write_rocpd(tmp_path / "b.db", [Process(lesson_dispatches())])
    foreign(wal, "PRAGMA journal_mode=WAL")
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}
    assert run(capsys, path, wal)[0] == 0
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_trace_without_kernels_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No dispatch is no crash, in any form."""
    path = write_rocpd(tmp_path / "a.db", [Process([])])
    assert "no kernel with a time that can be believed" in run(capsys, path)[1]
    assert run(capsys, path, path)[0] == 0
    assert run(capsys, path, "--json", "--perfetto", tmp_path / "out.json")[0] == 0
    assert json.loads((tmp_path / "out.json").read_text())["traceEvents"] == []
