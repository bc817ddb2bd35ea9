"""What stands beside a comment's table: what was not measured, what is new, the yardstick's changes, the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from pytest_kernelperf import units
from pytest_kernelperf.model import BaselineEdit, CaseId, Creep, Record, Run
from pytest_kernelperf.report.change import NEW, UNMEASURED, Group
from pytest_kernelperf.report.markdown import code, inert, inert_name
from pytest_kernelperf.report.opening import MOST_NAME, case_name, sentence_of
from pytest_kernelperf.report.view import view_of

MOST_NAMES, MOST_LINES, MOST_FACT = 5, 20, 300

NOT_SET = "None"
"""A setting that its default stands for."""


def not_shown_lines(shown: Sequence[tuple[Group, Record]], kernels: bool) -> Iterator[str]:
    """Yield who could not be measured and who has nothing to be compared with, a line each."""
    unmeasured = [record for group, record in shown if group is UNMEASURED]
    if unmeasured:
        names = _names(case_name(record, kernels) for record in unmeasured)
        yield f"- ⚠️ **Not measured** ({units.format_count(len(unmeasured))}): {names}: {sentence_of(unmeasured[0])}"
    new = [record for group, record in shown if group is NEW]
    if new:
        names = _names(case_name(record, kernels) for record in new)
        yield (
            f"- 🆕 **New, without a baseline** ({units.format_count(len(new))}): {names}. Nothing guards "
            f"{'it' if len(new) == 1 else 'them'} until a baseline is stored, which is proposed after the merge."
        )


def blame_lines(run: Run, commit: str) -> Iterator[str]:
    """Yield what a reviewer should know of the yardstick: edited, renamed, gone, accepted, what will be proposed."""
    if run.commit and commit and run.commit != commit:
        yield f"- ⚠️ The run file says that it measured {code(run.commit, 40)}, not this commit."
    if run.scripted_clock:
        yield "- ⚠️ **Nothing was timed**: the times come from a clock script, which is for tests."
    renamed = [record for record in run.records if record.renamed_from is not None]
    yield from _listed(
        [f"{_case(r.case)} was {_case(r.renamed_from)}" for r in renamed if r.renamed_from is not None],
        "🔤 **Renamed**, held against the old name's baseline",
    )
    yield from _listed(
        [
            f"{_case(r.case)} by {inert(r.accepted.by, MOST_NAME)}: {inert(r.accepted.reason, MOST_FACT)}"
            for r in run.records
            if r.accepted is not None
        ],
        "☑️ **Accepted as slower**, for this commit alone",
    )
    yield from _listed(
        [
            f"{_case(r.case)}: {_creep(r.creep)}"
            for r in run.records
            # A change that is the only step is told by its own row.
            if r.creep is not None and r.creep.exceeded and _accepted_steps(r.creep)
        ],
        "🐌 **Accepted steps add up**",
    )
    yield from _listed(
        _limits(run, "parent"),
        "📐 **This change states other limits**; it was judged by those of what it is merged into",
    )
    yield from _listed(_limits(run, "here"), "📐 **Limits that this change states itself**, and that it was judged by")
    blame = run.blame
    if blame is None:
        return
    yield from _listed(
        [_edit(edit) for edit in blame.edits], "📏 **This change edits baselines**; it was not judged by them"
    )
    yield from _listed(
        [_case(case) for case in blame.vanished], "🗑️ **No test has any more** what a baseline, or the parent, has"
    )
    if blame.acceptance is not None and blame.acceptance.refused:
        yield f"- ⚠️ **The acceptance has no effect**: {inert(blame.acceptance.refused, MOST_FACT)}"
    yield from _listed([inert(one, MOST_FACT) for one in blame.parent_problems], "⚠️ **Not compared with the parent**")
    yield from _listed(
        [f"{_case(one.case)} ({one.why}){_times(one.old_us, one.new_us, ': ')}" for one in blame.proposals],
        "📌 **Baselines to be proposed** after the merge",
    )


def environment_lines(run: Run) -> Iterator[str]:
    """Yield what it was measured on, a fact a line."""
    yield f"- {inert(view_of(msgspec.structs.replace(run, records=(), curves=())).device, MOST_FACT)}"
    device = run.device
    power = f"{units.format_number(device.power_limit_w)} W" if device.power_limit_w is not None else ""
    known = [
        ("HIP", device.hip_version), ("driver", device.driver), ("compiler", device.compiler),
        ("firmware", device.firmware), ("clocks", device.clock_policy), ("power limit", power),
    ]  # fmt: skip
    told = {text for _, text in known}
    facts = [
        *known,
        *((name, text) for name, text in sorted(run.environment.items()) if text not in told),
        *((f"setting {name}", text) for name, text in sorted(run.settings.items()) if text != NOT_SET),
    ]
    yield from (f"- {inert(name, MOST_NAME)}: {inert(text, MOST_FACT)}" for name, text in facts if text)
    if run.drift is not None and not run.drift.moved and not run.drift.reason:
        yield f"- the machine: {units.describe_change(run.drift.change_ratio)} than when the baselines were stored"


def _limits(run: Run, judged_by: str) -> list[str]:
    """Say which limits differ from the parent's, each with the number of its cases."""
    counts = Counter(
        (one.name, one.parent, one.here)
        for record in run.records
        if record.parent is not None
        for one in record.parent.limits
        if one.judged_by == judged_by
    )
    return [
        f"{inert(name, MOST_NAME)} {inert(parent, MOST_NAME)} → {inert(here, MOST_NAME)} "
        f"({units.format_counted(count, 'case')})"
        for (name, parent, here), count in counts.items()
    ]


