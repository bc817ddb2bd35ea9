"""A run as one self-contained page: template, styles, script, samples and the library that draws, in one text."""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Callable
from importlib import resources

import jinja2
import msgspec
from markupsafe import Markup

from pytest_kernelperf.model import Run
from pytest_kernelperf.report import timeline
from pytest_kernelperf.report.html.library import Library
from pytest_kernelperf.report.html.markdown import shown
from pytest_kernelperf.report.html.packing import deflated
from pytest_kernelperf.report.html.picture import pictures_of, sharpness_table
from pytest_kernelperf.report.html.view import in_page_order, page_view
from pytest_kernelperf.report.html.words import HINTS, WORDS

PACKAGE = "pytest_kernelperf.report.html"


def render_page(run: Run, library: Callable[[], Library]) -> str:
    """Return the page of a run. Whatever strangers wrote in it is text: nothing of it is an element or runs.

    ``library`` returns what draws its pictures; it is called last, so that it may be made meanwhile.

    Raises:
        UsageError: Altair is not installed, which makes the figures' specifications.
    """
    ordered = in_page_order(run)
    view = page_view(run, ordered)
    pictures = pictures_of(run, [record for _, record in ordered], view.kernels)
    drawing = library()
    style, script = Markup(_asset("page.css") + _timeline_style()), Markup(_asset("page.js"))
    return _environment().get_template("page.html").render(
        page=view,
        pictures=pictures,
        sharpness=None if pictures.sharpness is None else sharpness_table(pictures.sharpness),
        hints=defaultdict(str, HINTS),
        words=WORDS,
        style=style,
        script=script,
        hints_json=Markup(_json(HINTS)),
        columns=Markup(pictures.columns),
        data=Markup(deflated(msgspec.json.encode(pictures.rest))),
        library=Markup(drawing.deflated),
        policy=Markup(_policy([_hash(script), drawing.digest], [_hash(style)])),
    )  # fmt: skip


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (resources.files(PACKAGE) / "template" / name).read_text("utf-8")),
        autoescape=True,
        finalize=lambda value: shown(value) if type(value) is str else value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _asset(name: str) -> str:
    return (resources.files(PACKAGE) / "asset" / name).read_text("utf-8")


def _timeline_style() -> str:
    """A timeline's own styles, for all timelines of the page and its switch of colours."""
    light, dark = (
        " ".join(f".k{place} {{ fill: {colour} }}" for place, colour in enumerate(colours))
        for colours in (timeline.LIGHT, timeline.DARK)
    )
    in_dark = f".timeline {{{timeline.DARK_STYLE} {dark}}}"
    return (
        f".timeline {{{timeline.STYLE} {light}}}\n:root[data-theme=dark] {in_dark}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {in_dark} }}\n"
        f"@media print {{ :root {{ .timeline {{{timeline.STYLE} {light}}} }} }}\n"
    )


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Nothing is fetched, and nothing runs but what this package wrote."""
    hashed = [" ".join(f"'{one}'" for one in hashes) for hashes in (scripts, styles)]
    return f"default-src 'none'; script-src {hashed[0]}; style-src {hashed[1]}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _json(value: dict[str, str]) -> str:
    """JSON that no reader of HTML takes for the end of its script, or the beginning of a comment."""
    text = msgspec.json.encode(value).decode()
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
