"""Where one process ends and the next begins along an axis of time: lines between them, and their numbers."""

from __future__ import annotations

import altair as alt


def separators(rows: alt.Chart, along: str) -> tuple[alt.Chart, alt.Chart]:
    """Return lines before each process's first row and the process's number above its rows."""
    of = rows.transform_aggregate(first=f"min({along})", last=f"max({along})", groupby=["process"])
    lines = (
        of.transform_calculate(edge="datum.first - 0.5")
        .mark_rule(style="between", strokeDash=[2, 2])
        .encode(x=alt.X("edge:Q"))
    )
    names = (
        of.transform_calculate(centre="(datum.first + datum.last) / 2", name="'process ' + datum.process")
        .mark_text(style="soft", baseline="bottom", dy=-4)
        .encode(x=alt.X("centre:Q"), y=alt.value(0), text="name:N")
    )
    return lines, names
