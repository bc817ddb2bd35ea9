"""The parent's code of a case beside the code under test: what it is to it, and until when both are timed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from pytest_kernelperf.baseline.exported import Export, PlannedCase
from pytest_kernelperf.baseline.replay import plan_problem, symbols_of
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CaseId, CodeObject, Comparison, DeviceFacts, ParentState
from pytest_kernelperf.parentage import Parentage
from pytest_kernelperf.session.limits import ParentsLimits, limits_note
from pytest_kernelperf.session.part import Workers
from pytest_kernelperf.session.recording import Work, is_identical
from pytest_kernelperf.session.subject import Subject
from pytest_kernelperf.session.timing import Taken, compare_taken, next_look
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.schedule import Look, Schedule

ARM = "parent"
GATING = 2
"""Comparisons that a case may fail by, with its baseline and with its parent: they share the error it is allowed."""


class Parent:
    """Another commit's exported code, case by case; ``judge``: its limits count, and not the change's own."""

    def __init__(self, export: Export, *, judge: bool) -> None:
        self._export = export
        self._cases = {case.case: case for case in export.cases}
        self._limits = ParentsLimits(export, judge=judge)
        self._unexported = {one.case: one.sentence for one in export.unexported}

    def look_up(self, work: Work, subject: Subject, replaced: Subject | None, device: DeviceFacts) -> None:
        """Say what the parent's code of a case is to head's, and take it as an arm where it is to be timed.

        From here on the case is judged by the parent's limits, where those count.

        Args:
            work: the case; its baseline has been looked up.
            subject: head.
            replaced: the variant that head replaces.
            device: the device's facts.
        """
        work.settings, work.limits = self._limits.take(work.settings, work.spec.kernel, *_names(work))
        work.notes += limits_note(work.limits)
        state, sentence, case = self._find(work, subject, device)
        other = None if replaced is None else self._cases.get(replaced.spec.case)
        settled = replaced is None or (other is not None and is_identical(replaced, other))
        work.evidence = msgspec.structs.replace(
            work.evidence, parent=Parentage(state, sentence, replaced_is_parents=settled)
        )
        work.parent = Arm(ARM, self._code(case), case.plan) if case is not None and state == "timed" else None

    def _find(self, work: Work, subject: Subject, device: DeviceFacts) -> tuple[ParentState, str, PlannedCase | None]:
        export = self._export
        names = _names(work)
        case = next((self._cases[name] for name in names if name in self._cases), None)
        if case is None:
            reasons = [self._unexported[name] for name in names if name in self._unexported] or list(export.problems)
            if reasons:
                return "unplayable", f"the parent's code could not be exported ({reasons[0]})", None
            return "absent", "the parent has no such case", None
        if export.device_key != device.key:
            return "unplayable", f"the parent's code was compiled for {export.device_key}, not for {device.key}", None
        was = "" if case.case == work.spec.case else f", {case.case} there"
        if is_identical(subject, case):
            return "identical", f"instructions, launch plan and inputs are the parent's{was}", case
        if work.accepted is not None and is_identical(case, work.accepted):
            return "baseline", f"the parent's code is the baseline's{was}", case
        if problem := _obstacle(subject, case):
            return "unplayable", f"the parent's code cannot be run beside this one ({problem})", None
        return "timed", f"the parent's code is another, timed beside this one{was}", case

    def _code(self, case: PlannedCase) -> CodeObject:
        data = self._export.objects[case.object_digest]
        return CodeObject(case.object_digest, data, {}, lowered_names=symbols_of(data, case.instruction_digests))


def _names(work: Work) -> list[CaseId]:
    """All names that the case has or had, the present one first."""
    return [name for name in (work.spec.case, work.renamed_from, work.spec.former) if name is not None]


def _obstacle(subject: Subject, case: PlannedCase) -> str:
    if problem := plan_problem(case.plan, case.buffers):
        return problem
    missing = [spec.name for spec in case.buffers if spec not in subject.buffers]
    return f"it needs buffer {missing[0]} in the shape and type that it had" if missing else ""


class BesideParent:
    """Until when head is timed beside parent and baseline, and what is found of head beside the parent.

    Args:
        policy: shared by both comparisons.
        schedule: the looks planned by it.
        asked: the parent has an arm; else the comparison with the baseline is all there is.
    """

    def __init__(self, policy: Policy, schedule: Schedule, *, asked: bool) -> None:
        self._policy = policy
        self._schedule = schedule
        self._asked = asked
        self._comparison: Comparison | None = None
        self._at_all: Comparison | None = None

    def next_look(self, baseline: Comparison | None, taken: Taken, look: Look) -> Look | None:
        """The next look: taken while either comparison is open, None where both are clear.

        That head is slower than the baseline is no reason to stop before it is clear whose doing it is; that it is
        slower than the parent is one.
        """
        schedule = self._schedule
        if not self._asked:
            return next_look(baseline, taken, look, schedule)
        self._comparison = compare_taken(taken, "head", ARM, self._policy, look, schedule)
        self._at_all = None
        if self._comparison is None or find(self._comparison) is Finding.SLOWER:
            return next_look(self._comparison, taken, look, schedule)
        of_parent = next_look(self._comparison, taken, look, schedule)
        if baseline is None or find(baseline) is not Finding.SLOWER:
            return next_look(baseline, taken, look, schedule) or of_parent
        strict = msgspec.structs.replace(self._policy, tolerance=0.0, floor_us=0.0)
        self._at_all = compare_taken(taken, "head", ARM, strict, look, schedule)
        return next_look(self._at_all, taken, look, schedule) or of_parent

    def note(self, work: Work, taken: Taken) -> None:
        """Add what was found to the case's evidence."""
        parent = work.evidence.parent
        if parent is None or not self._asked:
            return
        has_baseline = any(sample.arm == "baseline" for m in taken.measurements for sample in m.samples)
        work.evidence = msgspec.structs.replace(
            work.evidence,
            parent=msgspec.structs.replace(
                parent,
                comparison=self._comparison,
                at_all=self._at_all,
                of_parent=compare_taken(taken, ARM, "baseline", self._policy) if has_baseline else None,
            ),
        )


def compare_beside_parent(work: Work, workers: Workers, compare: Callable[[Work], None]) -> bool:
    """Compare with the parent among the arms; return False where it has to be done again without.

    Its code is the last that may fail a change: one that repairs main is measured beside what does not run.
    """
    if work.parent is None:
        return False
    try:
        compare(work)
    except KernelperfError:
        problem = _why_unplayable(work, workers)
        if not problem:
            raise
        _drop(work, problem)
        return False
    if work.evidence.spoiled and work.evidence.spoiled_code in ("", "outputs"):
        _drop(work, f"beside it {work.evidence.spoiled}")
        return False
    return True


def _drop(work: Work, problem: str) -> None:
    parent = work.evidence.parent
    assert parent is not None
    sentence = f"the parent's code does not run here ({problem})"
    work.parent = None
    unplayable = msgspec.structs.replace(parent, state="unplayable", sentence=sentence, comparison=None, at_all=None)
    work.evidence = msgspec.structs.replace(work.evidence, parent=unplayable, spoiled="", spoiled_code="")


def _why_unplayable(work: Work, workers: Workers) -> str:
    """Run the parent's code by itself, once its comparison has failed; say why it fails, empty if it does not."""
    subject, parent = work.subject, work.parent
    assert subject is not None
    assert parent is not None
    try:
        workers.run(work.spec.case, parent.plan, parent.code, subject.inputs, tuple(subject.expected))
    except KernelperfError as error:
        return str(error)
    return ""
