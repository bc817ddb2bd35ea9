"""Tables as text, for the terminal and for Markdown."""

from __future__ import annotations

from typing import Literal

from tabulate import tabulate

from pytest_kernelperf.report.markdown import cell, inert
from pytest_kernelperf.report.view import RATE, KernelTable, TableView

Format = Literal["plain", "github"]

_RIGHT = {"tokens", "bytes moved", "GB/s", RATE}


def render_tables(view: TableView, form: Format = "plain") -> str:
    """Return all tables of a run: ``plain`` for the terminal, ``github`` for Markdown."""
    parts = [inert(view.device) if form == "github" else view.device, *(_render(table, form) for table in view.tables)]
    return "\n\n".join(parts) + "\n"


def _render(table: KernelTable, form: Format) -> str:
    title = f"### {inert(table.kernel)}" if form == "github" else table.kernel
    rows = [[cell(text) if form == "github" else text for text in row.cells] for row in table.rows]
    text = tabulate(
        rows,
        headers=table.columns,
        tablefmt="pipe" if form == "github" else "simple",
        colalign=["right" if column in _RIGHT else "left" for column in table.columns],
        disable_numparse=True,
    )
    bullet = "- " if form == "github" else "  "
    notes = [f"{bullet}{inert(note) if form == 'github' else note}" for note in table.notes]
    return "\n".join([title, "", *(line.rstrip() for line in text.splitlines()), *([""] if notes else []), *notes])