def _accepted_steps(creep: Creep) -> int:
    return sum(1 for step in creep.steps if step.day)


def _creep(creep: Creep) -> str:
    """What the accepted steps add up to, and whether this change is counted with them."""
    accepted = _accepted_steps(creep)
    steps = units.format_counted(accepted, "accepted step")
    own = " and this change" if accepted < len(creep.steps) else ""
    allowed = units.format_tolerance(creep.allowed_ratio)
    change = units.describe_change(creep.change_ratio)
    return f"{change} since {inert(creep.since, 40)}, in {steps}{own}, where {allowed} are allowed"


def _edit(edit: BaselineEdit) -> str:
    code_is = {True: ", holds this very code", False: ", holds other code than this", None: ""}[edit.same_code]
    reason = f": {inert(edit.reason, MOST_FACT)}" if edit.reason else ""
    where = f"{edit.kind} in {inert(edit.file, MOST_NAME)}"
    return f"{_case(edit.case)} {where}{_times(edit.old_us, edit.new_us, ', ')}{code_is}{reason}"


def _times(old_us: float | None, new_us: float | None, before: str) -> str:
    """``2.21 → 2.40 us`` behind ``before``; the one time that there is, or nothing."""
    known = [units.format_us(us) for us in (old_us, new_us) if us is not None]
    return f"{before}{' → '.join(known)} us" if known else ""


def _case(case: CaseId) -> str:
    name = f"{inert_name(case.kernel, MOST_NAME)} {inert_name(case.variant, MOST_NAME)}"
    return f"{name} at {units.format_counted(case.tokens, 'token')}"


def _listed(items: Sequence[str], title: str) -> Iterator[str]:
    """A title with its count; its items below it, the first of many."""
    if not items:
        return
    count = f" ({units.format_count(len(items))})" if len(items) > 1 else ""
    if len(items) == 1:
        yield f"- {title}: {items[0]}"
        return
    shown = [f"  - {item}" for item in items[:MOST_LINES]]
    more = [f"  - … {units.format_count(len(items) - MOST_LINES)} more"] if len(items) > MOST_LINES else []
    yield "\n".join([f"- {title}{count}:", *shown, *more])


def _names(names: Iterator[str]) -> str:
    found = list(names)
    more = f" and {units.format_count(len(found) - MOST_NAMES)} more" if len(found) > MOST_NAMES else ""
    return ", ".join(found[:MOST_NAMES]) + more
