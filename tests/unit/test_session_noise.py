"""Noise on its way through the guard: measurement, record, decision, and what is measured once more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from guard_bench import SOURCE, Bench, slower

from pytest_kernelperf.model import Noise, Verdict
from pytest_kernelperf.settings import CaseSettings


@pytest.fixture
def changed(tmp_path: Path) -> Bench:
    """A bench whose kernel ``double_kernel`` was accepted, and has other instructions now."""
    bench = Bench(tmp_path)
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.requests.clear()
    return bench


def altered(bench: Bench, **changes: Any) -> None:
    """Let every measurement come back with some fields changed."""
    measure = bench.workers.measure

    def measure_altered(process: int, request: Any, inputs: Any) -> Any:
        return msgspec.structs.replace(measure(process, request, inputs), **changes)

    bench.workers.measure = measure_altered  # type: ignore[method-assign]


def test_noise_of_a_measurement_is_in_the_record_and_beside_the_verdict(changed: Bench) -> None:
    """What is left of it as a note, what is over in the measurement alone."""
    left, over = Noise("two_speeds", "two speeds, 27 % apart"), Noise("contention", "pid 7 came", 4, settled=True)
    altered(changed, noise=(left, over))
    record = changed.check()
    assert record.decision.verdict is Verdict.UNCHANGED
    assert record.notes == ("two speeds, 27 % apart (3 processes)",)
    assert all(measurement.noise == (left, over) for measurement in record.measurements)


def test_noise_that_keeps_a_case_undecided_is_its_reason(changed: Bench) -> None:
    """After all looks."""
    changed.workers.time_us = slower(1.2, lambda process: process % 2 == 0)
    altered(changed, noise=(Noise("throttled", "the hardware's temperature limit held the clock down"),))
    record = changed.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.UNDECIDED, "throttled")
    assert "the hardware's temperature limit held the clock down" in record.decision.reason


def test_a_measurement_that_cannot_be_used_is_taken_again_and_then_said_with_its_code(changed: Bench) -> None:
    """A timer that gives no times, in every try of every process."""
    altered(changed, invalid="21 times were impossible", invalid_code="timer", samples=())
    record = changed.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.INVALID, "timer")
    assert len(changed.workers.requests) == 9
    assert "the driver and at the machine's clock source" in record.decision.reason


def with_clock(bench: Bench, clock_of: Any) -> None:
    """Let every sample hold a clock in MHz."""
    measure = bench.workers.measure

    def measure_clocked(process: int, request: Any, inputs: Any) -> Any:
        found = measure(process, request, inputs)
        samples = tuple(msgspec.structs.replace(s, clock_mhz=clock_of(s)) for s in found.samples)
        return msgspec.structs.replace(found, samples=samples, dwell_us=request.dwell_us)

    bench.workers.measure = measure_clocked  # type: ignore[method-assign]


def test_a_slowdown_that_cycles_do_not_show_is_asked_again_and_is_then_the_clocks(changed: Bench) -> None:
    """All looks are taken before it is said; it is never regressed."""
    changed.workers.time_us = slower(1.1)
    with_clock(changed, lambda sample: 1800.0 / (sample.time_us / 10.0))
    record = changed.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.INVALID, "clock")
    assert record.comparisons[0].cycles_ratio == pytest.approx(1.0)
    assert record.comparisons[0].processes == 8


def test_a_slowdown_that_cycles_show_is_the_codes(changed: Bench) -> None:
    """The clock was the same for both arms."""
    changed.workers.time_us = slower(1.1)
    with_clock(changed, lambda sample: 1800.0)
    record = changed.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.REGRESSED, "slower")
    assert record.comparisons[0].cycles_ratio == pytest.approx(1.1, rel=0.01)


def test_arms_that_dwell_let_power_count(changed: Bench) -> None:
    """The request says for how long, and the clock is then the code's own doing."""
    changed.workers.time_us = slower(1.1)
    with_clock(changed, lambda sample: 1800.0 / (sample.time_us / 10.0))
    record = changed.check(settings=CaseSettings(dwell_s=1.0))
    assert {request.dwell_us for request in changed.workers.requests} == {1e6}
    assert (record.decision.verdict, record.decision.code) == (Verdict.REGRESSED, "slower_by_power")
