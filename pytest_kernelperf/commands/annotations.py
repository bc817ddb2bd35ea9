"""``kernelperf annotations``."""

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.report.annotation import render_annotations
from pytest_kernelperf.report.run_file import read_run


@click.command
@click.argument("run_file", metavar="RUN.json", type=click.Path(path_type=Path))
def annotations(run_file: Path) -> None:
    """Print what fails and what warns as workflow commands, at the kernel's line; at most ten of each."""
    try:
        run = read_run(run_file)
    except RunFileError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
    folder = Path.cwd()
    workspace = Path(os.environ.get("GITHUB_WORKSPACE") or folder)
    click.echo(render_annotations(run, folder, workspace), nl=False)
