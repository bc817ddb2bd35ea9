"""Recordings as rocpd databases: by AMD's rules, by anyone's SQLite, and as our own reader sees them."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from recordings import ROWS, USUAL, dispatches, recording
from rocpd_files import LESSON, lesson_dispatches
from rocpd_published import TABLES, VIEWS
from rocpd_rules import RULES, broken_rules

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.recording import RecordedKernel, Recording
from pytest_kernelperf.report.trace import render_trace
from pytest_kernelperf.trace.comparison import compare_traces
from pytest_kernelperf.trace.layout_views import create_views
from pytest_kernelperf.trace.origin import read_origin
from pytest_kernelperf.trace.summary import summarise_trace
from pytest_kernelperf.trace.write import truncated, write_trace


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "head.db"
    write_trace(path, USUAL)
    return path


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(query).fetchall()


def test_a_written_trace_keeps_all_of_amds_rules(written: Path) -> None:
    """Tables, views, joins, ids, texts: the published rule set finds nothing."""
    assert broken_rules(written) == []


BREAKS = {
    "sound_file": "UPDATE rocpd_event{s} SET category_id = 99 WHERE id = 1",
    "metadata": "UPDATE rocpd_metadata{s} SET value = '3.0.3' WHERE tag = 'schema_version'",
    "metadata (uuid)": "UPDATE rocpd_metadata{s} SET value = substr(value, 2) WHERE tag = 'uuid'",
    "metadata (guid)": "UPDATE rocpd_metadata{s} SET value = '0000ddb5-8903-4903-b269-cd8d3745bb8a' WHERE tag = 'guid'",
    "tables": "ALTER TABLE rocpd_arg{s} ADD COLUMN more TEXT",
    "tables (view)": "DROP VIEW rocpd_track; CREATE TABLE rocpd_track (id, guid, nid, pid, tid, name_id, extdata)",
    "tables (rows)": "UPDATE rocpd_string{s} SET guid = 'another' WHERE id = 2",
    "views": "DROP VIEW busy",
    "views (columns)": "DROP VIEW top; CREATE VIEW top AS SELECT name, total_calls FROM top_kernels",
    "nothing_hidden (event)": "DELETE FROM rocpd_event{s} WHERE id = 3",
    "nothing_hidden (region)": "UPDATE rocpd_kernel_dispatch{s} SET region_name_id = NULL",
    "nothing_hidden (queue)": "DELETE FROM rocpd_info_queue{s} WHERE id = 1",
    "nothing_hidden (thread)": "DELETE FROM rocpd_info_thread{s} WHERE id = 4712",
    "nothing_hidden (symbol)": "DELETE FROM rocpd_info_kernel_symbol{s} WHERE id = 2",
    "nothing_hidden (agent)": "DELETE FROM rocpd_info_agent{s} WHERE id = 1",
    "nothing_hidden (empty)": "DELETE FROM rocpd_kernel_dispatch{s}",
    "strings": "UPDATE rocpd_string{s} SET string = 'none' WHERE id = 1",
    "ids": "UPDATE rocpd_kernel_dispatch{s} SET dispatch_id = dispatch_id - 1",
    "ids (kernel)": "UPDATE rocpd_info_kernel_symbol{s} SET extdata = json_set(extdata, '$.kernel_id', 7)",
    "ids (stream)": "UPDATE rocpd_info_stream{s} SET name = 'Stream 0' WHERE id = 0",
    "dispatches (workgroups)": "UPDATE rocpd_kernel_dispatch{s} SET grid_size_x = 10",
    "dispatches (time)": 'UPDATE rocpd_kernel_dispatch{s} SET "end" = start - 1 WHERE id = 4',
    "dispatches (category)": "UPDATE rocpd_event{s} SET category_id = 1 WHERE id = 4",
    "dispatches (agent)": "UPDATE rocpd_kernel_dispatch{s} SET agent_id = 0",
    "dispatches (event)": "UPDATE rocpd_kernel_dispatch{s} SET event_id = 1",
    "dispatches (shared)": "UPDATE rocpd_kernel_dispatch{s} SET group_segment_size = 0",
    "agents": "UPDATE rocpd_info_agent{s} SET extdata = json_remove(extdata, '$.cu_count')",
    "agents (node)": "UPDATE rocpd_info_agent{s} SET extdata = json_set(extdata, '$.node_id', 5)",
    "agents (host)": "DELETE FROM rocpd_info_agent{s} WHERE id = 0",
    "symbols": "UPDATE rocpd_info_kernel_symbol{s} SET kernel_name = 'scale'",
    "symbols (shown)": "UPDATE rocpd_info_kernel_symbol{s} SET display_name = NULL WHERE id = 1",
    "shown_texts (thread)": "UPDATE rocpd_info_thread{s} SET name = NULL",
    "shown_texts (process)": "UPDATE rocpd_info_process{s} SET ppid = NULL",
    "shown_texts (agent)": "UPDATE rocpd_info_agent{s} SET product_name = NULL",
    "json_texts": "UPDATE rocpd_info_process{s} SET environment = 'HOME=/root'",
    "summaries": "DROP VIEW top_kernels; CREATE VIEW top_kernels AS SELECT name, count(*) AS total_calls, "
    "sum(duration) AS total_duration, 0 AS average, 100.0 / 3 AS percentage FROM kernels GROUP BY name",
    "summaries (busy)": "DROP VIEW busy; CREATE VIEW busy AS SELECT 1 AS agent_id, 'GPU' AS type, 1 AS GpuTime, "
    "1 AS WallTime, 1.0 AS Busy",
}


@pytest.mark.parametrize("broken", BREAKS)
def test_each_broken_rule_is_noticed(written: Path, tmp_path: Path, broken: str) -> None:
    """A trace of which one thing is wrong breaks the rule that is meant for it."""
    path = tmp_path / "broken.db"
    path.write_bytes(written.read_bytes())
    (suffix,) = rows(path, "SELECT value FROM rocpd_metadata WHERE tag = 'uuid'")[0]
    with closing(sqlite3.connect(path)) as database:
        database.executescript(BREAKS[broken].replace("{s}", str(suffix)))
        database.commit()
    assert {problem.partition(":")[0] for problem in broken_rules(path)} >= {broken.partition(" ")[0]}


def test_every_rule_has_something_that_breaks_it() -> None:
    """No rule is there that nothing was tried on."""
    assert {rule.__name__ for rule in RULES} == {name.partition(" ")[0] for name in BREAKS}


def test_plain_sqlite_reads_every_table_and_view(written: Path) -> None:
    """All 24 plain names and 23 views open; kernels has what was recorded."""
    names = [*(f"rocpd_{table}" for table in TABLES), *VIEWS]
    assert all(isinstance(rows(written, f"SELECT * FROM {name}"), list) for name in names)
    columns = (
        "tid, name, stream, queue, start, duration, grid_x, grid_y, workgroup_x, lds_size, static_lds_size, "
        "scratch_size, static_scratch_size, vgpr_count, graph_exec_id, graph_node_id, stack_id, corr_id"
    )
    add, scale = rows(written, f"SELECT {columns} FROM kernels WHERE dispatch_id IN (1, 12) ORDER BY id")
    default = ("Default Stream", "Default Queue")
    assert add == (4711, "add_kernel", *default, 1_000_000, 2000, 640, 8, 64, 128, 0, 16, 16, 24, 0, 0, 1, 1)
    name, lane = "void scale<float>(float*, int)", ("Stream 1", "Queue 1")
    assert scale == (4712, name, *lane, 1_055_000, 2000, 640, 8, 64, 256, 128, 16, 16, 24, 1, 6, 12, 12)


def test_files_unite_as_amds_rocpd_unites_them(tmp_path: Path) -> None:
    """Attached, with a view over each table of all files: two processes with the same ids stay two."""
    for name, pid in (("a", 4711), ("b", 4712)):
        write_trace(tmp_path / f"{name}.db", recording(ROWS, pid=pid, command=name))
    with closing(sqlite3.connect(":memory:")) as united:
        for name in "ab":
            united.execute(f"ATTACH '{tmp_path / name}.db' AS {name}")
        for table in ("metadata", *TABLES):
            parts = " UNION ALL ".join(f"SELECT * FROM {name}.rocpd_{table}" for name in "ab")
            united.execute(f"CREATE TEMPORARY VIEW rocpd_{table} AS {parts}")
        for statement in create_views():
            united.execute(statement.replace("CREATE VIEW", "CREATE TEMPORARY VIEW"))
        kernels = united.execute("SELECT pid, name, count(*) FROM kernels GROUP BY pid, name ORDER BY pid, name")
        names = ("add_kernel", "inject_kernel", "void scale<float>(float*, int)")
        assert kernels.fetchall() == [(pid, name, 4) for pid in (4711, 4712) for name in names]
        assert united.execute("SELECT count(DISTINCT guid), count(*) FROM processes").fetchone() == (2, 2)


def test_the_lessons_figures_are_read_back(tmp_path: Path) -> None:
    """Five calls each, 3.31 / 1.16 / 1.07 / 1.02 us, 1 / 10 / 10 / 40 workgroups, starved where fewer than 40."""
    names = [name for name, *_ in LESSON]
    made = recording(
        [
            {"start_ns": one.start_ns, "end_ns": one.end_ns, "kernel": names.index(one.name) + 1,
             "workgroups": (one.grid[0] // 256, 1, 1), "block": (256, 1, 1)}
            for one in lesson_dispatches()
        ],
        kernels={place: RecordedKernel(name, name) for place, name in enumerate(names, 1)},
    )  # fmt: skip
    write_trace(tmp_path / "a.db", made)
    summary = summarise_trace(tmp_path / "a.db")
    (process,) = summary.processes
    assert (process.pid, process.device.compute_units, summary.origin) == (4711, 40, "cpu")
    assert [
        (one.name, one.calls, round(one.average_us, 2), one.workgroups, one.starved) for one in process.kernels
    ] == [
        ("fused_one_block_per_token", 5, 3.31, (1,), True),
        ("fused_column_tiles", 5, 1.16, (10,), True),
        ("add_kernel", 5, 1.07, (10,), True),
        ("inject_kernel", 5, 1.02, (40,), False),
    ]
    assert broken_rules(tmp_path / "a.db") == []


def test_the_gap_in_which_cupti_sets_itself_up_counts_nowhere(tmp_path: Path) -> None:
    """The one behind each process's first launch, and only where CUPTI recorded; how long it was is said."""
    times_ns = [(0, 2000), (602_000, 604_000), (605_000, 607_000), (608_000, 610_000)]
    rows = [{"start_ns": 10**9 + start, "end_ns": 10**9 + end} for start, end in times_ns]
    for origin in ("cupti", "cpu"):
        write_trace(tmp_path / f"{origin}.db", recording(rows, origin))
    summary = summarise_trace(tmp_path / "cupti.db")
    (cupti,) = summary.timelines
    assert (cupti.set_up_us, cupti.window_us, cupti.busy_us, cupti.busy_ratio) == (600.0, 10.0, 8.0, 0.8)
    assert (cupti.median_gap_us, [(gap.count, gap.longest_us) for gap in cupti.gaps]) == (1.0, [(2, 1.0)])
    assert "600.0 us are left out, in which CUPTI set itself up after the first launch" in render_trace(summary)
    (cpu,) = summarise_trace(tmp_path / "cpu.db").timelines
    assert (cpu.set_up_us, cpu.window_us, [gap.longest_us for gap in cpu.gaps]) == (0.0, 610.0, [600.0])
    more = recording([{**row, "start_ns": row["start_ns"] + 10**6, "end_ns": row["end_ns"] + 10**6} for row in rows],
                     "cupti", pid=4712)  # fmt: skip
    (tmp_path / "two").mkdir()
    write_trace(tmp_path / "two" / "a.db", recording(rows, "cupti"))
    write_trace(tmp_path / "two" / "b.db", more)
    (two,) = summarise_trace(tmp_path / "two").timelines
    assert (two.set_up_us, two.window_us) == (1200.0, 410.0)


