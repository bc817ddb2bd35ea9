"""Stopping rules of a measurement: objects fed with numbers, without clock or device."""

from __future__ import annotations

import math
import statistics

from pytest_kernelperf.model import Frozen


class WarmUp:
    """Says when warming up may end: the last three batches of every arm lie within ``spread_ratio``, or time is up.

    The bounds matter: clocks of a machine that is warm already may never settle to 3 %, and a clock that stands
    still never reaches a time limit.
    """

    def __init__(
        self,
        limit_us: float,
        spread_ratio: float = 1.03,
        batches: int = 3,
        max_batches: int = 200,
        least_us: float = 0.0,
    ) -> None:
        """``least_us``: not before so long, however steady the times are."""
        self._limit_us = limit_us
        self._least_us = least_us
        self._spread_ratio = spread_ratio
        self._batches = batches
        self._max_batches = max_batches
        self._times_us: dict[str, list[float]] = {}
        self._spent_us = 0.0

    def add(self, arm: str, time_us: float, spent_us: float) -> None:
        """Take in one batch: time per round, and how long the batch took in all."""
        self._times_us.setdefault(arm, []).append(time_us)
        self._spent_us += spent_us

    @property
    def over(self) -> bool:
        """Whether to go on to sampling."""
        if not self._times_us:
            return False
        if self._spent_us >= self._limit_us or max(map(len, self._times_us.values())) >= self._max_batches:
            return True
        if self._spent_us < self._least_us:
            return False
        return all(self._is_steady(times) for times in self._times_us.values())

    def time_us(self) -> float:
        """Time per round of the slowest arm, in us: the median of its last batches."""
        return max(statistics.median(times[-self._batches :]) for times in self._times_us.values())

    def _is_steady(self, times: list[float]) -> bool:
        last = times[-self._batches :]
        return len(last) == self._batches and max(last) <= self._spread_ratio * min(last)


class BatchSize(Frozen, frozen=True):
    """How many rounds of a plan one sample times.

    ``copies``: how many copies of the arguments the rounds take in turn, each equally often.
    """

    target_us: float
    max_rounds: int
    queue_depth: int
    copies: int = 1

    def rounds(self, time_us: float, steps: int, queued: bool) -> int:
        """Rounds for a plan of ``steps`` steps that takes ``time_us`` per round; what is queued must fit the queue."""
        fits = [self.max_rounds]
        if time_us > 0 and math.isfinite(time_us):
            fits.append(int(self.target_us / time_us))
        if queued:
            fits.append(self.queue_depth // max(1, steps))
        return self.even(max(1, min(fits)))

    def even(self, rounds: int) -> int:
        """At most so many rounds, all copies taken equally often; with fewer rounds than copies, none taken twice."""
        return rounds if rounds < self.copies else rounds - rounds % self.copies


class SampleCheck:
    """Decides whether a time can be one, and when too many could not.

    A clock that stands still, runs backwards or jumps gives zero, negative or absurd times; they are counted and
    taken again, but not for ever. ``impossible`` counts all of them, ``discarded`` those since the caller last took
    note of them; ``last_us`` is the last one.
    """

    def __init__(self, expected_us: float, max_discarded: int, absurd_ratio: float = 1000.0) -> None:
        self._highest_us = expected_us * absurd_ratio
        self._max_discarded = max_discarded
        self.discarded = 0
        self.impossible = 0
        self.last_us = 0.0

    def accepts(self, time_us: float) -> bool:
        """Whether ``time_us`` (per round) is usable; counts it if not."""
        if 0 < time_us <= self._highest_us:  # neither NaN nor infinity is
            return True
        self.discarded += 1
        self.impossible += 1
        self.last_us = time_us
        return False

    @property
    def exhausted(self) -> bool:
        """Whether so many were discarded that the clock cannot be trusted."""
        return self.discarded > self._max_discarded
