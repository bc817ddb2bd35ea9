"""Axes: numbers as the rest of the report writes them, and grids of which only the powers stand out."""

from __future__ import annotations

import altair as alt

ARROW = "M0,-1.4L1,0.2L0.35,0.2L0.35,1.2L-0.35,1.2L-0.35,0.2L-1,0.2Z"
"""A point at the upper edge that lies beyond it; turned round at the lower one."""

PERCENT = "replace(replace(datum.label, '%', ' %'), /^\\+(?=0 %$)/, '')"
"""``+1.5 %`` for ``+1.5%``, and a bare 0."""


def log(base: int, form: str, ticks: int, title: str | None, percent: bool = False) -> alt.Axis:
    """Return a log axis: grid lines are faint between the powers of ``base``, of which there may be one or none."""
    faint = alt.condition(f"abs(log(datum.value) / log({base}) % 1) < 1e-9", alt.value(1), alt.value(0.35))
    labels = PERCENT if percent else "datum.label"
    return alt.Axis(format=form, tickCount=ticks, title=title, gridOpacity=faint, tickOpacity=faint, labelExpr=labels)
