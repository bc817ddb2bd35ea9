"""Time against tokens on log axes: a line for each variant and arm, marks for what fails, starves or crosses."""

from __future__ import annotations

import altair as alt

from pytest_kernelperf.report.figure.chart import axis
from pytest_kernelperf.report.figure.figure import ROWS
from pytest_kernelperf.report.figure.kernel_curve import ARMS

SIZE = "max(datum.tokens, 0.5)"
"""A size of 0 has a place on a log axis: half a token."""

TIMED = "isValid(datum.time_us)"
FAR = 5
"""A limit that is less than so many times below the time is shown."""

MARKS = {"timed": "circle", "starved": "triangle-down", "fails": "square", "crossover": "diamond"}
CROSS = "M-1,-1L1,1M1,-1L-1,1"
DASHES = {"head": [1, 0], "baseline": [6, 4], "parent": [2, 3]}

X = alt.X("size:Q").scale(type="log", base=2, padding=24, nice=False).axis(axis.log(2, ",~r", 10, "tokens"))
Y = alt.Y("time_us:Q").scale(type="log", padding=18, nice=False).axis(axis.log(10, ",~r", 6, "time per round (us)"))
COLOUR = alt.Color("variant:N", title="variant", sort=None).legend(
    symbolType="stroke", symbolStrokeWidth=3, columns=alt.ExprRef("width < 420 ? 1 : 3")
)
SHAPE = alt.Shape("mark:N").scale(domain=list(MARKS), range=list(MARKS.values())).legend(None)
DASH = alt.StrokeDash("arm:N", title="arm", sort=list(ARMS)).scale(
    domain=list(ARMS), range=[DASHES[arm] for arm in ARMS]
).legend(None)  # fmt: skip
TOOLTIP = [
    alt.Tooltip("variant:N"), alt.Tooltip("arm:N"), alt.Tooltip("tokens:Q", format=","),
    alt.Tooltip("time_us:Q", title="time (us)", format=",.4~r"),
    alt.Tooltip("low_us:Q", title="from (us)", format=",.4~r"),
    alt.Tooltip("high_us:Q", title="to (us)", format=",.4~r"),
    alt.Tooltip("verdict:N"), alt.Tooltip("starved:N"), alt.Tooltip("stored:N"), alt.Tooltip("mode:N"),
    alt.Tooltip("roofline_us:Q", title="at the memory's peak (us)", format=",.4~r"),
]  # fmt: skip


def chart(width: int | str, height: int) -> alt.LayerChart | alt.FacetChart:
    """Return the chart; ``width`` in px, or ``container``."""
    rows = alt.Chart(alt.NamedData(name=ROWS)).transform_calculate(
        size=SIZE, mark="datum.starved ? 'starved' : 'timed'"
    )
    timed = rows.transform_filter(TIMED)
    layers = [_lines(timed), _roofline(timed), _intervals(timed), *_points(timed), *_failing(rows), _crossovers()]
    if width != "container":  # names stand beside the plot, for which a narrow page has no room
        layers.append(_names())
    return alt.layer(*layers).properties(width=width, height=height)


def _roofline(timed: alt.Chart) -> alt.Chart:
    """Where memory is far from being the limit, it would only press the curves together."""
    near = timed.transform_filter(f"datum.arm == 'head' && datum.roofline_us >= datum.time_us / {FAR}")
    steps = alt.OverlayMarkDef(shape="stroke", filled=False, size=120, strokeWidth=1.5, opacity=1)
    return near.mark_line(strokeDash=[1, 4], strokeWidth=1.5, strokeCap="round", point=steps).encode(
        x=X, y=alt.Y("roofline_us:Q"), color=COLOUR, detail="mode:N"
    )


def _lines(timed: alt.Chart) -> alt.Chart:
    return timed.mark_line(strokeWidth=1.8).encode(
        x=X, y=Y, color=COLOUR, strokeDash=DASH, detail="mode:N", order="tokens:Q"
    )


def _intervals(timed: alt.Chart) -> alt.Chart:
    known = timed.transform_filter("isValid(datum.low_us) && isValid(datum.high_us)")
    return known.mark_rule(strokeWidth=2.5).encode(x=X, y=alt.Y("low_us:Q"), y2="high_us:Q", color=COLOUR)


def _points(timed: alt.Chart) -> tuple[alt.Chart, alt.Chart]:
    """Head's are filled, the others' hollow."""
    others = timed.transform_filter("datum.arm != 'head'").mark_point(size=50, opacity=1, strokeWidth=1.6)
    head = timed.transform_filter("datum.arm == 'head'").mark_point(filled=True, size=60, opacity=1)
    hollow, full = (each.encode(x=X, y=Y, color=COLOUR, shape=SHAPE, tooltip=TOOLTIP) for each in (others, head))
    return hollow, full


def _failing(rows: alt.Chart) -> tuple[alt.Chart, alt.Chart]:
    """A frame round the point, or a cross on the axis of tokens where there is no time."""
    failing = rows.transform_filter("datum.fails && datum.arm == 'head'").transform_calculate(mark="'fails'")
    framed = failing.transform_filter(TIMED).mark_point(style="ring", size=260, strokeWidth=2, fillOpacity=0, opacity=1)
    crossed = failing.transform_filter(f"!{TIMED}").mark_point(
        shape=CROSS, style="ring", size=70, strokeWidth=2, opacity=1, yOffset=-10
    )
    return framed.encode(x=X, y=Y, shape=SHAPE), crossed.encode(x=X, y=alt.value("height"), tooltip=TOOLTIP)


def _crossovers() -> alt.Chart:
    crossing = alt.Chart(alt.NamedData(name="crossovers")).transform_calculate(mark="'crossover'", size="datum.tokens")
    return crossing.mark_point(style="middle", size=90, strokeWidth=1.6, fillOpacity=0).encode(
        x=X, y=Y, shape=SHAPE, tooltip=[alt.Tooltip("text:N", title="crossover")]
    )


def _names() -> alt.Chart:
    """Each variant's name behind its line's end, so that lines are told apart without colour."""
    named = alt.Chart(alt.NamedData(name="names")).transform_calculate(size=SIZE)
    return named.mark_text(fontSize=11, align="left", dx=12, limit=220).encode(x=X, y=Y, text="text:N", color=COLOUR)
