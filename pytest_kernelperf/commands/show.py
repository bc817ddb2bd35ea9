"""``kernelperf show``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.terminal import render_run


@click.command
@click.argument("run_file", metavar="RUN.json", type=click.Path(path_type=Path))
@click.option("--markdown", is_flag=True, help="Print tables as Markdown.")
def show(run_file: Path, markdown: bool) -> None:
    """Print a run's table, the details of failing cases, and what to do next."""
    try:
        run = read_run(run_file)
    except KernelperfError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
    click.echo(render_run(run, "github" if markdown else "plain"), nl=False)
