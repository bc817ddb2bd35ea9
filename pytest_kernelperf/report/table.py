"""Tables as text, for the terminal and for Markdown."""

from __future__ import annotations

import re
from typing import Literal

from tabulate import tabulate

from pytest_kernelperf.report.view import RATE, KernelTable, TableView

Format = Literal["plain", "github"]

_RIGHT = {"tokens", "bytes moved", "GB/s", RATE}


def render_tables(view: TableView, form: Format = "plain") -> str:
    """Return all tables of a run: ``plain`` for the terminal, ``github`` for Markdown."""
    parts = [view.device, *(_render(table, form) for table in view.tables)]
    return "\n\n".join(parts) + "\n"


def _render(table: KernelTable, form: Format) -> str:
    title = f"### {escaped(table.kernel)}" if form == "github" else table.kernel
    rows = [[escaped(cell) if form == "github" else cell for cell in row.cells] for row in table.rows]
    text = tabulate(
        rows,
        headers=table.columns,
        tablefmt="github" if form == "github" else "simple",
        colalign=["right" if column in _RIGHT else "left" for column in table.columns],
        disable_numparse=True,
    )
    bullet = "- " if form == "github" else "  "
    notes = [f"{bullet}{escaped(note) if form == 'github' else note}" for note in table.notes]
    return "\n".join([title, "", *(line.rstrip() for line in text.splitlines()), *([""] if notes else []), *notes])


def escaped(text: str) -> str:
    """Text of a stranger's file inside Markdown: no cell ends early, no tag, link, picture or code begins."""
    return re.sub(r"[\\|`\[\]]", r"\\\g<0>", text).replace("<", "&lt;").replace("@", "&#64;")
