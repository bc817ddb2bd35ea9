"""A case's traced arms as one picture (SVG): two rounds of each to one scale, for light and dark pages.

Names come from files that may be a stranger's: every text is escaped, and nothing in the picture is fetched or run.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from pytest_kernelperf import units
from pytest_kernelperf.model import Record
from pytest_kernelperf.report.drawing import ROUNDS, ArmDrawing, Drawing, Panel, draw
from pytest_kernelperf.report.lane import LEFT, RIGHT, WIDTH, Lane
from pytest_kernelperf.report.text import shorten
from pytest_kernelperf.strict_json import one_line

MOST_HINTS = 100
"""Bars of an arm that each have a hint of their own when pointed at; more are one path for each kernel."""

ROUND_LABEL = 50
"""How far apart rounds must begin for both to be named."""

LIGHT = ("#0969da", "#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#0b7285", "#9a6700", "#4d5d6b", "#6e7781")
DARK = ("#58a6ff", "#f0883e", "#3fb950", "#bc8cff", "#f778ba", "#39c5cf", "#d29922", "#a9b7c6", "#8b949e")
"""Kernels' colours, the last one for kernels that share a row: at least 3 to 1 against page and idle times."""

STYLE = """
  .page { fill: #ffffff } .text { fill: #1f2328 } .soft { fill: #57606a } .idle { fill: #fbe9c6 }
  .grid { stroke: #d0d7de } .line { stroke: #57606a } text { font: 12px system-ui, "DejaVu Sans", sans-serif }
  .title { font-size: 17px; font-weight: 600 } .part { font-size: 14px }
  .arm { font-size: 13px; font-weight: 600 } .small { font-size: 10.5px }
  .pale { fill-opacity: 0.45 } .over { stroke: #ffffff; stroke-width: 3px; stroke-linejoin: round; paint-order: stroke }
"""
DARK_STYLE = """
    .page { fill: #0d1117 } .text { fill: #e6edf3 } .soft { fill: #9aa4af } .idle { fill: #3a2d12 }
    .grid { stroke: #30363d } .line { stroke: #9aa4af } .over { stroke: #0d1117 }
"""


def render_timeline(record: Record, within: str = "") -> str | None:
    """Return a case's picture, None where it has no trace whose rounds can be told apart.

    ``within``: what the picture's ids begin with on a page that holds several, and that has the styles itself.
    """
    if record.trace is None or (drawing := draw(record.trace)) is None:
        return None
    case = one_line(str(record.case))
    origin = one_line(record.trace.origin)
    parts = [*_head(drawing, case, origin, within)]
    for place, panel in enumerate(drawing.panels):
        parts += _panel(panel, drawing.compute_units, says_about=place == 0)
    return "\n".join([*parts, _foot(drawing), "</svg>"]) + "\n"


def _head(drawing: Drawing, case: str, origin: str, within: str) -> Iterator[str]:
    height = _number(drawing.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-labelledby="{within}title {within}about">'
    )
    arms = " and ".join(one_line(arm.arm) for arm in drawing.panels[0].arms)
    yield f'<title id="{within}title">{_safe(f"{case}: traced {arms}")}</title>'
    about = [f"Traced times ({origin}), two rounds of each arm to one scale."]
    for arm in drawing.panels[0].arms:
        about.append(f"{arm.arm}: {arm.about}; " + "; ".join(f"{lane.name}, {lane.about}" for lane in arm.lanes) + ".")
    yield f'<desc id="{within}about">{_safe(" ".join(about))}</desc>'
    light, dark = (
        " ".join(f".k{place} {{ fill: {colour} }}" for place, colour in enumerate(colours)) for colours in (LIGHT, DARK)
    )
    if not within:
        yield f"<style>{STYLE}  {light}\n  @media (prefers-color-scheme: dark) {{{DARK_STYLE}    {dark}\n  }}\n</style>"
    yield f'<rect class="page" width="{WIDTH}" height="{height}"/>'
    yield _text(16, 28, shorten(case, 100), "text title")
    yield _text(
        16, 48, f"traced times ({shorten(origin, 40)}), two rounds of each arm to one scale; recording makes times "
        "longer, gaps above all", "soft",
    )  # fmt: skip


def _panel(panel: Panel, compute_units: int | None, *, says_about: bool) -> Iterator[str]:
    if panel.title:
        yield _text(16, panel.top + 16, panel.title, "text part")
    for arm in panel.arms:
        idle = "".join(f"M{_number(one.x)} {_number(arm.strip)}h{_number(one.width)}V{_number(arm.bottom)}"
                       f"h-{_number(one.width)}z" for one in arm.idle)  # fmt: skip
        if idle:
            yield f'<path class="idle" d="{idle}"/>'
        grid = "".join(f"M{_number(x)} {_number(arm.strip)}V{_number(arm.bottom)}" for x, _ in panel.ticks)
        yield f'<path class="grid" d="{grid}"/>'
        yield from _arm(arm, panel, compute_units, says_about=says_about)
    yield f'<path class="line" d="M{LEFT:g} {_number(panel.axis)}H{RIGHT:g}"/>'
    for x, number in panel.ticks:
        yield f'<path class="line" d="M{_number(x)} {_number(panel.axis)}v5"/>'
        yield _text(x, panel.axis + 18, number, "text", "middle")
    yield _text(RIGHT + 14, panel.axis + 18, "us", "text")
    yield _text(16, panel.axis + 18, "traced time, from the first start", "soft")


