"""What the page's pictures are drawn from, as data: samples once, the few rows of curves, and specifications.

The rows of a case's pictures are made from its samples in the browser (``page.js``), as ``figure.block_rows`` and
``figure.sample_rows`` make them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pytest_kernelperf import units
from pytest_kernelperf.model import Record, Run
from pytest_kernelperf.report.change import deciding
from pytest_kernelperf.report.figure.block_differences import judgement
from pytest_kernelperf.report.figure.figure import ROWS, Figure, Kind
from pytest_kernelperf.report.figure.kernel_curve import kernel_curve
from pytest_kernelperf.report.figure.samples_in_time import MOST_ROWS
from pytest_kernelperf.report.figure.specification import specification
from pytest_kernelperf.report.figure.spread import run_rows, spread
from pytest_kernelperf.report.figure.theme import THEMES
from pytest_kernelperf.report.html.case import Table
from pytest_kernelperf.report.html.packing import pack
from pytest_kernelperf.report.html.view import KernelView
from pytest_kernelperf.report.text import one_line

HEIGHTS: dict[Kind, int] = {"kernel_curve": 420, "block_differences": 300, "samples_in_time": 300, "spread": 0}


@dataclass(frozen=True)
class Pictures:
    """``columns``: all samples, packed. ``rest``: everything else that ``page.js`` reads, to be written as JSON.

    ``curves`` (by kernel, None where there is nothing to show) and ``sharpness`` have the words for the page itself.
    """

    columns: str
    rest: dict[str, Any]
    curves: tuple[Figure | None, ...]
    sharpness: Figure | None


def pictures_of(run: Run, records: Sequence[Record], kernels: Sequence[KernelView]) -> Pictures:
    """Return the pictures of a run: places are those of ``records`` and ``kernels``."""
    packed = pack(records)
    cases = [
        None if samples is None else {"samples": msgspec.to_builtins(samples), **_decision(record)}
        for samples, record in zip(packed.cases, records, strict=True)
    ]
    sharpness = spread(run_rows(run.records), "this run's samples")
    curves = tuple(kernel_curve(run, kernel.full_name) for kernel in kernels)
    rest = {
        "count": packed.count,
        "cases": cases,
        "names": [one_line(str(record.case)) for record in records],
        "kernels": [_datasets(curve) for curve in curves],
        "spread": _datasets(sharpness),
        "specifications": {kind: _specification(kind, height) for kind, height in HEIGHTS.items()},
        "themes": THEMES,
        "most": MOST_ROWS,
    }
    return Pictures(packed.data, rest, curves, sharpness)


def _specification(kind: Kind, height: int) -> dict[str, Any]:
    """As wide as where it stands; a height of 0 is the rows'."""
    sizing = {"type": "fit-x" if height == 0 else "fit", "contains": "padding"}
    return {**specification(kind, "container", height), "autosize": sizing}


def _decision(record: Record) -> dict[str, Any]:
    comparison = deciding(record)
    if comparison is None:
        return {}
    return {
        "arm": one_line(comparison.arm),
        "against": one_line(comparison.against),
        "judgement": msgspec.structs.asdict(judgement(comparison)),
    }


def _datasets(figure: Figure | None) -> dict[str, Any] | None:
    return None if figure is None else {"description": figure.description, "datasets": figure.datasets}


def sharpness_table(figure: Figure) -> Table:
    """Return the figure of spreads in numbers."""
    rows = tuple(
        (
            str(row["case"]),
            str(row["mode"]),
            *(_share(row[name]) for name in ("within", "between", "detectable", "tolerance")),
        )
        for row in figure.datasets[ROWS]
    )
    return Table(("case", "mode", "in a process", "between processes", "would catch", "tolerance"), rows,
                 frozenset({2, 3, 4, 5}))  # fmt: skip


def _share(share: object) -> str:
    return units.format_percent(100 * share) if isinstance(share, float) else units.MISSING
