"""Measuring a case: the same arms in several fresh processes, one at a time, again where somebody disturbed.

How many processes and blocks are taken follows from what they say so far (``stats.sequence``): a case that is clear
after three processes stops there, one that is not goes on, to a bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, Protocol

import msgspec

from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.judge import LOOKS, TRIES
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import CaseId, Comparison, InvalidCode, Measurement, Mode, RuntimeName, StoredComparison
from pytest_kernelperf.report.progress import Timing
from pytest_kernelperf.session.so_far import HowFar, SoFar
from pytest_kernelperf.settings import CaseSettings
from pytest_kernelperf.stats.blocks import check_blocks
from pytest_kernelperf.stats.comparison import compare, process_medians_us
from pytest_kernelperf.stats.cycles import change_in_cycles, is_clocks_doing
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.schedule import Look, Schedule, plan
from pytest_kernelperf.stats.sequence import next_step
from pytest_kernelperf.stats.stored import compare_stored
from pytest_kernelperf.units import format_probability
from pytest_kernelperf.worker.array import InputSet

# What the lesson takes: the median of at least 7 samples.
FEWEST_BLOCKS = 7
# Whoever disturbed gets this long to go away before the process is measured again, and then longer.
PAUSES_S = (2.0, 10.0)

# A worker's time-out is for one request, and the usual looks ask for so many blocks at most, as the defaults have it.
BLOCKS_AT_ONCE = 58
# What a further look may cost in batches, and dwelling before them, over all processes: so many more blocks of a kernel
# that takes milliseconds would take many minutes.
FURTHER_S = 60.0

Sleep = Callable[[float], None]


class Say(Protocol):
    """Who is told what is timed."""

    def __call__(self, phase: str, timing: Callable[[], Timing]) -> None:
        """Note it; ``timing`` works out how far the case is."""


class Measures(Protocol):
    """What timing needs of the worker pool."""

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Take the request's samples in one process."""


@dataclass
class Taken:
    """The measurements of one case in one mode: the clean ones, and what was wrong with the last that was not."""

    measurements: list[Measurement] = field(default_factory=list)
    contended_by: str = ""
    spoiled: str = ""
    spoiled_code: InvalidCode = ""
    tries: int = 1
    looks: int = 0

    @property
    def usable(self) -> bool:
        """Whether every process gave a clean measurement."""
        return not self.contended_by and not self.spoiled

    def blocks_of(self, process: int) -> int:
        """Blocks of a process's clean measurements."""
        blocks = {sample.block for m in self.measurements if m.process == process for sample in m.samples}
        return max(blocks) + 1 if blocks else 0

    def seconds_to(self, look: Look) -> float:
        """How long the batches that a look lacks will take, and dwelling before them, going by those taken."""
        spent_us: dict[int, float] = {}
        for m in self.measurements:
            own_us = sum(sample.time_us * m.rounds + m.dwell_us for sample in m.samples)
            spent_us[m.process] = spent_us.get(m.process, 0.0) + own_us
        lacking = {process: max(0, look.blocks - self.blocks_of(process)) for process in spent_us}
        return sum(us * lacking[process] / max(1, self.blocks_of(process)) for process, us in spent_us.items()) / 1e6


@dataclass(frozen=True)
class Timed:
    """What is timed: the same for all looks at a case in one mode."""

    case: CaseId
    mode: Mode
    arms: Sequence[Arm]
    inputs: InputSet
    outputs: tuple[str, ...]
    tries: int = TRIES
    dwell_s: float = 0.0


class Timer:
    """Takes measurements in processes 0 to n - 1, each in turn. The caller holds the machine."""

    def __init__(self, pool: Measures, root_pid: int, sleep: Sleep, say: Say, cold_bytes: int = 0) -> None:
        """``cold_bytes``: as ``MeasureRequest`` has it, for all that this one takes."""
        self._pool = pool
        self._root_pid = root_pid
        self._sleep = sleep
        self._say = say
        self._cold_bytes = cold_bytes

    def take(
        self, taken: Taken, timed: Timed, look: Look, most: Look | None = None, so_far: SoFar | None = None
    ) -> None:
        """Take what is missing until ``look``'s processes have its blocks; a disturbed process is measured again.

        Only for who watches: ``most``, the last look that there may be, and what the samples say ``so_far``.
        """
        how_far = HowFar(look.blocks, (most or look).processes * (most or look).blocks, so_far)
        waiting = [process for process in range(look.processes) if taken.blocks_of(process) < look.blocks]
        for attempt in range(timed.tries):
            disturbed = bool(taken.contended_by)
            taken.tries, taken.contended_by, taken.spoiled, taken.spoiled_code = attempt + 1, "", "", ""
            if attempt and disturbed:  # what spoils samples otherwise does not go away by waiting
                self._sleep(PAUSES_S[min(attempt, len(PAUSES_S)) - 1])
            for process in tuple(waiting):
                if self._take_process(taken, timed, look, process, attempt, how_far):
                    waiting.remove(process)
            if not waiting:
                break
        taken.looks += 1

    def _take_process(
        self, taken: Taken, timed: Timed, look: Look, process: int, attempt: int, how_far: HowFar
    ) -> bool:
        """Take what a process lacks, a request at a time; return False where somebody disturbed one."""
        while (begun := taken.blocks_of(process)) < look.blocks:
            again = ", again" if attempt or begun else ""
            timing = partial(how_far.timing, taken.measurements, begun)
            self._say(f"timing, process {process + 1} of {look.processes}{again}", timing)
            request = self._request(taken, timed, look, process, attempt)
            measurement = self._pool.measure(process, request, timed.inputs)
            if measurement.contended_by or measurement.invalid:
                taken.contended_by = measurement.contended_by or taken.contended_by
                taken.spoiled = measurement.invalid or taken.spoiled
                taken.spoiled_code = measurement.invalid_code or taken.spoiled_code
                return False
            taken.measurements.append(measurement)
            if taken.blocks_of(process) == begun:
                break  # nothing came; what there is has to do
        return True

    def _request(self, taken: Taken, timed: Timed, look: Look, process: int, attempt: int) -> MeasureRequest:
        """Ask for a process's missing blocks, in the mode and with the rounds of those that it has given."""
        first_block = taken.blocks_of(process)
        before = next((m for m in taken.measurements if m.process == process), None)
        return MeasureRequest(
            case=timed.case,
            mode=before.mode if before else timed.mode,
            arms=tuple(timed.arms),
            blocks=min(BLOCKS_AT_ONCE, look.blocks - first_block),
            first_block=first_block,
            seed=_seed(timed.case, process, attempt),
            rounds=before.rounds if before else None,
            check_outputs=timed.outputs,
            cold_bytes=self._cold_bytes,
            dwell_us=timed.dwell_s * 1e6,
            root_pid=self._root_pid,
        )


