"""Text of a trace and of two, for the terminal and for Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from tabulate import tabulate

from pytest_kernelperf.report.markdown import cell, inert
from pytest_kernelperf.report.table import Format
from pytest_kernelperf.trace.comparison import without_arguments
from pytest_kernelperf.trace.record import (
    Device,
    KernelSummary,
    LeftOut,
    ProcessSummary,
    Timeline,
    TraceComparison,
    TraceSummary,
)
from pytest_kernelperf.units import (
    MISSING,
    format_change,
    format_count,
    format_counted,
    format_number,
    format_percent,
    format_time,
    format_us,
)

LEFT = frozenset({"kernel", "from", "to", ""})

WHY_LEFT_OUT = {
    "hidden": "recorded, but not in the view kernels, which joins rows that this file lacks",
    "timeless": "without a start or an end",
    "empty": "of no length",
    "negative": "that end before they start",
    "absurd": "absurdly long (over 10 s, or over 1 s and 1,000 medians of the kernel)",
    "overlapping": "that overlap their neighbour in the same queue",
}


def render_trace(summary: TraceSummary, form: Format = "plain") -> str:
    """Return a trace's tables and notes."""
    parts = [_title(f"Traced times ({summary.origin}): {summary.path}", form)]
    parts += _left_out(summary.left_out, form)
    if not summary.processes:
        parts.append("It has no kernel with a time that can be believed.")
    names = short_names(kernel.name for process in summary.processes for kernel in process.kernels)
    for process in summary.processes:
        parts += _process(process, names, form)
    for timeline in summary.timelines:
        parts += _timeline(timeline, names, form)
    return "\n\n".join(parts) + "\n"


def render_trace_comparison(comparison: TraceComparison, form: Format = "plain") -> str:
    """Return both traces kernel by kernel."""
    a, b = comparison.a, comparison.b
    parts = [_title(f"Traced times ({a.origin}): A is {a.path}, B is {b.path}", form)]
    for side, summary in (("A", a), ("B", b)):
        parts += [f"{side}: {text}" for text in _left_out(summary.left_out, form)]
    names = short_names(kernel.name for kernel in comparison.kernels)
    rows = [
        (
            names[one.name],
            *(MISSING if calls is None else format_count(calls) for calls in (one.calls_a, one.calls_b)),
            format_us(one.median_a_us),
            format_us(one.median_b_us),
            "new" if one.calls_a is None else "vanished" if one.calls_b is None else format_change(one.change_ratio),
            workgroups_text(one.workgroups_a),
            workgroups_text(one.workgroups_b),
        )
        for one in comparison.kernels
    ]
    columns = ("kernel", "calls A", "calls B", "median A us", "median B us", "change", "workgroups A", "workgroups B")
    parts.append(_table(columns, rows, form) if rows else "Neither has a kernel with a time that can be believed.")
    for side, summary in (("A", a), ("B", b)):
        parts += [f"{side}: {inert(_busy(one)) if form == 'github' else _busy(one)}" for one in summary.timelines]
    return "\n\n".join(parts) + "\n"


def _process(process: ProcessSummary, names: dict[str, str], form: Format) -> list[str]:
    command = f": {process.command}" if process.command else ""
    pid = "of unknown number" if process.pid is None else str(process.pid)
    title = f"Process {pid} on {_device(process.device)}{command}"
    rows = [
        (
            names[one.name],
            format_count(one.calls),
            format_us(one.average_us),
            format_number(one.total_us),
            workgroups_text(one.workgroups),
            format_us(one.median_us),
            format_us(one.minimum_us),
            "starved" if one.starved else "",
        )
        for one in process.kernels
    ]
    columns = ("kernel", "calls", "avg us", "total us", "workgroups", "median us", "min us", "")
    parts = [_title(title, form), _table(columns, rows, form)]
    starved = [one for one in process.kernels if one.starved]
    if starved:
        parts.append(_starved(starved, process.device))
    return parts


def _starved(kernels: Sequence[KernelSummary], device: Device) -> str:
    units = format_counted(device.compute_units or 0, "compute unit")
    return f"starved: {format_counted(len(kernels), 'kernel')} with fewer workgroups than the {units} of the device"


def _timeline(timeline: Timeline, names: dict[str, str], form: Format) -> list[str]:
    busy = _busy(timeline)
    parts = [inert(busy) if form == "github" else busy]
    rows = [
        (
            names[one.before],
            names[one.after],
            format_count(one.count),
            format_us(one.median_us),
            format_us(one.longest_us),
            format_number(one.total_us),
        )
        for one in timeline.gaps
    ]
    if rows:
        columns = ("from", "to", "gaps", "median us", "longest us", "total us")
        parts += [_table(columns, rows, form), "Gaps before first calls are left out; recording makes gaps longer."]
    return parts


def _busy(timeline: Timeline) -> str:
    text = (
        f"{_device(timeline.device)}: busy {format_percent(100 * timeline.busy_ratio)} of "
        f"{format_time(timeline.window_us)}"
    )
    if timeline.median_gap_us is not None:
        text += (
            f"; median kernel {format_time(timeline.median_kernel_us)}, median gap "
            f"{format_time(timeline.median_gap_us)}"
        )
    text += "; starving: gaps longer than kernels" if timeline.starving else ""
    if timeline.set_up_us:
        text += f"; {format_time(timeline.set_up_us)} are left out, in which CUPTI set itself up after the first launch"
    return text


def _device(device: Device) -> str:
    units = f", {format_counted(device.compute_units, 'compute unit')}" if device.compute_units is not None else ""
    return f"{device.name} (agent {device.index}{units})"


def workgroups_text(counts: tuple[int, ...]) -> str:
    """Different numbers of workgroups: ``10, 40``; more than three as a range."""
    if len(counts) > 3:
        return f"{format_count(counts[0])} to {format_count(counts[-1])}"
    return ", ".join(format_count(count) for count in counts) or MISSING


def _left_out(left_out: LeftOut, form: Format) -> list[str]:
    bullet = "- " if form == "github" else "  "
    lines = [
        f"{bullet}left out: {format_counted(count, 'dispatch', 'dispatches')} {why}"
        for field, why in WHY_LEFT_OUT.items()
        if (count := getattr(left_out, field))
    ]
    return ["\n".join(lines)] if lines else []


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names without arguments, as long as each still means one kernel; names as they first appear."""
    short = {name: without_arguments(name) for name in names}
    meant = Counter(short.values())
    return {name: one if meant[one] == 1 else name for name, one in short.items()}


def _title(text: str, form: Format) -> str:
    return f"### {inert(text)}" if form == "github" else text


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], form: Format) -> str:
    text = tabulate(
        [[cell(text) for text in row] for row in rows] if form == "github" else rows,
        headers=columns,
        tablefmt="pipe" if form == "github" else "simple",
        colalign=["left" if column in LEFT else "right" for column in columns],
        disable_numparse=True,
    )
    return "\n".join(line.rstrip() for line in text.splitlines())
