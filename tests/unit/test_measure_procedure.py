"""The measuring procedure, phase by phase, on doubles: no device, no clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from pytest_kernelperf.measure.activity import Activity
from pytest_kernelperf.measure.limits import Limits
from pytest_kernelperf.measure.policy import BatchSize
from pytest_kernelperf.measure.procedure import measure
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.stopwatch import Timing
from pytest_kernelperf.measure.tools import Told, Tools
from pytest_kernelperf.model import CaseId, CodeObject, LaunchStep, Mode, Plan


def an_arm(name: str, launches: int = 1) -> Arm:
    """An arm of some launches."""
    step = LaunchStep(f"{name}_kernel", (1, 1, 1), (64, 1, 1))
    return Arm(name, CodeObject(name, b"", {}), Plan((step,) * launches))


REQUEST = MeasureRequest(
    CaseId("k", "v", 1), "graph", (an_arm("head"), an_arm("baseline")), blocks=4, seed=5, check_outputs=("y",)
)


@dataclass
class Buffers:
    """Buffers ``x`` (only read) and ``y``; ``writes`` says what an arm's n-th run changes."""

    names: frozenset[str] = frozenset({"x", "y"})
    dirty: set[str] = field(default_factory=set)
    restored: list[frozenset[str]] = field(default_factory=list)
    finite: bool = True
    value: float = 1.0

    def restore(self, names: frozenset[str]) -> None:
        self.restored.append(names)
        self.dirty -= names
        if "y" in names:
            self.finite = True

    def find_changed(self, names: frozenset[str]) -> frozenset[str]:
        return frozenset(self.dirty & names)

    def download(self, name: str) -> npt.NDArray[np.float32]:
        return np.full(3, self.value if self.finite else np.nan, np.float32)


@dataclass
class Clock:
    """A stopwatch that keeps a log; ``times`` overrides the time of the n-th sample."""

    buffers: Buffers
    log: list[tuple[str, str, Mode, int, int, bool]] = field(default_factory=list)
    time_of: Callable[[int, Arm], float] = lambda number, arm: 10.0
    gate_limit: int = 10**9
    refuses: str = ""
    written: frozenset[str] = frozenset({"y"})
    written_later: frozenset[str] = frozenset()
    overflow_rounds: int = 10**9
    value_of: Callable[[int], float] = lambda run: 1.0
    runs: int = 0
    samples: int = 0
    spent_us: float | None = None
    clock_mhz: float | None = None

    def run(self, arm: Arm, rounds: int) -> None:
        self.log.append(("run", arm.name, "graph", rounds, 0, "y" in self.buffers.dirty))
        self._work(rounds)
        self.buffers.value = self.value_of(self.runs)
        self.runs += 1

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        return self.refuses if mode == "graph" else ""

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        self.log.append(("time", arm.name, mode, rounds, block, "y" in self.buffers.dirty))
        self._work(rounds)
        if block >= 0:
            self.samples += 1
            self.buffers.dirty |= self.written_later
        time_us = self.time_of(self.samples, arm) if block >= 0 else 10.0
        spent_us = 10.0 * rounds if self.spent_us is None else self.spent_us
        return Timing(time_us, 1.0, spent_us, mode == "queued" and rounds > self.gate_limit, self.clock_mhz)

    def _work(self, rounds: int) -> None:
        self.buffers.dirty |= self.written
        self.buffers.finite = self.buffers.finite and rounds < self.overflow_rounds


@dataclass
class Probe:
    """An activity probe that says the same each time."""

    windows: list[Activity]

    def start(self) -> None:
        pass

    def stop(self) -> Activity:
        return self.windows.pop(0) if self.windows else Activity(1.0)


@dataclass
class LimitWindows:
    """What holds the clock down, window by window; then nothing."""

    windows: list[Limits]

    def start(self) -> None:
        pass

    def stop(self) -> Limits:
        return self.windows.pop(0) if self.windows else Limits()


def tools_of(clock: Clock, **changes: object) -> Tools:
    """Tools around a clock."""
    tools = Tools(
        process=2,
        stopwatch=clock,
        buffers=clock.buffers,
        probe=Probe([]),
        find_profilers=tuple,
        say=lambda text: None,
        size=BatchSize(1000.0, 200, 496),
        warm_up_us=1e6,
    )
    return replace(tools, **changes)  # type: ignore[arg-type]


