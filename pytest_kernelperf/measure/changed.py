"""Known changes of time, put in on purpose: an arm's batch gets more rounds, or fewer, and is timed as if it had not.

Benchmarks and drills see by them whether a slowdown is noticed. A guard's arms never ask for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kernelperf.measure.policy import BatchSize
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.measure.stopwatch import Stopwatch, Timing
from pytest_kernelperf.model import Mode


class ChangedStopwatch:
    """A stopwatch whose samples hold each arm's ``rounds_ratio``; warming up is left as it is."""

    def __init__(self, real: Stopwatch, queue_depth: int) -> None:
        """``queue_depth``: most steps that can be queued behind the gate."""
        self._real = real
        self._queue_depth = queue_depth

    def run(self, arm: Arm, rounds: int) -> None:
        """Run as many rounds as are asked for."""
        self._real.run(arm, rounds)

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        """Get ready for the arm's own number of rounds; return why that cannot be, "" if it can."""
        reason = why_unchangeable(arm, rounds, mode, self._queue_depth)
        return reason or self._real.prepare(arm, mode, rounds if rounds == 1 else arm.rounds_of(rounds))

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        """Time the arm's own number of rounds, and give the time per round as if there had been ``rounds``."""
        taken = arm.rounds_of(rounds)
        if block < 0 or taken == rounds:
            return self._real.time(arm, mode, rounds, block)
        timing = self._real.time(arm, mode, taken, block)
        change = taken / rounds
        return Timing(
            timing.time_us * change, timing.host_us * change, timing.spent_us, timing.timed_out, timing.clock_mhz
        )


def fit_changes(arms: Sequence[Arm], rounds: int, mode: Mode, size: BatchSize) -> int:
    """At most so many rounds, as many as leave room in the queue for those that are added on purpose."""
    while rounds > 1 and any(why_unchangeable(arm, rounds, mode, size.queue_depth) for arm in arms):
        rounds = size.even(rounds - 1)
    return rounds


def why_unchangeable(arm: Arm, rounds: int, mode: Mode, queue_depth: int) -> str:
    """Why an arm's added rounds cannot be put into batches of ``rounds``; empty if they can."""
    if arm.rounds_ratio > 1 and mode == "queued" and arm.rounds_of(rounds) * len(arm.plan.steps) > queue_depth:
        return f"its {arm.rounds_of(rounds)} rounds, slower on purpose, do not fit the queue"
    return ""
