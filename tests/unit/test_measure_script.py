"""The scripted clock."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Literal

import pytest

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.script import (
    ClockScript,
    Match,
    Rule,
    ScriptedActivity,
    ScriptedLimits,
    ScriptedStopwatch,
    read_script,
)
from pytest_kernelperf.measure.stopwatch import Timing
from pytest_kernelperf.model import CaseId, CodeObject, Mode, Plan

CASE = CaseId("moe", "fused", 512)
HEAD = Arm("head", CodeObject("d", b"", {}), Plan(()))
BASELINE = Arm("baseline", CodeObject("d", b"", {}), Plan(()))
REQUEST = MeasureRequest(CASE, "graph", (HEAD, BASELINE), blocks=4, seed=1)


class Untouched:
    """A real stopwatch that must not time anything."""

    def run(self, arm: Arm, rounds: int) -> None:
        raise AssertionError

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        return f"{arm.name} {mode} {rounds}"

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        raise AssertionError


def clock_of(*rules: Rule, process: int = 0, request: MeasureRequest = REQUEST) -> ScriptedStopwatch:
    """A clock of some rules."""
    return ScriptedStopwatch(Untouched(), ClockScript(1, rules), request, process)


def test_the_first_rule_that_fits_counts(tmp_path: Path) -> None:
    """Rules are read from the file in order; what a match leaves out fits all."""
    path = tmp_path / "clock.json"
    path.write_text(
        '{"version": 1, "rules": ['
        '{"match": {"variant": "other"}, "us": 1.0},'
        '{"match": {"tokens": 512, "arm": "head", "process": 0}, "us": 133.0, "host_us": 2.0},'
        '{"match": {}, "us": 100.0}]}'
    )
    script = read_script(path)
    clock = ScriptedStopwatch(Untouched(), script, REQUEST, 0)
    assert clock.time(HEAD, "graph", 10, 0) == Timing(133.0, 2.0, 1330.0)
    assert clock.time(BASELINE, "graph", 10, 0) == Timing(100.0, 50.0, 1000.0)
    assert ScriptedStopwatch(Untouched(), script, REQUEST, 1).time(HEAD, "graph", 1, 0).time_us == 100.0


def test_capturing_stays_real() -> None:
    """Only times are scripted."""
    assert clock_of(Rule(Match(), 1.0)).prepare(HEAD, "graph", 3) == "head graph 3"


def test_equal_questions_get_equal_answers() -> None:
    """Noise depends on seed, process, arm and block alone, so that a run can be repeated exactly."""
    rule = Rule(Match(), 100.0, noise_ratio=0.1, process_ratio=0.1, arm_ratio=0.1)
    times = [[clock_of(rule, process=p).time(HEAD, "graph", 1, b).time_us for b in range(8)] for p in range(3)]
    assert times == [[clock_of(rule, process=p).time(HEAD, "graph", 9, b).time_us for b in range(8)] for p in range(3)]
    assert len({time for row in times for time in row}) == 24


def test_spreads_are_as_wide_as_the_rule_says() -> None:
    """Sample noise within a process, a common factor per process, and one for each arm of each process."""
    noise = clock_of(Rule(Match(), 100.0, noise_ratio=0.01))
    times = [noise.time(HEAD, "graph", 1, block).time_us for block in range(2000)]
    assert statistics.stdev(times) == pytest.approx(1.0, rel=0.1)
    shared = [clock_of(Rule(Match(), 100.0, process_ratio=0.01), process=process) for process in range(500)]
    ratios = {round(c.time(HEAD, "graph", 1, 0).time_us / c.time(BASELINE, "graph", 1, 3).time_us, 9) for c in shared}
    assert ratios == {1.0}
    assert statistics.stdev(c.time(HEAD, "graph", 1, 0).time_us for c in shared) == pytest.approx(1.0, rel=0.15)
    apart = [clock_of(Rule(Match(), 100.0, arm_ratio=0.01), process=process) for process in range(500)]
    spread = [c.time(HEAD, "graph", 1, 0).time_us - c.time(BASELINE, "graph", 1, 0).time_us for c in apart]
    assert statistics.stdev(spread) == pytest.approx(2**0.5, rel=0.15)


def test_drift_makes_later_blocks_slower() -> None:
    """As a machine that heats up does; the warm-up's negative blocks do not drift."""
    clock = clock_of(Rule(Match(), 100.0, drift_ratio=0.01))
    assert [clock.time(HEAD, "graph", 1, block).time_us for block in (-5, 0, 10)] == [
        100.0,
        100.0,
        pytest.approx(110.0),
    ]


def test_faults_of_the_clock_can_be_scripted() -> None:
    """A clock that stands still, and a gate that times out on long batches."""
    assert clock_of(Rule(Match(), 100.0, fault="zero")).time(HEAD, "graph", 1, 0).time_us == 0.0
    gate = clock_of(Rule(Match(), 100.0, fault="gate"))
    assert [gate.time(HEAD, "queued", rounds, 0).timed_out for rounds in (8, 9)] == [False, True]
    assert not gate.time(HEAD, "loop", 9, 0).timed_out


@pytest.mark.parametrize(("fault", "time_us"), [("zero", 0.0), ("negative", -5.0), ("absurd", 1e15)])
def test_a_timer_that_stumbles_can_be_scripted(fault: Literal["zero", "negative", "absurd"], time_us: float) -> None:
    """For the first samples of a measurement, or all; warming up is left alone."""
    clock = clock_of(Rule(Match(), 100.0, fault=fault, fault_times=2))
    blocks = (-1, 0, 1, 2, 3)
    assert [clock.time(HEAD, "graph", 1, b).time_us for b in blocks] == [100.0, time_us, time_us, 100.0, 100.0]
    always = clock_of(Rule(Match(), 100.0, fault=fault))
    assert {always.time(HEAD, "graph", 1, block).time_us for block in range(9)} == {time_us}


