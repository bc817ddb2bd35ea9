"""Where a run is: told by the guard, shown by whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.model import CaseId
from pytest_kernelperf.report.progress import Estimate, Progress, Timing

PREPARING = "preparing"
"""The phase in which the user's own Python runs: inputs, reference, plans."""


class ProgressLog:
    """Counts cases and passes each step on. ``clock`` returns seconds.

    ``watched``: somebody follows the timing of each case too, which costs a message between two blocks.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self.done = 0
        self.watched = False
        self.listener: Callable[[Progress], None] = lambda progress: None
        self.wait_listener: Callable[[str], None] = lambda sentence: None
        self._clock = clock
        self._started_s = clock()
        self._timed: tuple[CaseId, float] | None = None
        self._begun: Progress | None = None

    def __call__(self, case: CaseId, phase: str, timing: Callable[[], Timing] | None = None) -> None:
        """Note that a case is at a phase; ``timing`` is asked for only if somebody follows it."""
        found = timing() if timing is not None and self.watched else None
        if found is None:
            self._timed = None
        elif self._timed is None or self._timed[0] != case:
            self._timed = case, self._clock()
        self._begun = Progress(self.done, max(self.total, self.done), str(case), phase, self.elapsed_s, found)
        self._pass_on(self._begun)

    def follow(self, told: Told) -> None:
        """Note how far the process is that is measuring."""
        if self._begun is None or self._begun.timing is None:
            return
        timing = self._begun.timing
        timing = msgspec.structs.replace(
            timing,
            taken=timing.taken + told.taken,
            given=timing.given + told.taken,
            estimate=timing.estimate or _first_estimate(told),
        )
        self._pass_on(msgspec.structs.replace(self._begun, elapsed_s=self.elapsed_s, timing=timing))

    def wait(self, sentence: str) -> None:
        """Pass on for whom this run is waiting; called once a second while it does."""
        self.wait_listener(sentence)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._started_s

    def _pass_on(self, progress: Progress) -> None:
        self.listener(msgspec.structs.replace(progress, at_most_s=self._at_most_s(progress.timing)))

    def _at_most_s(self, timing: Timing | None) -> float | None:
        """Seconds for the blocks that a case may still have, at the pace of those that it has given."""
        if timing is None or self._timed is None or not timing.given:
            return None
        return (self._clock() - self._timed[1]) / timing.given * max(0, timing.most - timing.given)


def _first_estimate(told: Told) -> Estimate:
    """What the first process's blocks say, before it has given all of them."""
    head_us = told.median_us.get("head")
    against = next((name for name in told.median_us if name != "head"), "")
    other_us = told.median_us.get(against)
    return Estimate(head_us, against, head_us / other_us if head_us and other_us else None)
