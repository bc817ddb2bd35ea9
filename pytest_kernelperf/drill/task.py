"""An alarm that is to be set off, and what the alarms know of where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_kernelperf.drill.expectation import Answer
from pytest_kernelperf.drill.ground import Ground
from pytest_kernelperf.drill.guard_run import GuardRun
from pytest_kernelperf.model import CaseId, DeviceFacts, Record

FULL = "--kernelperf-full"


class CannotSetOff(Exception):
    """An alarm cannot be set off here; the text says why."""


@dataclass
class Scene:
    """The ground, its device, and the cases whose code has been stored. The first case is the one that is broken."""

    ground: Ground
    device: DeviceFacts
    cases: tuple[CaseId, ...]
    runtime: str
    scripted: bool = False
    untouched: GuardRun | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The cases as records name them."""
        return tuple(map(str, self.cases))

    @property
    def first(self) -> str:
        """The name of the case that is broken."""
        return str(self.cases[0])

    @property
    def others(self) -> tuple[str, ...]:
        """The names of all other cases."""
        return self.names[1:]

    def time_untouched(self) -> GuardRun:
        """The run that timed what did not change; made once."""
        if self.untouched is None:
            self.untouched = self.ground.guard(FULL)
        return self.untouched

    def untouched_record(self) -> Record | None:
        """What the guard said of the case that is broken before it was."""
        return self.time_untouched().record(self.first)


@dataclass(frozen=True)
class Task:
    """An alarm: its name, what is done, what must happen, and the function that does it and asks.

    The function raises ``CannotSetOff`` where that cannot be done here.
    """

    name: str
    did: str
    must: str
    act: Callable[[Scene], Answer]
