"""How figures look, for light and dark pages: Vega-Lite configurations. Specifications themselves hold no colour.

Colours are told apart by people who see them otherwise, and in grey by their lightness; nothing is said by colour
alone: a shape, a dash or a word says it too.
"""

from __future__ import annotations

from typing import Any

Config = dict[str, Any]

FONT = "system-ui, 'Liberation Sans', 'DejaVu Sans', sans-serif"

# After M. Okabe and K. Ito, "Color Universal Design" (2008); darkened or lightened to 3 to 1 against the page.
LIGHT_CATEGORIES = ["#0060a8", "#c24700", "#00795c", "#a3487d", "#8a6a00", "#3a8fc4", "#5b5b5b", "#6b3fa0"]
DARK_CATEGORIES = ["#5db3f5", "#ff9a52", "#2fc79d", "#e89cc8", "#e0bd3c", "#9ad4ff", "#b9b9b9", "#bb97f0"]


def _config(
    page: str, ink: str, soft: str, grid: str, band: str, alarm: str, shade: str, categories: list[str]
) -> Config:
    """Return a theme: ``ink`` is text, ``soft`` what frames it, ``alarm`` what fails."""
    return {
        "background": page,
        "font": FONT,
        "padding": 10,
        "view": {"stroke": None},
        "title": {
            "anchor": "start", "frame": "group", "color": ink, "subtitleColor": soft, "fontSize": 14,
            "subtitleFontSize": 12, "fontWeight": 600, "offset": 12, "subtitlePadding": 5, "limit": 720,
        },
        "axis": {
            "labelColor": soft, "titleColor": ink, "gridColor": grid, "domainColor": soft, "tickColor": soft,
            "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": 500, "titlePadding": 8, "labelLimit": 220,
        },
        "legend": {
            "labelColor": ink, "titleColor": ink, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": 500,
            "symbolStrokeColor": ink, "symbolBaseStrokeColor": ink, "symbolSize": 70, "labelLimit": 220,
            "orient": "bottom", "columnPadding": 16,
        },
        "range": {"category": categories},
        "style": {
            "tolerance": {"color": band},
            "contended": {"color": shade},
            "between": {"color": grid, "strokeWidth": 1},
            "nothing": {"color": soft, "strokeWidth": 1},
            "limit": {"color": ink, "thickness": 2.5},
            "middle": {"color": ink, "stroke": ink},
            "ring": {"stroke": alarm, "fill": None, "color": alarm},
            "alarm": {"fill": alarm, "color": alarm},
            "halo": {"color": page, "stroke": page, "strokeWidth": 4, "strokeJoin": "round", "fontSize": 11},
            "soft": {"fill": soft, "color": soft, "fontSize": 11},
        },
    }  # fmt: skip


LIGHT = _config("#ffffff", "#1f2328", "#59636e", "#d8dee4", "#e3ecdf", "#b3001b", "#fbe9c6", LIGHT_CATEGORIES)
DARK = _config("#0d1117", "#e6edf3", "#9aa4af", "#2b323b", "#1d2f22", "#ff7b72", "#3a2d12", DARK_CATEGORIES)

THEMES: dict[str, Config] = {"light": LIGHT, "dark": DARK}
