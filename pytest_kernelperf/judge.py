"""The one function that decides: numbers in, a verdict with its reason out. No clock, no disk, no device.

The order is fixed: crashed, hung, failed -> wrong -> starved -> skipped -> traced -> identical -> contended, spoiled ->
the clock's doing -> the interleaved test -> slower than the variant it replaces -> new, improved, unchanged, undecided.
What cannot be decided fails closed, except where the upper bound of a change is under twice the tolerance.
"""

from __future__ import annotations

import math
from typing import Literal

from pytest_kernelperf import cause, parentage, reason
from pytest_kernelperf.model import (
    Accepted,
    CaseId,
    Comparison,
    Decision,
    Frozen,
    InvalidCode,
    LaunchFill,
    Mismatch,
    Noise,
    Plan,
    StoredComparison,
    Verdict,
)
from pytest_kernelperf.parentage import Parentage
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.cycles import is_clocks_doing

TRIES = 3
"""A contended measurement is retried twice."""

LOOKS = 2
"""A process's samples are looked at twice at most; the error that it is allowed is split over both looks."""

_VERDICTS = {
    Finding.SLOWER: Verdict.REGRESSED,
    Finding.FASTER: Verdict.IMPROVED,
    Finding.UNCHANGED: Verdict.UNCHANGED,
    Finding.OPEN: Verdict.UNDECIDED,
}

_ACCEPTABLE = (Verdict.REGRESSED, Verdict.SLOWER_THAN_REPLACED, Verdict.UNDECIDED)
"""What a reason, or a maintainer, turns into ``accepted``; new and improved cases are stored as what they are."""


class Failure(Frozen, frozen=True):
    """A worker that died, overran its time, or answered with an error; ``sentence`` is meant for the user."""

    kind: Literal["crashed", "hung", "failed"]
    sentence: str


class Evidence(Frozen, frozen=True):
    """All that is known of a case when it is judged; what is not known yet is left out.

    Attributes:
        case: the case.
        failure: what kept a worker from answering.
        mutation_of: the variant that this case breaks on purpose; empty for a variant.
        cannot_run: why this device cannot run the case's code; empty where it can.
        mismatch: where outputs differ from the reference.
        fills: how full each launch makes the device.
        device: whose compute units ``fills`` were counted against (``gfx1151``).
        starved_expected: why the case is expected to be starved; empty where it is not.
        for_target: ``fills`` were counted for the target that the project names, not for the device at hand.
        profilers: profilers found loaded or asked for in the environment.
        identical: instructions, plan and inputs equal the baseline's, and nothing else asks for a measurement.
        is_baselines: they equal the baseline's, and head is timed beside the parent's code alone.
        contended_by: who used the device in the last measurement.
        spoiled: why the last measurement's samples must not be used (outputs that were finite and are not any more, a
            timer that gave no times); ``spoiled_code`` says which it is.
        noise: what was found in the measurements that is not the code, with the process it was found in.
        dwell_s: how long each arm ran before each of its samples; with 0 no arm shows what power it draws.
        tries: measurements begun, the contended ones among them.
        looks: measurements that the comparison rests on.
        has_baseline: a baseline of this case is stored for this device.
        time_us: head's time per round, None where it was not timed.
        comparison: head against the baseline.
        replaced: head against the variant it replaces.
        replaced_variant: that variant's name.
        toolchain: the accepted source compiled today, against the accepted binary.
        toolchain_change: how today's toolchain differs from the one that it was accepted with; empty where it does not.
        toolchain_is_head: the accepted source compiled today gives the very instructions under test.
        stored: today's times, the accepted binary's where it was replayed, against those stored with it.
        unplayable: why the accepted binary does not run here any more; empty where it does.
        update_reason: None: baselines are not updated; else the reason given, which may be empty.
        untimed: nothing is to be timed in this run.
        new_since: the day since when a case without baseline is declared; empty where nobody asked.
        new_for_too_long: that is longer ago than it may be.
        own_differs: the project's own entry was edited, and holds another code than head's.
        own: head against that entry's code; None where it was not measured.
        own_problem: why it could not be.
        accepted: a maintainer's acceptance of this commit's slowdown, where there is one for the case.
        parent: what the parent's code of the case is to this one; None where no parent was given.
    """

    case: CaseId
    failure: Failure | None = None
    mutation_of: str = ""
    cannot_run: str = ""
    mismatch: Mismatch | None = None
    fills: tuple[LaunchFill, ...] = ()
    device: str = ""
    starved_expected: str = ""
    for_target: bool = False
    profilers: tuple[str, ...] = ()
    identical: bool = False
    contended_by: str = ""
    spoiled: str = ""
    spoiled_code: InvalidCode = ""
    noise: tuple[tuple[int, Noise], ...] = ()
    dwell_s: float = 0.0
    tries: int = 1
    looks: int = 1
    has_baseline: bool = False
    time_us: float | None = None
    comparison: Comparison | None = None
    replaced: Comparison | None = None
    replaced_variant: str = ""
    toolchain: Comparison | None = None
    toolchain_change: str = ""
    toolchain_is_head: bool = False
    stored: StoredComparison | None = None
    unplayable: str = ""
    update_reason: str | None = None
    untimed: bool = False
    accepted: Accepted | None = None
    new_since: str = ""
    new_for_too_long: bool = False
    own_differs: bool = False
    own: Comparison | None = None
    own_problem: str = ""
    is_baselines: bool = False
    parent: Parentage | None = None


