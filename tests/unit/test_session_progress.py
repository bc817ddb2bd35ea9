"""Where a run is, in numbers: with a scripted clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from guard_bench import SOURCE, Bench, slower

from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.model import CaseId
from pytest_kernelperf.report.progress import Estimate, Progress, Timing, render_progress
from pytest_kernelperf.session.progress import ProgressLog

CASE = CaseId("scale", "plain", 8)


@dataclass
class Heard:
    """A log with a scripted clock, and what it passes on."""

    now_s: float = 100.0
    heard: list[Progress] = field(default_factory=list)

    def log(self, *, watched: bool = True) -> ProgressLog:
        log = ProgressLog(lambda: self.now_s)
        log.total, log.done, log.watched, log.listener = 4, 1, watched, self.heard.append
        return log


def test_nothing_is_worked_out_where_nobody_watches() -> None:
    """Estimates are for eyes: without them a run does what it did."""
    heard = Heard()

    def refuse() -> Timing:
        raise AssertionError("nobody asked")

    heard.log(watched=False)(CASE, "timing, process 1 of 3", refuse)
    assert heard.heard == [Progress(1, 4, str(CASE), "timing, process 1 of 3", 0.0)]


def test_a_case_takes_at_most_the_rest_of_its_blocks_at_its_own_pace() -> None:
    """58 blocks in 29 s, of 232 that it may have: 174 are left, half a second each."""
    heard = Heard()
    log = heard.log()
    log(CASE, "timing, process 1 of 3", lambda: Timing(0, 29, 0, 232))
    assert heard.heard[-1].at_most_s is None
    heard.now_s += 14.5
    log.follow(Told(29, 29, {"head": 10.0}))
    assert heard.heard[-1].at_most_s == pytest.approx(14.5 / 29 * 203)
    heard.now_s += 14.5
    log(CASE, "timing, process 3 of 3", lambda: Timing(0, 29, 58, 232))
    assert heard.heard[-1].at_most_s == pytest.approx(87.0)
    other = CaseId("scale", "plain", 9)
    log(other, "timing, process 1 of 3", lambda: Timing(0, 29, 0, 232))
    heard.now_s += 1.0
    log.follow(Told(10, 29, {"head": 10.0}))
    assert heard.heard[-1].at_most_s == pytest.approx(22.2)


def test_the_first_process_is_estimated_from_its_medians_and_later_ones_keep_the_test() -> None:
    """Medians have no interval and no verdict; once a process is through, the test speaks."""
    heard = Heard()
    log = heard.log()
    log(CASE, "timing, process 1 of 3", lambda: Timing(0, 29, 0, 87))
    log.follow(Told(12, 29, {"head": 2.2, "baseline": 2.0}))
    estimate = heard.heard[-1].timing.estimate  # type: ignore[union-attr]
    assert estimate == Estimate(2.2, "baseline", pytest.approx(1.1))
    tested = Estimate(2.2, "baseline", 1.09, None, None, "undecided")
    log(CASE, "timing, process 2 of 3", lambda: Timing(10, 29, 39, 87, tested))
    for taken in (6, 12):
        log.follow(Told(taken, 19, {"head": 9.0, "baseline": 2.0}))
    assert heard.heard[-1].timing == Timing(22, 29, 51, 87, tested)


def test_what_is_told_beside_no_timing_is_dropped() -> None:
    """A worker's word that comes when its case is over moves nothing."""
    heard = Heard()
    log = heard.log()
    log.follow(Told(1, 2, {}))
    log(CASE, "tracing")
    log.follow(Told(1, 2, {}))
    assert [progress.phase for progress in heard.heard] == ["tracing"]


def test_a_slower_case_is_followed_to_its_verdict(tmp_path: Path) -> None:
    """Process after process: first no estimate, then one without an interval, then with it, as the record has it."""
    bench = Bench(tmp_path)
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(1.2)
    heard = Heard()
    bench.progress = heard.log()
    record = bench.check()
    timed = [progress for progress in heard.heard if progress.timing is not None]
    assert [progress.phase for progress in timed] == [f"timing, process {number} of 3" for number in (1, 2, 3)]
    first, second, third = (progress.timing for progress in timed if progress.timing is not None)
    assert first.estimate is None
    assert (second.given, second.blocks, second.most) == (29, 29, 8 * 58)
    assert second.estimate is not None
    assert second.estimate.low_ratio is None
    assert third.estimate is not None
    assert third.estimate.low_ratio is not None
    assert third.estimate.high_ratio is not None
    assert third.estimate.low_ratio < 1.2 < third.estimate.high_ratio
    assert third.estimate.change_ratio == pytest.approx(1.2, rel=0.002)
    assert third.estimate.verdict == "undecided"
    assert record.decision.verdict.value == "regressed"
    assert "+20" in render_progress(timed[-1], 200)
