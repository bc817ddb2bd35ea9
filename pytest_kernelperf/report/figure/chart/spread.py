"""One line for each case: its spreads and the smallest slowdown that would show, on one axis with its tolerance."""

from __future__ import annotations

import altair as alt

from pytest_kernelperf.report.figure.chart import axis
from pytest_kernelperf.report.figure.figure import ROWS

POINTS = {
    "within": ("spread in a process", "circle"),
    "between": ("spread between processes", "square"),
    "detectable": ("smallest slowdown that would show", "diamond"),
}
STEP = 18
"""Height of a case in px."""

X = alt.X("share:Q").scale(type="log", nice=False, padding=20)
X = X.axis(axis.log(10, ".2~p", 6, "share of the time; line: the tolerance", percent=True))
NARROW = "length(datum.label) > 25 ? slice(datum.label, 0, 9) + '…' + slice(datum.label, -15) : datum.label"
"""Where a page may be a phone's, names are cut in their middle, as the sizes stand at their ends."""

NAMES = [name for name, _ in POINTS.values()]


def chart(width: int | str, height: int) -> alt.LayerChart | alt.FacetChart:
    """Return the chart; ``width`` in px, or ``container``. Its height is the cases'."""
    rows = alt.Chart(alt.NamedData(name=ROWS))
    labels = NARROW if width == "container" else "datum.label"
    y = alt.Y("case:N", title=None, sort=None).axis(labelLimit=400, labelExpr=labels)
    tolerance = (
        rows.transform_filter("datum.tolerance > 0")
        .mark_tick(style="limit", height=STEP)
        .encode(x=alt.X("tolerance:Q"), y=y, tooltip=[alt.Tooltip("tolerance:Q", format=".3~p")])
    )
    none = rows.transform_filter("!isValid(datum.detectable)").mark_text(
        text="none would show", align="right", style="soft", dx=-4
    )  # fmt: skip
    return alt.layer(tolerance, _points(rows, y), none.encode(x=alt.value("width"), y=y)).properties(
        width=width, height=alt.Step(STEP)
    )


def _points(rows: alt.Chart, y: alt.Y) -> alt.Chart:
    which = " : ".join(f"datum.kind == '{kind}' ? '{name}'" for kind, (name, _) in POINTS.items())
    folded = (
        rows.transform_fold(list(POINTS), as_=["kind", "share"])
        .transform_filter("isValid(datum.share) && datum.share > 0")
        .transform_calculate(name=f"{which} : ''")
    )
    return folded.mark_point(filled=True, size=70, opacity=1).encode(
        x=X, y=y,
        color=alt.Color("name:N", title=None).scale(domain=NAMES),
        shape=alt.Shape("name:N", title=None).scale(domain=NAMES, range=[shape for _, shape in POINTS.values()]),
        tooltip=[alt.Tooltip("case:N"), alt.Tooltip("name:N", title="what"),
                 alt.Tooltip("share:Q", title="share of the time", format=".3~p"), alt.Tooltip("mode:N")],
    )  # fmt: skip
