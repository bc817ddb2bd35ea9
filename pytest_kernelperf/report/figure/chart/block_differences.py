"""Paired differences block by block: a point each, a line for each process's median, the interval behind the last."""

from __future__ import annotations

import altair as alt

from pytest_kernelperf.report.figure.chart import axis
from pytest_kernelperf.report.figure.chart.process import separators
from pytest_kernelperf.report.figure.edge import FAR_BLOCK
from pytest_kernelperf.report.figure.figure import ROWS

SHAPES = ["circle", "square", "triangle-up", "diamond", "triangle-down", "cross"]
X = alt.X("place:Q", title="block, process by process").scale(zero=False, nice=False, padding=22)
X = X.axis(grid=False, tickCount=10, format=",d")
Y = alt.Y("change:Q", title="difference of the pair").axis(format="+,.3~p", labelExpr=axis.PERCENT)
COLOUR = alt.Color("process:N").legend(None)
TOOLTIP = [alt.Tooltip("process:N"), alt.Tooltip("block:Q"), alt.Tooltip("change:Q", title="difference", format="+.3p"),
           alt.Tooltip("contended:N")]  # fmt: skip


def chart(width: int | str, height: int) -> alt.LayerChart | alt.FacetChart:
    """Return the chart; ``width`` in px, or ``container``."""
    rows = alt.Chart(alt.NamedData(name=ROWS))
    judged = alt.Chart(alt.NamedData(name="judgement"))
    band = judged.mark_rect(style="tolerance").encode(y=alt.Y("tolerated_low:Q"), y2="tolerated_high:Q")
    nothing = judged.mark_rule(style="nothing").encode(y=alt.datum(0))
    return alt.layer(
        band, *separators(rows, "place"), nothing, *_points(rows), _medians(rows), *_verdict(judged)
    ).properties(width=width, height=height)


def _points(rows: alt.Chart) -> tuple[alt.Chart, ...]:
    """Hollow where somebody else was active; an arrow at the edge beyond which a block lies."""
    placed = (
        rows.transform_joinaggregate(low="q1(change)", high="q3(change)", groupby=["process"])
        .transform_calculate(
            least=f"datum.low - {FAR_BLOCK} * (datum.high - datum.low) - 0.0005",
            most=f"datum.high + {FAR_BLOCK} * (datum.high - datum.low) + 0.0005",
        )
        .transform_joinaggregate(least="min(least)", most="max(most)")
    )
    shape, filling = alt.Shape("process:N").scale(range=SHAPES).legend(None), alt.Fill("process:N").legend(None)
    near = placed.transform_filter("datum.change >= datum.least && datum.change <= datum.most").mark_point(
        filled=False, size=24, opacity=0.9, strokeWidth=1.2
    )
    hollow = alt.condition("datum.contended", alt.value(0), alt.value(1))
    arrows = [
        placed.transform_filter(test)
        .mark_point(shape=axis.ARROW, filled=True, size=60, opacity=1, angle=angle)
        .encode(x=X, y=alt.value(y), color=COLOUR, tooltip=TOOLTIP)
        for test, angle, y in (
            ("datum.change > datum.most", 0, 7),
            ("datum.change < datum.least", 180, alt.ExprRef("height - 7")),
        )
    ]
    return near.encode(x=X, y=Y, color=COLOUR, fill=filling, shape=shape, fillOpacity=hollow, tooltip=TOOLTIP), *arrows


def _medians(rows: alt.Chart) -> alt.Chart:
    of = rows.transform_aggregate(first="min(place)", last="max(place)", middle="median(change)", groupby=["process"])
    tooltip = [alt.Tooltip("process:N"), alt.Tooltip("middle:Q", title="median", format="+.3p")]
    return of.mark_rule(strokeWidth=3, style="middle").encode(
        x=alt.X("first:Q"), x2="last:Q", y=alt.Y("middle:Q"), tooltip=tooltip
    )


def _verdict(judged: alt.Chart) -> tuple[alt.Chart, alt.Chart]:
    """The mean over processes and its interval, in the room that the axis leaves at its end."""
    at_the_end = alt.value(alt.ExprRef("width - 9"))
    known = judged.transform_filter("isValid(datum.low) && isValid(datum.high)")
    interval = known.mark_rule(style="middle", strokeWidth=2.5).encode(x=at_the_end, y=alt.Y("low:Q"), y2="high:Q")
    mean = judged.mark_point(style="middle", filled=True, shape="diamond", size=110, opacity=1)
    return interval, mean.encode(
        x=at_the_end, y=alt.Y("change:Q"), tooltip=[alt.Tooltip("text:N", title="over processes")]
    )
