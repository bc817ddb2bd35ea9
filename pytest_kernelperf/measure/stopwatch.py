"""How a batch of rounds is run and timed: the protocol. Its scripted double is in ``measure.script``."""

from __future__ import annotations

from typing import Protocol

from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import Frozen, Mode


class Timing(Frozen, frozen=True):
    """One timed batch: us per round, us per round to enqueue it, and us that it took altogether.

    ``timed_out``: the gate opened by itself, so that the host may have been waited for; not a sample. ``clock_mhz``:
    the device's clock right after the batch, counted by the device itself; None where it has no counter.
    """

    time_us: float
    host_us: float
    spent_us: float
    timed_out: bool = False
    clock_mhz: float | None = None


class Stopwatch(Protocol):
    """Runs and times rounds of the arms' plans on the shared buffers."""

    def run(self, arm: Arm, rounds: int) -> None:
        """Run rounds without timing them, and wait for them. Raises ``DeviceError``."""

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        """Get ready to time; return why the mode cannot be used for this plan, "" if it can."""

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        """Time one batch; ``block`` is negative while warming up. Raises ``DeviceError``."""
