"""One alarm that was set off on purpose, and what came of all of them."""

from __future__ import annotations

from typing import Literal

from pytest_kernelperf.model import Frozen

State = Literal["rang", "silent", "disturbed", "left out"]
STATES: tuple[State, ...] = ("rang", "silent", "disturbed", "left out")


class Alarm(Frozen, frozen=True):
    """What was done, what had to happen, what happened, and how long it took.

    ``rang``: it happened. ``silent``: it did not, or somebody was blamed who had nothing to do with it. ``left out``:
    it could not be set off here; ``found`` says why. ``disturbed``: nobody can say, since the guard measured nothing
    while somebody else was active.
    """

    name: str
    did: str
    must: str
    found: str
    state: State
    seconds: float


class Drill(Frozen, frozen=True):
    """A whole drill. ``problem``: why it ended early, in one sentence; empty where it did not."""

    version: int
    tool_version: str
    device: str
    device_key: str
    cases: tuple[str, ...]
    alarms: tuple[Alarm, ...]
    seconds: float
    problem: str = ""

    @property
    def passed(self) -> bool:
        """Whether every alarm rang that could be set off here, and at least one could."""
        states = [alarm.state for alarm in self.alarms]
        return "rang" in states and not self.problem and set(states) <= {"rang", "left out"}


# History of the JSON that --json prints:
#   1  first form
VERSION = 1
