"""The command ``kernelperf``: look at what the guard wrote, and at the machine that it is to run on."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_kernelperf import __version__, strict_json
from pytest_kernelperf.doctor.diagnosis import diagnose
from pytest_kernelperf.doctor.examination import HERE, examine
from pytest_kernelperf.doctor.text import render_diagnosis
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.terminal import render_run
from pytest_kernelperf.worker.examiner import Examiner

UNABLE = 1
"""Exit code of ``doctor`` where the guard could not run."""

UNUSABLE = 2
"""Exit code where a file cannot be used."""


@click.group()
@click.version_option(__version__, prog_name="kernelperf")
def main() -> None:
    """Look at what pytest --kernelperf wrote, and at the machine that it runs on."""


@main.command()
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


@main.command()
@click.option(
    "--runtime",
    type=click.Choice(("auto", "rocm", "cuda", "cpu")),
    help="The runtime to look at; default: the one that the guard would take.",
)
@click.option(
    "--sysfs-root",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Read the machine's files below DIR, which holds sys/ and proc/ as they were written out elsewhere; "
    "a device is opened only if --runtime is given too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all that was found as JSON.")
def doctor(runtime: str | None, sysfs_root: Path | None, as_json: bool) -> None:
    """Say whether the guard can run here, and what would distort what it measures.

    Exit code 1: it could not run.
    """
    requested = runtime or ("" if sysfs_root else "auto")
    with Examiner(requested) as examiner:
        diagnosis = diagnose(examine(examiner, requested, sysfs_root.absolute() if sysfs_root else HERE))
    click.echo(strict_json.layout(diagnosis) if as_json else render_diagnosis(diagnosis), nl=False)
    sys.exit(0 if diagnosis.able else UNABLE)