def test_the_origin_survives_the_loss_of_its_sidecar(tmp_path: Path) -> None:
    """A copy without A.db.json is still no trace of rocprofv3, and not compared with one."""
    write_trace(tmp_path / "a.db", recording([{"start_ns": 1, "end_ns": 9}], "cupti"))
    assert json.loads((tmp_path / "a.db.json").read_text(encoding="utf-8")) == {"version": 1, "origin": "cupti"}
    (tmp_path / "a.db.json").unlink()
    write_trace(tmp_path / "b.db", USUAL)
    assert read_origin(tmp_path / "a.db") == "cupti"
    assert read_origin(tmp_path) == "cpu and cupti"
    with pytest.raises(TraceError, match=r"\(cupti\) and .*\(cpu\) are not compared"):
        compare_traces(summarise_trace(tmp_path / "a.db"), summarise_trace(tmp_path / "b.db"))


def test_a_recording_without_kernels_is_no_file(tmp_path: Path) -> None:
    """As with rocprofv3: nothing is written, nothing left behind."""
    with pytest.raises(TraceError, match="no kernel was recorded"):
        write_trace(tmp_path / "a.db", recording([]))
    assert list(tmp_path.iterdir()) == []


def test_a_trace_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel without a name in the middle of writing leaves the earlier file as it was."""
    path = tmp_path / "a.db"
    write_trace(path, USUAL)
    before = path.read_bytes()
    with pytest.raises(KeyError):
        write_trace(path, recording([{"start_ns": 1, "end_ns": 2, "kernel": 44}]))
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.db", "a.db.json"]
    write_trace(path, USUAL)
    assert broken_rules(path) == []


def test_a_folder_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    """What cannot be written is said, not thrown."""
    with pytest.raises(TraceError, match=r"a\.db cannot be written"):
        write_trace(tmp_path / "missing" / "a.db", USUAL)


def test_numbers_beyond_sqlites_stay_different(tmp_path: Path) -> None:
    """Handles of 64 bits without a sign are no error, and two of them two streams."""
    handles = (2**64 - 1, 2**63, 5)
    made = recording(
        [{"start_ns": 10 * place, "end_ns": 10 * place + 5, "stream": handle, "queue": handle, "correlation": handle}
         for place, handle in enumerate(handles, 1)]
    )  # fmt: skip
    write_trace(tmp_path / "a.db", made)
    assert broken_rules(tmp_path / "a.db") == []
    assert len(rows(tmp_path / "a.db", "SELECT DISTINCT stream_id FROM kernels")) == 3


def test_a_thread_that_is_not_known_is_the_processs_first(tmp_path: Path) -> None:
    """The view kernels joins threads, so there must be one."""
    write_trace(tmp_path / "a.db", recording([{"start_ns": 1, "end_ns": 2, "thread": 0}]))
    assert rows(tmp_path / "a.db", "SELECT tid, pid FROM kernels") == [(4711, 4711)]


def test_nothing_of_the_environment_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are attached to pull requests: variables and the machine's own identifier stay at home."""
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_do_not_tell_anybody")
    write_trace(tmp_path / "a.db", USUAL)
    data = (tmp_path / "a.db").read_bytes()
    assert b"ghs_do_not_tell_anybody" not in data
    identity = Path("/etc/machine-id").read_bytes().strip() if os.path.exists("/etc/machine-id") else b""
    assert not identity or identity not in data


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("add_kernel", "add_kernel"),
        ("void ns::scale<float>(float*, int)", "scale"),
        ("void (anonymous namespace)::twice<ns::pair<int, 3>>(ns::pair<int, 3>*)", "twice"),
        ("ns::box<int>::run(int)", "run"),
    ],
)
def test_names_are_cut_as_the_profiler_cuts_them(name: str, short: str) -> None:
    """Without namespace, template arguments and parameters."""
    assert truncated(name) == short


def test_a_records_bytes_are_the_c_structs() -> None:
    """112 bytes, shapes after nine whole numbers: native/hip_common/trace.h asserts the same."""
    made = dispatches([{"start_ns": 1, "workgroups": (7, 8, 9), "scratch_bytes": 5}])
    assert (made.nbytes, made.tobytes()[72:84]) == (112, np.array([7, 8, 9], "<u4").tobytes())
    assert made.tobytes()[108:] == (5).to_bytes(4, "little")
    assert isinstance(USUAL, Recording)
