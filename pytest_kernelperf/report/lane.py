"""One kernel's row in a timeline's picture: its bars, and what is said above them where it fits.

Lengths are in px of the picture, ``y`` grows downwards.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_kernelperf import units
from pytest_kernelperf.model import TracedArm, TracedKernel, TracedSpan
from pytest_kernelperf.report.text import shorten
from pytest_kernelperf.report.trace import workgroups_text

WIDTH = 960
LEFT, RIGHT = 256.0, 900.0
"""The plot: names stand to the left of it, the compute units' line is named to the right."""

BAR_LEAST = 5.0
COLOURS = 8
OTHERS = COLOURS
"""The colour of kernels that share a row."""

MERGE = 0.4
"""Bars of one kernel nearer than this are drawn as one; idle times shorter than this are not drawn."""

NAME_CHARACTERS, LABEL_WIDTH = 32, 6.2


@dataclass(frozen=True)
class Size:
    """How high rows are, and whether they say more of their kernel than its name."""

    row: float
    bar: float
    strip: float
    about: bool


FULL = Size(row=52, bar=30, strip=18, about=True)
SMALL = Size(row=27, bar=19, strip=4, about=False)


@dataclass(frozen=True)
class Scale:
    """Times to places, workgroups to heights, names to their places among all and to what is shown."""

    end_us: float
    most_workgroups: int
    size: Size
    kernels: Mapping[str, tuple[int, str]]

    def x(self, time_us: float) -> float:
        """Return where a time stands."""
        return LEFT + (RIGHT - LEFT) * min(time_us, self.end_us) / self.end_us

    def height(self, workgroups: int | None) -> float:
        """Return how high workgroups are; unknown ones have half the height."""
        if workgroups is None:
            return self.size.bar / 2
        return BAR_LEAST + (self.size.bar - BAR_LEAST) * math.log(workgroups) / math.log(self.most_workgroups)


@dataclass(frozen=True)
class Bar:
    """One dispatch, or several that stand too near to be told apart; ``label`` is empty where it does not fit."""

    x: float
    width: float
    height: float
    label: str
    label_x: float
    hint: str
    launches: int
    known: bool
    """Whether the trace tells workgroups; else the height says nothing."""


@dataclass(frozen=True)
class Lane:
    """One kernel of an arm: ``base`` is where its bars stand."""

    name: str
    full_name: str
    about: str
    says_about: bool
    colour: int
    base: float
    bars: tuple[Bar, ...]


def lane_of(
    members: Sequence[TracedKernel], spans: Sequence[TracedSpan], arm: TracedArm, scale: Scale, base: float
) -> Lane:
    """Return a row for kernels (several where they share one) from their spans, in order."""
    one = members[0]
    bars = _readable(tuple(_bars(spans, arm, scale)))
    if len(members) > 1:
        starved = sum(kernel.starved is True for kernel in members)
        about = f"{units.format_counted(len(spans), 'launch', 'launches')}, {units.format_count(starved)} starved"
        listed = ", ".join(scale.kernels[kernel.name][1] for kernel in members)
        name, full_name, colour = f"{len(members)} further kernels", shorten(listed, 1000), OTHERS
    else:
        place, short = scale.kernels[one.name]
        workgroups = f"{workgroups_text(one.workgroups)} wg" if one.workgroups else "workgroups unknown"
        about = f"median {time_text(one.median_us)}, {workgroups}{', starved' if one.starved else ''}"
        name, full_name, colour = shorten(short, NAME_CHARACTERS), one.name, place % COLOURS
    return Lane(name, full_name, about, scale.size.about, colour, base, bars)


def _readable(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
    """Labels only where most bars have room for theirs: of a comb's teeth the last one alone would get one."""
    if 2 * sum(bool(bar.label) for bar in bars) > len(bars):
        return bars
    return tuple(replace(bar, label="") for bar in bars)


def _bars(spans: Sequence[TracedSpan], arm: TracedArm, scale: Scale) -> Iterator[Bar]:
    heaps: list[list[TracedSpan]] = []
    reached = -math.inf
    for span in spans:
        if scale.x(span.start_us) - reached < MERGE:
            heaps[-1].append(span)
        else:
            heaps.append([span])
        reached = max(reached, scale.x(span.start_us + span.duration_us))
    edges = [(_first(heap, scale), _last(heap, scale)) for heap in heaps]
    taken = LEFT
    for place, heap in enumerate(heaps):
        left, right = edges[place]
        free_from = max(taken, edges[place - 1][1] if place else LEFT) + 3
        free_to = edges[place + 1][0] - 3 if place + 1 < len(edges) else RIGHT
        label = next((one for one in _labels(heap) if length(one) <= free_to - free_from), "")
        label = label if scale.size.about else ""
        label_x = max(free_from, min((left + right - length(label)) / 2, free_to - length(label)))
        taken = label_x + length(label) if label else taken
        height = max(scale.height(span.workgroups) for span in heap)
        known = all(span.workgroups is not None for span in heap)
        yield Bar(left, right - left, height, label, label_x, _hint(heap, arm, scale), len(heap), known)


def _first(heap: Sequence[TracedSpan], scale: Scale) -> float:
    return scale.x(heap[0].start_us)


def _last(heap: Sequence[TracedSpan], scale: Scale) -> float:
    end = max(scale.x(span.start_us + span.duration_us) for span in heap)
    return max(end, _first(heap, scale) + 1)  # nothing that ran is invisible


def length(label: str) -> float:
    """Return how long a small text is, about: fonts differ."""
    return len(label) * LABEL_WIDTH


def _labels(heap: Sequence[TracedSpan]) -> tuple[str, ...]:
    """What is said above a bar where it fits, the longest first; several launches count themselves."""
    if len(heap) > 1:
        return f"{len(heap)} launches", f"{len(heap)}x"
    workgroups = "? wg" if heap[0].workgroups is None else f"{units.format_count(heap[0].workgroups)} wg"
    return f"{time_text(heap[0].duration_us)}, {workgroups}", workgroups


def _hint(heap: Sequence[TracedSpan], arm: TracedArm, scale: Scale) -> str:
    one = heap[0]
    name = scale.kernels[arm.kernels[one.kernel].name][1]
    if len(heap) > 1:
        return f"{len(heap)} launches from {time_text(one.start_us)}"
    workgroups = "unknown" if one.workgroups is None else units.format_count(one.workgroups)
    return f"{name}: {time_text(one.duration_us)} from {time_text(one.start_us)}, workgroups: {workgroups}"


def time_text(time_us: float) -> str:
    """A time in the axis's unit, however short: ``0.72 us``."""
    return f"{units.format_us(time_us)} us"
