"""Raw samples in order of time: arms by shape and colour, processes apart, contended stretches shaded."""

from __future__ import annotations

import altair as alt

from pytest_kernelperf.report.figure.chart import axis
from pytest_kernelperf.report.figure.chart.process import separators, stretches
from pytest_kernelperf.report.figure.edge import FAR_SAMPLE
from pytest_kernelperf.report.figure.figure import ROWS

SHAPES = ["circle", "triangle-up", "square", "diamond", "cross", "triangle-down"]
X = alt.X("order:Q", title="sample, in order of time").scale(zero=False, nice=False, padding=8)
X = X.axis(grid=False, tickCount=10, format=",d")
Y = alt.Y("shown:Q", title="time per round (us)").scale(zero=False).axis(format=",~r")
ARMS = ["head", "baseline", "parent", "toolchain", "replaced"]
"""So that head has one colour in all pictures."""

RANK = f"indexof({ARMS}, datum.arm)"
IN_ORDER = alt.EncodingSortField("rank", op="min")
COLOUR = alt.Color("arm:N", sort=IN_ORDER, title="arm")
TOOLTIP = [
    alt.Tooltip("order:Q"), alt.Tooltip("process:N"), alt.Tooltip("arm:N"),
    alt.Tooltip("time_us:Q", title="time (us)", format=",.5~r"), alt.Tooltip("contended:N"),
]  # fmt: skip


def chart(width: int | str, height: int) -> alt.LayerChart | alt.FacetChart:
    """Return the chart; ``width`` in px, or ``container``."""
    rows = alt.Chart(alt.NamedData(name=ROWS))
    return alt.layer(_contended(rows), *separators(rows, "order"), *_points(_clamped(rows))).properties(
        width=width, height=height
    )


def _clamped(rows: alt.Chart) -> alt.Chart:
    """One sample in which somebody else ran must not press all others flat."""
    return (
        rows.transform_joinaggregate(low="q1(time_us)", high="q3(time_us)", groupby=["process", "arm"])
        .transform_calculate(most=f"datum.high + {FAR_SAMPLE} * (datum.high - datum.low) + 0.001 * datum.high")
        .transform_joinaggregate(most="max(most)")
        .transform_calculate(shown="min(datum.time_us, datum.most)", far="datum.time_us > datum.most", rank=RANK)
    )


def _contended(rows: alt.Chart) -> alt.Chart:
    placed = (
        stretches(rows, "order")
        .transform_filter("datum.contended")
        .transform_calculate(begin="datum.first - 0.5", end="datum.last + 0.5")
    )
    return placed.mark_rect(style="contended").encode(x=alt.X("begin:Q"), x2="end:Q")


def _points(clamped: alt.Chart) -> tuple[alt.Chart, alt.Chart]:
    """An arrow below a sample says that it lies beyond the edge."""
    shape = alt.Shape("arm:N", sort=IN_ORDER, title="arm").scale(range=SHAPES)
    points = clamped.mark_point(filled=True, size=24, opacity=0.85)
    arrows = clamped.transform_filter("datum.far").mark_point(
        shape=axis.ARROW, filled=True, size=50, opacity=1, style="middle", yOffset=11
    )
    return points.encode(x=X, y=Y, color=COLOUR, shape=shape, tooltip=TOOLTIP), arrows.encode(x=X, y=Y, tooltip=TOOLTIP)
