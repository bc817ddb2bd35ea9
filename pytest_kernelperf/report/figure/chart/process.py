"""Stretches of an axis in which one process's rows stand: lines between them, and their numbers."""

from __future__ import annotations

import altair as alt

NAME_WIDTH = 70
"""Px for ``process 12``; where there is less, its number stands alone."""


def stretches(rows: alt.Chart, along: str) -> alt.Chart:
    """Return a row for each stretch: its ``process``, ``first`` and ``last`` place, and whether it is ``contended``.

    A process that is measured again, after others, has a stretch for each time.
    """
    at: list[alt.SortField | dict[str, str]] = [alt.SortField(along)]
    return (
        rows.transform_window(before="lag(process)", sort=at)
        .transform_calculate(begins="datum.before === datum.process ? 0 : 1")
        .transform_window(stretch="sum(begins)", sort=at, frame=[None, 0])
        .transform_aggregate(
            first=f"min({along})", last=f"max({along})", contended="max(contended)", groupby=["process", "stretch"]
        )
    )


def separators(rows: alt.Chart, along: str) -> tuple[alt.Chart, alt.Chart]:
    """Return lines before each stretch and its process's number above it."""
    of = stretches(rows, along)
    lines = (
        of.transform_calculate(edge="datum.first - 0.5")
        .mark_rule(style="between", strokeDash=[2, 2])
        .encode(x=alt.X("edge:Q"))
    )
    names = (
        of.transform_joinaggregate(count="count()")
        .transform_calculate(
            centre="(datum.first + datum.last) / 2",
            name=f"(datum.count * {NAME_WIDTH} > width ? '' : 'process ') + datum.process",
        )
        .mark_text(style="soft", baseline="bottom", dy=-4)
        .encode(x=alt.X("centre:Q"), y=alt.value(0), text="name:N")
    )
    return lines, names
