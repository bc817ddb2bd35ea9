"""``kernelperf acceptance``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf import strict_json
from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.ci.against import read_labels
from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.github.acceptance import PREFIX, find_acceptance
from pytest_kernelperf.github.api import as_described
from pytest_kernelperf.github.client import Client


@click.command
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), required=True,
              help="Where the acceptance goes; without one nothing is written.")  # fmt: skip
def acceptance(output: Path) -> None:
    """Look whether a maintainer has accepted this pull request's commit, slower or not.

    Reads GITHUB_EVENT_PATH, GITHUB_TOKEN and GITHUB_REPOSITORY. Where GitHub cannot be asked nothing is accepted.
    """
    try:
        pull = read_labels(Path(os.environ.get("GITHUB_EVENT_PATH", "")))
        if PREFIX + pull.head not in pull.labels:
            click.echo(f"no label {PREFIX}{pull.head}: nothing is accepted")
            return
        client = Client.of(os.environ)
    except KernelperfError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
    try:
        with as_described():
            found = find_acceptance(client, pull.number)
    except KernelperfError as problem:
        click.echo(f"::warning title=kernelperf::nothing is accepted, since GitHub could not be asked: {problem}")
        return
    click.echo(found.sentence)
    if found.by:
        write_atomically(output, strict_json.layout(found.document()))
