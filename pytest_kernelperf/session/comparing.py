"""Timing a case until it is clear: beside the accepted binary, today's toolchain, and the variant that it replaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

import msgspec

from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CodeObject, Comparison, DeviceFacts, Noise
from pytest_kernelperf.session.parent import ARM as PARENT
from pytest_kernelperf.session.parent import GATING, BesideParent
from pytest_kernelperf.session.recording import Work
from pytest_kernelperf.session.subject import Subject
from pytest_kernelperf.session.timing import (
    FEWEST_BLOCKS,
    Taken,
    Timed,
    Timer,
    compare_taken,
    compare_with_stored,
    first_look,
    next_look,
    policy_of,
    schedule_of,
)
from pytest_kernelperf.stats.comparison import middle_time_us
from pytest_kernelperf.stats.schedule import Look
from pytest_kernelperf.stats.stored import FEWEST_DAYS, needed_today


class Comparing:
    """Times one case.

    Args:
        timer: takes the measurements.
        facts: the device's.
        profilers: names the profilers seen in any worker so far.
        most_tries: how often a disturbed measurement is begun.
        start: starts so many workers at once.
        thorough: take the usual number of processes at once, since they are to be stored or were asked for.
    """

    def __init__(
        self,
        timer: Timer,
        facts: DeviceFacts,
        profilers: Callable[[], tuple[str, ...]],
        most_tries: int,
        start: Callable[[int], None],
        *,
        thorough: bool,
    ) -> None:
        self._timer = timer
        self._facts = facts
        self._profilers = profilers
        self._tries = most_tries
        self._start = start
        self._thorough = thorough

    def time_alone(self, work: Work, subject: Subject, *, shown_only: bool) -> None:
        """Time a case that has nothing to be compared with: in one process if that is only shown, else in all."""
        work.taken = taken = Taken()
        tries = 1 if shown_only else self._tries
        timed = _timed(work, subject, [Arm("head", subject.code, subject.plan)], tries)
        processes = 1 if shown_only else work.settings.processes
        self._start(processes)
        self._timer.take(taken, timed, Look(processes, FEWEST_BLOCKS, 1.0))
        self._note(work, taken, None)

    def compare_accepted(self, work: Work, subject: Subject, accepted_code: CodeObject) -> None:
        """Time head beside the accepted binary, and beside what today's toolchain makes of the accepted source."""
        accepted = work.accepted
        assert accepted is not None
        arms = [Arm("head", subject.code, subject.plan), Arm("baseline", accepted_code, accepted.plan)]
        if work.recompiled is not None:
            arms.append(Arm("toolchain", work.recompiled, accepted.plan))
        if work.parent is not None:
            arms.append(work.parent)
        timed = replace(_timed(work, subject, arms, self._tries), mode=accepted.mode)
        policy = policy_of(work.settings, self._facts.runtime, 1 if work.parent is None else GATING)
        schedule = schedule_of(work.settings, policy)
        beside = BesideParent(policy, schedule, asked=work.parent is not None)
        work.taken = taken = Taken()
        look: Look | None = first_look(schedule, work.settings.processes if self._thorough else 1)
        while look is not None:
            self._start(look.processes)
            so_far = partial(compare_taken, taken, "head", "baseline", policy, look, schedule)
            self._timer.take(taken, timed, look, schedule.most, so_far)
            self._note(work, taken, so_far())
            look = beside.next_look(work.evidence.comparison, taken, look)
        beside.note(work, taken)
        work.evidence = msgspec.structs.replace(
            work.evidence,
            stored=compare_with_stored(taken, accepted, policy),
            toolchain=compare_taken(taken, "toolchain", "baseline", policy) if work.recompiled is not None else None,
        )

    def compare_stored_times(self, work: Work, subject: Subject, unplayable: str) -> None:
        """Time head alone, against the accepted binary's stored times, in as many processes as that test needs."""
        accepted = work.accepted
        assert accepted is not None
        policy = policy_of(work.settings, self._facts.runtime)
        needed = needed_today(len(accepted.processes), policy.alpha) if accepted.days >= FEWEST_DAYS else None
        processes = max(work.settings.processes, needed or 0)
        head = [Arm("head", subject.code, subject.plan)]
        timed = replace(_timed(work, subject, head, self._tries), mode=accepted.mode)
        work.taken = taken = Taken()
        self._start(processes)
        self._timer.take(taken, timed, Look(processes, FEWEST_BLOCKS, 1.0))
        self._note(work, taken, None)
        stored = compare_with_stored(taken, accepted, policy, "head")
        work.evidence = msgspec.structs.replace(work.evidence, stored=stored, unplayable=unplayable)

    def compare_parent(self, work: Work, subject: Subject) -> None:
        """Time head beside the parent's code alone: there is no baseline, or it is head's own code."""
        assert work.parent is not None
        timed = _timed(work, subject, [Arm("head", subject.code, subject.plan), work.parent], self._tries)
        policy = policy_of(work.settings, self._facts.runtime)
        schedule = schedule_of(work.settings, policy)
        beside = BesideParent(policy, schedule, asked=True)
        work.taken = taken = Taken()
        look: Look | None = first_look(schedule, work.settings.processes if self._thorough else 1)
        while look is not None:
            self._start(look.processes)
            so_far = partial(compare_taken, taken, "head", PARENT, policy, look, schedule)
            self._timer.take(taken, timed, look, schedule.most, so_far)
            self._note(work, taken, None)
            look = beside.next_look(None, taken, look)
        beside.note(work, taken)

    def compare_own(self, work: Work, subject: Subject, code: CodeObject, own: BaselineCase) -> None:
        """Time head beside the entry that the change brings, as beside the accepted one."""
        arms = [Arm("head", subject.code, subject.plan), Arm("own", code, own.plan)]
        timed = replace(_timed(work, subject, arms, self._tries), mode=own.mode)
        self._compare_pair(work, timed, "own")

    def compare_replaced(self, work: Work, subject: Subject, other: Subject) -> None:
        """Time the variant beside the one that it replaces, launch gaps included."""
        arms = [Arm("head", subject.code, subject.plan), Arm("replaced", other.code, other.plan)]
        timed = replace(_timed(work, subject, arms, self._tries), mode="queued")
        work.evidence = msgspec.structs.replace(work.evidence, replaced_variant=other.spec.doing.name)
        self._compare_pair(work, timed, "replaced")

    def _compare_pair(self, work: Work, timed: Timed, arm: Literal["own", "replaced"]) -> None:
        """Take looks at head beside one more arm until they tell it from it; what disturbed them is noted."""
        policy = policy_of(work.settings, self._facts.runtime)
        schedule = schedule_of(work.settings, policy)
        taken, found = Taken(), None
        look: Look | None = schedule.first
        while look is not None:
            self._start(look.processes)
            so_far = partial(compare_taken, taken, "head", arm, policy, look, schedule)
            self._timer.take(taken, timed, look, schedule.most, so_far)
            found = so_far()
            look = next_look(found, taken, look, schedule)
        work.evidence = msgspec.structs.replace(
            work.evidence,
            **{arm: found},
            contended_by=taken.contended_by,
            spoiled=taken.spoiled,
            spoiled_code=taken.spoiled_code,
            tries=taken.tries,
        )

    def _note(self, work: Work, taken: Taken, comparison: Comparison | None) -> None:
        work.evidence = msgspec.structs.replace(
            work.evidence,
            time_us=middle_time_us(taken.measurements, "head") if taken.measurements else None,
            comparison=comparison,
            contended_by=taken.contended_by,
            spoiled=taken.spoiled,
            spoiled_code=taken.spoiled_code,
            noise=_noise(taken),
            dwell_s=work.settings.dwell_s,
            tries=taken.tries,
            looks=taken.looks,
            profilers=self._profilers(),
        )


def _timed(work: Work, subject: Subject, arms: list[Arm], tries: int) -> Timed:
    work.arms |= {arm.name: arm for arm in arms}
    return Timed(
        case=work.spec.case,
        mode=work.settings.mode,
        arms=arms,
        inputs=subject.inputs,
        outputs=tuple(subject.expected),
        tries=tries,
        dwell_s=work.settings.dwell_s,
    )


def _noise(taken: Taken) -> tuple[tuple[int, Noise], ...]:
    return tuple((m.process, noise) for m in taken.measurements for noise in m.noise)
