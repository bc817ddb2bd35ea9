"""How a case came to be as slow as it is accepted: its first figure, the steps since, and what they add up to.

A step's ratio is that of the interleaved comparison that was accepted, both binaries side by side on one day. Their
product is therefore what the code did; stored microseconds of different days also hold what the machine did.
"""

from __future__ import annotations

import math

import msgspec

from pytest_kernelperf.baseline.entry import AcceptedStep, Anchor, BaselineCase
from pytest_kernelperf.model import Creep, CreepStep, Record

MOST_STEPS = 200
"""Steps kept of a case; beyond that the two oldest become one, so that the product stays."""

_MOST_REASON_CHARACTERS = 4000
_MOST_LOG = 700.0  # beyond it a stranger's ratios would overflow


def with_history(new: BaselineCase, old: BaselineCase | None, record: Record) -> BaselineCase:
    """Return the entry that replaces ``old``, with the first figure and all steps since, this one last."""
    if old is None:
        return new
    anchor = Anchor(old.accepted_at, old.time_us, old.mode) if old.anchor is msgspec.UNSET else old.anchor
    step = AcceptedStep(new.accepted_at, new.reason, accepted_ratio(record))
    return msgspec.structs.replace(new, anchor=anchor, steps=_bounded((*steps_of(old), step)))


def steps_of(case: BaselineCase) -> tuple[AcceptedStep, ...]:
    """Return the steps since the first figure, oldest first."""
    return () if case.steps is msgspec.UNSET else case.steps


def accepted_ratio(record: Record) -> float | None:
    """New / old time where the two were timed side by side; None where they were not."""
    return next(
        (found.change_ratio for found in record.comparisons if (found.arm, found.against) == ("head", "baseline")), None
    )


def creep_of(case: BaselineCase, allowed: float, further_ratio: float | None = None) -> Creep | None:
    """Return what the case's accepted steps add up to, the change being judged among them; None without any.

    Counted from its fastest accepted figure, so that a gain that is given away again step by step counts too.
    Steps that were not compared count as no change, and are shown.

    Args:
        case: the accepted entry.
        allowed: the budget as a share of the time, 0.05 for 5 %.
        further_ratio: new / old time of the change being judged, where it is or would be accepted too.
    """
    steps = [CreepStep(step.day, step.reason, step.ratio) for step in steps_of(case)]
    steps += [] if further_ratio is None else [CreepStep("", "", further_ratio)]
    if not steps:
        return None
    figures = [0.0]  # logarithms: the first figure, then the one after each step
    for step in steps:
        figures.append(figures[-1] + math.log(step.ratio if step.ratio is not None else 1.0))
    fastest = min(range(len(figures)), key=figures.__getitem__)
    first = case.accepted_at if case.anchor is msgspec.UNSET else case.anchor.day
    return Creep(
        since=first if fastest == 0 else steps[fastest - 1].day,
        change_ratio=math.exp(min(figures[-1] - figures[fastest], _MOST_LOG)),
        allowed_ratio=1 + allowed,
        steps=tuple(steps[fastest:]),
    )


def _bounded(steps: tuple[AcceptedStep, ...]) -> tuple[AcceptedStep, ...]:
    while len(steps) > MOST_STEPS:
        first, second, *rest = steps
        known = [step.ratio for step in (first, second) if step.ratio is not None]
        both = AcceptedStep(
            second.day,
            f"{first.reason}; {second.reason}"[:_MOST_REASON_CHARACTERS],
            math.prod(known) if known else None,
        )
        steps = (both, *rest)
    return steps
