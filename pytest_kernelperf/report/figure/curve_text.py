"""A kernel's curve in characters: log axes, a letter for each variant at each size, what it is compared with dotted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from string import ascii_uppercase

from pytest_kernelperf import units
from pytest_kernelperf.report.figure.canvas import Canvas, key_lines
from pytest_kernelperf.report.figure.kernel_curve import CurveRow

SEVERAL, FAILS, STARVED, UNTIMED = "*", "!", "▾", "x"
LABEL = 9
"""Characters of the axis of times."""


def draw_curve(rows: Sequence[CurveRow], columns: int, height: int, *, braille: bool = True) -> str:
    """Return a kernel's curves as lines of text of at most ``columns`` characters; empty where nothing was timed."""
    timed = [row for row in rows if row.time_us is not None]
    if not timed:
        return ""
    canvas = Canvas(columns - LABEL - 3, height, braille=braille)
    x_of, y_of = _scale([_size(row.tokens) for row in rows]), _scale([row.time_us or 1.0 for row in timed], 0.04)
    # Coarse cells cannot tell a dotted line from a whole one, nor two lines a few percent apart.
    arms = [arm for arm in dict.fromkeys(row.arm for row in timed) if braille or arm == "head"]
    variants = list(dict.fromkeys(row.variant for row in rows))[: len(ascii_uppercase)]
    places = {
        id(row): (x_of(_size(row.tokens)) * (1 - 2 / canvas.columns), y_of(row.time_us))
        for row in timed
        if row.time_us is not None
    }
    for variant in variants:
        for arm in arms:
            for mode in dict.fromkeys(row.mode for row in timed):
                of = [row for row in timed if (row.variant, row.arm, row.mode) == (variant, arm, mode)]
                of.sort(key=lambda row: row.tokens)
                for before, after in pairwise(of):
                    canvas.line(places[id(before)], places[id(after)], every=1 if arm == "head" else 3)
    for variant, letter in zip(variants, ascii_uppercase, strict=False):
        for row in timed:
            if row.variant == variant and row.arm == "head":
                _mark(canvas, places[id(row)], letter, row)
    labels = _ticks(y_of, [row.time_us or 1.0 for row in timed], height)
    lines = [f"{labels.get(place, ''):>{LABEL}} {'┤' if place in labels else '│'}{line}"
             for place, line in enumerate(canvas.lines())]  # fmt: skip
    lines.append(f"{'us':>{LABEL}} └{_axis(rows, x_of, canvas.columns)}")
    lines.append(_sizes(rows, x_of, canvas.columns))
    return "\n".join([*lines, *_key(rows, variants, arms, columns)])


def _size(tokens: int) -> float:
    return max(float(tokens), 0.5)


def _mark(canvas: Canvas, place: tuple[float, float], letter: str, row: CurveRow) -> None:
    line, column = canvas.cell(*place)
    canvas.write(line, column, letter if canvas.written(line, column) in ("", FAILS, STARVED) else SEVERAL)
    if row.fails or (row.starved and not canvas.written(line, column + 1)):
        canvas.write(line, column + 1, FAILS if row.fails else STARVED)


class _Scale:
    """Positive numbers to places from 0 to 1 on a log axis."""

    def __init__(self, low: float, high: float, margin: float) -> None:
        self._low, self._high, self._margin = math.log(low), math.log(high), margin

    def __call__(self, value: float) -> float:
        if self._high == self._low:
            return 0.5
        return self._margin + (1 - 2 * self._margin) * (math.log(value) - self._low) / (self._high - self._low)


def _scale(values: Sequence[float], margin: float = 0.0) -> _Scale:
    return _Scale(min(values), max(values), margin)


def _ticks(y_of: _Scale, times_us: Sequence[float], height: int) -> dict[int, str]:
    """Times beside the axis: powers of ten, with 2 and 5 where those are few; no two in neighbouring rows."""
    low, high = math.floor(math.log10(min(times_us))), math.ceil(math.log10(max(times_us)))
    steps = (1,) if high - low > 3 else (1, 2, 5)
    round_us = [step * 10.0**power for power in range(low, high + 1) for step in steps]
    inside = [us for us in round_us if 0 <= y_of(us) <= 1]
    wanted = inside if len(inside) > 1 else [min(times_us), max(times_us)]
    labels: dict[int, str] = {}
    for time_us in wanted:
        place = round((1 - y_of(time_us)) * (height - 1))
        if not {place - 1, place, place + 1} & labels.keys():
            labels[place] = f"{time_us:,g}" if inside is wanted else units.format_us(time_us)
    return labels


def _axis(rows: Sequence[CurveRow], x_of: _Scale, columns: int) -> str:
    """The axis of sizes, with a mark where a case failed before it was timed."""
    axis = ["─"] * columns
    for row in rows:
        if row.fails and row.time_us is None:
            axis[_column(row.tokens, x_of, columns)] = UNTIMED
    return "".join(axis)


def _column(tokens: int, x_of: _Scale, columns: int) -> int:
    return round(x_of(_size(tokens)) * (1 - 2 / columns) * (columns - 1))


def _sizes(rows: Sequence[CurveRow], x_of: _Scale, columns: int) -> str:
    """The sizes below the axis, those that have room."""
    line = [" "] * (LABEL + 2 + columns + 1)
    sizes = sorted({row.tokens for row in rows})
    for tokens in [sizes[-1], *sizes[:-1]]:  # the last one before others take its room
        text = units.format_count(tokens)
        place = LABEL + 2 + _column(tokens, x_of, columns)
        start = max(LABEL + 2, min(place - len(text) // 2, len(line) - len(text)))
        if all(letter == " " for letter in line[max(0, start - 1) : start + len(text) + 1]):
            line[start : start + len(text)] = text
    return f"{'tokens':>{LABEL}} {''.join(line)[LABEL + 1 :]}".rstrip()


def _key(rows: Sequence[CurveRow], variants: Sequence[str], arms: Sequence[str], columns: int) -> list[str]:
    """What letters and marks stand for, of those that are there."""
    parts = [f"{letter} {variant}" for letter, variant in zip(ascii_uppercase, variants, strict=False)]
    timed = [row for row in rows if row.time_us is not None]
    others = [arm for arm in arms if arm != "head"]
    parts += [f"{SEVERAL} several", *([f"dotted {' and '.join(others)}"] if others else [])]
    parts += [f"{STARVED} starved"] if any(row.starved for row in timed) else []
    parts += [f"{FAILS} fails"] if any(row.fails for row in timed) else []
    parts += [f"{UNTIMED} fails without a time"] if any(row.fails and row.time_us is None for row in rows) else []
    return key_lines(parts, LABEL + 2, columns)
