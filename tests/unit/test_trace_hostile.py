"""Traces that are a stranger's: none keeps ``kernelperf trace`` busy for ever or takes its memory.

A test here that does not come to an end has failed.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from rocpd_files import KERNELS, Dispatch, Process, lesson_dispatches, write_rocpd

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.report.trace import render_trace, render_trace_comparison
from pytest_kernelperf.trace.comparison import compare_traces
from pytest_kernelperf.trace.restraint import STEPS_AT_ONCE, excess, stop_after
from pytest_kernelperf.trace.summary import summarise_trace

COLUMNS = "1 AS name, 1 AS start, 2 AS 'end', 1 AS grid_x, 1 AS grid_y, 1 AS grid_z, 1 AS workgroup_x, " \
          "1 AS workgroup_y, 1 AS workgroup_z"  # fmt: skip
AS_IT_WAS = KERNELS.format(graph="", event="")


def replaced(view: str, *before: str) -> list[str]:
    """Return statements that put another view in the place of ``kernels``."""
    return [*before, "DROP VIEW kernels", view]


def doubled(last: str, view: str = "v{}", aside: str = "") -> list[str]:
    """Return sixty views of which each names the one before twice."""
    names = [view.format(n) for n in range(60)]
    first = f"CREATE VIEW {names[0]} AS SELECT {COLUMNS}"
    more = [f"CREATE VIEW {one} AS SELECT a.* FROM {aside} {before} a, {before} b {aside}" for before, one in
            pairwise(names)]  # fmt: skip
    return [first, *more, "DROP VIEW kernels", last]


MORE = "views that do more than rocpd's"
HOSTILE: dict[str, tuple[list[str], str]] = {
    "endless recursion": (
        replaced(f"CREATE VIEW kernels AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT {COLUMNS} "
                 "FROM r"),
        MORE,
    ),
    "endless count": (
        ["DROP VIEW rocpd_kernel_dispatch",
         "CREATE VIEW rocpd_kernel_dispatch AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT * "
         "FROM r"],
        MORE,
    ),
    "endless metadata": (
        ["DROP VIEW rocpd_metadata",
         "CREATE VIEW rocpd_metadata AS WITH a AS (SELECT 1), b AS (SELECT * FROM a, a) SELECT 1 AS tag, 2 AS value "
         "FROM b"],
        MORE,
    ),
    "a with that doubles": (
        replaced(f"CREATE VIEW kernels AS WITH a AS (SELECT 1), b AS (SELECT * FROM a, a) SELECT {COLUMNS} FROM b"),
        MORE,
    ),
    "views that double": (doubled(f"CREATE VIEW kernels AS SELECT {COLUMNS} FROM v59"), MORE),
    "quoted views that double between comments": (
        doubled('CREATE VIEW kernels AS SELECT * FROM "v 59"', '"v {}"', '/* " */'),
        MORE,
    ),
    "views in a circle": (
        replaced("CREATE VIEW kernels AS SELECT * FROM v1", "CREATE VIEW v1 AS SELECT * FROM v2",
                 "CREATE VIEW v2 AS SELECT * FROM v1"),
        MORE,
    ),
    "a join without an end": (
        replaced(f"CREATE VIEW kernels AS SELECT {COLUMNS} FROM many a, many b, many c, many d, many e, many f, "
                 "many g, many h WHERE a.a + b.a + c.a + d.a + e.a + f.a + g.a + h.a < 0",
                 "CREATE TABLE many (a)", "INSERT INTO many SELECT id FROM rocpd_kernel_dispatch"),
        "do not come to an end",
    ),
    "more rows than the file": (
        replaced(f"CREATE VIEW kernels AS SELECT {COLUMNS} FROM many a, many b, many c, many d",
                 "CREATE TABLE many (a)", "INSERT INTO many SELECT id FROM rocpd_kernel_dispatch"),
        "of more rows than a file of its size",
    ),
    "a function that takes for ever": (
        replaced(f"CREATE VIEW kernels AS SELECT {COLUMNS} WHERE hex(zeroblob(900000000)) LIKE '%a%b%c%d%e%'"),
        MORE,
    ),
    "a computed column": (
        ["DROP VIEW kernels",
         "CREATE TABLE kernels (a, name AS (hex(zeroblob(900000000))), start, 'end', grid_x, grid_y, grid_z, "
         "workgroup_x, workgroup_y, workgroup_z)"],
        MORE,
    ),
    "a virtual table": (
        ["DROP VIEW kernels",
         "CREATE VIRTUAL TABLE kernels USING fts5(name, start, 'end', grid_x, grid_y, grid_z, workgroup_x, "
         "workgroup_y, workgroup_z)"],
        MORE,
    ),
    "a table-valued function": (
        replaced(f"CREATE VIEW kernels AS SELECT {COLUMNS} FROM pragma_table_info('kernels')"),
        MORE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_view_that_does_more_than_read_is_refused(tmp_path: Path, name: str) -> None:
    """One sentence, soon."""
    statements, words = HOSTILE[name]
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())], statements=statements)
    with pytest.raises(TraceError, match=words) as refusal:
        summarise_trace(path)
    assert str(refusal.value).isprintable()


def test_a_huge_value_is_not_made(tmp_path: Path) -> None:
    """A name of two million letters is refused where Python can tell sqlite so, else cut."""
    if sys.version_info < (3, 11):
        pytest.skip("sqlite's limits cannot be set before Python 3.11")
    suffix = Process([]).guid.replace("-", "_")
    huge = [f"UPDATE \"rocpd_info_kernel_symbol_{suffix}\" SET display_name = printf('%2000000d', 1)"]
    with pytest.raises(TraceError, match="too big"):
        summarise_trace(write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())], statements=huge))


def test_a_query_ends_by_its_steps_or_by_its_time() -> None:
    """Steps that each take long count by the processor's clock, quick ones by their number."""
    many = stop_after(3 * STEPS_AT_ONCE, 10.0, lambda: 0.0)
    assert [many() for _ in range(5)] == [0, 0, 0, 1, 1]
    times_s = iter([5.0, 6.0, 14.9, 15.1])
    slow = stop_after(10**9, 10.0, lambda: next(times_s))
    assert [slow() for _ in range(3)] == [0, 0, 1]


