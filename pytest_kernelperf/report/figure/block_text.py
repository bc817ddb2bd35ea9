"""A case's paired differences in characters: a dot for each block, a stretch for each process, lines of tolerance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from pytest_kernelperf import units
from pytest_kernelperf.report.figure.block_differences import BlockRow, Judgement
from pytest_kernelperf.report.figure.canvas import Canvas, key_lines
from pytest_kernelperf.report.figure.edge import FAR_BLOCK, edges

LABEL = 9
"""Characters of the axis of differences."""

ABOVE, BELOW = "▲", "▼"

MOST_PROCESSES = 12


def draw_blocks(rows: Sequence[BlockRow], judged: Judgement, columns: int, height: int, *, braille: bool = True) -> str:
    """Return the differences as lines of text of at most ``columns`` characters; empty without rows."""
    processes = list(dict.fromkeys(row.process for row in rows))[:MOST_PROCESSES]
    if not processes:
        return ""
    low, high = _range(rows, judged)
    width = (columns - LABEL - 2 - 5) // len(processes) - 1
    each = [
        _stretch([row for row in rows if row.process == process], (low, high), (width, height), judged, braille)
        for process in processes
    ]
    labels = _labels(low, high, height, judged)
    end = _interval(judged, low, high, height)
    lines = [
        f"{labels.get(row, ''):>{LABEL}} {'┤' if row in labels else '│'}"
        + "│".join(f"{part[row]:<{width}}" for part in each)
        + f"│{end.get(row, '')}".rstrip()
        for row in range(height)
    ]
    names = "┴".join(
        f" {f'process {process}':─<{width - 1}}"[:width] if width > 3 else "─" * width for process in processes
    )
    lines.append(f"{'':>{LABEL}} └{names}┘ all")
    parts = ["- tolerance", "═ a process's median", "◆ over processes"]
    parts += [f"{ABOVE} {BELOW} beyond"] if any(not low <= row.change <= high for row in rows) else []
    return "\n".join([*lines, *key_lines(parts, LABEL + 2, columns)])


def place_of(value: float, low: float, high: float, height: int) -> int:
    """Return the row of a difference, the top one's number 0."""
    return min(max(round((1 - (value - low) / (high - low)) * (height - 1)), 0), height - 1)


def _range(rows: Sequence[BlockRow], judged: Judgement) -> tuple[float, float]:
    """What is shown: the tolerance, nothing, and the blocks but for those far out."""
    lows, highs = [judged.tolerated_low, judged.change], [judged.tolerated_high, judged.change]
    lows += [judged.low] if judged.low is not None else []
    highs += [judged.high] if judged.high is not None else []
    processes = dict.fromkeys(row.process for row in rows)
    least, most = edges([[row.change for row in rows if row.process == one] for one in processes], FAR_BLOCK)
    low = min(*lows, *(row.change for row in rows if row.change >= least))
    high = max(*highs, *(row.change for row in rows if row.change <= most))
    return (low, high) if high > low else (low - 0.01, high + 0.01)


def _stretch(
    rows: Sequence[BlockRow], limits: tuple[float, float], size: tuple[int, int], judged: Judgement, braille: bool
) -> list[str]:
    """One process's blocks, in order of time from left to right."""
    low, high = limits
    width, height = size
    canvas = Canvas(width, height, braille=braille)
    for value, letter in ((judged.tolerated_low, "-"), (judged.tolerated_high, "-"), (0.0, "─")):
        for column in range(width):
            canvas.behind(place_of(value, low, high, height), column, letter)
    middle = place_of(median(row.change for row in rows), low, high, height)
    for column in range(width):
        canvas.behind(middle, column, "═")
    for place, row in enumerate(rows):
        x = place / max(1, len(rows) - 1)
        if low <= row.change <= high:
            canvas.dot(x, (row.change - low) / (high - low))
        else:
            _, column = canvas.cell(x, 0.5)
            canvas.write(0 if row.change > high else height - 1, column, ABOVE if row.change > high else BELOW)
    return list(canvas.lines())


def _labels(low: float, high: float, height: int, judged: Judgement) -> dict[int, str]:
    """Differences beside the axis: 0 and the tolerance before the ends; no two in neighbouring rows."""
    labels: dict[int, str] = {}
    for value in (0.0, judged.tolerated_high, high, low, judged.tolerated_low, judged.change):
        place = place_of(value, low, high, height)
        if not {place - 1, place, place + 1} & labels.keys() and math.isfinite(value):
            labels[place] = units.format_change(1 + value)
    return labels


def _interval(judged: Judgement, low: float, high: float, height: int) -> dict[int, str]:
    """The mean over processes and its interval, beside the last process."""
    marks: dict[int, str] = {}
    if judged.low is not None and judged.high is not None:
        top, bottom = (place_of(value, low, high, height) for value in (judged.high, judged.low))
        marks = dict.fromkeys(range(top, bottom + 1), " │")
    marks[place_of(judged.change, low, high, height)] = " ◆"
    return marks
