"""Whose slowdown it is: the change's, or that of the commit that it is merged into (its parent)."""

from __future__ import annotations

from pytest_kernelperf import cause, reason
from pytest_kernelperf.model import Comparison, Decision, Frozen, ParentState, Verdict
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.cycles import is_clocks_doing

PARENT = "the parent's code"
SLOWER_THAN_PARENT = "slower_than_parent"
CREEP = "creep"
MAIN_CREEP = "main_creep"
IDENTICAL_TO_PARENT = "identical_to_parent"
NEW_BESIDE_PARENT = "new_beside_parent"


class Parentage(Frozen, frozen=True):
    """What the parent's code of a case is to the code under test.

    Attributes:
        state: in a word; ``timed``: it is another code, and has an arm of its own.
        sentence: in a sentence.
        comparison: head against parent.
        at_all: the same samples asked whether head is slower by any amount; only where it is slower than the baseline.
        of_parent: parent against the baseline; it decides only whose a slowdown is.
        replaced_is_parents: the variant that head replaces is the parent's code too, or it replaces none.
    """

    state: ParentState
    sentence: str
    comparison: Comparison | None = None
    at_all: Comparison | None = None
    of_parent: Comparison | None = None
    replaced_is_parents: bool = True

    @property
    def is_same(self) -> bool:
        """Whether head is the parent's very code: the change did nothing to it."""
        return self.state == "identical"

    @property
    def is_beside(self) -> bool:
        """Whether head is held against the parent's code."""
        return self.state == "timed"

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """What belongs into the record."""
        return tuple(one for one in (self.comparison, self.of_parent) if one is not None)


def decide_slower(parent: Parentage, dwell_s: float) -> Decision | None:
    """Blame the change where it is slower than its parent beyond the tolerance; None where that is not shown."""
    found = parent.comparison
    if found is None or find(found) is not Finding.SLOWER:
        return None
    if is_clocks_doing(found) and not dwell_s:
        return Decision(Verdict.INVALID, True, "clock", cause.clock(found, PARENT))
    return Decision(Verdict.REGRESSED, True, SLOWER_THAN_PARENT, reason.slower(found, PARENT))


def is_mains(parent: Parentage) -> bool:
    """Whether a case that is slower than its baseline, and not shown slower than its parent, was so before.

    Code of equal speed is not to be judged by the sign of noise: a change that is not shown slower at all is blamed
    only where the parent itself is not shown slower than the baseline, so that somebody must have slowed it.
    """
    if parent.is_same:
        return True
    if not parent.is_beside or parent.comparison is None:
        return False
    at_all = find(parent.at_all) if parent.at_all is not None else Finding.OPEN
    if at_all is Finding.SLOWER:
        return False
    return at_all is not Finding.OPEN or (parent.of_parent is not None and find(parent.of_parent) is Finding.SLOWER)


def decide_creep(parent: Parentage, baseline: Comparison) -> Decision:
    """Blame a change that adds less than the tolerance to what is beyond it already, or about to be."""
    assert parent.comparison is not None
    said = reason.slower(baseline, "the baseline")
    step = reason.changed(parent.comparison, PARENT)
    sentence = f"{said}; creep: {step}, which is within the tolerance by itself but not on top of what went before"
    return Decision(Verdict.REGRESSED, True, CREEP, sentence)


def decide_mains(parent: Parentage, found: str) -> Decision:
    """Pass a case whose slowdown was there before the change; ``found`` says how slow it is."""
    if parent.is_same:
        sentence = f"not this change: instructions, launch plan and inputs are the parent's; main is slow: {found}"
        return Decision(Verdict.IDENTICAL, False, MAIN_CREEP, sentence)
    step = reason.changed(parent.comparison, PARENT) if parent.comparison is not None else PARENT
    return Decision(Verdict.UNCHANGED, False, MAIN_CREEP, f"not this change ({step}); main is slow: {found}")


def excuse(found: Decision) -> Decision:
    """Pass what could not be shown of code that the change did not touch; what was found stays said."""
    sentence = f"instructions, launch plan and inputs are the parent's, so this change is not to blame ({found.reason})"
    return Decision(Verdict.IDENTICAL, False, IDENTICAL_TO_PARENT, sentence)


def decide_open(parent: Parentage) -> Decision | None:
    """Say that a slowdown against the parent is not ruled out; it fails unless twice the tolerance is."""
    if not parent.is_beside:
        return None
    found = parent.comparison
    if found is None:
        return Decision(Verdict.UNDECIDED, True, "not_compared_with_parent", reason.NOT_COMPARED_WITH_PARENT)
    if find(found) is not Finding.OPEN:
        return None
    bounded = reason.is_bounded(found)
    sentence = reason.undecided(found, "open_beside_parent", bounded, against=PARENT)
    return Decision(Verdict.UNDECIDED, not bounded, "open_beside_parent", sentence)


def decide_new(parent: Parentage) -> Decision:
    """Pass a case that has no baseline and is not slower than the parent's code of it."""
    assert parent.comparison is not None
    sentence = f"{reason.changed(parent.comparison, PARENT)}; {reason.NEW}"
    return Decision(Verdict.NEW, False, NEW_BESIDE_PARENT, sentence)


def decide_baselines(parent: Parentage) -> Decision:
    """Pass a case that is its baseline's code, and not slower than the parent's, which is another."""
    assert parent.comparison is not None
    sentence = f"{reason.IDENTICAL_CODE}; {reason.changed(parent.comparison, PARENT)}, which is another code"
    return Decision(Verdict.IDENTICAL, False, "identical", sentence)


def notes_of(parent: Parentage, *, has_baseline: bool) -> tuple[str, ...]:
    """What a reader should know of the parent beside the verdict."""
    if parent.state == "unplayable" or (parent.state == "absent" and has_baseline):
        return (f"not held against the parent: {parent.sentence}",)
    return ()
