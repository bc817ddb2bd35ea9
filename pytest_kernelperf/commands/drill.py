"""``kernelperf drill``."""

from __future__ import annotations

import sys

import click

from pytest_kernelperf import strict_json
from pytest_kernelperf.commands.exit_code import UNABLE
from pytest_kernelperf.drill.alarm import Alarm
from pytest_kernelperf.drill.command import NAMES
from pytest_kernelperf.drill.command import drill as run_drill
from pytest_kernelperf.drill.text import render_alarm, render_ending
from pytest_kernelperf.pytest_process import terminable
from pytest_kernelperf.report.telling import telling
from pytest_kernelperf.settings import RUNTIMES


@click.command(
    context_settings={"ignore_unknown_options": True},
)
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--runtime", type=click.Choice(RUNTIMES), default="auto", help="As --kernelperf-runtime has it.")
@click.option(
    "--cases", type=click.IntRange(1, 100), default=3, show_default=True, help="How many of the project's cases to use."
)
@click.option("--alarm", "names", type=click.Choice(NAMES), multiple=True, help="Set off this alarm; default: all.")
@click.option("--json", "as_json", is_flag=True, help="Print every alarm as JSON.")
def drill(pytest_arguments: tuple[str, ...], runtime: str, cases: int, names: tuple[str, ...], as_json: bool) -> None:
    """Set each alarm off on purpose, and fail where one stays silent or the untouched code is blamed.

    PYTEST_ARGUMENTS are paths and options as pytest takes them (-k, -m, -o). Baselines and files of the project are
    not touched. Exit code 1: an alarm stayed silent, or the drill could not begin.
    """
    with terminable(), telling(sys.stderr) as say:

        def show_alarm(alarm: Alarm) -> None:
            say.clear()
            if not as_json:
                click.echo(render_alarm(alarm), nl=False)

        result = run_drill(pytest_arguments, runtime=runtime, cases=cases, names=names, say=say, done=show_alarm)
    click.echo(strict_json.layout(result) if as_json else render_ending(result), nl=False)
    sys.exit(0 if result.passed else UNABLE)
