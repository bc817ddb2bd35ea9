"""A whole run as the terminal shows it: tables, details of what fails, headline, next commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_kernelperf.model import Run
from pytest_kernelperf.report.detail import needs_details, render_details
from pytest_kernelperf.report.markdown import fenced, inert
from pytest_kernelperf.report.summary import drift_lines, headline, next_commands
from pytest_kernelperf.report.table import Format, render_tables
from pytest_kernelperf.report.text import one_line
from pytest_kernelperf.report.traced import render_traced
from pytest_kernelperf.report.view import view_of
from pytest_kernelperf.units import format_counted

MOST_TRACES = 10
"""So many cases show their traces though nothing is wrong with them."""


def render_run(
    run: Run, form: Format = "plain", *, details: bool = True, folder: str = "", pictures: Sequence[str] = ()
) -> str:
    """Return the report of a run; ``details=False`` where the failing tests' messages already stand above it.

    ``folder`` is the run file's, as one types it. ``pictures`` are drawn already, and stand above the headline.
    """
    detail = render_details(run, warnings_only=not details, traced=form == "plain", folder=folder)
    if detail and form == "github":
        detail = fenced(detail, "text") + "\n"
    traces = "\n".join(_traces(run, form, folder))
    drift = "".join(f"{_placed(line, place, form)}\n" for place, line in enumerate(drift_lines(run)))
    closing = (
        "\n".join(inert(line) if form == "github" else line for line in (headline(run), *next_commands(run))) + "\n"
    )
    parts = (render_tables(view_of(run), form), detail, traces, *pictures, drift, closing)
    return "\n".join(part for part in parts if part)


def _traces(run: Run, form: Format, folder: str) -> Iterator[str]:
    """Yield traces that do not stand under their case's details: of cases that pass, in Markdown all."""
    plain = form == "plain"
    traced = [record for record in run.records if record.trace is not None and not (plain and needs_details(record))]
    for record in traced[:MOST_TRACES]:
        title = f"traced: {one_line(str(record.case))}\n" if plain else ""
        yield title + render_traced(record, form, folder)
    if len(traced) > MOST_TRACES:
        cases = format_counted(len(traced) - MOST_TRACES, "more case was", "more cases were")
        yield f"{cases} traced; kernelperf show RUN.json --timelines DIR draws each\n"


def _placed(line: str, place: int, form: Format) -> str:
    """A paragraph's line: the first stands out, in Markdown as a warning."""
    if form == "github":
        return f"> **Warning:** {inert(line)}" if place == 0 else f"> {inert(line)}"
    return f"warning: {line}" if place == 0 else f"  {line}"
