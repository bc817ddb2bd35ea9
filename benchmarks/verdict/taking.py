"""One case in a set of processes: all arms look by look, as the guard takes them; what is clear takes no more."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Question:
    """Arms by name, each with its pairs of every process that took it; another process can answer."""

    pairs: Mapping[str, Sequence[Pair]]
    mode: Mode
    policies: tuple[Policy, ...]
    schedule: Schedule

    def answer(self) -> dict[str, Look | None]:
        """For each arm the smallest look that some policy needs; None where all are clear, or no look is left."""
        return {name: self._wanted(pairs) for name, pairs in self.pairs.items()}

    def _wanted(self, pairs: Sequence[Pair]) -> Look | None:
        wanted = [follow(pairs, self.mode, policy, self.schedule).wanted for policy in self.policies]
        return min(filter(None, wanted), key=_size, default=None)


def _size(look: Look) -> tuple[int, int]:
    return look.processes, look.blocks


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

    def __post_init__(self) -> None:
        self._waiting = {arm.name: self.how.schedule.first for arm in self.arms[1:]}

    @property
    def over(self) -> bool:
        """Whether every arm is clear at every policy, or has no look left."""
        return not self._waiting

    def run(self) -> None:
        """Take looks until it is over. Raises ``NotMeasured``."""
        while not self.over:
            self.step()
            self.settle(self.question.answer())

    def step(self) -> None:
        """Take the smallest look that an arm waits for, for all that wait for it. Raises ``NotMeasured``."""
        self._asked = min(self._waiting.values(), key=_size)
        self.take(self._asked, [name for name, look in self._waiting.items() if look == self._asked])

    @property
    def question(self) -> Question:
        """What has to be decided of the look just taken."""
        names = [name for name, look in self._waiting.items() if look == self._asked]
        pairs = {
            name: [pair for process in sorted(self.taken) if len((pair := self.pairs(name, process)).new)]
            for name in names
        }
        return Question(pairs, self.mode, self.how.policies, self.how.schedule)

    def settle(self, answer: Mapping[str, Look | None]) -> None:
        """Take note of the look that each arm wants next; None: it is clear."""
        for name, look in answer.items():
            if look is None:
                del self._waiting[name]
            else:
                self._waiting[name] = look

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

    def samples(self, process: int, name: str) -> dict[str, Any]:
        """What a line says of one arm: rounds, times and blocks; no times where the process did not take it."""
        own = sorted(self.times_us[process].get(name, {}).items())
        return {
            "rounds": self.taken[process][0].rounds,
            "blocks": [block for block, _ in own],
            "us": [round(time_us, 6) for _, time_us in own],
        }
