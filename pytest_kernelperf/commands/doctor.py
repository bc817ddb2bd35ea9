"""``kernelperf doctor``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_kernelperf import strict_json
from pytest_kernelperf.commands.exit_code import UNABLE
from pytest_kernelperf.doctor.diagnosis import diagnose
from pytest_kernelperf.doctor.examination import HERE, examine
from pytest_kernelperf.doctor.recorder import read_rocprofv3
from pytest_kernelperf.doctor.text import render_diagnosis
from pytest_kernelperf.settings import RUNTIMES
from pytest_kernelperf.worker.examiner import Examiner


@click.command
@click.option(
    "--runtime",
    type=click.Choice(RUNTIMES),
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
        root = sysfs_root.absolute() if sysfs_root else HERE
        diagnosis = diagnose(examine(examiner, requested, root, read_rocprofv3))
    click.echo(strict_json.layout(diagnosis) if as_json else render_diagnosis(diagnosis), nl=False)
    sys.exit(0 if diagnosis.able else UNABLE)
