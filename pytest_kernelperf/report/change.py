"""The cases of a run in the order in which a reviewer reads them, and what is said of each in a few words."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pytest_kernelperf import units
from pytest_kernelperf.model import Comparison, Frozen, Record, Run, Verdict
from pytest_kernelperf.report.view import fills_text, limit_text

AGAINST_BY_CODE = {"slower_than_parent": "parent", "creep": "baseline", "slower_than_own_baseline": "own",
                   "own_baseline": "own", "slower_than_replaced": "replaced"}  # fmt: skip
"""Whose time a verdict rests on where it is not the baseline's alone, by the verdict's code."""

AGAINST = {"parent": "the parent", "own": "the edited baseline", "replaced": "the replaced variant"}

MAIN_CREEP, CREEP, UNTIMED = "main_creep", "creep", "untimed"


class Group(Frozen, frozen=True):
    """Cases that one thing is to be done about.

    ``sign`` and ``verb`` open the comment (``❌ Slows 2 of 24``), ``word`` stands in the table. ``folded``: nothing is
    to be done, so that they are counted and shown on demand.
    """

    name: str
    sign: str
    verb: str
    word: str
    folded: bool = False


BREAKS = Group("breaks", "❌", "Breaks", "wrong or broken")
STARVES = Group("starves", "❌", "Starves", "starved")
SLOWS = Group("slows", "❌", "Slows", "slower")
CREEPS = Group("creeps", "❌", "Adds to the creep of", "creep")
YARDSTICK = Group("yardstick", "❌", "Edits a baseline wrongly in", "own baseline")
STALE = Group("stale", "❌", "Still no baseline for", "new for too long")
UNNOTICED = Group("unnoticed", "❌", "Tests would not notice", "unnoticed")
UNMEASURED = Group("unmeasured", "⚠️", "Not measured", "not measured")
OPEN = Group("open", "⚠️", "Undecided", "undecided")
ACCEPTED = Group("accepted", "☑️", "Accepted as slower", "accepted")
FASTER = Group("faster", "✅", "Speeds up", "faster")
NEW = Group("new", "🆕", "New, without a baseline,", "new")
MAIN = Group("main", "⚠️", "Slower on main already, not by this change,", "main's creep")
WELL = Group("well", "✅", "Unchanged", "unchanged", folded=True)
WITHOUT_TIME = Group("untimed", "✅", "Right and not starved", "not timed", folded=True)

GROUPS = (BREAKS, STARVES, SLOWS, CREEPS, YARDSTICK, STALE, UNNOTICED, UNMEASURED, OPEN, ACCEPTED, FASTER, NEW, MAIN,
          WELL, WITHOUT_TIME)  # fmt: skip
"""Worst first."""

_BY_VERDICT = {
    Verdict.STARVED: STARVES, Verdict.REGRESSED: SLOWS, Verdict.SLOWER_THAN_REPLACED: SLOWS,
    Verdict.UNNOTICED: UNNOTICED, Verdict.INVALID: UNMEASURED, Verdict.UNDECIDED: OPEN, Verdict.ACCEPTED: ACCEPTED,
    Verdict.IMPROVED: FASTER, Verdict.NEW: NEW, Verdict.UNCHANGED: WELL, Verdict.IDENTICAL: WELL,
    Verdict.SKIPPED: WELL, Verdict.CAUGHT: WELL,
}  # fmt: skip


def group_of(record: Record) -> Group:
    """Return the group of a case."""
    decision = record.decision
    if decision.code in ("own_baseline", "slower_than_own_baseline"):
        return YARDSTICK
    if decision.code == CREEP and decision.fails:
        return CREEPS
    if decision.code == MAIN_CREEP:
        return MAIN
    if decision.verdict is Verdict.NEW:
        return WITHOUT_TIME if decision.code == UNTIMED else STALE if decision.fails else NEW
    group = _BY_VERDICT.get(decision.verdict, BREAKS)
    return BREAKS if group.folded and decision.fails else group


def in_order(records: Iterable[Record]) -> list[tuple[Group, Record]]:
    """Return cases with their groups, worst group and largest change first, then by name."""
    found = [(group_of(record), record) for record in records]
    return sorted(found, key=lambda one: (GROUPS.index(one[0]), -slowdown(one[1]), one[1].case))


def slowdown(record: Record) -> float:
    """Return how much slower a case is, 1.0 where that is not known."""
    comparison = deciding(record)
    ratio = comparison.change_ratio if comparison is not None else 1.0
    return ratio if math.isfinite(ratio) else 1.0


def deciding(record: Record) -> Comparison | None:
    """Return the comparison that a case's verdict rests on; else the one that shows most of it."""
    wanted = AGAINST_BY_CODE.get(record.decision.code, "baseline")
    pairs = (("head", wanted), ("head", "baseline"), ("head", "parent"), ("parent", "baseline"))
    found = {(one.arm, one.against): one for one in reversed(record.comparisons)}
    if record.decision.code == MAIN_CREEP:
        pairs = (pairs[-1], *pairs[:-1])
    return next((found[pair] for pair in pairs if pair in found), None)


