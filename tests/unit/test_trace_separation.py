"""Several processes in one file: each is read as if it were alone where that gives the same rows, and only there."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest import mock

import pytest
from rocpd_files import VERSIONS, Agent, Dispatch, Process, lesson_dispatches, write_rocpd

from pytest_kernelperf.trace.record import TraceSummary
from pytest_kernelperf.trace.separation import separate
from pytest_kernelperf.trace.summary import summarise_trace

SEVERAL = [
    Process([*lesson_dispatches(), Dispatch("only here(int)", 1_000_000_500, 1_000_009_500, stream=7)], pid=11),
    Process(lesson_dispatches(2 * 10**9), pid=12, agents=(Agent(1, 16, name="gfx1100"),), command="another"),
    Process([], pid=13),
    Process(lesson_dispatches(3 * 10**9), pid=14),
]
FIRST, SECOND = (process.guid.replace("-", "_") for process in SEVERAL[:2])


@contextmanager
def unseparated() -> Iterator[None]:
    """Read files by their own views alone."""
    with mock.patch("pytest_kernelperf.trace.dispatch.separate", return_value=((),)):
        yield


def both_ways(path: Path) -> tuple[TraceSummary, TraceSummary]:
    """Sum a file up as it is read, and by its own views."""
    with unseparated():
        slowly = summarise_trace(path)
    return summarise_trace(path), slowly


def parts_of(path: Path) -> int:
    """Return how many processes a file is told apart into; one: it is not."""
    with closing(sqlite3.connect(path)) as connection:
        return len(separate(connection))


@pytest.mark.parametrize("version", VERSIONS)
def test_each_process_gives_the_rows_that_it_gives_among_others(tmp_path: Path, version: str) -> None:
    """Claim: times, names, agents, commands, gaps and what is hidden are the same both ways."""
    hidden = f'UPDATE "rocpd_kernel_dispatch_{FIRST}" SET event_id = NULL WHERE id = 3'
    path = write_rocpd(tmp_path / "a.db", SEVERAL, version=version, statements=[hidden])
    assert parts_of(path) == len(SEVERAL)
    quickly, slowly = both_ways(path)
    assert quickly == slowly
    assert (quickly.dispatches, quickly.left_out.hidden) == (60, 1)
    assert [process.pid for process in quickly.processes] == [11, 12, 14]


def test_separated_processes_are_read_in_pieces(tmp_path: Path) -> None:
    """Claim: the quick way is the one that is taken."""
    path = write_rocpd(tmp_path / "a.db", SEVERAL[:2])
    way = "pytest_kernelperf.trace.dispatch._Reader"
    with mock.patch(f"{way}.plain", side_effect=AssertionError), mock.patch(
        f"{way}._pieces_by_row", side_effect=AssertionError
    ):  # fmt: skip
        assert summarise_trace(path).dispatches == 41


LEFT_TOGETHER = {
    "one process": [],
    "a view that leaves rows out": [
        "DROP VIEW rocpd_event",
        f'CREATE VIEW rocpd_event AS SELECT * FROM "rocpd_event_{FIRST}" WHERE id > 5 UNION ALL SELECT * FROM '
        f'"rocpd_event_{SECOND}"',
    ],
    "a view of one process's table alone": [
        "DROP VIEW rocpd_string",
        f'CREATE VIEW rocpd_string AS SELECT * FROM "rocpd_string_{FIRST}" UNION ALL SELECT * FROM '
        f'"rocpd_string_{FIRST}"',
    ],
    "a view of other columns": [
        "DROP VIEW rocpd_info_queue",
        f'CREATE VIEW rocpd_info_queue AS SELECT id, guid, pid FROM "rocpd_info_queue_{FIRST}" UNION ALL SELECT id, '
        f'guid, pid FROM "rocpd_info_queue_{SECOND}"',
    ],
    "a dispatch of another process": [
        f"UPDATE \"rocpd_kernel_dispatch_{FIRST}\" SET guid = '{SEVERAL[1].guid}' WHERE id = 2"
    ],
    "a third table": [f'CREATE TABLE rocpd_kernel_dispatch_3 AS SELECT * FROM "rocpd_kernel_dispatch_{FIRST}"'],
}


@pytest.mark.parametrize("name", LEFT_TOGETHER)
def test_what_is_no_plain_union_is_left_together(tmp_path: Path, name: str) -> None:
    """Claim: where the file's views do anything else, they are what is read."""
    several = SEVERAL[:1] if name == "one process" else SEVERAL[:2]
    path = write_rocpd(tmp_path / "a.db", several, statements=LEFT_TOGETHER[name])
    assert parts_of(path) == 1
    if name != "a view of other columns":  # the view kernels asks for its name
        quickly, slowly = both_ways(path)
        assert quickly == slowly
