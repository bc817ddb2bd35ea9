"""``kernelperf ci``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf.ci.against import Against, read_against
from pytest_kernelperf.ci.job import Job, run_job
from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.pytest_process import terminable
from pytest_kernelperf.settings import RUNTIMES


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path(".kernelperf"), show_default=True,
              help="Where run.json, traces and pictures go.")  # fmt: skip
@click.option("--baselines", default="baselines", show_default=True, help="The project's folder of baselines.")
@click.option("--runtime", type=click.Choice(RUNTIMES), default="auto", help="As --kernelperf-runtime has it.")
@click.option("--alone", is_flag=True, help="Hold the commit against nothing but the baselines in its own tree.")
def ci(pytest_arguments: tuple[str, ...], out: Path, baselines: str, runtime: str, alone: bool) -> None:
    """Guard a commit in CI: against the commit that it changes, by that commit's baselines; then report.

    Reads GITHUB_EVENT_NAME, GITHUB_EVENT_PATH and GITHUB_SHA, and KERNELPERF_ACCEPTANCE, the text of an acceptance.
    PYTEST_ARGUMENTS are pytest's. The exit code is pytest's.
    """
    variable = os.environ.get
    payload = variable("GITHUB_EVENT_PATH")
    try:
        commit = variable("GITHUB_SHA") or "HEAD"
        found = read_against(variable("GITHUB_EVENT_NAME") or "", Path(payload) if payload else None, commit)
        job = Job(Path.cwd(), out.absolute(), baselines, runtime, variable("KERNELPERF_ACCEPTANCE") or "")
        with terminable():
            code = run_job(job, Against(found.measured) if alone else found, pytest_arguments)
    except KernelperfError as problem:
        click.echo(f"::error title=kernelperf::{problem}")
        sys.exit(UNUSABLE)
    sys.exit(code)
