"""``kernelperf calibrate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_kernelperf import strict_json
from pytest_kernelperf.baseline.calibration import Calibration
from pytest_kernelperf.baseline.calibration_summary import Summary, summarise
from pytest_kernelperf.calibrate.command import calibrate as run_calibration
from pytest_kernelperf.calibrate.text import render_outcome
from pytest_kernelperf.calibrate.wish import MODES, Wish
from pytest_kernelperf.commands.exit_code import UNABLE
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Mode
from pytest_kernelperf.pytest_process import terminable
from pytest_kernelperf.report.figure.picture_file import write_pictures
from pytest_kernelperf.report.figure.specification import require_extra
from pytest_kernelperf.report.figure.spread import calibration_rows, spread
from pytest_kernelperf.report.telling import telling
from pytest_kernelperf.settings import RUNTIMES


@click.command(
    context_settings={"ignore_unknown_options": True},
)
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--runtime", type=click.Choice(RUNTIMES), default="auto", help="As --kernelperf-runtime has it.")
@click.option("--budget", "budget_s", metavar="SECONDS", type=click.FloatRange(1, 86400), default=300.0,
              show_default=True, help="How long to measure.")  # fmt: skip
@click.option("--copies", type=click.IntRange(2, 8), default=4, show_default=True,
              help="Copies of each code object that are compared.")  # fmt: skip
@click.option("--mode", "modes", type=click.Choice(MODES), multiple=True,
              help="Measure in this mode, and in that of the project's gate; default: in all.")  # fmt: skip
@click.option("--no-store", is_flag=True, help="Do not store the result beside the baselines.")
@click.option("--svg", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="Draw each case's spreads and the smallest slowdown that would show, into DIR.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print all that was seen, and what it comes to, as JSON.")
def calibrate(
    pytest_arguments: tuple[str, ...],
    runtime: str,
    budget_s: float,
    copies: int,
    modes: tuple[Mode, ...],
    no_store: bool,
    svg: Path | None,
    as_json: bool,
) -> None:
    """Compare each case's code with itself, again and again, and say how often the guard would have blamed it.

    PYTEST_ARGUMENTS are paths and options as pytest takes them (-k, -m, -o). The result is stored beside the
    baselines. Exit code 1: the machine is busy, or nothing could be measured.
    """
    if svg is not None:
        _require_pictures()
    wish = Wish("", budget_s, copies, modes or MODES, not no_store)
    with terminable(), telling(sys.stderr) as say:
        outcome = run_calibration(pytest_arguments, wish, runtime=runtime, say=say)
    summary = summarise(outcome.calibration) if outcome.calibration is not None else None
    if as_json:
        click.echo(strict_json.layout({"version": 1, "outcome": outcome, "summary": summary}), nl=False)
    else:
        click.echo(render_outcome(outcome, summary), nl=False)
    if svg is not None and outcome.calibration is not None and summary is not None:
        _draw(outcome.calibration, summary, svg)
    sys.exit(UNABLE if outcome.problem else 0)


def _require_pictures() -> None:
    """Nobody should measure for minutes to learn that a package is missing."""
    try:
        require_extra()
    except UsageError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNABLE)


def _draw(calibration: Calibration, summary: Summary, folder: Path) -> None:
    """Write the picture, and say on stderr where: stdout is the report's."""
    figure = spread(calibration_rows(summary.cases), f"calibrated on {calibration.device_key}")
    try:
        write_pictures(((name, each) for name, each in [("calibration", figure)] if each), folder, "svg",
                       written=lambda path: click.echo(f"drawn in {path}", err=True))  # fmt: skip
    except OSError as problem:
        click.echo(f"{folder}: the picture cannot be written there ({problem.strerror}): name another folder", err=True)
        sys.exit(UNABLE)
