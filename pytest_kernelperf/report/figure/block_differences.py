"""The picture of a decision: each block's paired difference, process by process, beside what is tolerated."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_kernelperf import units
from pytest_kernelperf.model import Comparison, Frozen, Measurement, Record
from pytest_kernelperf.report.change import deciding
from pytest_kernelperf.report.figure.edge import FAR_BLOCK, edges
from pytest_kernelperf.report.figure.figure import ROWS, Figure, plain, shortened
from pytest_kernelperf.report.text import one_line
from pytest_kernelperf.stats.comparison import pair_samples
from pytest_kernelperf.stats.paired import LONGEST_US, SHORTEST_US

MOST_RATIO = 1e6
"""What a stranger's file says beyond it is drawn as if it were this."""


class BlockRow(Frozen, frozen=True):
    """One pair of samples: ``change`` is the ratio of their times less 1.

    ``place`` counts through all processes, ``block`` through the process's own, both from 1. ``contended``: somebody
    else was active while the process measured.
    """

    process: int
    block: int
    place: int
    change: float
    contended: bool


class Judgement(Frozen, frozen=True):
    """What the blocks came to, as changes less 1: the mean over processes, its interval (None from one process), and
    what is tolerated."""

    change: float
    low: float | None
    high: float | None
    tolerated_low: float
    tolerated_high: float
    text: str


def block_differences(record: Record) -> Figure | None:
    """Return the figure of the comparison that a case's verdict rests on; None where it has no pair of samples."""
    comparison = deciding(record)
    if comparison is None:
        return None
    rows = block_rows(record.measurements, comparison)
    if not rows:
        return None
    against = one_line(comparison.against)
    judged = judgement(comparison)
    verdict = record.decision.verdict.value.replace("_", " ")
    title = f"{shortened(record.case)}: {verdict}, {units.format_change(comparison.change_ratio)} against {against}"
    agreed = max(comparison.slower, comparison.faster)
    direction = "slower" if comparison.slower >= comparison.faster else "faster"
    said = f"{agreed} of {units.format_counted(comparison.processes, 'process', 'processes')} say {direction}"
    subtitle = (
        f"{one_line(comparison.arm)} against {against} in the same block, {comparison.mode} mode; "
        f"line: a process's median; at the right: over processes; band: tolerance "
        f"{units.format_tolerance(judged.tolerated_high + 1)}"
        f"{'; hollow: somebody else was active' if any(row.contended for row in rows) else ''}"
        f"{'; arrow: beyond the edge' if _far(rows) else ''}"
    )
    interval = units.format_interval(comparison.low_ratio, comparison.high_ratio)
    return Figure(
        kind="block_differences",
        name=one_line(str(record.case)),
        title=title,
        subtitle=subtitle,
        description=(
            f"{title}. {units.format_counted(len(rows), 'block')}: {units.format_change(comparison.change_ratio)}, "
            f"interval over processes {interval}; {said if agreed else 'no process shows a change'}. "
            f"Per process: {', '.join(map(units.format_change, comparison.per_process_ratio)) or '-'}. {subtitle}."
        ),
        datasets={ROWS: plain(rows), "judgement": plain([judged])},
    )


def block_rows(measurements: Iterable[Measurement], comparison: Comparison) -> tuple[BlockRow, ...]:
    """Return a row for each block in which both arms have a time, in order of processes, then of time."""
    in_mode = [measurement for measurement in measurements if measurement.mode == comparison.mode]
    rows: list[BlockRow] = []
    blocks: dict[int, int] = {}
    for measurement in sorted(in_mode, key=lambda one: one.process):
        for arm_us, against_us in zip(*pair_samples([measurement], comparison.arm, comparison.against), strict=True):
            if all(SHORTEST_US < time_us < LONGEST_US for time_us in (arm_us, against_us)):
                change = arm_us / against_us - 1
                block = blocks[measurement.process] = blocks.get(measurement.process, 0) + 1
                contended = bool(measurement.contended_by)
                rows.append(BlockRow(measurement.process, block, len(rows) + 1, change, contended))
    return tuple(rows)


def _far(rows: tuple[BlockRow, ...]) -> bool:
    processes = dict.fromkeys(row.process for row in rows)
    low, high = edges([[row.change for row in rows if row.process == one] for one in processes], FAR_BLOCK)
    return any(not low - 0.0005 <= row.change <= high + 0.0005 for row in rows)


def judgement(comparison: Comparison) -> Judgement:
    """Return a comparison's figures: what is tolerated is the tolerance, or the floor where that is more."""
    floor = comparison.floor_us / comparison.against_us if comparison.against_us > SHORTEST_US else 0.0
    allowed = min(max(comparison.tolerance_ratio, 1 + floor, 1.0), MOST_RATIO)
    interval = units.format_interval(comparison.low_ratio, comparison.high_ratio)
    known = comparison.low_ratio is not None and comparison.high_ratio is not None
    return Judgement(
        change=_change(comparison.change_ratio),
        low=_change(comparison.low_ratio) if comparison.low_ratio is not None else None,
        high=_change(comparison.high_ratio) if comparison.high_ratio is not None else None,
        tolerated_low=1 / allowed - 1,
        tolerated_high=allowed - 1,
        text=f"{units.format_change(comparison.change_ratio)}{f' ({interval})' if known else ''}",
    )


def _change(ratio: float) -> float:
    return min(max(ratio, 0.0), MOST_RATIO) - 1
