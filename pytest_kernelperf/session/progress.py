"""Where a run is: told by the guard, shown by whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable

from pytest_kernelperf.model import CaseId
from pytest_kernelperf.report.progress import Progress


class ProgressLog:
    """Counts cases and passes each step on. ``clock`` returns seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self.done = 0
        self.listener: Callable[[Progress], None] = lambda progress: None
        self.wait_listener: Callable[[str], None] = lambda sentence: None
        self._clock = clock
        self._started_s = clock()

    def __call__(self, case: CaseId, phase: str) -> None:
        """Note that a case is at a phase."""
        self.listener(Progress(self.done, max(self.total, self.done), str(case), phase, self.elapsed_s))

    def wait(self, sentence: str) -> None:
        """Pass on for whom this run is waiting; called once a second while it does."""
        self.wait_listener(sentence)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return self._clock() - self._started_s