def times_text(record: Record) -> str:
    """``2.21 → 2.26 us``; the one time that there is; empty where there is none."""
    comparison = deciding(record)
    if comparison is not None:
        cold = " cold" if record.cache == "cold" else ""
        return f"{units.format_us(comparison.against_us)} → {units.format_us(comparison.time_us)} us{cold}"
    return "" if record.time_us is None else f"{units.format_us(record.time_us)} us"


def found_text(record: Record) -> str:
    """``2.21 → 2.26 us (+2.3 %, 5 of 5 processes); VGPRs 32 → 64``."""
    comparison = deciding(record)
    said = times_text(record)
    if comparison is not None:
        votes = max(comparison.slower, comparison.faster)
        processes = units.format_counted(comparison.processes, "process", "processes")
        against = f" against {AGAINST[comparison.against]}" if comparison.against in AGAINST else ""
        agreed = f", {votes} of {processes}" if votes else ""
        said += f" ({units.format_change(comparison.change_ratio)}{against}{agreed})"
    resources = resources_text(record)
    return "; ".join(filter(None, (said, resources)))


def resources_text(record: Record) -> str:
    """What a case's kernels use now and did not: ``VGPRs 32 → 64``; with the kernel's name where there are several."""
    found = [sentence.removesuffix(" (accepted → now)") for sentence in record.resources_changed]
    return (
        "; ".join(found) if len(found) > 1 else "".join(sentence.partition(": ")[2] or sentence for sentence in found)
    )


def change_text(record: Record) -> str:
    """``+2.3 % (+2.1 to +2.4 %)``, and against what where not the baseline."""
    comparison = deciding(record)
    if comparison is None:
        return ""
    interval = units.format_interval(comparison.low_ratio, comparison.high_ratio)
    against = f" against {AGAINST[comparison.against]}" if comparison.against in AGAINST else ""
    return f"{units.format_change(comparison.change_ratio)} ({interval}){against}"


def cells(group: Group, record: Record) -> tuple[str, ...]:
    """Return the cells of a case, in the order of ``COLUMNS``."""
    fills = fills_text(record.fills)
    limit = limit_text(deciding(record))
    return (
        record.case.kernel,
        record.case.variant,
        units.format_count(record.case.tokens),
        times_text(record),
        change_text(record),
        "" if limit == units.MISSING else limit,
        "" if fills == units.MISSING else fills,
        resources_text(record),
        f"{group.sign} {record.decision.verdict.value if group in (BREAKS, WELL) else group.word}",
    )


COLUMNS = ("kernel", "variant", "tokens", "before → now", "change", "would catch", "workgroups / CUs", "resources",
           "verdict")  # fmt: skip
"""``would catch``: the smallest slowdown that the samples would have shown, where they show no change."""

RIGHT = frozenset({"tokens"})
FIRST_FIGURE = COLUMNS.index("tokens")


def cases_of(run: Run) -> list[Record]:
    """Return the cases that count: mutations show whether the tests see, and are told of where they do not."""
    return [record for record in run.records if not record.mutation_of]
