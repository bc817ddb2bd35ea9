"""By how much a drill slows an arm, and what the guard must say of it, from what it said of the untouched code."""

from __future__ import annotations

from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CodeObject, Comparison, Frozen, Plan, Record
from pytest_kernelperf.units import format_change

PLAIN_TIMES = 4.0
"""A plain slowdown is so many times what is allowed."""

SMALL_TIMES = 2.0
"""A small one is so many times what is allowed: the guard's own limit for what may stay undecided without failing."""

SURE_TIMES = 1.5
"""So many times the smallest slowdown that the untouched samples would have shown, and the guard must prove it."""


class Slowness(Frozen, frozen=True):
    """A slowdown to put in: ``ratio`` (1.01 is 1 %), and the verdicts of which one must come of it."""

    ratio: float
    must: tuple[str, ...]

    def put_in(self, record: Record | None) -> float | None:
        """The slowdown that whole rounds came to, the smallest over processes; None where nothing was measured."""
        arm = Arm("", CodeObject("", b"", {}), Plan(()), rounds_ratio=self.ratio)
        measured = record.measurements if record is not None else ()
        return min((arm.changed_ratio(m.rounds) for m in measured if m.rounds > 0), default=None)

    def describe(self, record: Record | None) -> str:
        """``12 rounds for 10 (+20 %)``."""
        arm = Arm("", CodeObject("", b"", {}), Plan(()), rounds_ratio=self.ratio)
        rounds = min((m.rounds for m in record.measurements if m.rounds > 0), default=0) if record is not None else 0
        if not rounds:
            return f"{format_change(self.ratio)} asked for"
        return f"{arm.rounds_of(rounds)} rounds for {rounds} ({format_change(arm.changed_ratio(rounds))})"


def plain_slowness(untouched: Record | None) -> Slowness:
    """One that nobody may miss: far beyond the tolerance, and beyond what the samples can show."""
    allowed, detectable = _limits(untouched)
    return Slowness(1 + max(PLAIN_TIMES * allowed, SURE_TIMES * detectable), ("regressed",))


def small_slowness(untouched: Record | None) -> Slowness:
    """Twice what is allowed. Where the samples cannot show that much it need not be proven, but must not pass."""
    allowed, detectable = _limits(untouched)
    sure = SMALL_TIMES * allowed >= SURE_TIMES * detectable
    return Slowness(1 + SMALL_TIMES * allowed, ("regressed",) if sure else ("regressed", "undecided"))


def allowed_share(comparison: Comparison) -> float:
    """How much slower a case may be, as a share of its time: the tolerance, or the floor where that is more."""
    return max(comparison.tolerance_ratio - 1, comparison.floor_us / comparison.against_us)


def _limits(untouched: Record | None) -> tuple[float, float]:
    comparison = next((c for c in untouched.comparisons if c.against == "baseline"), None) if untouched else None
    if comparison is None:
        return 0.05, 0.05
    allowed = allowed_share(comparison)
    return allowed, (comparison.detectable_ratio or 1 + 10 * allowed) - 1
