"""A calibration as text for the terminal. Computes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from pytest_kernelperf.baseline.calibration import Calibration
from pytest_kernelperf.baseline.calibration_summary import CaseSummary, ModeSummary, Summary
from pytest_kernelperf.calibrate.wish import Outcome
from pytest_kernelperf.report.text import one_line
from pytest_kernelperf.stats.rate import Rate
from pytest_kernelperf.units import (
    MISSING,
    format_counted,
    format_duration,
    format_number,
    format_percent,
    format_time,
    format_tolerance,
)


def render_outcome(outcome: Outcome, summary: Summary | None) -> str:
    """The whole report, or the sentence that says why there is none."""
    calibration = outcome.calibration
    if calibration is None or summary is None:
        return f"not calibrated: {outcome.problem}\n"
    parts = [
        render_head(calibration),
        render_cases(summary.cases),
        render_modes(summary.modes),
        "\n".join([*false_alarm_lines(summary), *suit_lines(summary)]),
        "\n".join(closing_lines(outcome)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_head(calibration: Calibration) -> str:
    """What was measured, on what."""
    return one_line(
        f"identical code beside itself on {calibration.device.name} ({calibration.device_key}): "
        f"{calibration.copies} copies of each case's code object in groups of at most "
        f"{format_counted(calibration.processes, 'fresh process', 'fresh processes')}, "
        f"{format_duration(calibration.spent_s)}"
    )


def render_cases(cases: Sequence[CaseSummary]) -> str:
    """One row for each case and mode."""
    rows = [
        (
            one_line(case.kernel),
            one_line(case.variant),
            f"{case.tokens:,}",
            f"{case.mode}{' *' if case.gate else ''}",
            format_time(case.time_us),
            case.groups,
            case.false_alarms,
            _share(case.within_share),
            _share(case.between_share),
            _share(case.time_share),
            _detectable(case.detectable_ratio),
            "launch-bound: this measures the host" if case.launch_bound else "",
        )
        for case in cases
    ]
    headers = ("kernel", "variant", "tokens", "mode", "time", "groups", "alarms", "in a process", "between",
               "times between", "would show", "")  # fmt: skip
    return _table(rows, headers, {2, 4, 5, 6, 7, 8, 9, 10})


def render_modes(modes: Sequence[ModeSummary]) -> str:
    """One row for each mode: medians over its cases."""
    rows = [
        (
            mode.mode,
            mode.cases,
            f"{mode.groups.events} of {mode.groups.checks:,}",
            f"{mode.processes.events} of {mode.processes.checks:,}",
            f"{mode.undecided.events} of {mode.undecided.checks:,}",
            _share(mode.within_share),
            _share(mode.between_share),
            _share(mode.time_share),
            _detectable(mode.detectable_ratio),
            _detectable(mode.worst_detectable_ratio),
        )
        for mode in modes
    ]
    headers = ("mode", "cases", "false alarms", "by one process", "undecided", "in a process", "between",
               "times between", "would show", "worst case")  # fmt: skip
    return _table(rows, headers, set(range(1, 10)))


def false_alarm_lines(summary: Summary) -> list[str]:
    """How often the guard blames identical code, with what it may come to at most."""
    if summary.gate is None:
        return []
    return [
        _rate_line("false alarms as the project is gated", summary.gate.groups, "comparison", "group of processes"),
        _rate_line("a process alone says slower", summary.gate.processes, "comparison", "process"),
    ]


def suit_lines(summary: Summary) -> list[str]:
    """Which mode suits, and why."""
    by_mode = {mode.mode: mode for mode in summary.modes}
    suits = by_mode[summary.suits]
    gated = ", ".join(summary.gated_in)
    reasons = [_reason(mode) for mode in summary.modes]
    if len(summary.modes) == 1:
        return [f"mode {suits.mode} was the only one measured"]
    lines = [f"mode {suits.mode} suits: {'; '.join(reasons)}"]
    if summary.gated_in and summary.suits not in summary.gated_in:
        lines.append(f"the project gates in mode {gated}: set kernelperf_mode = {suits.mode} and store baselines anew")
    return lines


def _reason(mode: ModeSummary) -> str:
    """``graph shows 1.00 times the smallest slowdown, is launch-bound in 2 of 4 cases``."""
    blunt = mode.bluntness_ratio
    shown = "nothing of most cases" if blunt is None else f"{format_number(blunt)} times the smallest slowdown"
    parts = [
        f"{mode.mode} shows {shown}",
        f"has {format_counted(mode.groups.events, 'false alarm')}" if mode.groups.events else "",
        f"is launch-bound in {mode.launch_bound} of {format_counted(mode.cases, 'case')}" if mode.launch_bound else "",
    ]
    return ", ".join(part for part in parts if part)


def closing_lines(outcome: Outcome) -> list[str]:
    """What is missing, and where the result lies."""
    lines = [f"left out: {one_line(name)}: {one_line(why)}" for name, why in outcome.left_out]
    if outcome.unreached:
        lines.append(
            f"not reached: {format_counted(len(outcome.unreached), 'case')}, "
            f"{one_line(outcome.unreached[0])} the first: "
            "give more time with --budget, or fewer cases with -k"
        )
    lines += short_lines(outcome)
    if outcome.disturbed:
        lines.append(f"thrown away: {format_counted(outcome.disturbed, 'measurement')} while somebody else was active")
    if outcome.problem:
        lines.append(outcome.problem)
    lines.append(f"stored in {outcome.stored}" if outcome.stored else "not stored")
    return lines


def short_lines(outcome: Outcome) -> list[str]:
    """What of measured cases the time did not suffice for: modes, and second visits."""
    lines = []
    for mode in dict.fromkeys(mode for _, mode in outcome.missed_modes):
        lines.append(_short(f"in mode {mode}", [name for name, missed in outcome.missed_modes if missed == mode]))
    if outcome.visited_once:
        lines.append(_short("a second time", outcome.visited_once))
    return lines


def _short(what: str, names: Sequence[str]) -> str:
    cases = format_counted(len(names), "case")
    return f"not reached {what}: {cases}, {one_line(names[0])} the first: give more time with --budget"


def _rate_line(what: str, rate: Rate, check: str, cluster: str) -> str:
    return (
        f"{what}: {rate.events:,} of {format_counted(rate.checks, check)} "
        f"in {format_counted(rate.clusters, cluster, 'groups of processes' if ' ' in cluster else 'processes')}; "
        f"at most {format_percent(100 * rate.most_share)} with 95 % confidence"
    )


def _share(share: float | None) -> str:
    return MISSING if share is None else format_percent(100 * share)


def _detectable(ratio: float | None) -> str:
    return "nothing" if ratio is None else format_tolerance(ratio)


def _table(rows: Sequence[Sequence[object]], headers: Sequence[str], right: set[int]) -> str:
    text = tabulate(
        rows,
        headers=headers,
        tablefmt="simple",
        disable_numparse=True,
        colalign=["right" if place in right else "left" for place in range(len(headers))],
    )
    return "\n".join(line.rstrip() for line in text.splitlines())
