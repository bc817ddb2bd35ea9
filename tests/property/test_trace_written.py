"""Any recording, written and read back: the same calls, times, workgroups and gaps, and never a broken rule."""

from __future__ import annotations

import math
import statistics
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import KERNELS, recording
from rocpd_rules import broken_rules

from pytest_kernelperf.recording import Recording
from pytest_kernelperf.trace.record import LeftOut, TraceSummary
from pytest_kernelperf.trace.summary import summarise_trace
from pytest_kernelperf.trace.write import write_trace

NUMBERS = st.integers(0, 2**64 - 1)
TEXTS = st.text(st.characters() | st.sampled_from("\udc80\ud800\0\n'\""), max_size=40)
SIDES = st.tuples(st.integers(1, 2**31 - 1), st.integers(1, 9), st.integers(1, 9))


@st.composite
def lanes(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Dispatches that follow each other on each of up to three streams, and overlap between streams."""
    rows = []
    for stream in draw(st.lists(NUMBERS, min_size=1, max_size=3, unique=True)):
        now_ns = draw(st.integers(1, 2**40))
        for _ in range(draw(st.integers(1, 8))):
            start_ns = now_ns + draw(st.integers(0, 5000))
            now_ns = start_ns + draw(st.integers(1, 5000))
            rows.append({
                "start_ns": start_ns, "end_ns": now_ns, "stream": stream, "queue": stream,
                "kernel": draw(st.sampled_from(sorted(KERNELS))), "workgroups": draw(SIDES),
                "block": (draw(st.integers(1, 1024)), 1, 1), "thread": draw(NUMBERS), "correlation": draw(NUMBERS),
                "graph_exec": draw(NUMBERS), "graph_node": draw(NUMBERS),
                "dynamic_shared_bytes": draw(st.integers(0, 2**32 - 1)),
            })  # fmt: skip
    return rows


def read_back(made: Recording) -> tuple[TraceSummary, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.db"
        write_trace(path, made)
        return summarise_trace(path), broken_rules(path)


@settings(max_examples=25)
@given(lanes())
def test_a_written_recording_reads_back_as_it_was(rows: list[dict[str, Any]]) -> None:
    """Counted by hand from the rows: calls, totals and workgroups of each kernel, window, busy time, median gap."""
    summary, broken = read_back(recording(rows))
    assert broken == []
    assert (summary.dispatches, summary.left_out, summary.origin) == (len(rows), LeftOut(), "cpu")
    (process,), (timeline,) = summary.processes, summary.timelines
    assert {one.name for one in process.kernels} == {KERNELS[row["kernel"]].name for row in rows}
    for kernel in process.kernels:
        own = [row for row in rows if KERNELS[row["kernel"]].name == kernel.name]
        assert kernel.calls == len(own)
        assert math.isclose(kernel.total_us, sum(row["end_ns"] - row["start_ns"] for row in own) / 1e3)
        counts = sorted({math.prod(row["workgroups"]) for row in own})
        assert list(kernel.workgroups) == (counts if len(counts) <= 10 else [*counts[:9], counts[-1]])
        assert kernel.starved == (counts[0] < 40)
    rows = sorted(rows, key=lambda row: row["start_ns"])
    seen = {rows[0]["kernel"]}
    until_ns, idle_ns, gaps_ns = rows[0]["end_ns"], 0, []
    for row in rows[1:]:
        gap_ns = max(row["start_ns"] - until_ns, 0)
        idle_ns += gap_ns
        if row["kernel"] in seen:
            gaps_ns.append(gap_ns)
        seen.add(row["kernel"])
        until_ns = max(until_ns, row["end_ns"])
    assert math.isclose(timeline.window_us, (until_ns - rows[0]["start_ns"]) / 1e3)
    assert math.isclose(timeline.busy_us, (until_ns - rows[0]["start_ns"] - idle_ns) / 1e3, abs_tol=1e-3)
    median_us = statistics.median(gaps_ns) / 1e3 if gaps_ns else None
    assert timeline.median_gap_us == (None if median_us is None else pytest.approx(median_us))


@settings(max_examples=25)
@given(TEXTS.filter(bool), TEXTS, st.integers(1, 2**22))
def test_any_names_are_written_and_read(name: str, command: str, pid: int) -> None:
    """Names and commands are strangers' text: quotes, line breaks, lone surrogates; one line of each is shown."""
    kernels = {1: type(KERNELS[1])(name, name)}
    summary, broken = read_back(recording([{"start_ns": 1, "end_ns": 2}], kernels=kernels, command=command, pid=pid))
    assert broken == []
    (process,) = summary.processes
    assert process.pid == pid
    assert process.kernels[0].name.isprintable()
