"""``kernelperf summary``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.comment import Links, render_comment
from pytest_kernelperf.report.room import octets
from pytest_kernelperf.report.run_file import read_run

MOST_BYTES = 1 << 20
"""GitHub refuses a step's summary as a whole where it is larger."""


@click.command
@click.argument("run_file", metavar="RUN.json", type=click.Path(path_type=Path))
def summary(run_file: Path) -> None:
    """Add what a run found to the job's summary (GITHUB_STEP_SUMMARY; printed where that is not set)."""
    variable = os.environ.get
    found: Run | str
    try:
        found = read_run(run_file)
    except RunFileError as problem:
        found = str(problem)
    links = Links(variable("GITHUB_REPOSITORY") or "", variable("GITHUB_SERVER_URL") or "https://github.com")
    place = variable("GITHUB_STEP_SUMMARY")
    there = Path(place).stat().st_size if place and Path(place).exists() else 0
    pictures = [] if isinstance(found, str) else _pictures(found)
    text = render_comment(found, links, max(0, MOST_BYTES - there - 2), octets, pictures) + "\n"
    try:
        if not place:
            click.echo(text, nl=False)
        elif there + len(text.encode("utf-8", "replace")) <= MOST_BYTES:
            with Path(place).open("ab") as file:
                file.write(text.encode("utf-8", "replace"))
        else:
            click.echo("the step's summary is full: nothing was added", err=True)
    except OSError as problem:
        click.echo(f"{place}: the summary cannot be written ({problem.strerror})", err=True)
        sys.exit(UNUSABLE)
    if isinstance(found, str):
        click.echo(found, err=True)
        sys.exit(UNUSABLE)


def _pictures(run: Run) -> list[str]:
    """What can be shown in a summary: GitHub strips SVG, images of ``data:`` and scripts, and cannot show a file of the
    run's. Characters in a block of code stay as they are; Braille is not in all fonts that its pages are read in."""
    from pytest_kernelperf.report.figure.text_pictures import MOST_COLUMNS, text_pictures

    return list(text_pictures(run, MOST_COLUMNS, braille=False, told=False))
