"""Figures as SVG and PNG, made by vl-convert without a browser and without network; needs the extra ``report``."""

from __future__ import annotations

import json
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.report.figure.figure import Figure
from pytest_kernelperf.report.figure.specification import MISSING, filled
from pytest_kernelperf.report.figure.theme import LIGHT, Config

SCALE = 2.0
"""Pixels of a PNG for each px of the picture: sharp on today's screens."""


def draw_svg(figure: Figure, config: Config = LIGHT) -> str:
    """Return a figure as SVG.

    Raises:
        UsageError: the extra ``report`` is not installed.
    """
    converter, spec, version = _prepared(figure)
    # Vega's renderer leaves the description out, and would have a label for each of hundreds of points instead.
    bare = {**config, "aria": False}
    drawn: str = converter.vegalite_to_svg(spec, vl_version=version, config=bare, allowed_base_urls=[])
    words = f"<title>{escape(figure.title)}</title><desc>{escape(figure.description)}</desc>"
    root, _, content = drawn.partition(">")
    return f'{root} role="img" aria-label={quoteattr(figure.description)}>{words}{content}'


def draw_png(figure: Figure, config: Config = LIGHT) -> bytes:
    """Return a figure as PNG.

    Raises:
        UsageError: the extra ``report`` is not installed.
    """
    converter, spec, version = _prepared(figure)
    drawn: bytes = converter.vegalite_to_png(spec, vl_version=version, config=config, scale=SCALE, allowed_base_urls=[])
    return drawn


def _prepared(figure: Figure) -> tuple[Any, str, str]:
    """The converter, all that it needs, and the version of Vega-Lite that Altair wrote it for."""
    try:
        import vl_convert
    except ModuleNotFoundError:
        raise UsageError(MISSING) from None
    spec = filled(figure)
    version = spec["$schema"].rsplit("/", 1)[-1].removesuffix(".json").lstrip("v").rsplit(".", 1)[0]
    return vl_convert, json.dumps(spec), version
