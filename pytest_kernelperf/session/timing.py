"""Measuring a case: the same arms in several fresh processes, one at a time, again where somebody disturbed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.judge import LOOKS, TRIES
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import CaseId, Comparison, Measurement, Mode, RuntimeName, StoredComparison
from pytest_kernelperf.settings import CaseSettings
from pytest_kernelperf.stats.blocks import plan_blocks
from pytest_kernelperf.stats.comparison import compare, process_medians_us
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.stored import compare_stored
from pytest_kernelperf.worker.array import InputSet

# What the lesson takes: the median of at least 7 samples.
FEWEST_BLOCKS = 7
# Whoever disturbed gets this long to go away before the process is measured again, and then longer.
PAUSES_S = (2.0, 10.0)

Sleep = Callable[[float], None]


class Measures(Protocol):
    """What timing needs of the worker pool."""

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Take the request's samples in one process."""


@dataclass
class Taken:
    """The measurements of one case in one mode: the clean ones, and who disturbed the last that was not."""

    measurements: list[Measurement] = field(default_factory=list)
    contended_by: str = ""
    spoiled: str = ""
    tries: int = 1
    looks: int = 0

    @property
    def usable(self) -> bool:
        """Whether every process gave a clean measurement."""
        return not self.contended_by and not self.spoiled


class Timer:
    """Takes measurements in processes 0 to n - 1, each in turn. The caller holds the machine."""

    def __init__(
        self, pool: Measures, root_pid: int, sleep: Sleep, say: Callable[[str], None], cold_bytes: int = 0
    ) -> None:
        """``cold_bytes``: as ``MeasureRequest`` has it, for all that this one takes."""
        self._pool = pool
        self._root_pid = root_pid
        self._sleep = sleep
        self._say = say
        self._cold_bytes = cold_bytes

    def look(
        self,
        taken: Taken,
        case: CaseId,
        mode: Mode,
        arms: Sequence[Arm],
        inputs: InputSet,
        outputs: tuple[str, ...],
        *,
        processes: int,
        blocks: int,
        tries: int = TRIES,
    ) -> None:
        """Add one look: ``blocks`` more blocks of all arms in every process; a disturbed process is measured again."""
        waiting, earlier = list(range(processes)), {m.process: m for m in taken.measurements}
        for attempt in range(tries):
            taken.tries, taken.contended_by, taken.spoiled = attempt + 1, "", ""
            if attempt:
                self._sleep(PAUSES_S[min(attempt, len(PAUSES_S)) - 1])
            for process in tuple(waiting):
                self._say(f"timing, process {process + 1} of {processes}" + (", again" if attempt or earlier else ""))
                before = earlier.get(process)
                request = MeasureRequest(
                    case=case,
                    mode=before.mode if before else mode,
                    arms=tuple(arms),
                    blocks=blocks,
                    first_block=taken.looks * blocks,
                    seed=_seed(case, process, attempt),
                    rounds=before.rounds if before else None,
                    check_outputs=outputs,
                    cold_bytes=self._cold_bytes,
                    root_pid=self._root_pid,
                )
                measurement = self._pool.measure(process, request, inputs)
                if measurement.contended_by or measurement.invalid:
                    taken.contended_by = measurement.contended_by or taken.contended_by
                    taken.spoiled = measurement.invalid or taken.spoiled
                    continue
                waiting.remove(process)
                taken.measurements.append(measurement)
            if not waiting:
                break
        taken.looks += 1


def compare_taken(taken: Taken, arm: str, against: str, policy: Policy) -> Comparison | None:
    """Compare two arms over the clean measurements; None while there are none.

    A plan that cannot be captured falls back to another mode in every process alike; should processes differ,
    only those of the first one's mode are compared, since modes never are.
    """
    if not taken.measurements or not taken.usable:
        return None
    mode = taken.measurements[0].mode
    return compare([m for m in taken.measurements if m.mode == mode], arm, against, policy)


def compare_with_stored(taken: Taken, accepted: BaselineCase | None, policy: Policy) -> StoredComparison | None:
    """Compare the accepted binary's times today with those stored with it: did the machine move?"""
    today = process_medians_us(taken.measurements, "baseline")
    if accepted is None or not today or not taken.usable or any(m.mode != accepted.mode for m in taken.measurements):
        return None
    return compare_stored(today, [process.median_us for process in accepted.processes], accepted.days, policy)


def policy_of(settings: CaseSettings, runtime: RuntimeName) -> Policy:
    """What a case's settings mean for its test."""
    return Policy(
        tolerance=settings.tolerance_ratio(runtime),
        floor_us=settings.floor_us,
        alpha=settings.alpha,
        looks=LOOKS,
    )


def blocks_for(policy: Policy) -> int:
    """Blocks per process and look at which a process can reject."""
    return plan_blocks(policy.check(), FEWEST_BLOCKS).blocks


def _seed(case: CaseId, process: int, attempt: int) -> int:
    """Return a seed that differs between cases, processes and attempts, and is the same on every run."""
    text = f"{case.kernel}/{case.variant}/{case.tokens}/{process}/{attempt}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big")
