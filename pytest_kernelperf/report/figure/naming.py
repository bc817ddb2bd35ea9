"""Where a curve's name stands: beside its last point, and never on another name."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pytest_kernelperf.model import Frozen
from pytest_kernelperf.report.figure.crossover import Timed
from pytest_kernelperf.report.figure.figure import MOST_NAME
from pytest_kernelperf.report.text import shorten

MOST_NAMES = 12
"""More curves are told apart by their legend alone."""

LINE_SHARE = 0.055
"""Height of a name as a share of the picture's."""


class CurveName(Frozen, frozen=True):
    """A name to the right of a place; ``text`` is shortened."""

    variant: str
    text: str
    tokens: int
    time_us: float


def names_of(rows: Sequence[Timed]) -> tuple[CurveName, ...]:
    """Return a name for each of head's curves; none where there is one only, or too many."""
    last: dict[str, tuple[int, float]] = {}
    for row in sorted(rows, key=lambda row: row.tokens):
        if row.arm == "head" and row.time_us is not None:
            last[row.variant] = (row.tokens, row.time_us)
    if not 1 < len(last) <= MOST_NAMES:
        return ()
    logs = [math.log(us) for row in rows for us in (row.time_us, row.roofline_us) if us is not None]
    step = LINE_SHARE * max(max(logs) - min(logs), 0.1)
    found, below = [], -math.inf
    for variant, (tokens, time_us) in sorted(last.items(), key=lambda one: one[1][1]):
        below = max(math.log(time_us), below + step)
        found.append(CurveName(variant, shorten(variant, MOST_NAME), tokens, math.exp(below)))
    return tuple(found)
