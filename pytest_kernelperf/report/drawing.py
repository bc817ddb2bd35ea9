"""Where everything of a timeline's picture stands: a case's traced arms, one above the other, to one scale.

Each kernel of an arm has a row of its own, so that no kernel is told by its colour alone and kernels that run at the
same time do not hide each other. Lengths are in px of the picture, ``y`` grows downwards.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pytest_kernelperf import units
from pytest_kernelperf.model import CaseTrace, TracedArm, TracedSpan
from pytest_kernelperf.report.lane import FULL, MERGE, SMALL, Lane, Scale, lane_of, length, time_text
from pytest_kernelperf.report.trace import short_names

TOP, TITLE, HEADER, ROUNDS, AXIS, FOOT = 64, 26, 22, 18, 34, 34
MOST_ROWS = 8
DENSE_LAUNCHES = 32
"""An arm with more launches than these in both rounds is shown twice: whole, and its beginning enlarged."""

ENLARGED_LAUNCHES = 12
LEAST_US, WIDE_US = 0.001, 1e6


@dataclass(frozen=True)
class Idle:
    """A time in which no kernel of the arm runs."""

    x: float
    width: float
    label: str


@dataclass(frozen=True)
class ArmDrawing:
    """One arm from ``top`` (its header) to ``bottom``; ``rounds`` are the places where its rounds begin."""

    arm: str
    about: str
    top: float
    strip: float
    bottom: float
    lanes: tuple[Lane, ...]
    idle: tuple[Idle, ...]
    rounds: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """Arms to one scale, and their axis: places and numbers. ``full_height``: of a bar that fills the device."""

    title: str
    top: float
    arms: tuple[ArmDrawing, ...]
    axis: float
    ticks: tuple[tuple[float, str], ...]
    full_height: float | None
    strip_height: float


@dataclass(frozen=True)
class Drawing:
    """The whole picture; ``left_out`` are arms whose rounds cannot be told apart."""

    height: float
    panels: tuple[Panel, ...]
    compute_units: int | None
    left_out: tuple[str, ...]


def draw(trace: CaseTrace) -> Drawing | None:
    """Return where everything stands, None where no arm's rounds can be told apart."""
    arms = [arm for arm in trace.arms if arm.spans]
    if not arms:
        return None
    counts = [span.workgroups for arm in arms for span in arm.spans if span.workgroups is not None]
    names = dict.fromkeys(arm.kernels[span.kernel].name for arm in arms for span in arm.spans)
    kernels = {name: (place, short) for place, (name, short) in enumerate(short_names(names).items())}
    whole = Scale(max(_end_us(arm.spans) for arm in arms), max([2, trace.compute_units or 2, *counts]), FULL, kernels)
    if max(len(arm.spans) for arm in arms) <= DENSE_LAUNCHES:
        panels = [_panel("", arms, whole, trace.compute_units, TOP)]
    else:
        panels = [_panel("both rounds", arms, replace(whole, size=SMALL), trace.compute_units, TOP)]
        end_us = max(_end_us(_in_order(arm)[:ENLARGED_LAUNCHES]) for arm in arms)
        enlarged = replace(whole, end_us=end_us)
        panels.append(_panel("their beginning, enlarged", arms, enlarged, trace.compute_units, panels[0].axis + AXIS))
    left_out = tuple(arm.arm for arm in trace.arms if not arm.spans)
    return Drawing(panels[-1].axis + AXIS + FOOT, tuple(panels), trace.compute_units, left_out)


def _end_us(spans: Sequence[TracedSpan]) -> float:
    """Return when the last span ends; a nanosecond at least, since no clock is finer."""
    return max(LEAST_US, *(span.start_us + span.duration_us for span in spans))


def _in_order(arm: TracedArm) -> list[TracedSpan]:
    return sorted(arm.spans, key=lambda span: (span.start_us, span.kernel))


