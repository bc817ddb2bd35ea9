"""How many processes and blocks a case takes: few where it is clear, more where it is not, and never without end."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest
from guard_bench import SOURCE, Bench, slower

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.model import Measurement, Verdict
from pytest_kernelperf.session.timing import Taken, check_settings, first_look, policy_of, schedule_of
from pytest_kernelperf.settings import CaseSettings
from pytest_kernelperf.stats.schedule import Look
from pytest_kernelperf.worker.array import InputSet


@pytest.fixture
def changed(tmp_path: Path) -> Bench:
    """A bench whose kernel ``double_kernel`` was accepted, and has other instructions now."""
    bench = Bench(tmp_path)
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.requests.clear()
    return bench


def taken(bench: Bench) -> list[tuple[int, int]]:
    """First block and blocks of every request."""
    return [(request.first_block, request.blocks) for request in bench.workers.requests]


@pytest.mark.parametrize(("ratio", "verdict"), [(1.33, Verdict.REGRESSED), (1.0, Verdict.UNCHANGED)])
def test_three_processes_are_enough_where_they_are_clear(changed: Bench, ratio: float, verdict: Verdict) -> None:
    """A slowdown that all show, and one that all rule out: each process is asked once."""
    changed.workers.time_us = slower(ratio)
    record = changed.check()
    assert record.decision.verdict is verdict
    assert len(changed.workers.requests) == 3
    assert record.comparisons[0].processes == 3


def test_processes_that_disagree_are_joined_by_more_and_then_leave_it_undecided(changed: Bench) -> None:
    """Eight at most where five are usual, twice the blocks at most; what one process says is no property of code."""
    changed.workers.time_us = slower(1.2, lambda process: process % 2 == 0)
    record = changed.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.UNDECIDED, "depends_on_process")
    assert record.comparisons[0].processes == 8
    assert {measurement.process for measurement in record.measurements} == set(range(8))
    first, *_ = taken(changed)
    assert len(changed.workers.requests) <= 16
    assert set(taken(changed)) <= {first, (first[1], first[1])}


def test_a_second_look_goes_on_where_the_first_ended(changed: Bench) -> None:
    """With the same rounds and order, and nothing of the first is taken again."""
    changed.workers.noise = 0.012
    changed.workers.time_us = slower(1.05)
    changed.check()
    requests = [request for request in changed.workers.requests if request.first_block]
    assert requests
    assert all(request.rounds == 200 for request in requests)
    seeds = {request.seed for request in changed.workers.requests}
    assert {request.seed for request in requests} <= seeds


def test_one_odd_process_of_three_is_outvoted_by_more(changed: Bench) -> None:
    """All others rule the slowdown out."""
    changed.workers.time_us = slower(1.2, lambda process: process == 1)
    record = changed.check()
    assert len(changed.workers.requests) > 3
    assert record.decision.verdict in (Verdict.UNCHANGED, Verdict.UNDECIDED)
    assert record.decision.verdict is not Verdict.REGRESSED


def slower_by_little(bench: Bench, unit: float = 1.0) -> None:
    """Times that look slower than 5 % in samples that scatter too much for 58 blocks; ``unit``: in so many times 10 us.

    The tolerance is 5 %: what exceeds it is a third of what blocks scatter by.
    """
    bench.workers.noise = 0.0165
    bench.workers.time_us = lambda arm, process: 10.0 * unit * (1.059 if arm == "head" else 1.0)


def test_a_case_that_still_looks_slower_takes_many_more_blocks(changed: Bench) -> None:
    """Each of the eight processes goes on where it ended, a request at a time, none for longer than the usual ones."""
    slower_by_little(changed)
    record = changed.check()
    assert record.decision.verdict is Verdict.REGRESSED
    comparison = record.comparisons[0]
    schedule = schedule_of(changed.settings.case, policy_of(changed.settings.case, "cpu"))
    look = next(further for further in schedule.further if further.blocks == comparison.blocks)
    assert comparison.processes == 8
    assert (comparison.look_alpha, comparison.agreement_alpha) == (look.alpha, look.agreement_alpha)
    assert max(request.blocks for request in changed.workers.requests) <= 58
    for process in range(8):
        of = [m for m in record.measurements if m.process == process]
        assert sorted({s.block for m in of for s in m.samples}) == list(range(comparison.blocks))
        assert sum(len(m.samples) for m in of) == 2 * comparison.blocks


@pytest.mark.parametrize(
    ("unit", "settings"), [(500.0, CaseSettings()), (1.0, CaseSettings(dwell_s=0.1))], ids=["slow", "dwelling"]
)
def test_more_blocks_that_would_take_minutes_are_not_taken(changed: Bench, unit: float, settings: CaseSettings) -> None:
    """Samples of a second each, or arms that run for a while before them: open, as without further looks."""
    slower_by_little(changed, unit)
    record = changed.check(settings=settings)
    assert record.decision.verdict is Verdict.UNDECIDED
    assert (record.comparisons[0].processes, record.comparisons[0].blocks) == (8, 58)


def test_what_further_blocks_will_take_is_what_those_taken_took(changed: Bench) -> None:
    """Batches and dwelling, of all arms, in the processes that lack blocks."""
    changed.workers.time_us = slower(1.0)
    record = changed.check(settings=CaseSettings(blocks=30, dwell_s=0.1))
    taken = Taken(measurements=list(record.measurements))
    block_s = 2 * (10e-6 * 200 + 0.1)
    assert taken.seconds_to(Look(3, 30, 0.1)) == 0.0
    assert taken.seconds_to(Look(3, 130, 0.1)) == pytest.approx(3 * 100 * block_s, rel=0.01)
    assert Taken().seconds_to(Look(3, 130, 0.1)) == 0.0


def test_a_busy_machine_ends_further_looks_too(changed: Bench) -> None:
    """What could not be measured to its end is called neither slower nor undecided."""
    slower_by_little(changed)
    changed.workers.disturbed_from = 58
    assert changed.check().decision.verdict is Verdict.INVALID
    assert {r.first_block for r in changed.workers.requests} == {0, 29, 58}


def test_a_worker_that_dies_in_a_further_look_is_said_to_have(changed: Bench) -> None:
    """As in any other look."""
    slower_by_little(changed)
    changed.workers.dies_from = 58
    record = changed.check()
    assert (record.decision.verdict, record.decision.fails) == (Verdict.CRASHED, True)
    assert "died of signal 6" in record.decision.reason


def test_a_process_that_gives_no_samples_is_not_asked_for_ever(changed: Bench) -> None:
    """One answer without any is an answer."""
    changed.workers.time_us = slower(1.33)
    measure = changed.workers.measure

    def mute(process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        found = measure(process, request, inputs)
        return msgspec.structs.replace(found, samples=()) if process == 1 else found

    changed.workers.measure = mute  # type: ignore[method-assign]
    changed.check()
    assert sum(request.first_block == 0 for request in changed.workers.requests) < 20


@pytest.mark.parametrize("asked", [{"full": True}, {"update_reason": "slower, but right"}])
def test_what_is_to_be_stored_or_was_asked_for_takes_the_usual_number_at_once(changed: Bench, asked: Any) -> None:
    """Baselines need the processes, however clear the case is after three."""
    changed.settings = dataclasses.replace(changed.settings, **asked)
    changed.workers.time_us = slower(1.33)
    record = changed.check()
    assert {measurement.process for measurement in record.measurements} == set(range(5))


def test_a_busy_machine_ends_the_looks(changed: Bench) -> None:
    """Nothing more is asked once a process could not be measured."""
    changed.workers.disturbed = 10**6
    assert changed.check().decision.verdict is Verdict.INVALID
    assert len(changed.workers.requests) == 3 * 3


def test_blocks_that_are_stated_are_taken(changed: Bench) -> None:
    """Their number may differ from case to case."""
    changed.check(settings=CaseSettings(blocks=40))
    assert taken(changed)[0] == (0, 40)


def test_many_blocks_are_taken_in_several_requests(changed: Bench) -> None:
    """A worker's time-out is for one of them."""
    changed.check(settings=CaseSettings(blocks=150))
    assert taken(changed) == [(0, 58), (58, 58), (116, 34)] * 3