def _arm(arm: ArmDrawing, panel: Panel, compute_units: int | None, *, says_about: bool) -> Iterator[str]:
    yield "<g>"
    about = f'<tspan class="soft" dx="10">{_safe(arm.about)}</tspan>' if says_about else ""
    name = f'<tspan class="arm">{_safe(shorten(arm.arm, 40))}</tspan>'
    yield f'<text class="text" x="16" y="{_number(arm.top + 14)}">{name}{about}</text>'
    if any(one.label for one in arm.idle):
        yield _text(16, arm.strip + 13, "no kernel runs", "soft small")
    for one in arm.idle:
        if one.label:
            yield _text(one.x + one.width / 2, arm.strip + 13, one.label, "soft small", "middle")
    hints = sum(len(lane.bars) for lane in arm.lanes) <= MOST_HINTS
    for place, lane in enumerate(arm.lanes):
        yield from _lane(lane, panel, hints=hints, compute_units=compute_units if place == 0 else None)
    for place, x in enumerate(arm.rounds):
        yield (
            f'<path class="line" stroke-dasharray="1 3" d="M{_number(x)} {_number(arm.strip + panel.strip_height)}'
            f'V{_number(arm.bottom + ROUNDS - 6)}"/>'
        )
        if place == 0 or x - arm.rounds[place - 1] > ROUND_LABEL:
            yield _text(x + 3, arm.bottom + ROUNDS - 7, f"round {place + 1}", "soft small")
    yield "</g>"


def _lane(lane: Lane, panel: Panel, *, hints: bool, compute_units: int | None) -> Iterator[str]:
    yield f"<g><title>{_safe(one_line(lane.full_name))}: {_safe(lane.about)}</title>"
    yield _text(16, lane.base - (16 if lane.says_about else 3), lane.name, "text")
    if lane.says_about:
        yield _text(16, lane.base - 2, lane.about, "soft small")
    yield f'<path class="line" d="M{LEFT:g} {_number(lane.base)}H{RIGHT:g}"/>'
    if hints:
        for bar in lane.bars:
            yield (
                f'<rect class="{_kind(lane, bar.known)}" x="{_number(bar.x)}" y="{_number(lane.base - bar.height)}" '
                f'width="{_number(bar.width)}" height="{_number(bar.height)}"><title>{_safe(bar.hint)}</title></rect>'
            )
    else:
        for known in (True, False):
            path = "".join(f"M{_number(bar.x)} {_number(lane.base)}v-{_number(bar.height)}h{_number(bar.width)}"
                           f"v{_number(bar.height)}z" for bar in lane.bars if bar.known is known)  # fmt: skip
            if path:
                yield f'<path class="{_kind(lane, known)}" d="{path}"/>'
    if panel.full_height is not None:
        y = _number(lane.base - panel.full_height)
        yield f'<path class="line" stroke-dasharray="5 3" d="M{LEFT:g} {y}H{RIGHT:g}"/>'
        if compute_units is not None:
            yield _text(
                RIGHT + 5, lane.base - panel.full_height + 4, f"{units.format_count(compute_units)} CUs", "soft small"
            )
    for bar in lane.bars:
        if bar.label:
            yield _text(bar.label_x, lane.base - bar.height - 4, bar.label, "text small over")
    yield "</g>"


def _foot(drawing: Drawing) -> str:
    parts = ["bar height: workgroups (wg), log scale", "shaded: no kernel runs"]
    if drawing.compute_units is not None:
        parts.insert(1, f"dashed: {units.format_counted(drawing.compute_units, 'compute unit')} (CUs)")
    parts += [f"no rounds to be told apart: {one_line(arm)}" for arm in drawing.left_out]
    bars = [bar for panel in drawing.panels for arm in panel.arms for lane in arm.lanes for bar in lane.bars]
    if any(not bar.known for bar in bars):
        parts.insert(1, "pale: workgroups unknown")
    if any(bar.launches > 1 for bar in bars):
        parts.append("launches too near for gaps are one bar")
    return _text(16, drawing.height - 20, "; ".join(parts), "soft")


def _kind(lane: Lane, known: bool) -> str:
    return f"k{lane.colour}" if known else f"k{lane.colour} pale"


def _text(x: float, y: float, text: str, kind: str, anchor: str = "") -> str:
    where = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}" x="{_number(x)}" y="{_number(y)}"{where}>{_safe(text)}</text>'


def _safe(text: str) -> str:
    """Text that no XML reader stumbles over: control characters and unpaired surrogates have become ``?``."""
    return escape(one_line(text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
