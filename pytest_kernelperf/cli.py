"""The command ``kernelperf``: look at what the guard wrote, and at the machine that it is to run on."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_kernelperf import __version__, strict_json
from pytest_kernelperf.baseline.calibration_summary import summarise
from pytest_kernelperf.calibrate.command import calibrate as run_calibration
from pytest_kernelperf.calibrate.text import render_outcome
from pytest_kernelperf.calibrate.wish import MODES, Wish
from pytest_kernelperf.doctor.diagnosis import diagnose
from pytest_kernelperf.doctor.examination import HERE, examine
from pytest_kernelperf.doctor.text import render_diagnosis
from pytest_kernelperf.drill.alarm import Alarm
from pytest_kernelperf.drill.command import NAMES
from pytest_kernelperf.drill.command import drill as run_drill
from pytest_kernelperf.drill.text import render_alarm, render_ending
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Mode
from pytest_kernelperf.pytest_process import terminable
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.table import Format
from pytest_kernelperf.report.telling import telling
from pytest_kernelperf.report.terminal import render_run
from pytest_kernelperf.report.trace import render_trace, render_trace_comparison
from pytest_kernelperf.settings import RUNTIMES
from pytest_kernelperf.trace.comparison import compare_traces
from pytest_kernelperf.trace.perfetto import write_perfetto
from pytest_kernelperf.trace.summary import summarise_trace
from pytest_kernelperf.worker.examiner import Examiner

UNABLE = 1
"""Exit code of ``doctor`` where the guard could not run."""

UNUSABLE = 2
"""Exit code where a file cannot be used."""


@click.group()
@click.version_option(__version__, prog_name="kernelperf")
def main() -> None:
    """Look at what pytest --kernelperf wrote, and at the machine that it runs on."""


@main.command(short_help="Print a run's tables and what to do next.")
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


@main.command(short_help="Sum up a trace, or compare two.")
@click.argument("trace_a", metavar="A.db", type=click.Path(path_type=Path))
@click.argument("trace_b", metavar="[B.db]", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print all figures as JSON.")
@click.option("--markdown", is_flag=True, help="Print tables as Markdown.")
@click.option("--perfetto", metavar="OUT", type=click.Path(dir_okay=False, path_type=Path),
              help="Write A's kernels to OUT as Chrome trace JSON, which Perfetto opens.")  # fmt: skip
def trace(trace_a: Path, trace_b: Path | None, as_json: bool, markdown: bool, perfetto: Path | None) -> None:
    """Sum up a trace as rocprofv3 writes it (rocpd), or compare two kernel by kernel.

    A folder stands for all .db files below it: rocprofv3 writes one for each process.
    """
    try:
        summary = summarise_trace(trace_a)
        comparison = compare_traces(summary, summarise_trace(trace_b)) if trace_b is not None else None
        if perfetto is not None:
            write_perfetto(trace_a, perfetto)
    except KernelperfError as problem:
        click.echo(str(problem), err=True)
        sys.exit(UNUSABLE)
    form: Format = "github" if markdown else "plain"
    if as_json:
        click.echo(strict_json.layout({"version": 1, "comparison": comparison} if comparison else
                                      {"version": 1, "trace": summary}), nl=False)  # fmt: skip
    elif comparison is not None:
        click.echo(render_trace_comparison(comparison, form), nl=False)
    else:
        click.echo(render_trace(summary, form), nl=False)


@main.command(short_help="Say whether the guard can run here.")
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
        diagnosis = diagnose(examine(examiner, requested, sysfs_root.absolute() if sysfs_root else HERE))
    click.echo(strict_json.layout(diagnosis) if as_json else render_diagnosis(diagnosis), nl=False)
    sys.exit(0 if diagnosis.able else UNABLE)


@main.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Say how often unchanged code would be blamed here.",
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
@click.option("--json", "as_json", is_flag=True, help="Print all that was seen, and what it comes to, as JSON.")
def calibrate(
    pytest_arguments: tuple[str, ...],
    runtime: str,
    budget_s: float,
    copies: int,
    modes: tuple[Mode, ...],
    no_store: bool,
    as_json: bool,
) -> None:
    """Compare each case's code with itself, again and again, and say how often the guard would have blamed it.

    PYTEST_ARGUMENTS are paths and options as pytest takes them (-k, -m, -o). The result is stored beside the
    baselines. Exit code 1: the machine is busy, or nothing could be measured.
    """
    wish = Wish("", budget_s, copies, modes or MODES, not no_store)
    with terminable(), telling(sys.stderr) as say:
        outcome = run_calibration(pytest_arguments, wish, runtime=runtime, say=say)
    summary = summarise(outcome.calibration) if outcome.calibration is not None else None
    if as_json:
        click.echo(strict_json.layout({"version": 1, "outcome": outcome, "summary": summary}), nl=False)
    else:
        click.echo(render_outcome(outcome, summary), nl=False)
    sys.exit(UNABLE if outcome.problem else 0)


@main.command(
    context_settings={"ignore_unknown_options": True},
    short_help="Set each alarm off on purpose.",
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