SLOWER_THAN_OWN = "slower_than_own_baseline"
"""A slowdown may be accepted; a baseline that says what the code does not do may not."""


def decide(evidence: Evidence) -> Decision:
    """Judge a case from what is known of it."""
    decision = _decide_before_timing(evidence) or _decide_from_timing(evidence)
    if evidence.update_reason and decision.verdict in _ACCEPTABLE:
        sentence = f"accepted: {evidence.update_reason} ({decision.reason})"
        return Decision(Verdict.ACCEPTED, False, decision.code, sentence)
    if evidence.new_for_too_long and decision.verdict is Verdict.NEW:
        return Decision(Verdict.NEW, True, "new_too_long", reason.new_too_long(evidence.new_since))
    if evidence.accepted is None or decision.code == SLOWER_THAN_OWN:
        return decision
    if decision.verdict in _ACCEPTABLE and decision.fails:
        return Decision(Verdict.ACCEPTED, False, decision.code, reason.accepted(evidence.accepted, decision.reason))
    return decision


def needs_timing(evidence: Evidence) -> bool:
    """Whether the case still has to be timed, asked once it has been run and counted."""
    return _decide_before_timing(evidence) is None


def notes_of(evidence: Evidence) -> tuple[str, ...]:
    """What a reader should know beside the verdict, one sentence each."""
    notes: list[str] = []
    if evidence.parent is not None:
        notes.extend(parentage.notes_of(evidence.parent, has_baseline=evidence.has_baseline))
    starved = any(fill.starved for fill in evidence.fills)
    # A device with few compute units is easily filled; that an expectation is out of date shows on the target alone.
    if evidence.failure is None and evidence.starved_expected and evidence.fills and (starved or evidence.for_target):
        notes.append(reason.expected_starvation(evidence.fills, evidence.device, evidence.starved_expected))
    if evidence.contended_by and not evidence.has_baseline and evidence.update_reason is None:
        notes.append(f"not timed, since the device is busy ({evidence.contended_by})")
    if evidence.replaced is not None and not is_slower(evidence.replaced):
        notes.append(reason.beside_replaced(evidence.replaced, evidence.replaced_variant))
    if evidence.toolchain_change and not evidence.toolchain_is_head:
        notes.append(cause.toolchain(evidence.toolchain, evidence.toolchain_change))
    notes.extend(cause.noise(evidence.noise))
    if evidence.stored is not None and evidence.stored.gated:
        notes.append(reason.stored(evidence.stored))
    if evidence.update_reason == "" and evidence.comparison is not None and is_slower(evidence.comparison):
        notes.append("not stored: a slower baseline needs a reason, --update-baselines=REASON")
    return tuple(notes)


def is_slower(comparison: Comparison) -> bool:
    """Whether the processes agree that it is slower."""
    return find(comparison) is Finding.SLOWER


def verdict_of(comparison: Comparison) -> Verdict:
    """What a comparison alone says: regressed, improved, unchanged or undecided."""
    return _VERDICTS[find(comparison)]


