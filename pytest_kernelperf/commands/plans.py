"""``kernelperf plans``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from pytest_kernelperf import strict_json
from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.commit import commit_at_hand
from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.export.change import Change, find_changes, read_against
from pytest_kernelperf.export.command import export_plans
from pytest_kernelperf.pytest_process import terminable
from pytest_kernelperf.report.telling import telling
from pytest_kernelperf.settings import RUNTIMES
from pytest_kernelperf.units import format_counted

CHANGED = 3
"""Some case is not as it is in what was compared with."""


@click.command(
    context_settings={"ignore_unknown_options": True},
)
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--output", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), default="plans.kernelperf",
              show_default=True, help="The file to write.")  # fmt: skip
@click.option("--commit", metavar="SHA", default="", help="The commit that this is; default: git's HEAD.")
@click.option("--runtime", type=click.Choice(RUNTIMES), default="auto", help="As --kernelperf-runtime has it.")
@click.option("--changed-against", "against", metavar="DIR|FILE", type=click.Path(path_type=Path),
              help="Say which cases differ from these baselines, or from another commit's plans.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print what differs, and what could not be exported, as JSON.")
def plans(
    pytest_arguments: tuple[str, ...],
    output: Path,
    commit: str,
    runtime: str,
    against: Path | None,
    as_json: bool,
) -> None:
    """Export the code of all cases here as one file, for --kernelperf-parent: compiled, not run, not timed.

    PYTEST_ARGUMENTS are paths and options as pytest takes them (-k, -m, -o). What does not compile, or cannot be
    collected, is said, and is in the file. Exit code 2: nothing was written; 3: --changed-against, and some differ.
    """
    try:
        named = _full(commit) if commit else commit_at_hand(Path.cwd(), {})
        with terminable(), telling(sys.stderr) as say:
            export, outcome = export_plans(pytest_arguments, output, named, runtime=runtime, say=say)
        before = read_against(against, export.device_key) if against is not None else {}
    except KernelperfError as problem:
        click.echo(f"kernelperf plans: {problem}", err=True)
        sys.exit(UNUSABLE)
    for sentence in export.sentences:
        click.echo(f"not exported: {sentence}", err=True)
    changes = find_changes(export, before, dict(outcome.former)) if against is not None else ()
    if as_json:
        said = {
            "version": 1,
            "commit": export.commit,
            "device_key": export.device_key,
            "changed": changes,
            "problems": export.sentences,
        }
        click.echo(strict_json.layout(said), nl=False)
    else:
        _tell(changes, against)
        cases = format_counted(len(export.cases), "case")
        are = "is" if len(export.cases) == 1 else "are"
        click.echo(f"{cases} of {export.device_key or 'no device'} {are} in {output}")
    sys.exit(CHANGED if changes else 0)


def _tell(changes: tuple[Change, ...], against: Path | None) -> None:
    for change in changes:
        was = f", which was {change.renamed_from}" if change.renamed_from is not None else ""
        click.echo(strict_json.one_line(f"{change.what:<7}  {change.case}{was}"))
    if against is not None and not changes:
        click.echo(strict_json.one_line(f"all cases are as in {against}"))


def _full(commit: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}", commit):
        raise UsageError(f"--commit takes a full SHA, 40 or 64 hexadecimal digits, not {commit!r}")
    return commit.lower()
