"""What stands under a case that was traced: its arms side by side in one table, and how to open their traces.

Every time here is a traced time: it is labelled so, and never stands beside an untraced one.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from tabulate import tabulate

from pytest_kernelperf import units
from pytest_kernelperf.model import CaseTrace, Record, TracedArm, TracedKernel
from pytest_kernelperf.report.markdown import cell, inert
from pytest_kernelperf.report.table import Format
from pytest_kernelperf.report.text import one_line, shorten
from pytest_kernelperf.report.trace import short_names, workgroups_text

COLUMNS = (
    "kernel", "arm", "calls", "traced avg us", "traced median us", "workgroups/CUs", "traced gap us", "busy",
)  # fmt: skip
"""Gap: the median time between the end of one kernel and the start of the next. Busy: the share of the time in which a
kernel ran. The median leaves the kernel's first call out, gap and busy the first round."""

LEFT = frozenset({"kernel", "arm", "workgroups/CUs"})
MOST_KERNELS, MOST_NAME = 12, 60
TIMELINE = "timeline.svg"
OPENING = (
    "ROCm Optiq opens a .db; for Perfetto: kernelperf trace X.db --perfetto X.json, then X.json at ui.perfetto.dev"
)


def render_traced(record: Record, form: Format = "plain", folder: str = "") -> str:
    """Return a case's traces as text, empty where none was asked for. ``folder`` is the run file's, as one types it."""
    if record.trace is None:
        return ""
    trace = record.trace
    facts = list(facts_of(record, folder))
    head = []
    if trace.arms:
        origin = one_line(trace.origin)
        origin = inert(origin) if form == "github" else origin
        head = [f"traced times ({origin}) say why, not by how much: recording makes them longer, gaps above all"]
    if form == "github":
        listed = "\n".join(f"- {inert(name)}: {inert(text)}" for name, text in facts)
        parts = [f"#### {inert(one_line(str(record.case)))}", *head, _table(trace, form), listed]
        return "\n\n".join(filter(None, parts)) + "\n"
    width = max((len(name) for name, _ in facts), default=0)
    lines = [*head, *(f"  {line}" for line in _table(trace, form).splitlines())]
    lines += [f"{name:<{width}}  {text}" for name, text in facts]
    return "".join(f"  {line}\n" for line in lines)


def timeline_path(trace: CaseTrace) -> PurePosixPath | None:
    """Return where a case's picture lies, relative to the run file's folder; None where there is none to be drawn."""
    drawn = [arm for arm in trace.arms if arm.spans]
    return PurePosixPath(drawn[0].path).parent / TIMELINE if drawn else None


def _table(trace: CaseTrace, form: Format) -> str:
    rows = [tuple(map(one_line, row)) for row in rows_of(trace)]
    if not rows:
        return ""
    text = tabulate(
        [[cell(text) for text in row] for row in rows] if form == "github" else rows,
        headers=COLUMNS,
        tablefmt="pipe" if form == "github" else "simple",
        colalign=["left" if column in LEFT else "right" for column in COLUMNS],
        disable_numparse=True,
    )
    return "\n".join(line.rstrip() for line in text.splitlines())


def rows_of(trace: CaseTrace) -> Iterator[tuple[str, ...]]:
    """Yield the cells of ``COLUMNS``: a row for each kernel and arm that calls it, by time, then one for each arm."""
    longest = sorted((kernel for arm in trace.arms for kernel in arm.kernels), key=lambda kernel: -kernel.total_us)
    names = list(short_names(kernel.name for kernel in longest).items())
    for name, short in names[:MOST_KERNELS]:
        shown = shorten(short, MOST_NAME)
        for arm in trace.arms:
            for kernel in (one for one in arm.kernels if one.name == name):
                yield _kernel_row(shown, arm, kernel, trace.compute_units)
                shown = ""
    rest = f"all {units.format_count(len(names))} kernels" if len(names) > MOST_KERNELS else "all kernels"
    for place, arm in enumerate(trace.arms):
        calls = units.format_count(sum(kernel.calls for kernel in arm.kernels))
        busy = units.format_percent(100 * arm.busy_ratio)
        yield rest if place == 0 else "", arm.arm, calls, "", "", "", units.format_us(arm.median_gap_us), busy


def _kernel_row(name: str, arm: TracedArm, kernel: TracedKernel, compute_units: int | None) -> tuple[str, ...]:
    counts = workgroups_text(kernel.workgroups)
    counts = f"({counts})" if len(kernel.workgroups) > 1 else counts
    fill = f"{counts}/{units.MISSING if compute_units is None else units.format_count(compute_units)}"
    starved = " starved" if kernel.starved else ""
    times = (units.format_us(kernel.average_us), units.format_us(kernel.median_us))
    return name, arm.arm, units.format_count(kernel.calls), *times, f"{fill}{starved}", "", ""


def facts_of(record: Record, folder: str) -> Iterator[tuple[str, str]]:
    """Yield what to know of a traced case beside its table: notes, its files, what opens them."""
    assert record.trace is not None
    starving = [one_line(arm.arm) for arm in record.trace.arms if arm.starving]
    if starving:
        yield "starving", f"{' and '.join(starving)}: gaps longer than kernels"
    yield from (("note" if record.trace.arms else "no trace", one_line(note)) for note in record.trace.notes)
    paths = {one_line(arm.arm): _beside(folder, arm.path) for arm in record.trace.arms}
    for arm, path in paths.items():
        yield f"trace of {arm}", path
    picture = timeline_path(record.trace)
    if picture is not None:
        yield "timeline", _beside(folder, str(picture))
    if len(paths) > 1:
        head, against = list(paths.values())[:2]
        yield "side by side", f"kernelperf trace {shlex.quote(against)} {shlex.quote(head)}"
    if paths:
        yield "to open one", OPENING


def _beside(folder: str, path: str) -> str:
    return one_line(str(PurePosixPath(folder) / path))
