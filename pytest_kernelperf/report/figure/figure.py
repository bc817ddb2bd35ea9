"""A figure before it is drawn: its words, and its rows by the name of their dataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from pytest_kernelperf import units
from pytest_kernelperf.model import CaseId, Frozen
from pytest_kernelperf.report.text import one_line, shorten

Kind = Literal["kernel_curve", "block_differences", "samples_in_time", "spread"]

KINDS: tuple[Kind, ...] = ("kernel_curve", "block_differences", "samples_in_time", "spread")

ROWS = "rows"
"""The dataset that holds what was measured; a figure's further datasets hold what is marked in it."""

MOST_NAME, MOST_CASE = 30, 48
"""Characters of a name, and of a kernel's and a variant's together, in titles and on axes."""

CONFIDENCE = 0.95


class Figure(Frozen, frozen=True):
    """What one picture shows.

    ``title`` says what is seen, ``subtitle`` how to read it, ``description`` both with the figures in words, for those
    who do not see it. ``datasets`` are rows by the name that the kind's specification gives them; each row is flat, its
    numbers finite.
    """

    kind: Kind
    name: str
    title: str
    subtitle: str
    description: str
    datasets: dict[str, list[dict[str, object]]]


def shortened(case: CaseId, most: int = MOST_CASE) -> str:
    """Return a case as titles and axes have room for: of long names, which differ at their ends, those ends."""
    size = units.format_counted(case.tokens, "token")
    return f"{shorten(one_line(f'{case.kernel} {case.variant}'), most)} at {size}"


def plain(rows: Sequence[Frozen]) -> list[dict[str, object]]:
    """Return rows as Vega-Lite takes them: one flat dict each."""
    return [msgspec.structs.asdict(row) for row in rows]
