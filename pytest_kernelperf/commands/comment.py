"""``kernelperf comment``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError, RunFileError, UsageError
from pytest_kernelperf.github.body import RUNNING, SHOWN, SUPERSEDED, Body, Mark
from pytest_kernelperf.github.client import Client
from pytest_kernelperf.github.event import read_event
from pytest_kernelperf.github.posting import Wish, post
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.comment import MOST_CHARACTERS, Links, is_commit, render_banner, render_comment
from pytest_kernelperf.report.judging import Judging, render_judging
from pytest_kernelperf.report.room import characters
from pytest_kernelperf.report.run_file import read_run

NOT_POSTED = 3
UNKNOWN = "0" * 40


@click.command
@click.argument("run_file", metavar="[RUN.json]", required=False, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print the comment on RUN.json; no network.")
@click.option("--state", type=click.Choice((SHOWN, RUNNING, SUPERSEDED)), default=SHOWN, help="With --dry-run alone.")
@click.option("--artifact", "artifacts", multiple=True, metavar="NAME", default=("kernelperf", "kernelperf-hosted"),
              show_default=True, help="What holds run.json; the first that the run has is taken.")  # fmt: skip
@click.option("--author", default="github-actions[bot]", show_default=True, help="Who our comments are by.")
@click.option(
    "--judges",
    multiple=True,
    metavar="PATTERN",
    help="Files that judge a change, beside workflows, hooks, settings and baselines: the guard's own.",
)
@click.option("--strict", is_flag=True, help=f"Exit with {NOT_POSTED} where the comment could not be posted, not 0.")
def comment(
    run_file: Path | None,
    dry_run: bool,
    state: str,
    artifacts: tuple[str, ...],
    author: str,
    judges: tuple[str, ...],
    strict: bool,
) -> None:
    """Post what a run found as the one comment on its pull request.

    Runs on the event workflow_run (requested, in_progress, completed) and reads GITHUB_EVENT_PATH, GITHUB_TOKEN and
    GITHUB_REPOSITORY. The pull request is looked up by the run's head; the run's artifact is a stranger's data.
    """
    try:
        if dry_run:
            click.echo(_preview(run_file, state))
            return
        if run_file is not None:
            raise UsageError("RUN.json is for --dry-run: what is posted comes from the run's own artifact")
        client = Client.of(os.environ)
        event = read_event(Path(os.environ.get("GITHUB_EVENT_PATH") or ""))
    except UsageError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
    server = os.environ.get("GITHUB_SERVER_URL") or "https://github.com"
    wish = Wish(os.environ["GITHUB_REPOSITORY"], server, artifacts, author, judges)
    try:
        click.echo(post(client, event, wish, _Markdown()))
    except KernelperfError as problem:
        # The gate is the measuring run's own exit code, whatever becomes of the comment.
        click.echo(f"::warning title=kernelperf::the comment could not be posted: {problem}")
        click.echo(str(problem), err=True)
        sys.exit(NOT_POSTED if strict else 0)


class _Markdown:
    """The texts (``github.posting.Renderer``)."""

    def result(self, found: Run | str, links: Links, judging: Judging) -> str:
        above = render_judging(judging)
        if not above:
            return render_comment(found, links)
        return f"{above}\n\n{render_comment(found, links, MOST_CHARACTERS - characters(above))}"

    def banner(self, state: str, links: Links) -> str:
        return render_banner(state, links)


def _preview(run_file: Path | None, state: str) -> str:
    """The comment as it would be posted."""
    if run_file is None or not run_file.exists():
        raise UsageError(f"--dry-run needs a run file, and {run_file or 'none'} is there")
    found: Run | str
    try:
        found = read_run(run_file)
    except RunFileError as problem:
        found = f"The result is not shown: {problem}."
    commit = found.commit if isinstance(found, Run) and is_commit(found.commit) else UNKNOWN
    variable = os.environ.get
    server, repository = variable("GITHUB_SERVER_URL") or "https://github.com", variable("GITHUB_REPOSITORY") or ""
    run = variable("GITHUB_RUN_ID") or ""
    url = f"{server}/{repository}/actions/runs/{run}" if repository and run else ""
    links = Links(repository, server, commit, commit, url)
    banner = "" if state == SHOWN else _Markdown().banner(state, links)
    number = int(run) if run.isdigit() else 0
    return Body(Mark(number, 1, state, commit), banner, _Markdown().result(found, links, Judging())).text()