def samples_of(clock: Clock) -> list[tuple[str, str, Mode, int, int, bool]]:
    """The log's samples: timed, and not while warming up."""
    return [entry for entry in clock.log if entry[0] == "time" and entry[4] >= 0]


def test_every_block_samples_every_arm_once_on_restored_buffers() -> None:
    """Blocks are complete, numbered, and no sample starts from what another left behind."""
    clock = Clock(Buffers())
    result = measure(msgspec.structs.replace(REQUEST, first_block=6), tools_of(clock))
    assert [s.block for s in result.samples] == [6, 6, 7, 7, 8, 8, 9, 9]
    assert all({s.arm for s in result.samples if s.block == block} == {"head", "baseline"} for block in range(6, 10))
    assert [s.place for s in result.samples] == [0, 1] * 4
    assert not any(dirty for *_, dirty in samples_of(clock))
    assert (result.process, result.mode, result.seed, result.invalid) == (2, "graph", 5, "")


def test_how_far_it_is_is_told_between_windows_and_only_if_somebody_watches() -> None:
    """Blocks and medians so far, never while a window is open; a disturbed window's blocks are still to come."""
    order: list[str] = []
    told: list[Told] = []

    class Windows(Probe):
        def start(self) -> None:
            order.append("open")

        def stop(self) -> Activity:
            order.append("closed")
            return super().stop()

    def tell(one: Told) -> None:
        told.append(one)
        order.append("told")

    disturbed = [Activity(1.0), Activity(1.0, contended_by="pid 7 (ffmpeg)")]
    request = msgspec.structs.replace(REQUEST, blocks=3)
    measure(request, tools_of(Clock(Buffers(), spent_us=150_000.0), probe=Windows(disturbed), tell=tell))
    assert [(one.taken, one.blocks) for one in told] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert told[-1].median_us == {"head": 10.0, "baseline": 10.0}
    assert order == ["open", "closed", *["open", "closed", "told"] * 4]
    assert measure(request, tools_of(Clock(Buffers()))).samples


def test_only_what_is_written_is_restored() -> None:
    """Copying what no kernel changes would only push it out of the caches."""
    buffers = Buffers()
    measure(REQUEST, tools_of(Clock(buffers)))
    assert not any("x" in names for names in buffers.restored)


def test_the_batch_is_sized_by_the_slowest_arm_and_the_target() -> None:
    """1,000 us of 10 us rounds are 100 rounds; a limit of 50 wins; rounds that are given are kept."""
    assert measure(REQUEST, tools_of(Clock(Buffers()))).rounds == 100
    assert measure(msgspec.structs.replace(REQUEST, max_rounds=50), tools_of(Clock(Buffers()))).rounds == 50
    assert measure(msgspec.structs.replace(REQUEST, target_us=40.0), tools_of(Clock(Buffers()))).rounds == 4
    assert measure(msgspec.structs.replace(REQUEST, rounds=7), tools_of(Clock(Buffers()))).rounds == 7


def test_what_is_queued_fits_the_queue() -> None:
    """Behind the gate, launches of a whole batch must fit the queue; in a graph they need not."""
    arms = (an_arm("head", launches=10), an_arm("baseline"))
    queued = msgspec.structs.replace(REQUEST, mode="queued", arms=arms)
    assert measure(queued, tools_of(Clock(Buffers()))).rounds == 49
    assert measure(msgspec.structs.replace(queued, mode="graph"), tools_of(Clock(Buffers()))).rounds == 100


def slowed(ratio: float, mode: Mode = "graph", launches: int = 1) -> MeasureRequest:
    """A request whose first arm is changed on purpose."""
    head = msgspec.structs.replace(an_arm("head", launches), rounds_ratio=ratio)
    return msgspec.structs.replace(REQUEST, mode=mode, arms=(head, an_arm("baseline", launches)))


def test_a_change_that_is_put_in_on_purpose_is_more_rounds_in_the_same_time_per_round() -> None:
    """At 1 % 101 rounds run where the other arm runs 100, and the time is given per 100; warming up is as ever."""
    clock = Clock(Buffers())
    result = measure(slowed(1.01), tools_of(clock))
    assert result.rounds == 100
    assert {(entry[1], entry[3]) for entry in samples_of(clock)} == {("head", 101), ("baseline", 100)}
    assert set(result.times_us("head")) == {10.1}
    assert set(result.times_us("baseline")) == {10.0}
    before = measure(slowed(1.0), tools_of(Clock(Buffers())))
    assert set(before.times_us("head")) == {10.0}