def compare_taken(
    taken: Taken, arm: str, against: str, policy: Policy, look: Look | None = None, schedule: Schedule | None = None
) -> Comparison | None:
    """Compare two arms over the clean measurements; None while there are none.

    A plan that cannot be captured falls back to another mode in every process alike; should processes differ,
    only those of the first one's mode are compared, since modes never are. ``look`` and ``schedule``: what is looked
    at, and the looks that it is one of; None: there is but this one.
    """
    if not taken.measurements or not taken.usable:
        return None
    mode = taken.measurements[0].mode
    measured = [m for m in taken.measurements if m.mode == mode]
    errors = (look.agreement_alpha, look.alpha) if look else (None, None)
    comparison = compare(measured, arm, against, policy, errors[0], schedule, errors[1])
    return msgspec.structs.replace(comparison, cycles_ratio=change_in_cycles(measured, arm, against))


def compare_with_stored(
    taken: Taken, accepted: BaselineCase | None, policy: Policy, arm: Literal["baseline", "head"] = "baseline"
) -> StoredComparison | None:
    """Compare an arm's times today with those stored: the accepted binary's own say whether the machine moved."""
    today = process_medians_us(taken.measurements, arm)
    if accepted is None or not today or not taken.usable or any(m.mode != accepted.mode for m in taken.measurements):
        return None
    stored_us = [process.median_us for process in accepted.processes]
    return msgspec.structs.replace(compare_stored(today, stored_us, accepted.days, policy), arm=arm)


def policy_of(settings: CaseSettings, runtime: RuntimeName, gating: int = 1) -> Policy:
    """What a case's settings mean for its test, where ``gating`` comparisons share the error that they allow."""
    usual = Policy()
    return Policy(
        tolerance=settings.tolerance_ratio(runtime),
        floor_us=settings.floor_us,
        alpha=settings.alpha / gating,
        looks=LOOKS,
        agreement=usual.agreement / gating,
    )


def schedule_of(settings: CaseSettings, policy: Policy) -> Schedule:
    """All looks that a case's settings allow for.

    Raises:
        UsageError: with these settings no process could ever reject.
    """
    return plan(policy, settings.processes, blocks=settings.blocks, fewest_blocks=FEWEST_BLOCKS)


def first_look(schedule: Schedule, fewest_processes: int) -> Look:
    """Where to begin: looks left out cost nothing, since the error is split over all that are planned."""
    return next((look for look in schedule.looks if look.processes >= fewest_processes), schedule.most)


def next_look(comparison: Comparison | None, taken: Taken, look: Look, schedule: Schedule) -> Look | None:
    """The next look, None where the case is clear or none is left. What looks like the clock's doing is asked again.

    ``taken``: what ``comparison`` is of; a further look that would take too long is none.
    """
    if comparison is None:
        return None
    step = next_step(comparison, look, schedule)
    if step.look is None and is_clocks_doing(comparison):
        return schedule.with_more_processes(look) or schedule.with_more_blocks(look)
    if step.look in schedule.further and taken.seconds_to(step.look) > FURTHER_S:
        return None
    return step.look


def check_settings(settings: CaseSettings, gating: int = 1) -> None:
    """Refuse a case's settings with which its test could never reject, before anything is timed.

    ``gating``: how many comparisons a case may fail by at most, which share its error.

    Raises:
        UsageError: the arithmetic, and what to take instead.
    """
    if settings.blocks is not None:
        try:
            check_blocks(Policy(alpha=settings.alpha / gating, looks=LOOKS), settings.blocks)
        except UsageError as problem:
            shared = f" and is shared by {gating} comparisons (--kernelperf-parent)" if gating > 1 else ""
            raise UsageError(
                f"kernelperf_blocks (on the marker: blocks) is {settings.blocks}, "
                f"kernelperf_alpha (on the marker: alpha) is {format_probability(settings.alpha)}{shared}: {problem}"
            ) from None


def _seed(case: CaseId, process: int, attempt: int) -> int:
    """Return a seed that differs between cases, processes and attempts, and is the same on every run."""
    text = f"{case.kernel}/{case.variant}/{case.tokens}/{process}/{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
