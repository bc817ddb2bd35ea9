"""The measuring procedure, phase by phase, on doubles: no device, no clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from pytest_kernelperf.measure.activity import Activity
from pytest_kernelperf.measure.policy import BatchSize
from pytest_kernelperf.measure.procedure import measure
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.stopwatch import Timing
from pytest_kernelperf.measure.tools import Tools
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
        return Timing(time_us, 1.0, 10.0 * rounds, mode == "queued" and rounds > self.gate_limit)

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
    assert result.discarded == 21


def test_a_profiler_makes_it_invalid_before_anything_runs() -> None:
    """Traced times are never taken."""
    clock = Clock(Buffers())
    result = measure(REQUEST, tools_of(clock, find_profilers=lambda: ("LD_PRELOAD=libx.so",)))
    assert result.invalid == "not untraced: LD_PRELOAD=libx.so; unset it and run without a profiler"
    assert clock.log == []


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


def test_contention_while_sampling_is_reported_with_the_samples() -> None:
    """The second window is the samples' own."""
    busy = Activity(1.0, 0.9, contended_by="pid 7 (make)")
    result = measure(REQUEST, tools_of(Clock(Buffers()), probe=Probe([Activity(1.0), busy])))
    assert (result.contended_by, result.foreign_cores, len(result.samples)) == ("pid 7 (make)", 0.9, 8)


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
