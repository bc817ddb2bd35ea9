"""A kind's Vega-Lite specification, without data; needs the extra ``report``."""

from __future__ import annotations

import importlib
import textwrap
from functools import cache
from typing import Any

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.report.figure.figure import Figure, Kind

WIDTH, HEIGHT, SUBTITLE_CHARACTERS = 680, 320, 118

NO_BREAK = "\u00a0"

MISSING = "pictures need the extra report, which is not installed: pip install 'pytest-kernelperf[report]'"


def require_extra() -> None:
    """Say what is missing before anything is done that would be for nothing.

    Raises:
        UsageError: the extra ``report`` is not installed.
    """
    try:
        for name in ("altair", "vl_convert"):
            importlib.import_module(name)
    except ModuleNotFoundError:
        raise UsageError(MISSING) from None


def specification(kind: Kind, width: int | str = WIDTH, height: int = HEIGHT) -> dict[str, Any]:
    """Return the Vega-Lite specification of a kind of figure; its rows are in the dataset ``rows``.

    ``width`` is px, or ``container``: as wide as where it stands.

    Raises:
        UsageError: the extra ``report`` is not installed.
    """
    return dict(_made(kind, width, height))


def filled(figure: Figure, width: int | str = WIDTH, height: int = HEIGHT) -> dict[str, Any]:
    """Return a specification with a figure's rows and words: all that Vega-Lite needs.

    Raises:
        UsageError: the extra ``report`` is not installed.
    """
    words = {"text": figure.title, "subtitle": subtitle_lines(figure.subtitle)}
    bare = specification(figure.kind, width, height)
    return {**bare, "title": words, "description": figure.description, "datasets": figure.datasets}


def subtitle_lines(subtitle: str) -> list[str]:
    """Return a subtitle in lines that end where a phrase ends."""
    phrases = "; ".join(phrase.replace(" ", NO_BREAK) for phrase in subtitle.split("; "))
    return [line.replace(NO_BREAK, " ") for line in textwrap.wrap(phrases, SUBTITLE_CHARACTERS)]


@cache
def _made(kind: Kind, width: int | str, height: int) -> dict[str, Any]:
    try:
        module = importlib.import_module(f"pytest_kernelperf.report.figure.chart.{kind}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("pytest_kernelperf"):
            raise
        raise UsageError(MISSING) from None
    made: dict[str, Any] = module.chart(width, height).to_dict()
    made.pop("config", None)  # Altair's own look; a theme of ours is given when it is drawn
    return made
