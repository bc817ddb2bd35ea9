"""The file for Perfetto keeps its format's rules, and Perfetto itself sees each kernel to the nanosecond."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from chrome_trace import problems
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto_ui import Perfetto, find_perfetto
from rocpd_files import VERSIONS, Agent, Dispatch, Process, lesson_dispatches, write_rocpd

from pytest_kernelperf.trace.perfetto import write_perfetto

SIDE = Dispatch("side|`<b>&\"'\\\x1b🙂", 1_000_000_500, 1_000_009_500, stream=7)


def written(folder: Path, processes: list[Process], version: str = "3.0.3") -> str:
    """Return Perfetto's file of a trace."""
    path = write_rocpd(folder / "a.db", processes, version=version)
    write_perfetto(path, folder / "a.json")
    return (folder / "a.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_lessons_trace_keeps_all_rules(tmp_path: Path, version: str) -> None:
    """Claim: several processes, agents, streams and hostile names; no trace at all too."""
    dispatches = [*lesson_dispatches(), SIDE, Dispatch("k", 1_000_000_700, 1_000_000_900, agent=2)]
    agents = (Agent(1), Agent(2, 16))
    text = written(tmp_path, [Process(dispatches, agents=agents), Process(lesson_dispatches(), pid=4712)], version)
    assert problems(text) == []
    (tmp_path / "none").mkdir()
    assert problems(written(tmp_path / "none", [Process([])])) == []


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 2**53), st.integers(1, 10**9), st.integers(0, 2), st.sampled_from(["a", "f(int)"])),
        min_size=1,
        max_size=30,
    )
)
def test_any_sound_trace_keeps_all_rules(rows: list[tuple[int, int, int, str]]) -> None:
    """Claim: whatever overlaps between streams and queues, each track's kernels follow each other; all are there."""
    dispatches = [Dispatch(name, start, start + length, stream=stream) for start, length, stream, name in rows]
    with tempfile.TemporaryDirectory() as folder:
        text = written(Path(folder), [Process(dispatches)])
    assert problems(text) == []


Event = dict[str, Any]


def slices(file: dict[str, Any]) -> list[Event]:
    """Return the kernels of a file."""
    return [event for event in file["traceEvents"] if event["ph"] == "X"]


def names(file: dict[str, Any], kind: str) -> Event:
    """Return the first name of a process or track."""
    found: Event = next(event for event in file["traceEvents"] if event["name"] == kind)
    return found


