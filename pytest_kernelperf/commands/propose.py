"""``kernelperf propose``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf.ci.checkout import Git
from pytest_kernelperf.ci.proposal import Wish, check_words, compare_folders
from pytest_kernelperf.ci.proposal import propose as open_pull_request
from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.github.api import as_described
from pytest_kernelperf.github.client import Client


@click.command
@click.argument("measured", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--baselines", default="baselines", show_default=True, help="The project's folder of baselines.")
@click.option("--base", default="main", show_default=True, help="The branch to propose them to.")
@click.option("--dry-run", is_flag=True, help="Print what would be proposed; no network.")
def propose(measured: Path, baselines: str, base: str, dry_run: bool) -> None:
    """Check baselines that were measured elsewhere and open a pull request with them.

    MEASURED is their folder. Reads SHA and REASON (the commit that was measured, and why), GITHUB_TOKEN,
    GITHUB_REPOSITORY and GITHUB_RUN_ID. Nothing of the folder is run.
    """
    variable = os.environ.get
    try:
        commit = variable("SHA") or ""
        reason = check_words(commit, variable("REASON") or "")
        git = Git(Path.cwd())
        if not git.same(commit, "HEAD", baselines):
            raise UsageError(f"{base}'s {baselines}/ is not what it was at {commit[:12]}: measure a newer commit")
        proposal = compare_folders(measured.resolve(), Path.cwd() / baselines, Path.cwd())
        if not proposal.files:
            click.echo("the measured baselines are those that are there: nothing to propose")
            return
        click.echo("\n".join(proposal.lines))
        if dry_run:
            return
        wish = Wish(baselines, base, f"kernelperf/baselines-{variable('GITHUB_RUN_ID') or commit[:12]}", commit, reason)
        with as_described():
            click.echo(f"opened pull request {open_pull_request(Client.of(os.environ), proposal, wish)}")
    except KernelperfError as problem:
        click.echo(f"::error title=kernelperf::{problem}")
        sys.exit(UNUSABLE)
