"""One case in a set of processes: all arms look by look, as the guard takes them; what is clear takes no more."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import CaseId, Measurement, Mode
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.sequence import Look, Schedule
from pytest_kernelperf.worker.array import InputSet
from pytest_kernelperf.worker.pool import WorkerPool
from verdict.contrasts import Pair
from verdict.ours import follow

TRIES = 3
EVERYBODY = 1
"""The process whose tree is everybody's: nobody is then a stranger who makes a measurement invalid."""


class NotMeasured(Exception):
    """A process gave no usable samples; the text is the reason."""


@dataclass(frozen=True)
class How:
    """How samples are taken, and until which verdicts are clear. None: as the guard does."""

    schedule: Schedule
    policies: tuple[Policy, ...]
    rounds: int | None = None
    target_us: float | None = None
    warm_up_us: float | None = None
    believe_all: bool = False
    reads_clock: bool = True
    seed: int = 1


@dataclass
class Taking:
    """One case in one mode: its arms, the first of which all others are compared with, and what was taken so far."""

    pool: WorkerPool
    case: CaseId
    mode: Mode
    arms: Sequence[Arm]
    inputs: InputSet
    outputs: tuple[str, ...]
    how: How
    taken: dict[int, list[Measurement]] = field(default_factory=dict)
    times_us: dict[int, dict[str, dict[int, float]]] = field(default_factory=dict)

    def run(self) -> None:
        """Take looks until every arm is clear at every policy. Raises ``NotMeasured``."""
        look, names = self.how.schedule.first, [arm.name for arm in self.arms[1:]]
        waiting: dict[str, Look] = {}
        while True:
            self.take(look, names)
            for name in names:
                waiting.pop(name, None)
                wanted = self.wanted_by(name)
                if wanted is not None:
                    waiting[name] = wanted
            if not waiting:
                return
            look = min(waiting.values(), key=lambda wanted: (wanted.processes, wanted.blocks))
            names = [name for name, wanted in waiting.items() if wanted == look]

    def take(self, look: Look, names: Iterable[str]) -> None:
        """Bring some arms, and the first, to a look's processes and blocks."""
        chosen = [arm for arm in self.arms if arm.name in {self.arms[0].name, *names}]
        for process in range(look.processes):
            missing = look.blocks - min(len(self.pairs(arm.name, process).new) for arm in chosen[1:])
            if missing > 0:
                self.measure(process, chosen, missing)

    def measure(self, process: int, arms: Sequence[Arm], blocks: int) -> None:
        """Take more blocks of some arms in one process; again where somebody disturbed. Raises ``NotMeasured``."""
        before = self.taken.setdefault(process, [])
        begun = sum(len({sample.block for sample in measurement.samples}) for measurement in before)
        reason = ""
        for attempt in range(TRIES):
            request = MeasureRequest(
                case=self.case,
                mode=before[0].mode if before else self.mode,
                arms=tuple(arms),
                blocks=blocks,
                first_block=begun,
                seed=random.Random(f"{self.how.seed}/{self.case}/{process}/{attempt}").getrandbits(40),
                rounds=before[0].rounds if before else self.how.rounds,
                target_us=self.how.target_us,
                warm_up_us=self.how.warm_up_us,
                check_outputs=self.outputs,
                reads_clock=self.how.reads_clock,
                root_pid=EVERYBODY if self.how.believe_all else 0,
            )
            try:
                measurement = self.pool.measure(process, request, self.inputs)
            except KernelperfError as error:
                raise NotMeasured(str(error)) from error
            reason = measurement.contended_by or measurement.invalid or measurement.fallback
            if not reason:
                before.append(measurement)
                for sample in measurement.samples:
                    arms_us = self.times_us.setdefault(process, {}).setdefault(sample.arm, {})
                    arms_us[sample.block] = sample.time_us
                return
        raise NotMeasured(reason)

    def pairs(self, name: str, process: int) -> Pair:
        """An arm's times beside the first arm's in one process, block by block."""
        of = self.times_us.get(process, {})
        new, old = of.get(name, {}), of.get(self.arms[0].name, {})
        blocks = sorted(new.keys() & old.keys())
        return Pair(np.array([new[block] for block in blocks]), np.array([old[block] for block in blocks]))

    def wanted_by(self, name: str) -> Look | None:
        """The look that some policy needs for an arm; None where all are clear, or no look is left."""
        pairs = [pair for process in sorted(self.taken) if len((pair := self.pairs(name, process)).new)]
        wanted = [follow(pairs, self.mode, policy, self.how.schedule).wanted for policy in self.how.policies]
        return min(filter(None, wanted), key=lambda look: (look.processes, look.blocks), default=None)

    def samples(self, process: int, name: str) -> dict[str, Any]:
        """What a line says of one arm: rounds, times and blocks; no times where the process did not take it."""
        own = sorted(self.times_us[process].get(name, {}).items())
        return {
            "rounds": self.taken[process][0].rounds,
            "blocks": [block for block, _ in own],
            "us": [round(time_us, 6) for _, time_us in own],
        }
