"""Damaged and strange traces: a summary or one sentence, never another error."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rocpd_files import VERSIONS, Dispatch, Process, lesson_dispatches, write_rocpd

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.report.trace import render_trace
from pytest_kernelperf.trace.dispatch import Dispatches, Group, read_dispatches
from pytest_kernelperf.trace.record import TraceSummary
from pytest_kernelperf.trace.summary import summarise_trace

TIMES = st.one_of(st.integers(-(2**62), 2**62), st.integers(0, 100_000))


def read(path: Path) -> TraceSummary | None:
    """Return the summary, or None where a sentence refused it; every summary can be shown."""
    try:
        summary = summarise_trace(path)
    except TraceError as refusal:
        sentence = str(refusal)
    else:
        assert all(line.isprintable() for line in render_trace(summary).splitlines())
        return summary
    assert sentence.isprintable()
    return None


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(VERSIONS), st.integers(0, 2**20), st.binary(min_size=1, max_size=200), st.booleans())
def test_damaged_bytes_are_read_or_refused(version: str, place: int, damage: bytes, cut: bool) -> None:
    """Bytes overwritten anywhere, or the file cut there."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_rocpd(Path(folder) / "a.db", [Process(lesson_dispatches())], version=version)
        data = bytearray(path.read_bytes())
        place %= len(data)
        data[place : place + len(damage)] = damage
        path.write_bytes(data[:place] if cut else data)
        read(path)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(TIMES, TIMES, st.integers(0, 2), st.sampled_from("ab")), max_size=30))
def test_no_dispatch_is_lost_whatever_its_times(rows: list[tuple[int, int, int, str]]) -> None:
    """Each dispatch is summed up or counted among those left out; what remains is positive and within the window."""
    with tempfile.TemporaryDirectory() as folder:
        dispatches = [Dispatch(name, start, end, stream=stream) for start, end, stream, name in rows]
        summary = read(write_rocpd(Path(folder) / "a.db", [Process(dispatches)]))
    assert summary is not None
    out = summary.left_out
    left_out = out.hidden + out.timeless + out.empty + out.negative + out.absurd + out.overlapping
    assert summary.dispatches + left_out == len(rows)
    assert sum(kernel.calls for one in summary.processes for kernel in one.kernels) == summary.dispatches
    for timeline in summary.timelines:
        assert 0 < timeline.busy_us <= timeline.window_us
        assert 0 < timeline.busy_ratio <= 1


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 4000), st.integers(1, 70_000), st.integers(0, 9), st.sampled_from("abc")), min_size=1
    ),
    st.integers(0, 9),
)
def test_packed_rows_are_the_plain_ones(rows: list[tuple[int, int, int, str]], piece: int) -> None:
    """The quick ways (in pieces, of 0 rows: row by row) and the one that looks at each value agree."""
    dispatches = [
        Dispatch(name, 10_000 * number, 10_000 * number + length, (work_items, 1, 1), stream=stream)
        for number, (length, work_items, stream, name) in enumerate(rows, 1)
    ]
    barred = ["plain", "_pieces_by_row"] if piece else ["plain"]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = write_rocpd(Path(folder) / "a.db", [Process(dispatches)])
        if piece:
            stack.enter_context(mock.patch("pytest_kernelperf.trace.pieces.PIECE_ROWS", piece))
        else:
            stack.enter_context(mock.patch("pytest_kernelperf.trace.dispatch.read_pieces", return_value=None))
        with ExitStack() as quickly:
            for one in barred:
                way = f"pytest_kernelperf.trace.dispatch._Reader.{one}"
                quickly.enter_context(mock.patch(way, side_effect=AssertionError))
            quick = read_dispatches((path,))
        stack.enter_context(mock.patch("pytest_kernelperf.trace.dispatch.plan_packing", return_value=None))
        plain = read_dispatches((path,))
    assert rows_of(quick) == rows_of(plain)
    assert len(rows_of(quick)) == len(rows)


@pytest.mark.parametrize("strange", ["start + 0.5", "start + 0.0", "NULL", "x'00'", "'text'"])
def test_a_piece_with_a_strange_value_is_looked_at_row_by_row(tmp_path: Path, strange: str) -> None:
    """One dispatch whose start is no whole number counts as timeless; the others of its piece remain."""
    view = f"SELECT K.id, {SOURCE.removeprefix('SELECT ')}".replace(
        "K.start,", f"CASE WHEN K.id = 3 THEN {strange.replace('start', 'K.start')} ELSE K.start END AS start,"
    )
    changes = ["DROP VIEW kernels", f"CREATE VIEW kernels AS {view}"]
    summary = read(write_rocpd(tmp_path / "a.db", [Process(lesson_dispatches())], statements=changes))
    assert summary is not None
    assert (summary.dispatches, summary.left_out.timeless) == (19, 1)


def rows_of(dispatches: Dispatches) -> list[tuple[int, int, Group]]:
    """Return all dispatches with what is common to them."""
    columns = (dispatches.start_ns, dispatches.end_ns, dispatches.group)
    return [(start, end, dispatches.groups[group]) for start, end, group in zip(*map(list, columns), strict=True)]


VALUES = st.sampled_from(["NULL", "'text'", "1.5", "x'00ff'", "0", "-1", "9223372036854775807"])
COLUMNS = st.sampled_from(
    ["name", "start", '"end"', "guid", "pid", "nid", "kernel_id", "agent_abs_index", "queue_id", "stream_id",
     "grid_x", "workgroup_y"]
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(COLUMNS, st.one_of(VALUES, st.just("")), max_size=4))
def test_strange_values_and_missing_columns_are_read_or_refused(changes: dict[str, str]) -> None:
    """A view that answers with NULL, text, fractions or bytes, or lacks columns."""
    columns = ["guid", "nid", "pid", "name", "agent_abs_index", "kernel_id", "queue_id", "stream_id", "start", '"end"',
               "grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z"]  # fmt: skip
    asked = ", ".join(f"{changes.get(one, one)} AS {one}" for one in columns if changes.get(one) != "")
    strange = ["DROP VIEW kernels", f"CREATE VIEW kernels AS SELECT {asked} FROM ({SOURCE})"]
    with tempfile.TemporaryDirectory() as folder:
        read(write_rocpd(Path(folder) / "a.db", [Process(lesson_dispatches())], statements=strange))


SOURCE = (
    "SELECT K.guid, K.nid, K.pid, S.display_name AS name, A.absolute_index AS agent_abs_index, K.kernel_id, "
    'K.queue_id, K.stream_id, K.start, K."end", '
    "K.grid_size_x AS grid_x, K.grid_size_y AS grid_y, K.grid_size_z AS grid_z, "
    "K.workgroup_size_x AS workgroup_x, K.workgroup_size_y AS workgroup_y, K.workgroup_size_z AS workgroup_z "
    "FROM rocpd_kernel_dispatch K JOIN rocpd_info_agent A ON A.id = K.agent_id "
    "JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id"
)
