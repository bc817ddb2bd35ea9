"""How sharp the guard is, case by case: spreads of identical code and the smallest slowdown seen, beside the tolerance.

From a calibration, or from what the samples of a run itself say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from pytest_kernelperf import units
from pytest_kernelperf.baseline.calibration_summary import CaseSummary
from pytest_kernelperf.model import CaseId, Comparison, Frozen, Record
from pytest_kernelperf.report.change import deciding
from pytest_kernelperf.report.figure.block_differences import block_rows, judgement
from pytest_kernelperf.report.figure.figure import ROWS, Figure, plain, shortened
from pytest_kernelperf.report.text import one_line

MOST_LABEL = 40

MOST_CASES = 40
"""Lines that can be read in one picture; the bluntest cases are shown."""


class SpreadRow(Frozen, frozen=True):
    """One case. All figures are shares of its time: 0.01 is 1 %.

    ``within``: one standard deviation from block to block in a process; ``between``: of the result from process to
    process, None from one process. ``detectable``: the smallest slowdown that would have been shown, None where none
    would. ``tolerance``: what is allowed, or the floor where that is more.
    """

    case: str
    mode: str
    within: float
    between: float | None
    detectable: float | None
    tolerance: float


def calibration_rows(cases: Iterable[CaseSummary]) -> tuple[SpreadRow, ...]:
    """Return the rows of a calibration's cases, each in the mode that it is gated in."""
    return tuple(
        SpreadRow(
            case=shortened(CaseId(case.kernel, case.variant, case.tokens), MOST_LABEL),
            mode=case.mode,
            within=case.within_share,
            between=case.between_share,
            detectable=None if case.detectable_ratio is None else case.detectable_ratio - 1,
            tolerance=case.tolerance,
        )
        for case in cases
        if case.gate
    )


def run_rows(records: Iterable[Record]) -> tuple[SpreadRow, ...]:
    """Return the rows of a run's cases whose samples were compared."""
    found = ((record, deciding(record)) for record in records if not record.mutation_of)
    rows = (_run_row(record, comparison) for record, comparison in found if comparison is not None)
    return tuple(row for row in rows if row is not None)


def spread(rows: Sequence[SpreadRow], origin: str, most: int = MOST_CASES) -> Figure | None:
    """Return the figure, the bluntest cases first; None without rows. ``origin`` says where they are from."""
    if not rows:
        return None
    ordered = sorted(rows, key=lambda row: (-math.inf if row.detectable is None else -row.detectable, row.case))
    shown = ordered[:most]
    blunt = [row for row in rows if row.detectable is None]
    seen = [row.detectable for row in rows if row.detectable is not None]
    cases = units.format_counted(len(rows), "case")
    title = "No slowdown would show for certain" if not seen else (
        f"A slowdown of {units.format_percent(100 * float(np.median(seen)))} would show in the middle case, "
        f"of {units.format_percent(100 * max(seen))} in the worst"
    )  # fmt: skip
    none = f"; in {units.format_counted(len(blunt), 'case')} none would show for certain" if blunt and seen else ""
    fewer = f", the {units.format_count(len(shown))} bluntest of them" if len(shown) < len(rows) else ""
    subtitle = f"{one_line(origin)}: {cases}{fewer}{none}"
    return Figure(
        kind="spread",
        name="spread",
        title=title,
        subtitle=subtitle,
        description=f"{title}. {subtitle}. Tolerance {_tolerances(rows)}.",
        datasets={ROWS: plain(shown)},
    )


def _run_row(record: Record, comparison: Comparison) -> SpreadRow | None:
    blocks = block_rows(record.measurements, comparison)
    by_process: dict[int, list[float]] = {}
    for row in blocks:
        by_process.setdefault(row.process, []).append(math.log1p(row.change))
    if not by_process:
        return None
    middles = [float(np.median(changes)) for changes in by_process.values()]
    return SpreadRow(
        case=shortened(record.case, MOST_LABEL),
        mode=comparison.mode,
        within=float(np.median([_half_range(changes) for changes in by_process.values()])),
        between=float(np.std(middles, ddof=1)) if len(middles) > 1 else None,
        detectable=None if comparison.detectable_ratio is None else comparison.detectable_ratio - 1,
        tolerance=judgement(comparison).tolerated_high,
    )


def _half_range(changes: Sequence[float]) -> float:
    """Half of what the middle 68 % lie in, as a calibration has it: one slow block of thirty does not move it."""
    low, high = np.percentile(np.asarray(changes), (16, 84))
    return float(high - low) / 2


def _tolerances(rows: Sequence[SpreadRow]) -> str:
    known = sorted({units.format_percent(100 * row.tolerance) for row in rows})
    return known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"
