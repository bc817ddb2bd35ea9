"""What is common to many dispatches as one whole number for each, so that a row costs three numbers and no tuple.

Each column is a digit whose range is known from the small views of what exists (kernels, agents, queues, streams); the
workgroups are the highest digit, so that they need no range. A row outside of the ranges packs to NULL.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

MOST = 2**62
OF_THE_PROCESS = ("nid", "pid")
"""What the view takes from the row of the process; where there is one such row, looking costs a tenth of all time."""


@dataclass(frozen=True)
class Digit:
    """A column's least value and how many it can have."""

    column: str
    least: int
    size: int


@dataclass(frozen=True)
class Packing:
    """Digits from the lowest to the highest; above them the workgroups."""

    digits: tuple[Digit, ...]
    workgroups: str

    def expression(self) -> str:
        """Return the number in SQL; NULL, or no whole number, where a row does not fit."""
        guards, terms, weight = ["1"], [], 1
        for digit in self.digits:
            if digit.size == 1 and digit.column in OF_THE_PROCESS:
                continue
            guards.append(f"{digit.column} BETWEEN {digit.least} AND {digit.least + digit.size - 1}")
            if digit.size > 1:
                terms.append(f"({digit.column} - {digit.least}) * {weight}")
            weight *= digit.size
        terms.append(f"({self.workgroups}) * {weight}")
        return f"CASE WHEN {' AND '.join(guards)} THEN {' + '.join(terms)} END"

    def unpacked(self, key: int) -> tuple[dict[str, int], int]:
        """Return the columns' values and the workgroups of a number."""
        values = {}
        for digit in self.digits:
            key, place = divmod(key, digit.size)
            values[digit.column] = digit.least + place
        return values, key


def plan_packing(values: Mapping[str, frozenset[int]], workgroups: str) -> Packing | None:
    """Return how columns with these possible values are packed, None where one has none or 62 bits do not do."""
    if not all(values.values()):
        return None
    digits = tuple(Digit(column, min(some), max(some) - min(some) + 1) for column, some in values.items())
    return Packing(digits, workgroups) if math.prod(digit.size for digit in digits) < MOST else None