def test_what_rocpds_own_views_do_is_allowed() -> None:
    """The published views, merged files of many processes among them, and views that nothing here reads."""
    tables = [f"rocpd_info_agent_{n}" for n in range(64)]
    united = " UNION ALL ".join(f"SELECT * FROM {table}" for table in tables)
    schema = [("table", table, f"CREATE TABLE {table} (id INTEGER, guid TEXT)") for table in tables]
    schema += [("view", "rocpd_info_agent", f"CREATE VIEW rocpd_info_agent AS {united}"),
               ("view", "kernels", AS_IT_WAS), ("view", "top", "CREATE VIEW top AS WITH a AS (SELECT 1) SELECT 1"),
               ("index", "i", "CREATE INDEX i ON t (a)")]  # fmt: skip
    assert excess(schema) == ""


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (os.mkfifo, "is no file"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "is no file"),
    "a link to itself": (lambda path: path.symlink_to(path), "cannot be read"),
    "a link to nothing": (lambda path: path.symlink_to(path.with_name("none")), "cannot be read"),
    "100 GB of nothing": (lambda path: (path.touch(), os.truncate(path, 10**11)), "is no SQLite database"),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_no_file_is_one_sentence(tmp_path: Path, name: str) -> None:
    """Nothing is waited for, and nothing without an end is read."""
    make, words = SPECIAL[name]
    make(tmp_path / "a.db")
    with pytest.raises(TraceError, match=words):
        summarise_trace(tmp_path / "a.db")


def test_a_pipe_in_the_place_of_the_origin_is_not_waited_for(tmp_path: Path) -> None:
    """The sidecar is a file, or nothing."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    os.mkfifo(tmp_path / "a.db.json")
    with pytest.raises(TraceError, match="is no file"):
        summarise_trace(path)


def test_a_folder_is_read_without_what_is_no_file(tmp_path: Path) -> None:
    """A pipe and a folder that are called .db stand beside a trace."""
    os.mkfifo(tmp_path / "pipe.db")
    (tmp_path / "folder.db").mkdir()
    write_rocpd(tmp_path / "run.db", [Process(lesson_dispatches())])
    assert summarise_trace(tmp_path).dispatches == 20


def test_a_sparse_end_is_not_read(tmp_path: Path) -> None:
    """A trace followed by 100 GB of holes is the trace; a link to it too."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    os.truncate(path, 10**11)
    (tmp_path / "link.db").symlink_to(path)
    assert summarise_trace(tmp_path / "link.db").dispatches == 20


def test_a_trace_that_another_process_writes_is_not_read(tmp_path: Path) -> None:
    """Locks of another process count, which this process's own do not stand for."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    program = (
        "import sqlite3, sys\nwriter = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "writer.execute('BEGIN EXCLUSIVE')\nprint('locked', flush=True)\nsys.stdin.read()"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program, str(path)], **pipes) as writer:  # type: ignore[call-overload]
        assert writer.stdout.readline() == b"locked\n"
        with pytest.raises(TraceError, match="is locked by another program"):
            summarise_trace(path)
        writer.communicate()
    assert summarise_trace(path).dispatches == 20


def test_a_log_that_was_not_merged_is_said(tmp_path: Path) -> None:
    """In write-ahead mode rows may still stand in the file beside: what is there is not the whole trace."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("CREATE TABLE late (a)")
    with pytest.raises(TraceError, match="is unfinished"):
        summarise_trace(path)
    writer.close()
    assert summarise_trace(path).dispatches == 20


def test_a_folder_that_cannot_be_written_is_read(tmp_path: Path) -> None:
    """Nothing is written beside a trace, so a read-only folder will do."""
    path = write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())])
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert summarise_trace(path).dispatches == 20
    finally:
        tmp_path.chmod(0o700)


def test_many_names_take_no_more_than_their_number(tmp_path: Path) -> None:
    """Ten thousand kernels, each alone, with and without arguments: nothing looks through all names for each name."""
    names = [f"void k{n}<int>(int)|`{n}`\x1b" for n in range(10_000)]
    dispatches = [Dispatch(name, 1000 + 2000 * n, 2000 + 2000 * n) for n, name in enumerate(names)]
    summary = summarise_trace(write_rocpd(tmp_path / "a.db", [Process(dispatches)]))
    assert len(summary.processes[0].kernels) == 10_000
    text = render_trace(summary, "github") + render_trace_comparison(compare_traces(summary, summary))
    assert all(line.isprintable() for line in text.splitlines())
