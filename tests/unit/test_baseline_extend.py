"""Baselines gain processes of further days; nothing else in them changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.baseline.extend import MOST_DAYS, MOST_PER_DAY, extend
from pytest_kernelperf.baseline.format import decode, encode
from pytest_kernelperf.model import CaseId, Decision, Measurement, Record, Sample, StoredComparison, Verdict

OLD = decode((Path(__file__).parent.parent / "golden" / "baseline.json").read_bytes(), "golden")
FACTS = {"driver": "amdgpu 6.16.6"}


def measured(process: int, time_us: float = 55.0, **more: Any) -> Measurement:
    """Samples of the head beside the accepted binary's."""
    samples = tuple(
        Sample(arm, block, place, time, 0.1)
        for block in range(2)
        for place, (arm, time) in enumerate((("head", 1.0), ("baseline", time_us)))
    )
    return Measurement(**{"process": process, "mode": "graph", "rounds": 200, "seed": 1, "samples": samples, **more})


def timed(verdict: Verdict = Verdict.UNCHANGED, *, fails: bool = False, **more: Any) -> Record:
    """A record of the golden case, its accepted binary timed in five processes."""
    fields: dict[str, Any] = {
        "measurements": tuple(measured(process) for process in range(5)),
        "stored": StoredComparison(0.998, 0.5, 5, 5, 1, False),
        **more,
    }
    case = CaseId("moe_add_inject", "fused_column_tiles", 512)
    return Record(case, "t.py", Decision(verdict, fails, "code", "because"), **fields)


def test_todays_processes_of_the_accepted_binary_join_the_entry() -> None:
    """The baseline arm's samples with their day and facts, and a line that says how far they lie off."""
    found = extend(OLD, [timed()], "2026-03-02", FACTS)
    assert found.baseline is not None
    case = found.baseline.cases[0]
    assert (len(case.processes), case.days) == (10, 2)
    assert case.processes[:5] == OLD.cases[0].processes
    assert case.processes[5].times_us == (55.0, 55.0)
    assert found.baseline.facts_of(case.processes[5]) == FACTS
    assert found.extended == (
        "moe_add_inject fused_column_tiles at 512 tokens: 5 -> 10 processes, 1 -> 2 days; "
        "the accepted binary took 55.10 us, today -0.2 %",
    )
    assert found.left == ()
    assert msgspec.structs.replace(case, processes=OLD.cases[0].processes) == OLD.cases[0]
    assert decode(encode(found.baseline), "again") == found.baseline


def test_a_day_is_taken_once() -> None:
    """Asked again on the same day, the file stays to the byte."""
    once = extend(OLD, [timed()], "2026-03-02", FACTS).baseline
    assert once is not None
    again = extend(once, [timed()], "2026-03-02", {"driver": "other"})
    assert (again.baseline, again.extended) == (None, ())
    assert again.left[0].endswith("has processes of 2026-03-02 already")


@pytest.mark.parametrize(
    "record",
    [
        timed(Verdict.REGRESSED, fails=True),
        timed(Verdict.INVALID, fails=True),
        timed(measurements=()),
        timed(measurements=tuple(measured(process, contended_by="firefox") for process in range(5))),
        timed(measurements=tuple(measured(process, mode="queued") for process in range(5))),
        timed(mode="queued", measurements=tuple(measured(process, mode="queued") for process in range(5))),
        timed(cache="cold"),
        timed(Verdict.IDENTICAL, measurements=(), time_is_stored=True),
    ],
)
def test_nothing_joins_that_was_not_measured_cleanly(record: Record) -> None:
    """A failing, disturbed, untimed case, or one of another mode or cache, leaves its entry as it was, and is said."""
    found = extend(OLD, [record], "2026-03-02", FACTS)
    assert (found.baseline, found.extended) == (None, ())
    assert len(found.left) == 1


def test_cases_without_an_entry_and_mutations_are_passed_over() -> None:
    """They are stored with --update-baselines, or never."""
    other = msgspec.structs.replace(timed(), case=CaseId("moe_add_inject", "separate", 1))
    mutation = timed(mutation_of="fused_column_tiles")
    assert extend(OLD, [other, mutation], "2026-03-02", FACTS) == extend(None, [timed()], "2026-03-02", FACTS)


def test_the_accepted_day_and_the_newest_days_are_kept() -> None:
    """A file is bounded, and the figure that was accepted stays in it; facts that nobody names any more go."""
    baseline = OLD
    for day in range(2, 12):
        many = timed(measurements=tuple(measured(process) for process in range(64)))
        found = extend(baseline, [many], f"2026-03-{day:02}", {"driver": str(day)})
        assert found.baseline is not None
        baseline = found.baseline
    case = baseline.cases[0]
    days = sorted({process.day for process in case.processes})
    assert days == [OLD.cases[0].processes[0].day, *(f"2026-03-{day:02}" for day in range(7, 12))]
    assert len(days) == MOST_DAYS
    assert len(case.processes) == 5 + 5 * MOST_PER_DAY
    assert isinstance(baseline.environments, dict)
    assert sorted(facts["driver"] for facts in baseline.environments.values()) == ["10", "11", "7", "8", "9"]
