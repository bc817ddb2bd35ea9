"""The first line of a comment, on which a human can act: what the change does, to how many cases, the worst of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_kernelperf import units
from pytest_kernelperf.model import Record, Run
from pytest_kernelperf.report.change import (
    ACCEPTED,
    BREAKS,
    FASTER,
    GROUPS,
    MAIN,
    NEW,
    OPEN,
    STALE,
    STARVES,
    UNMEASURED,
    UNNOTICED,
    WELL,
    WITHOUT_TIME,
    YARDSTICK,
    Group,
    cases_of,
    found_text,
    in_order,
)
from pytest_kernelperf.report.markdown import inert, inert_name
from pytest_kernelperf.report.text import one_line

MOST_NAME, MOST_SENTENCE = 120, 300

_BY_SENTENCE = (BREAKS, STARVES, UNMEASURED, YARDSTICK, STALE, UNNOTICED)
"""Groups whose cases are told by their sentence: there is no time to tell."""

_WORTH_TELLING = (OPEN, ACCEPTED, FASTER, NEW, MAIN)
"""Groups of which the worst, or best, case is told though nothing fails."""

_ALSO = {
    "breaks": "breaks {}", "starves": "starves {}", "slows": "slows {}", "creeps": "adds to the creep of {}",
    "yardstick": "edits {} of the baselines wrongly", "stale": "still no baseline for {}",
    "unnoticed": "tests would not notice {}", "unmeasured": "{} not measured", "open": "{} undecided",
    "accepted": "{} accepted as slower", "faster": "{} faster", "new": "{} new without a baseline",
    "main": "{} slower on main already", "well": "{} unchanged", "untimed": "{} right and not starved, not timed",
}  # fmt: skip


def render_opening(run: Run) -> str:
    """Return the line: ``❌ Slows 1 of 24: fused_column_tiles at 1 token 2.21 → 2.26 us (+2.3 %, 5 of 5 …)``."""
    cases = cases_of(run)
    unnoticed = [record for record in run.records if record.mutation_of and record.decision.fails]
    ordered = in_order([*cases, *unnoticed])
    counts = Counter(group.name for group, _ in ordered)
    failing = [(group, record) for group, record in ordered if record.decision.fails]
    curves = [curve for curve in run.curves if curve.decision.fails]
    if not run.records and not curves:
        return "⚠️ **Nothing was measured**: the run holds no case."
    if failing:
        group = failing[0][0]
        found = units.format_count(sum(1 for one, _ in failing if one is group))
        total = sum(1 for record in run.records if record.mutation_of) if group is UNNOTICED else len(cases)
        noun = (" mutation" if total == 1 else " mutations") if group is UNNOTICED else ""
        opening = f"{group.sign} **{group.verb} {found} of {units.format_count(total)}{noun}**: "
        worst = failing[0][1]
        return opening + told(group, worst, several_kernels(run)) + _also(ordered, group, len(curves))
    if curves:
        curve = curves[0]
        change = units.format_change(curve.change_ratio)
        name = inert_name(f"{curve.kernel} {curve.variant}", MOST_NAME)
        variants = units.format_counted(len(curves), "variant")
        return f"❌ **Slows {variants} over all sizes**: {name} {change} on average{_also(ordered, None, 0)}"
    if counts[WITHOUT_TIME.name] and set(counts) <= {WITHOUT_TIME.name, WELL.name}:
        return f"✅ **{units.format_counted(len(cases), 'case')} right and not starved**; nothing was timed here."
    lead = next(((group, record) for group, record in ordered if group in _WORTH_TELLING), None)
    if lead is None:
        return f"✅ **Nothing slower** in {units.format_counted(len(cases), 'case')}."
    group, record = lead
    count = f"{units.format_count(counts[group.name])} of {units.format_count(len(cases))}"
    opening = f"{group.sign} **{group.verb} {count}**: {told(group, record, several_kernels(run))}"
    return f"{opening}; nothing fails{_also(ordered, group, 0)}"


def told(group: Group, record: Record, kernels: bool) -> str:
    """Return a case with what was found of it, harmless."""
    name = case_name(record, kernels)
    if group in _BY_SENTENCE:
        return f"{name}: {sentence_of(record)}"
    return f"{name} {inert(found_text(record), MOST_SENTENCE)}".rstrip()


def is_told_by_opening(shown: Sequence[tuple[Group, Record]], record: Record) -> bool:
    """Return whether the first line holds all that a case's sentence says.

    Args:
        shown: the cases that are shown, in order.
        record: one of them.
    """
    worst = next(((group, one) for group, one in shown if one.decision.fails), None)
    if worst is None or worst[1] is not record or worst[0] not in _BY_SENTENCE:
        return False
    return sentence_of(record) == sentence_of(record, 2 * MOST_SENTENCE)


def sentence_of(record: Record, most: int = MOST_SENTENCE) -> str:
    """Return a case's reason without its name in front, harmless."""
    reason = one_line(record.decision.reason).removeprefix("not measured: ")
    return inert(reason.removeprefix(str(record.case)).lstrip(":, ") or reason, most)


def case_name(record: Record, kernels: bool) -> str:
    """Return a case's name, harmless: without its kernel where there is only one."""
    case = record.case
    size = units.format_counted(case.tokens, "token")
    kernel = f"{inert_name(case.kernel, MOST_NAME)} " if kernels else ""
    return f"{kernel}{inert_name(case.variant, MOST_NAME)} at {size}"


def several_kernels(run: Run) -> bool:
    """Return whether a case needs its kernel's name to be known."""
    return len({record.case.kernel for record in run.records}) > 1


def _also(ordered: list[tuple[Group, Record]], told_of: Group | None, curves: int) -> str:
    """What else there is to know, by count: all that fails, then what is new, faster or accepted."""
    failing = Counter(group.name for group, record in ordered if record.decision.fails)
    passing = Counter(group.name for group, record in ordered if not record.decision.fails)
    parts = [
        _ALSO[group.name].format(units.format_count(counts[group.name]))
        for counts, others in ((failing, passing), (passing, failing))
        for group in GROUPS
        if counts[group.name] and not (group is told_of and (counts is failing or not others[group.name]))
    ]
    if curves:
        parts.append(f"slows {units.format_counted(curves, 'variant')} over all sizes")
    return f". Also: {', '.join(parts)}." if parts else ""