def test_a_change_is_at_least_one_round() -> None:
    """What is put in is known, even where a batch is too short for what was asked."""
    arm = msgspec.structs.replace(an_arm("head"), rounds_ratio=1.001)
    assert (arm.rounds_of(10), arm.changed_ratio(10)) == (11, 1.1)
    faster = msgspec.structs.replace(arm, rounds_ratio=0.999)
    assert (faster.rounds_of(10), faster.rounds_of(2), faster.rounds_of(1)) == (9, 1, 1)
    assert faster.changed_ratio(1) == 1.0
    assert [an_arm("head").rounds_of(rounds) for rounds in (1, 7, 200)] == [1, 7, 200]


def test_a_longer_batch_fits_the_queue_too() -> None:
    """Rounds are left for what is put in; where they were given and do not fit, nothing is measured."""
    clock = Clock(Buffers())
    result = measure(slowed(1.1, "queued", launches=10), tools_of(clock))
    assert max(entry[3] for entry in samples_of(clock)) * 10 <= 496
    assert result.rounds == 44
    given = msgspec.structs.replace(slowed(1.1, "queued", launches=10), rounds=49)
    refused = measure(given, tools_of(Clock(Buffers())))
    assert refused.samples == ()
    assert refused.invalid == (
        "arm head cannot be timed in mode queued: its 54 rounds, slower on purpose, do not fit the queue"
    )


def test_a_plan_that_cannot_be_captured_is_queued_and_says_so() -> None:
    """The mode in the result is the one that was used, for all arms."""
    clock = Clock(Buffers(), refuses="no graphs here")
    result = measure(REQUEST, tools_of(clock))
    assert result.mode == "queued"
    assert result.fallback == "arm head cannot be captured as a graph (no graphs here), so it is queued"
    assert {entry[2] for entry in samples_of(clock)} == {"queued"}


@pytest.mark.parametrize("mode", ["queued", "graph"])
def test_a_plan_that_no_queue_holds_is_timed_in_loop_mode_and_says_so(mode: Mode) -> None:
    """Behind a closed gate its launches would wait for a queue that waits for the gate; a graph holds them."""
    arms = (an_arm("head", launches=497), an_arm("baseline", launches=496))
    clock = Clock(Buffers())
    result = measure(msgspec.structs.replace(REQUEST, mode=mode, arms=arms), tools_of(clock))
    assert result.mode == {"queued": "loop", "graph": "graph"}[mode]
    said = "a round of arm head has 497 steps, and 496 fit the queue behind the gate, so it is timed in loop mode"
    assert result.fallback == {"queued": said, "graph": ""}[mode]
    assert {entry[2] for entry in samples_of(clock)} == {result.mode}


def test_a_gate_that_times_out_halves_the_batch_and_starts_over() -> None:
    """No sample of the longer batch is kept, since times per round of different batches are not compared."""
    clock = Clock(Buffers(), gate_limit=30)
    result = measure(msgspec.structs.replace(REQUEST, mode="queued"), tools_of(clock))
    assert result.rounds == 25
    assert len(result.samples) == 8
    assert result.discarded == 2


def test_a_halved_batch_takes_all_copies_equally_often() -> None:
    """Whole turns of the copies are left, whether the gate or the outputs asked for fewer rounds."""
    size = BatchSize(1000.0, 200, 496, copies=7)
    queued = msgspec.structs.replace(REQUEST, mode="queued")
    halved = measure(queued, tools_of(Clock(Buffers(), gate_limit=40), size=size))
    assert (halved.rounds, halved.copies) == (21, 7)
    assert measure(REQUEST, tools_of(Clock(Buffers(), overflow_rounds=30), size=size)).rounds == 21


def test_a_gate_that_always_times_out_ends() -> None:
    """It is not halved for ever: the measurement is invalid."""
    result = measure(msgspec.structs.replace(REQUEST, mode="queued"), tools_of(Clock(Buffers(), gate_limit=0)))
    assert (result.samples, result.rounds) == ((), 1)
    assert result.invalid == "the gate timed out with a single round: the device is too slow or busy"
    assert result.invalid_code == "gate"