def _panel(title: str, arms: Sequence[TracedArm], scale: Scale, compute_units: int | None, top: float) -> Panel:
    drawn: list[ArmDrawing] = []
    y = top + (TITLE if title else 0)
    for arm in arms:
        drawn.append(_arm(arm, scale, y))
        y = drawn[-1].bottom + ROUNDS
    full_height = scale.height(compute_units) if compute_units else None
    return Panel(title, top, tuple(drawn), y, tuple(_ticks(scale)), full_height, scale.size.strip)


def _arm(arm: TracedArm, scale: Scale, top: float) -> ArmDrawing:
    rounds = [one.start_us for one in _round_starts(_in_order(arm)) if one.start_us < scale.end_us]
    spans = [one for one in _in_order(arm) if one.start_us <= scale.end_us]
    strip = top + HEADER
    rows = strip + scale.size.strip
    lanes: list[Lane] = []
    for members in _rows(arm, spans, scale):
        base = rows + scale.size.row * (len(lanes) + 1) - 5
        row = [span for span in spans if span.kernel in members]
        lanes.append(lane_of([arm.kernels[one] for one in members], row, arm, scale, base))
    return ArmDrawing(
        arm.arm,
        about_arm(arm),
        top,
        strip,
        rows + scale.size.row * len(lanes),
        tuple(lanes),
        tuple(_idle(spans, scale)),
        tuple(scale.x(start_us) for start_us in rounds),
    )


def _round_starts(spans: Sequence[TracedSpan]) -> Iterator[TracedSpan]:
    """Yield what rounds begin with: the second one in the middle, where both have as many launches of each kernel."""
    yield spans[0]
    middle = len(spans) // 2
    if Counter(span.kernel for span in spans[:middle]) == Counter(span.kernel for span in spans[middle:]):
        yield spans[middle]


def about_arm(arm: TracedArm) -> str:
    """Say how busy an arm kept the device: ``busy 62 %, 2.00 us between kernels: gaps longer than kernels``."""
    text = f"busy {units.format_percent(100 * arm.busy_ratio)} of the time"
    if arm.median_gap_us is not None:
        text += f", {time_text(arm.median_gap_us)} between kernels (median)"
    return text + (": starving, gaps longer than kernels" if arm.starving else "")


def _rows(arm: TracedArm, spans: Sequence[TracedSpan], scale: Scale) -> Iterator[tuple[int, ...]]:
    """Yield the kernels of each row: one, or in the last row all that would be too many."""
    total_us: dict[int, float] = defaultdict(float)
    for span in spans:
        total_us[span.kernel] += span.duration_us
    order = sorted(total_us, key=lambda one: (scale.kernels[arm.kernels[one].name][0], one))
    if len(order) <= MOST_ROWS:
        yield from ((one,) for one in order)
        return
    longest = sorted(order, key=lambda one: -total_us[one])[: MOST_ROWS - 1]
    yield from ((one,) for one in order if one in longest)
    yield tuple(one for one in order if one not in longest)


def _idle(spans: Sequence[TracedSpan], scale: Scale) -> Iterator[Idle]:
    until_us = spans[0].start_us
    for span in spans:
        left, right = scale.x(until_us), scale.x(span.start_us)
        if right - left >= MERGE:
            text = time_text(span.start_us - until_us)
            fits = scale.size.about and length(text) <= right - left
            yield Idle(left, right - left, text if fits else "")
        until_us = max(until_us, span.start_us + span.duration_us)


def _ticks(scale: Scale) -> Iterator[tuple[float, str]]:
    """Yield the axis's numbers: steps of 1, 2 or 5 times a power of ten, three to seven, wide ones two to four."""
    rough_us = scale.end_us / (6 if scale.end_us < WIDE_US else 3)
    power = 10.0 ** math.floor(math.log10(rough_us))
    step_us = power * next(one for one in (1, 2, 5, 10) if rough_us <= one * power * 1.000001)
    decimals = max(0, -math.floor(math.log10(step_us)))
    for place in range(int(scale.end_us / step_us + 1e-9) + 1):
        yield scale.x(place * step_us), f"{place * step_us:,.{decimals}f}"