def fills_of(plan: Plan, compute_units: int, warp_size: int) -> tuple[LaunchFill, ...]:
    """Count each launch's workgroups against the device's compute units, or its own floor where it states one.

    A stated floor replaces the compute units whichever is larger: it is what the author knows of the launch.
    ``waves`` are those of the whole launch, a part-filled wave counted as one.
    """
    return tuple(
        LaunchFill(
            kernel=launch.kernel,
            workgroups=launch.workgroups,
            threshold=launch.floor.workgroups if launch.floor is not None else compute_units,
            compute_units=compute_units,
            waves=launch.workgroups * -(-math.prod(launch.block) // warp_size),
            floor=launch.floor,
        )
        for launch in plan.launches
    )


def _decide_before_timing(evidence: Evidence) -> Decision | None:
    """Decide from all that comes before a measurement; None where only timing can tell."""
    if evidence.failure is not None:
        return Decision(Verdict(evidence.failure.kind), True, evidence.failure.kind, evidence.failure.sentence)
    if evidence.mutation_of:
        return _skipped(evidence) if evidence.cannot_run else _decide_mutation(evidence)
    if evidence.mismatch is not None:
        return Decision(Verdict.WRONG, True, "mismatch", reason.mismatch(evidence.mismatch))
    if not evidence.starved_expected and any(fill.starved for fill in evidence.fills):
        return Decision(Verdict.STARVED, True, "too_few_workgroups", reason.starved(evidence.fills, evidence.device))
    if evidence.cannot_run:
        return _skipped(evidence)
    if evidence.profilers:
        return Decision(Verdict.INVALID, True, "traced", reason.traced(evidence.profilers))
    if evidence.identical:
        return Decision(Verdict.IDENTICAL, False, "identical", reason.IDENTICAL)
    if evidence.untimed:
        return Decision(Verdict.NEW, False, "untimed", reason.UNTIMED)
    return None


def _skipped(evidence: Evidence) -> Decision:
    """What runs elsewhere passes here, and says so; its plan has been judged by now."""
    return Decision(Verdict.SKIPPED, False, "needs_architecture", evidence.cannot_run)


def _decide_mutation(evidence: Evidence) -> Decision:
    if evidence.mismatch is None:
        return Decision(Verdict.UNNOTICED, True, "unnoticed", reason.unnoticed(evidence.mutation_of))
    return Decision(Verdict.CAUGHT, False, "caught", reason.mismatch(evidence.mismatch))


def _decide_from_timing(evidence: Evidence) -> Decision:
    """Decide, with what cannot be shown of the parent's own code excused: the change did not touch it."""
    decision = _decide_measured(evidence)
    parent = evidence.parent
    if parent is None or not parent.is_same:
        return decision
    # Nothing else of the change waits to be compared: neither a baseline that it brings, nor what the case replaces.
    alone = not evidence.own_differs and parent.replaced_is_parents
    excused = decision.verdict is Verdict.UNDECIDED or (decision.code == "busy" and alone)
    return parentage.excuse(decision) if excused else decision


def _decide_measured(evidence: Evidence) -> Decision:
    parent = evidence.parent
    if evidence.contended_by:
        beside = parent is not None and parent.is_beside
        if not evidence.has_baseline and evidence.update_reason is None and not beside:
            # There is nothing to compare with and nothing will be stored, so the time would only have been shown.
            return Decision(Verdict.NEW, False, "new_untimed", reason.new_untimed(evidence.contended_by))
        return Decision(Verdict.INVALID, True, "busy", reason.busy(evidence.contended_by, evidence.tries))
    if evidence.spoiled:
        code = "spoiled" if evidence.spoiled_code in ("", "outputs") else evidence.spoiled_code
        return Decision(Verdict.INVALID, True, code, reason.spoiled(evidence.spoiled, code))
    if evidence.time_us is None or not 0 < evidence.time_us < math.inf:
        return Decision(Verdict.INVALID, True, "no_samples", reason.NO_SAMPLES)
    comparison, replaced = evidence.comparison, evidence.replaced
    if parent is not None and (decision := parentage.decide_slower(parent, evidence.dwell_s)) is not None:
        return decision
    mains = _mains(evidence)
    if comparison is not None and is_slower(comparison) and not mains:
        return _decide_slower(comparison, evidence)
    stored = evidence.stored
    if comparison is None and stored is not None and stored.slower and not mains:
        return Decision(Verdict.REGRESSED, True, "slower_than_stored", cause.stored_alone(stored, evidence.unplayable))
    replaced_is_mains = parent is not None and parent.is_same and parent.replaced_is_parents
    if replaced is not None and is_slower(replaced) and not replaced_is_mains:
        against = f"{evidence.replaced_variant or 'the variant'}, which it replaces"
        if is_clocks_doing(replaced) and not evidence.dwell_s:
            return Decision(Verdict.INVALID, True, "clock", cause.clock(replaced, against))
        return Decision(Verdict.SLOWER_THAN_REPLACED, True, "slower_than_replaced", reason.slower(replaced, against))
    if evidence.own_differs and (decision := _decide_own(evidence)) is not None:
        return decision
    open_beside = parentage.decide_open(parent) if parent is not None else None
    if open_beside is not None and open_beside.fails:
        return open_beside
    if parent is not None and mains:
        return parentage.decide_mains(parent, mains)
    passing = _decide_passing(evidence)
    if replaced is not None and is_slower(replaced):
        said = reason.slower(replaced, f"{evidence.replaced_variant or 'the variant'}, which it replaces")
        return parentage.excuse(Decision(Verdict.SLOWER_THAN_REPLACED, True, "slower_than_replaced", said))
    return passing if open_beside is None or passing.fails else open_beside


def _mains(evidence: Evidence) -> str:
    """How much slower than its baseline a case is that was so before the change; empty for any other."""
    comparison, stored, parent = evidence.comparison, evidence.stored, evidence.parent
    if parent is None or not parentage.is_mains(parent):
        return ""
    if comparison is not None:
        return reason.slower(comparison, "the baseline") if is_slower(comparison) else ""
    slower = stored is not None and stored.slower
    return cause.stored_alone(stored, evidence.unplayable) if stored is not None and slower else ""


def _decide_passing(evidence: Evidence) -> Decision:
    """Decide a case that is slower than nothing that it is held against."""
    comparison, parent = evidence.comparison, evidence.parent
    if not evidence.has_baseline:
        if parent is not None and parent.comparison is not None:
            return parentage.decide_new(parent)
        return Decision(Verdict.NEW, False, "new", reason.NEW)
    if evidence.is_baselines and parent is not None and parent.comparison is not None:
        return parentage.decide_baselines(parent)
    if comparison is None:
        return _decide_without_replay(evidence.stored, evidence.unplayable)
    verdict = verdict_of(comparison)
    if verdict is Verdict.IMPROVED and is_clocks_doing(comparison):
        return Decision(Verdict.UNDECIDED, False, "clock", cause.clock(comparison))
    if verdict is Verdict.IMPROVED:
        return Decision(verdict, False, "faster", reason.faster(comparison))
    if verdict is Verdict.UNCHANGED:
        return Decision(verdict, False, "within_tolerance", reason.unchanged(comparison))
    return _decide_undecided(comparison, evidence)


def _decide_own(evidence: Evidence) -> Decision | None:
    """An edited entry must be what head does; slower code in it would let the next change be slower unseen."""
    own = evidence.own
    if own is None:
        problem = evidence.own_problem or "it was not measured"
        return Decision(Verdict.FAILED, True, "own_baseline", reason.own_unmeasured(problem))
    if is_slower(own):
        said = reason.slower(own, "the baseline that this change brings")
        return Decision(Verdict.REGRESSED, True, SLOWER_THAN_OWN, said)
    if find(own) is not Finding.UNCHANGED:
        return Decision(Verdict.FAILED, True, "own_baseline", reason.own_differs(own))
    return None


def _decide_without_replay(stored: StoredComparison | None, unplayable: str) -> Decision:
    """The accepted binary could not be replayed, so stored numbers are all there is; what they do not prove fails."""
    if stored is None:
        return Decision(Verdict.UNDECIDED, True, "not_compared", reason.NOT_COMPARED)
    sentence = cause.stored_alone(stored, unplayable)
    if stored.gated and stored.not_slower:
        return Decision(Verdict.UNCHANGED, False, "stored", sentence)
    return Decision(Verdict.UNDECIDED, True, "stored_open" if stored.gated else "not_gated", sentence)


def _decide_slower(comparison: Comparison, evidence: Evidence) -> Decision:
    """Enough processes agree; what is left to say is whose doing it is."""
    if is_clocks_doing(comparison):
        if not evidence.dwell_s:
            return Decision(Verdict.INVALID, True, "clock", cause.clock(comparison))
        return Decision(Verdict.REGRESSED, True, "slower_by_power", cause.slower_by_power(comparison))
    if evidence.parent is not None and evidence.parent.comparison is not None:
        return parentage.decide_creep(evidence.parent, comparison)
    said = reason.slower(comparison, "the baseline")
    if evidence.toolchain_is_head:
        sentence = f"{said}; {cause.toolchain_is_head(evidence.toolchain_change)}"
        return Decision(Verdict.REGRESSED, True, "slower_by_toolchain", sentence)
    return Decision(Verdict.REGRESSED, True, "slower", said)


def _decide_undecided(comparison: Comparison, evidence: Evidence) -> Decision:
    """Warn where a slowdown of twice the tolerance is ruled out, else fail; noise that is left explains it."""
    bounded = reason.is_bounded(comparison)
    left = cause.noise_left(evidence.noise)
    if comparison.processes < comparison.needed:
        code = "too_few_processes"
    elif left:
        code = left[0].kind
    elif comparison.slower and (comparison.not_slower or comparison.faster):
        code = "depends_on_process"
    else:
        code = "not_proven"
    return Decision(Verdict.UNDECIDED, not bounded, code, reason.undecided(comparison, code, bounded, left))