@pytest.mark.parametrize("nonsense", [0.0, -3.0, float("nan"), float("inf"), 1e9])
def test_impossible_times_are_taken_again_and_counted(nonsense: float) -> None:
    """A clock that stumbles spoils no sample."""
    clock = Clock(Buffers(), time_of=lambda number, arm: nonsense if number in (2, 3) else 10.0)
    result = measure(REQUEST, tools_of(clock))
    assert [s.time_us for s in result.samples] == [10.0] * 8
    assert result.discarded == 2
    assert result.invalid == ""


def test_a_clock_that_stands_still_is_not_read_for_ever() -> None:
    """Too many impossible times make the measurement invalid."""
    result = measure(REQUEST, tools_of(Clock(Buffers(), time_of=lambda number, arm: 0.0)))
    assert result.samples == ()
    assert result.invalid == "the clock cannot be trusted: 21 times were impossible, the last 0 us"
    assert (result.discarded, result.invalid_code) == (21, "timer")


def test_a_profiler_makes_it_invalid_before_anything_runs() -> None:
    """Traced times are never taken."""
    clock = Clock(Buffers())
    result = measure(REQUEST, tools_of(clock, find_profilers=lambda: ("LD_PRELOAD=libx.so",)))
    assert result.invalid == "not untraced: LD_PRELOAD=libx.so; unset it and run without a profiler"
    assert (clock.log, result.invalid_code) == ([], "traced")


def test_a_profiler_that_arrives_meanwhile_makes_it_invalid_too() -> None:
    """A library may be opened by a launch."""
    seen = iter([(), ("librocprofv3.so",)])
    result = measure(REQUEST, tools_of(Clock(Buffers()), find_profilers=lambda: next(seen)))
    assert result.invalid.startswith("not untraced: librocprofv3.so")


def test_contention_before_the_first_sample_saves_the_rest() -> None:
    """Nothing is sampled beside another program; who it was is said."""
    clock = Clock(Buffers())
    busy = Activity(1.0, 0.9, contended_by="pid 7 (make)")
    result = measure(REQUEST, tools_of(clock, probe=Probe([busy])))
    assert (result.contended_by, result.foreign_cores, result.samples) == ("pid 7 (make)", 0.9, ())
    assert samples_of(clock) == []


BUSY = Activity(1.0, 0.9, contended_by="pid 7 (make)")
QUIET = Activity(1.0)


def slow_clock(buffers: Buffers, **changes: object) -> Clock:
    """Batches of 100 ms: a block of two arms is 200 ms, so that a window of the blocks holds two of them."""
    return Clock(buffers, spent_us=100_000.0, **changes)  # type: ignore[arg-type]


def test_contention_in_mid_run_costs_the_blocks_of_its_window() -> None:
    """The second of two windows is taken again, all others stay; who it was is in the record."""
    clock = slow_clock(Buffers())
    result = measure(REQUEST, tools_of(clock, probe=Probe([QUIET, QUIET, BUSY, QUIET])))
    assert (result.contended_by, len(result.samples), result.discarded) == ("", 8, 4)
    assert [s.block for s in result.samples] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [entry[4] for entry in samples_of(clock)][::2] == [0, 1, 2, 3, 2, 3]
    (noise,) = result.noise
    assert (noise.kind, noise.retaken, noise.settled) == ("contention", 4, True)
    assert noise.sentence == "pid 7 (make) was active in between; 4 samples thrown away and taken again"


def test_contention_that_stays_ends_the_measurement() -> None:
    """As many blocks again as were asked for, and no more: then it is disturbed, and says by whom."""
    clock = slow_clock(Buffers())
    result = measure(REQUEST, tools_of(clock, probe=Probe([QUIET, *[BUSY] * 9])))
    assert (result.contended_by, result.foreign_cores) == ("pid 7 (make)", 0.9)
    assert len(samples_of(clock)) == 12  # the first window three times, the second not even begun
    assert [(noise.kind, noise.settled) for noise in result.noise] == [("contention", False)]


def test_the_order_of_a_block_that_is_taken_again_is_its_own() -> None:
    """Whoever came in between does not change which arm goes first."""
    undisturbed = measure(REQUEST, tools_of(slow_clock(Buffers())))
    disturbed = measure(REQUEST, tools_of(slow_clock(Buffers()), probe=Probe([QUIET, BUSY, QUIET, BUSY])))
    assert [(s.arm, s.block) for s in disturbed.samples] == [(s.arm, s.block) for s in undisturbed.samples]


