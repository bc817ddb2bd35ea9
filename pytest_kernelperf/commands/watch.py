"""``kernelperf watch``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf.ci.watch import look, report
from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.github.api import as_described
from pytest_kernelperf.github.client import Client


@click.command
@click.argument("run_file", metavar="RUN.json", type=click.Path(path_type=Path))
@click.option("--box", type=click.Choice(("success", "failure", "cancelled", "skipped")), default="success",
              help="How the box's job ended.")  # fmt: skip
@click.option("--author", default="github-actions[bot]", show_default=True, help="Who our issues are by.")
@click.option("--dry-run", is_flag=True, help="Print what the issue would say; no network.")
def watch(run_file: Path, box: str, author: str, dry_run: bool) -> None:
    """Keep one issue that says how the box is: opened, updated, closed when it is well.

    RUN.json is a run of the accepted code. Reads GITHUB_TOKEN and GITHUB_REPOSITORY.
    """
    finding = look(run_file, box)
    if dry_run:
        click.echo(finding.body or "the box is well")
        return
    variable = os.environ.get
    server = variable("GITHUB_SERVER_URL") or "https://github.com"
    where = f"{server}/{variable('GITHUB_REPOSITORY')}/actions/runs/{variable('GITHUB_RUN_ID')}"
    try:
        with as_described():
            click.echo(report(Client.of(os.environ), finding, where, author))
    except KernelperfError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