BROKEN: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "no list": (lambda file: file.update(traceEvents={}), "no object with a list traceEvents"),
    "a strange field": (lambda file: file.update(traceEvent=[]), "unknown field traceEvent"),
    "a strange unit": (lambda file: file.update(displayTimeUnit="us"), "displayTimeUnit"),
    "no object": (lambda file: file["traceEvents"].append([]), "is no object"),
    "no phase": (lambda file: slices(file)[0].pop("ph"), "is no phase"),
    "a strange phase": (lambda file: slices(file)[0].update(ph="Y"), "ph 'Y' is no phase"),
    "no name": (lambda file: slices(file)[0].pop("name"), "name is no text"),
    "a process of text": (lambda file: slices(file)[0].update(pid="1"), "pid is no number of 32 bits"),
    "a track of 64 bits": (lambda file: slices(file)[0].update(tid=2**40), "tid is no number of 32 bits"),
    "arguments in a list": (lambda file: slices(file)[0].update(args=[1]), "args is no object"),
    "a category of numbers": (lambda file: slices(file)[0].update(cat=1), "cat is no text"),
    "no time": (lambda file: slices(file)[0].pop("ts"), "ts is no number"),
    "a time of text": (lambda file: slices(file)[0].update(ts="1"), "ts is no number"),
    "a time before all": (lambda file: slices(file)[0].update(ts=-1), "ts is negative"),
    "no duration": (lambda file: slices(file)[0].pop("dur"), "dur is no number"),
    "a negative duration": (lambda file: slices(file)[0].update(dur=-0.5), "dur is negative"),
    "less than a nanosecond": (lambda file: slices(file)[0].update(dur=0.0005), "dur is finer than a nanosecond"),
    "a begin that lasts": (lambda file: slices(file)[0].update(ph="B"), "ph B has a duration"),
    "a begin without an end": (
        lambda file: (slices(file)[0].pop("dur"), slices(file)[0].update(ph="B")),
        "a begin without an end",
    ),
    "an end without a begin": (
        lambda file: file["traceEvents"].append({"ph": "E", "ts": 1, "pid": 1, "tid": 1, "name": ""}),
        "an end without a begin",
    ),
    "a flow without a number": (
        lambda file: file["traceEvents"].append({"ph": "s", "ts": 1, "pid": 1, "tid": 1, "name": "f"}),
        "ph s has no id",
    ),
    "a flow from nowhere": (
        lambda file: file["traceEvents"].append({"ph": "f", "ts": 1, "pid": 1, "tid": 1, "name": "f", "id": 3}),
        "a flow that has not begun",
    ),
    "a counter of text": (
        lambda file: file["traceEvents"].append(
            {"ph": "C", "ts": 1, "pid": 1, "tid": 1, "name": "c", "args": {"x": "1"}}
        ),
        "a counter's arguments are numbers",
    ),
    "kernels that cut across each other": (
        lambda file: slices(file)[0].update(dur=4.0),
        "ends after what it lies in",
    ),
    "strange metadata": (lambda file: names(file, "thread_name").update(name="thread"), "metadata 'thread' is unknown"),
    "metadata without a name": (lambda file: names(file, "thread_name").update(args={}), "thread_name has no name"),
    "a process without a name": (
        lambda file: file["traceEvents"].remove(names(file, "process_name")),
        "process 1 has 0 names",
    ),
    "a process with two": (
        lambda file: file["traceEvents"].append(names(file, "process_name")),
        "process 1 has 2 names",
    ),
    "a track without a name": (
        lambda file: file["traceEvents"].remove(names(file, "thread_name")),
        "track (1, 1) has 0 names",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_rule_is_noticed(tmp_path: Path, name: str) -> None:
    """Claim: the checker can fail, rule by rule."""
    file = json.loads(written(tmp_path, [Process(lesson_dispatches())]))
    break_it, words = BROKEN[name]
    break_it(file)
    assert any(words in problem for problem in problems(json.dumps(file)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "no JSON"),
        ('{"traceEvents": [], "traceEvents": []}', "stands twice"),
        ('{"traceEvents": [{"name": "\\\\\\ud83d\\ude42"}]}', "an escaped surrogate"),
        ('{"traceEvents": [{"ts": NaN}]}', "NaN is no number of JSON"),
    ],
)
def test_what_is_no_json_is_noticed(text: str, words: str) -> None:
    """Claim: neither cut-off files nor Python's own additions to JSON pass."""
    assert words in problems(text)[0]


@pytest.mark.weekly
def test_perfetto_itself_sees_every_kernel(tmp_path: Path) -> None:
    """Claim: Perfetto's trace processor reports no error, and has each kernel on its track, exact to the nanosecond."""
    found = find_perfetto()
    if isinstance(found, str):
        pytest.skip(found)
    processes = [Process([*lesson_dispatches(), SIDE]), Process(lesson_dispatches(2 * 10**9), pid=4712)]
    path = write_rocpd(tmp_path / "a.db", processes)
    write_perfetto(path, tmp_path / "a.json")
    errors, kernels, named = Perfetto(found).query(
        tmp_path / "a.json",
        "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
        "SELECT s.name, s.ts, s.dur, s.depth, t.tid, p.pid FROM slice s JOIN thread_track k ON k.id = s.track_id "
        "JOIN thread t USING (utid) JOIN process p USING (upid)",
        "SELECT p.name AS process, t.name AS track FROM thread t JOIN process p USING (upid) WHERE t.name IS NOT NULL",
    )
    assert errors == []
    wanted = [(one.start_ns - 10**9, one.end_ns - one.start_ns) for process in processes for one in process.dispatches]
    assert sorted((one["ts"], one["dur"]) for one in kernels) == sorted(wanted)
    assert {one["depth"] for one in kernels} == {0}
    assert {(one["process"], one["track"]) for one in named} == {
        ("process 4711 on gfx1151 (1)", "stream 0"),
        ("process 4711 on gfx1151 (1)", "stream 7"),
        ("process 4712 on gfx1151 (1)", "stream 0"),
    }
