"""What counts as a change, and how sure one has to be: the numbers that every test here is given."""

from __future__ import annotations

import math

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Frozen


class Policy(Frozen, frozen=True):
    """What counts as a change.

    ``tolerance`` is a share of the time (0.01 = 1 %) and ``floor_us`` an absolute time per round: a difference has to
    exceed both. ``alpha`` is the error allowed for one case in one process, split evenly over ``looks`` at its
    samples (the measurement and its rerun), but for the share ``further``, which is kept for the looks at many more
    blocks that a case may take when it is still open. ``agreement`` is the error allowed over processes: how often code
    may be blamed that is slower by exactly the tolerance on average while its effect varies from process to process.
    ``confidence`` is that of the interval over processes. ``contrary`` is how many blocks per process may point the
    other way, as far out as they like, without hiding a slowdown.

    Raises:
        UsageError: from ``check``, a number outside its range.
    """

    tolerance: float = 0.01
    floor_us: float = 0.0
    alpha: float = 1e-5
    looks: int = 2
    confidence: float = 0.95
    contrary: int = 1
    agreement: float = 0.1
    further: float = 0.05

    @property
    def alpha_per_look(self) -> float:
        """The error allowed at one of the usual looks."""
        return self.alpha * (1 - self.further) / self.looks

    @property
    def tolerance_log(self) -> float:
        """The tolerance as a log ratio."""
        return math.log1p(self.tolerance)

    def check(self) -> Policy:
        """Return the policy itself if every number can be used."""
        for name, value, allowed, expected in (
            ("tolerance", self.tolerance, 0 <= self.tolerance < 1, "a share from 0 to 1, such as 0.01 for 1 %"),
            ("floor_us", self.floor_us, 0 <= self.floor_us < math.inf, "a time of 0 us or more"),
            ("alpha", self.alpha, 0 < self.alpha < 0.5, "an error rate between 0 and 0.5, such as 1e-5"),
            ("looks", self.looks, 1 <= self.looks <= 10, "1 to 10 looks"),
            ("confidence", self.confidence, 0 < self.confidence < 1, "a share between 0 and 1, such as 0.95"),
            ("agreement", self.agreement, 0 < self.agreement < 0.5, "an error rate between 0 and 0.5, such as 0.1"),
            ("further", self.further, 0 <= self.further < 1, "a share from 0 to 1, such as 0.05"),
            ("contrary", self.contrary, 0 <= self.contrary <= 10, "0 to 10 blocks"),
        ):
            if not allowed:
                raise UsageError(f"{name} must be {expected}, not {value!r}")
        return self