HOT = Limits(throttled_by="the hardware's temperature limit")


def test_a_hot_device_gets_pauses_and_its_blocks_again() -> None:
    """Two hot windows, two pauses, each longer; then it is cool."""
    pauses: list[float] = []
    tools = tools_of(slow_clock(Buffers()), limits=LimitWindows([HOT, HOT]), rest=pauses.append)
    result = measure(REQUEST, tools)
    assert pauses == [0.2, 0.5]
    assert (len(result.samples), result.discarded, result.contended_by) == (8, 8, "")
    (noise,) = result.noise
    assert (noise.kind, noise.retaken, noise.settled) == ("throttled", 8, True)


def test_a_device_that_stays_hot_is_measured_as_it_is_and_says_so() -> None:
    """Its arms share the clock; the pauses are bounded."""
    pauses: list[float] = []
    tools = tools_of(slow_clock(Buffers()), limits=LimitWindows([HOT] * 99), rest=pauses.append)
    result = measure(msgspec.structs.replace(REQUEST, blocks=12), tools)
    assert len(pauses) == 3
    assert len(result.samples) == 24
    assert [(noise.kind, noise.settled) for noise in result.noise] == [("throttled", False)]
    assert "the hardware's temperature limit held the clock down" in result.noise[0].sentence


def test_a_power_limit_is_said_and_nothing_is_taken_again() -> None:
    """All arms share it."""
    result = measure(REQUEST, tools_of(Clock(Buffers()), limits=LimitWindows([Limits("", "the power limit (700 W)")])))
    assert result.discarded == 0
    assert [(noise.kind, noise.sentence) for noise in result.noise] == [
        ("power_limited", "the power limit (700 W) held the clock down")
    ]


def test_times_that_still_rise_are_taken_again_after_warming_up_for_longer() -> None:
    """The ramp is over by then."""
    clock = Clock(Buffers(), time_of=lambda number, arm: 10.0 + max(0, 40 - number) / 10)
    result = measure(msgspec.structs.replace(REQUEST, blocks=15), tools_of(clock, warm_up_us=20_000.0))
    assert (len(result.samples), result.discarded) == (30, 30)
    (noise,) = result.noise
    assert (noise.kind, noise.retaken, noise.settled) == ("clock_ramp", 30, True)
    again = [number for number, entry in enumerate(clock.log) if entry[0] == "time" and entry[4] == 0]
    warmed = [entry for entry in clock.log[again[1] : again[2]] if entry[2] == "loop" and entry[4] < 0]
    assert sum(10.0 * rounds for _, _, _, rounds, _, _ in warmed) >= 20_000.0


def test_a_drift_that_never_ends_is_kept_and_said() -> None:
    """Twice more, and no oftener."""
    clock = Clock(Buffers(), time_of=lambda number, arm: 10.0 * 1.01 ** (number / 2))
    result = measure(msgspec.structs.replace(REQUEST, blocks=15), tools_of(clock))
    assert (len(result.samples), len(samples_of(clock))) == (30, 90)
    assert [(noise.kind, noise.retaken, noise.settled) for noise in result.noise] == [("clock_ramp", 60, False)]


