"""What is gathered of a case while it is judged, and the record that it becomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from pytest_kernelperf import judge, reason
from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.baseline.exported import PlannedCase
from pytest_kernelperf.baseline.history import accepted_ratio, creep_of
from pytest_kernelperf.baseline.replay import plan_problem
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.errors import KernelperfError, WorkerCrashed, WorkerHung
from pytest_kernelperf.judge import Evidence
from pytest_kernelperf.kernel import Variant
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import (
    BaselineEdit,
    CaseId,
    CodeObject,
    Comparison,
    DeviceFacts,
    LimitEdit,
    Measurement,
    ParentCase,
    Record,
    Verdict,
)
from pytest_kernelperf.report.launch import launches_changed
from pytest_kernelperf.session.subject import Subject, target_facts
from pytest_kernelperf.session.timing import Taken
from pytest_kernelperf.settings import CaseSettings, Target
from pytest_kernelperf.stats.comparison import middle_time_us

STORE_ANEW = "pytest --kernelperf --update-baselines=REASON"


@dataclass
class Work:
    """What is known of one case so far. ``arms``: those that were timed, by name."""

    spec: CaseSpec
    settings: CaseSettings
    evidence: Evidence
    subject: Subject | None = None
    accepted: BaselineCase | None = None
    taken: Taken | None = None
    recompiled: CodeObject | None = None
    parent: Arm | None = None
    own: BaselineCase | None = None
    arms: dict[str, Arm] = field(default_factory=dict)
    edit: BaselineEdit | None = None
    renamed_from: CaseId | None = None
    notes: tuple[str, ...] = ()
    limits: tuple[LimitEdit, ...] = ()


def record_of(work: Work, test: str, root: Path) -> Record:
    """Judge the case and write down all about it.

    Args:
        work: what is known of the case.
        test: its test module, as baselines name it.
        root: the project's folder.
    """
    changed = _resources_changed(work)
    decision = judge.decide(work.evidence)
    record = Record(
        case=work.spec.case,
        test=test,
        decision=decision,
        mode=work.settings.mode,
        cache=work.settings.cache,
        fills=work.evidence.fills,
        mismatch=work.evidence.mismatch,
        mutation_of=work.spec.mutation_of,
        notes=(*judge.notes_of(work.evidence), *changed, *work.notes),
        comparisons=_comparisons(work.evidence),
        toolchain=work.evidence.toolchain,
        stored=work.evidence.stored,
        source=_within(root, work.spec.kernel.source),
        resources_changed=changed,
        launches_changed=_launches_changed(work),
        baseline_edit=work.edit,
        renamed_from=work.renamed_from,
        new_since=work.evidence.new_since,
        parent=_parent_case(work),
        accepted=work.evidence.accepted if decision.verdict is Verdict.ACCEPTED else None,
    )
    return _with_creep(_with_times(_with_subject(record, work), work), work)


def _comparisons(evidence: Evidence) -> tuple[Comparison, ...]:
    of_parent = evidence.parent.comparisons if evidence.parent is not None else ()
    found = (evidence.comparison, *of_parent, evidence.replaced, evidence.own)
    return tuple(comparison for comparison in found if comparison is not None)


def _parent_case(work: Work) -> ParentCase | None:
    parent = work.evidence.parent
    return None if parent is None else ParentCase(parent.state, parent.sentence, work.limits)


def count_workgroups(work: Work, facts: DeviceFacts, target: Target | None) -> None:
    """Count what the plan launches, which needs no device, and note whether this one can run it."""
    if work.subject is None:
        return
    judged = target_facts(facts, target)
    work.evidence = msgspec.structs.replace(
        work.evidence,
        fills=judge.fills_of(work.subject.judged_plan, judged.compute_units, judged.warp_size),
        device=judged.name if target is None else judged.architecture,
        cannot_run=work.subject.code.cannot_run,
    )


def is_identical(subject: Subject | PlannedCase, accepted: BaselineCase | PlannedCase) -> bool:
    """Whether instructions, plan, and the inputs' shapes and types equal the accepted ones, or another commit's."""
    return (
        subject.instruction_digests == accepted.instruction_digests
        and subject.plan.digest == accepted.plan.digest
        and subject.buffers == accepted.buffers
    )


def obstacle_to_replay(subject: Subject, accepted: BaselineCase, settings: CaseSettings) -> str:
    """Say why the accepted binary cannot be measured beside the head; empty when it can."""
    if problem := plan_problem(accepted.plan, accepted.buffers):
        return f"its baseline's plan cannot be run ({problem})"
    missing = [spec.name for spec in accepted.buffers if spec not in subject.buffers]
    if missing:
        return f"its accepted plan needs buffer {missing[0]} in the shape and type that it had"
    if accepted.mode != settings.mode and not fell_back(accepted, settings):
        return f"its baseline was taken in {accepted.mode} mode, and modes are never compared"
    if accepted.cache_state != settings.cache:
        return f"its baseline was taken with {accepted.cache_state} caches, and cache states are never compared"
    return ""


def fell_back(accepted: BaselineCase, settings: CaseSettings) -> bool:
    """Whether the baseline is queued where a graph is wanted: so is a plan stored that cannot be captured."""
    return settings.mode == "graph" and accepted.mode == "queued"


def starved_expected(spec: CaseSpec) -> str:
    """Return why the case is expected to be starved; empty where it is not."""
    expected = spec.doing.expect_starved if isinstance(spec.doing, Variant) else None
    return (expected or {}).get(spec.tokens, "")


def failure_kind(error: KernelperfError) -> Literal["crashed", "hung", "failed"]:
    """Return which verdict an error is."""
    if isinstance(error, WorkerCrashed):
        return "crashed"
    return "hung" if isinstance(error, WorkerHung) else "failed"


def _within(root: Path, file: Path) -> str:
    """Return a file as the project names it: a path of somebody's own disk is nobody else's business."""
    resolved = root.resolve()
    return file.relative_to(resolved).as_posix() if file.is_relative_to(resolved) else ""


def _launches_changed(work: Work) -> tuple[str, ...]:
    """Say which launches are not as they were accepted."""
    if work.subject is None or work.accepted is None:
        return ()
    return launches_changed(work.accepted.plan, work.subject.plan)


def _resources_changed(work: Work) -> tuple[str, ...]:
    """Say what the kernels use more or less of than the accepted ones: often why a time has changed."""
    if work.subject is None or work.accepted is None:
        return ()
    return reason.resources_changed(work.accepted.resources, work.subject.resources)


def _with_subject(record: Record, work: Work) -> Record:
    """Add what ran, and what it moves."""
    if work.subject is None:
        return record
    subject = work.subject
    return msgspec.structs.replace(
        record,
        plan=subject.plan,
        plan_digest=subject.plan.digest,
        buffers=subject.buffers,
        inputs_digest=subject.inputs.digest,
        source_digest=subject.bundle.digest,
        object_digest=subject.code.digest,
        instruction_digests=subject.instruction_digests,
        resources=subject.resources,
        moved_bytes=subject.moved_bytes,
        operations=subject.operations,
    )


def _with_times(record: Record, work: Work) -> Record:
    """Add what was measured; a case that was not timed shows the time it was accepted with."""
    if work.taken is not None and work.taken.measurements:
        measured: tuple[Measurement, ...] = tuple(work.taken.measurements)
        fallbacks = [m.fallback for m in measured if m.fallback]
        return msgspec.structs.replace(
            record,
            mode=measured[0].mode,
            # The samples of a case that is not measured are kept, but no figure is made of them.
            time_us=None if record.decision.verdict is Verdict.INVALID else middle_time_us(measured, "head"),
            host_us=None if record.decision.verdict is Verdict.INVALID else _middle_host_us(measured),
            measurements=measured,
            notes=(*record.notes, *fallbacks[:1]),
        )
    if work.accepted is not None and not record.decision.fails:
        return msgspec.structs.replace(
            record, mode=work.accepted.mode, time_us=work.accepted.time_us, time_is_stored=True
        )
    return record


def _with_creep(record: Record, work: Work) -> Record:
    """Add what the case's accepted steps add up to, and say so where it is more than its budget."""
    if work.accepted is None:
        return record
    verdict = record.decision.verdict
    stores = verdict is Verdict.IMPROVED and work.evidence.update_reason is not None
    counts = stores or verdict in (Verdict.REGRESSED, Verdict.ACCEPTED)
    creep = creep_of(work.accepted, work.settings.creep, accepted_ratio(record) if counts else None)
    if creep is None or not creep.exceeded:
        return msgspec.structs.replace(record, creep=creep)
    if verdict is not Verdict.REGRESSED:
        return msgspec.structs.replace(record, creep=creep, notes=(*record.notes, f"creep: {reason.creep(creep)}"))
    if len(creep.steps) == 1:  # the change itself, of which all is said
        return msgspec.structs.replace(record, creep=creep)
    said = f"{record.decision.reason}; accepting it would make the case {reason.creep(creep)}"
    return msgspec.structs.replace(record, creep=creep, decision=msgspec.structs.replace(record.decision, reason=said))


def _middle_host_us(measurements: tuple[Measurement, ...]) -> float | None:
    values = [s.host_us for m in measurements for s in m.samples if s.arm == "head"]
    return float(np.median(values)) if values else None
