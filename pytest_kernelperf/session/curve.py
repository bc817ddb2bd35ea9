"""Judge one variant over all its sizes: each may be within its own tolerance and the variant slower all the same.

Pooled are the sizes that this run timed beside their baseline and that do not fail on their own: those are said
already, and leaving them out can only make a curve look better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from pytest_kernelperf import reason
from pytest_kernelperf.model import Accepted, Comparison, CurveRecord, Decision, Mode, Record, Verdict
from pytest_kernelperf.parentage import MAIN_CREEP
from pytest_kernelperf.report.curve import curve_reason, too_few_sizes
from pytest_kernelperf.stats.agreement import Finding
from pytest_kernelperf.stats.curve import FEWEST_SIZES, Curve, find_curve

_PASSING = {
    Finding.FASTER: (Verdict.IMPROVED, "curve_faster"),
    Finding.UNCHANGED: (Verdict.UNCHANGED, "curve_within_tolerance"),
    Finding.OPEN: (Verdict.UNDECIDED, "curve_open"),
}


def judge_curve(
    kernel: str,
    variant: str,
    test: str,
    records: Sequence[Record],
    tolerance: float | None,
    update_reason: str | None,
    accepted: Accepted | None = None,
) -> CurveRecord:
    """Pool a variant's sizes; with too few of them nothing is said, and nothing fails.

    Args:
        kernel: the kernel's name.
        variant: the variant's name.
        test: the test module, as baselines name it.
        records: the variant's records of this run, in any order, mutations not among them.
        tolerance: mean slowdown that counts, as a share; None: half of what the cases may lose.
        update_reason: as ``Evidence`` has it; a reason accepts a slower curve.
        accepted: a maintainer's acceptance of all that this commit slows.
    """
    timed = _pooled(records)
    tokens = tuple(record.case.tokens for record, _ in timed)
    comparisons = [comparison for _, comparison in timed]
    found = find_curve(comparisons, tolerance) if len(timed) >= FEWEST_SIZES else None
    if found is None or not found.decidable:
        decision = Decision(Verdict.SKIPPED, False, "too_few_sizes", too_few_sizes(len(timed), FEWEST_SIZES))
        return CurveRecord(kernel, variant, test, decision, tokens)
    mode: Mode = comparisons[0].mode
    said = CurveRecord(
        kernel,
        variant,
        test,
        Decision(Verdict.UNDECIDED, False, "", ""),
        tokens,
        mode,
        found.processes,
        found.change_ratio,
        found.low_ratio,
        found.high_ratio,
        found.tolerance_ratio,
        found.sizes_slower,
        found.p_slower,
        found.p_sizes_slower,
        tuple(comparison.change_ratio for comparison in comparisons),
    )
    return _with_decision(said, found, update_reason, accepted)


def _with_decision(
    record: CurveRecord, found: Curve, update_reason: str | None, accepted: Accepted | None
) -> CurveRecord:
    sentence = curve_reason(record)
    if found.finding is not Finding.SLOWER:
        verdict, code = _PASSING[found.finding]
        return replace(record, decision=Decision(verdict, False, code, sentence))
    if update_reason or accepted is not None:
        said = f"accepted: {update_reason} ({sentence})" if accepted is None else reason.accepted(accepted, sentence)
        return replace(record, decision=Decision(Verdict.ACCEPTED, False, "curve_slower", said))
    return replace(record, decision=Decision(Verdict.REGRESSED, True, "curve_slower", sentence))


def _is_mains(record: Record) -> bool:
    """Whether the change did nothing to a case's slowdown."""
    same = record.parent is not None and record.parent.state == "identical"
    return same or record.decision.code == MAIN_CREEP


def _pooled(records: Sequence[Record]) -> list[tuple[Record, Comparison]]:
    """Records with their comparison, by size, in the mode that most of them have: modes are never pooled."""
    timed = [
        (record, comparison)
        for record in sorted(records, key=lambda record: record.case.tokens)
        for comparison in record.comparisons
        if (comparison.arm, comparison.against) == ("head", "baseline")
        and not record.decision.fails
        and not record.mutation_of
        and not _is_mains(record)
    ]
    modes = Counter(comparison.mode for _, comparison in timed)
    most = modes.most_common(1)[0][0] if modes else None
    return [(record, comparison) for record, comparison in timed if comparison.mode == most]