@pytest.mark.parametrize(
    ("settings", "arithmetic"),
    [
        (
            CaseSettings(blocks=7),
            "7 blocks at alpha 1e-05 cannot reject: the smallest p is 0.0078, and each of 2 looks needs 4.8e-06; "
            "take at least 18 blocks",
        ),
        (CaseSettings(blocks=17), "17 blocks at alpha 1e-05 cannot reject: the smallest p is 7.6e-06"),
        (CaseSettings(blocks=18, alpha=1e-6), "18 blocks at alpha 1e-06 cannot reject"),
    ],
)
def test_settings_that_could_never_reject_are_refused_with_the_arithmetic(
    settings: CaseSettings, arithmetic: str
) -> None:
    """Seven samples, the usual default, cannot reject at 1e-5 whatever they show."""
    with pytest.raises(UsageError) as refusal:
        check_settings(settings)
    assert arithmetic in str(refusal.value)
    assert f"kernelperf_blocks (on the marker: blocks) is {settings.blocks}, kernelperf_alpha (on" in str(refusal.value)
    assert "no process could call anything slower, however slow it is" in str(refusal.value)
    with pytest.raises(UsageError):
        schedule_of(settings, policy_of(settings, "cpu"))


@pytest.mark.parametrize("settings", [CaseSettings(), CaseSettings(blocks=18), CaseSettings(blocks=7, alpha=0.1)])
def test_settings_that_can_reject_are_taken(settings: CaseSettings) -> None:
    """All that is accepted can be planned."""
    check_settings(settings)
    assert schedule_of(settings, policy_of(settings, "cpu")).first.processes == 3


def test_looks_may_be_left_out() -> None:
    """The error is split over all that are planned, taken or not."""
    schedule = schedule_of(CaseSettings(processes=10), policy_of(CaseSettings(), "cuda"))
    assert first_look(schedule, 1) == schedule.first
    assert first_look(schedule, 10).processes == 10
    assert first_look(schedule, 99) == schedule.most