def test_two_speeds_in_one_process_are_said() -> None:
    """By the samples alone."""
    clock = Clock(Buffers(), time_of=lambda number, arm: 10.0 if number // 3 % 2 else 12.7)
    result = measure(msgspec.structs.replace(REQUEST, blocks=15), tools_of(clock))
    assert [noise.kind for noise in result.noise] == ["two_speeds"]
    assert "two speeds, 27 % apart" in result.noise[0].sentence


def test_impossible_times_are_named_in_the_record() -> None:
    """How many, and the last."""
    clock = Clock(Buffers(), time_of=lambda number, arm: -3.0 if number in (2, 3) else 10.0)
    (noise,) = measure(REQUEST, tools_of(clock)).noise
    assert (noise.kind, noise.retaken, noise.settled) == ("timer", 2, True)
    assert noise.sentence == "the timer gave 2 times that no clock gives, the last -3 us; taken again"


def test_arms_dwell_before_each_sample_on_restored_buffers() -> None:
    """50 ms of an arm's own batches of 1 ms, so that the power it draws is its own; nothing of it is a sample."""
    clock = Clock(Buffers())
    result = measure(msgspec.structs.replace(REQUEST, dwell_us=50_000.0), tools_of(clock))
    place = next(number for number, entry in enumerate(clock.log) if entry[0] == "time" and entry[4] >= 0)
    before = [entry for entry in clock.log[:place] if entry[2] == "graph" and entry[0] == "time"][-50:]
    assert {entry[1] for entry in before} == {clock.log[place][1]}
    assert not any(entry[5] for entry in before)
    assert (len(result.samples), result.dwell_us) == (8, 50_000.0)
    assert len([entry for entry in clock.log if entry[0] == "time" and entry[2] == "graph"]) == 2 + 8 + 8 * 50


def test_dwelling_is_under_watch_too() -> None:
    """A block whose arms dwell for 250 ms each is more than a window: each of four has its own."""
    probe = Probe([Activity(1.0) for _ in range(9)])
    measure(msgspec.structs.replace(REQUEST, dwell_us=250_000.0), tools_of(Clock(Buffers()), probe=probe))
    assert len(probe.windows) == 9 - 1 - 4


def test_how_long_arms_may_dwell_is_known_beforehand() -> None:
    """29 blocks of two arms at a second each, taken again as often as they may be, are no hung worker."""
    assert REQUEST.longest_dwell_s == 0
    assert msgspec.structs.replace(REQUEST, blocks=29, dwell_us=1e6).longest_dwell_s == 348


def test_a_clock_that_stands_still_while_an_arm_dwells_ends_it_too() -> None:
    """Batches are counted as well as timed."""
    clock = Clock(Buffers(), spent_us=0.0)
    result = measure(msgspec.structs.replace(REQUEST, blocks=1, dwell_us=1000.0), tools_of(clock))
    assert len(result.samples) == 2


def test_the_devices_clock_stands_beside_each_sample() -> None:
    """Cycles are time by clock."""
    result = measure(REQUEST, tools_of(Clock(Buffers(), clock_mhz=1980.0)))
    assert {sample.clock_mhz for sample in result.samples} == {1980.0}
    assert result.samples[0].cycles == 19_800.0
    assert measure(REQUEST, tools_of(Clock(Buffers()))).samples[0].cycles is None


def test_a_plan_that_overflows_when_repeated_is_repeated_less_often() -> None:
    """100 rounds overflow, 50 do, 25 do not: what is timed are finite numbers."""
    result = measure(REQUEST, tools_of(Clock(Buffers(), overflow_rounds=30)))
    assert (result.rounds, result.invalid) == (25, "")
    assert measure(REQUEST, tools_of(Clock(Buffers(), overflow_rounds=2))).rounds == 1


def test_a_second_look_keeps_its_rounds_and_says_that_they_overflow() -> None:
    """Rounds that are given are not changed: the samples would not belong together."""
    given = msgspec.structs.replace(REQUEST, rounds=40)
    result = measure(given, tools_of(Clock(Buffers(), overflow_rounds=30)))
    assert result.rounds == 40
    assert result.invalid.startswith("arm head leaves 3 values of y infinite or NaN after 40 rounds")


def test_outputs_that_are_infinite_after_one_round_are_the_kernels_own() -> None:
    """A kernel may write NaN on purpose."""
    assert measure(REQUEST, tools_of(Clock(Buffers(), overflow_rounds=1))).invalid == ""


def test_a_kernel_that_computes_something_else_after_timing_makes_it_invalid() -> None:
    """A kernel that keeps state, and does nothing once it was checked, is fast."""
    result = measure(REQUEST, tools_of(Clock(Buffers(), value_of=lambda run: 1.0 if run < 2 else 0.0)))
    assert result.invalid_code == "outputs"
    assert result.invalid == (
        "arm head computes another y after timing than before it: does it keep state between launches?"
    )


def test_outputs_that_differ_from_run_to_run_anyway_prove_nothing() -> None:
    """Atomic sums of floats come out in another order each time."""
    assert measure(REQUEST, tools_of(Clock(Buffers(), value_of=float))).invalid == ""


def test_a_buffer_written_late_is_found_and_all_is_taken_again() -> None:
    """A buffer that the first round leaves alone may still be written: then it must be restored too."""
    clock = Clock(Buffers(), written_later=frozenset({"x"}))
    result = measure(REQUEST, tools_of(clock))
    assert len(result.samples) == 8
    assert result.discarded == 8
    assert frozenset({"x", "y"}) in clock.buffers.restored
