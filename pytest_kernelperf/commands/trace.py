"""``kernelperf trace``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from pytest_kernelperf import strict_json
from pytest_kernelperf.commands.exit_code import UNUSABLE
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.pytest_process import terminable
from pytest_kernelperf.report.table import Format
from pytest_kernelperf.report.trace import render_trace, render_trace_comparison
from pytest_kernelperf.trace.comparison import compare_traces
from pytest_kernelperf.trace.perfetto import write_perfetto
from pytest_kernelperf.trace.summary import summarise_trace


@click.command
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
            with terminable():
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