def test_a_ramp_wears_off_with_the_batches_of_a_measurement() -> None:
    """Each arm's clock rises over its own batches, warming up among them."""
    clock = clock_of(Rule(Match(), 100.0, ramp_ratio=0.4, ramp_batches=4))
    times = [round(clock.time(HEAD, "graph", 1, block).time_us, 6) for block in (-2, -1, 0, 1, 2, 3)]
    assert times == [140.0, 130.0, 120.0, 110.0, 100.0, 100.0]
    assert clock.time(BASELINE, "graph", 1, 4).time_us == pytest.approx(140.0)


def test_two_speeds_are_drawn_by_sample_by_block_or_by_process() -> None:
    """By block and by process all arms are alike; by sample each is for itself."""
    rules = {by: Rule(Match(), 100.0, speeds=(1.0, 1.5), speed_by=by) for by in ("sample", "block", "process")}
    seen = {
        by: [
            tuple(clock_of(rule, process=process).time(arm, "graph", 1, block).time_us for arm in (HEAD, BASELINE))
            for process in range(8)
            for block in range(8)
        ]
        for by, rule in rules.items()  # type: ignore[attr-defined]
    }
    assert {time for pairs in seen.values() for pair in pairs for time in pair} == {100.0, 150.0}
    assert any(one != other for one, other in seen["sample"])
    assert all(one == other for by in ("block", "process") for one, other in seen[by])
    assert [len(set(seen["process"][8 * process : 8 * process + 8])) for process in range(8)] == [1] * 8
    assert any(len(set(seen["block"][8 * process : 8 * process + 8])) == 2 for process in range(8))


def test_the_devices_clock_is_scripted_as_a_rate_or_as_cycles() -> None:
    """Cycles stay what they are whatever the time is."""
    assert clock_of(Rule(Match(), 100.0)).time(HEAD, "graph", 1, 0).clock_mhz is None
    assert clock_of(Rule(Match(), 100.0, clock_mhz=1980.0)).time(HEAD, "graph", 1, 0).clock_mhz == 1980.0
    timing = clock_of(Rule(Match(), 100.0, noise_ratio=0.1, cycles=198_000.0)).time(HEAD, "graph", 1, 0)
    assert timing.time_us != 100.0
    assert timing.time_us * (timing.clock_mhz or 0) == pytest.approx(198_000.0)


def test_limits_are_scripted_for_the_first_windows_or_for_all() -> None:
    """Heat that passes, and a power limit that does not."""
    script = ClockScript(1, (Rule(Match(), 1.0, throttled_by="heat", throttled_times=2, power_limited=True),))
    limits = ScriptedLimits(script, REQUEST, 0)
    assert [limits.stop().throttled_by for _ in range(4)] == ["heat", "heat", "", ""]
    assert limits.stop().power_limited_by == "the power limit"
    always = ScriptedLimits(ClockScript(1, (Rule(Match(), 1.0, throttled_by="heat"),)), REQUEST, 0)
    assert {always.stop().throttled_by for _ in range(9)} == {"heat"}


def test_activity_can_be_scripted_for_some_windows_of_a_measurement() -> None:
    """Somebody who comes while samples are taken and is gone before they end."""
    rule = Rule(Match(), 1.0, contended_by="pid 3 (make)", contended_windows=(2,))
    activity = ScriptedActivity(ClockScript(1, (rule,)), REQUEST, 0, 5)
    assert [activity.stop().contended_by for _ in range(4)] == ["", "", "pid 3 (make)", ""]


def test_foreign_activity_is_scripted_for_the_first_measurements_or_for_all() -> None:
    """So that measuring again can be seen to help, or not to."""
    script = ClockScript(1, (Rule(Match(), 1.0, foreign_cores=0.8, contended_by="pid 3 (make)", contended_times=2),))
    said = [ScriptedActivity(script, REQUEST, 0, earlier).stop().contended_by for earlier in range(4)]
    assert said == ["pid 3 (make)", "pid 3 (make)", "", ""]
    always = ClockScript(1, (Rule(Match(), 1.0, contended_by="pid 3 (make)"),))
    assert ScriptedActivity(always, REQUEST, 0, 99).stop().contended_by == "pid 3 (make)"


def test_a_case_without_a_rule_is_said_by_name() -> None:
    """A script that forgets a case fails with the case, not with a default time."""
    with pytest.raises(UsageError, match=r"no rule for moe fused at 512 tokens, arm head, mode graph, process 0"):
        clock_of(Rule(Match(tokens=1), 1.0)).time(HEAD, "graph", 1, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not one"),
        ("{", "is not one"),
        ('{"version": 2, "rules": []}', r"version"),
        ('{"version": 1, "rules": [{"match": {}, "us": 1, "speed": 2}]}', "unknown field `speed`"),
        ('{"version": 1, "rules": [{"match": {"size": 1}, "us": 1}]}', "unknown field `size`"),
        ('{"version": 1, "rules": [{"match": {}}]}', "us"),
        ('{"version": 1, "rules": [{"match": {}, "us": 1, "fault": "melt"}]}', "melt"),
    ],
)
def test_a_script_that_is_none_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """Unknown versions, fields and values are named."""
    path = tmp_path / "clock.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        read_script(path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_script(tmp_path / "none.json")
