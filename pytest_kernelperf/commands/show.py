"""``kernelperf show``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.html.file import NAME, write_page
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.terminal import render_run
from pytest_kernelperf.report.timeline_file import write_timelines


@click.command
@click.argument("run_file", metavar="RUN.json", type=click.Path(path_type=Path))
@click.option("--markdown", is_flag=True, help="Print tables as Markdown.")
@click.option("--timelines", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="Draw each traced case and write its picture (SVG) to DIR; print their paths alone.")  # fmt: skip
@click.option("--html", metavar="[FILE]", is_flag=False, flag_value="", type=str,
              help="Write the run as one page that needs no network; default report.html beside RUN.json.")  # fmt: skip
def show(run_file: Path, markdown: bool, timelines: Path | None, html: str | None) -> None:
    """Print a run's table, the details of failing cases, and what to do next."""
    try:
        run = read_run(run_file)
        if html is not None:
            click.echo(page_of(run, run_file, html))
            return
        if timelines is not None:
            for path in write_timelines(run, timelines):
                click.echo(path)
            return
    except KernelperfError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
    except OSError as problem:
        click.echo(f"{timelines}: pictures cannot be written there ({problem.strerror}): name another folder", err=True)
        sys.exit(UNUSABLE)
    folder = str(run_file.parent)
    click.echo(render_run(run, "github" if markdown else "plain", folder=folder), nl=False)


def page_of(run: Run, run_file: Path, name: str) -> Path:
    """Write a run's page where the user wants it, and return its path.

    Raises:
        UsageError: the extra ``report`` is missing, or the place is none for a page.
    """
    path = Path(name) if name else run_file.parent / NAME
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--html: a page's name ends in .html, and {path} does not: write --html={path}.html")
    try:
        write_page(run, path)
    except OSError as problem:
        raise UsageError(f"{path}: the page cannot be written ({problem.strerror}): name another place") from None
    return path
