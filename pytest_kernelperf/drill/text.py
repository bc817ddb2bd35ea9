"""A drill as text for the terminal. Computes nothing."""

from __future__ import annotations

import textwrap

from pytest_kernelperf.drill.alarm import STATES, Alarm, Drill
from pytest_kernelperf.report.text import one_line
from pytest_kernelperf.units import format_counted, format_duration

WIDTH = 118
_INDENT = " " * 10


def render_alarm(alarm: Alarm) -> str:
    """One alarm: what was done, what had to happen, what happened, and how long it took."""
    head = f"{alarm.state:<9} {alarm.name}: {one_line(alarm.did)} ({format_duration(alarm.seconds)})"
    lines = [*_wrap(head, _INDENT), *_wrap(f"{_INDENT}must:  {one_line(alarm.must)}", f"{_INDENT}       ")]
    return "\n".join([*lines, *_wrap(f"{_INDENT}found: {one_line(alarm.found)}", f"{_INDENT}       ")]) + "\n"


def render_ending(drill: Drill) -> str:
    """How many rang, on what, and what it means."""
    counts = {state: sum(alarm.state == state for alarm in drill.alarms) for state in STATES}
    where = one_line(f"{drill.device} ({drill.device_key})") if drill.device else "no device"
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count) or "none set off"
    lines = [f"{format_counted(len(drill.alarms), 'alarm')} on {where}: {told}; {format_duration(drill.seconds)}"]
    if drill.problem:
        lines.append(f"the drill ended early: {drill.problem}")
    if counts["silent"]:
        lines.append("an alarm stayed silent or blamed somebody else: the guard's word cannot be relied on here")
    if counts["disturbed"]:
        lines.append("somebody else was active: stop the other program or wait for it, then drill again")
    return "\n".join(lines) + "\n"


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    )
