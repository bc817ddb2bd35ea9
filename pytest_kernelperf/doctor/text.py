"""A diagnosis as text for the terminal: one line a topic, the next step under what needs one."""

from __future__ import annotations

import textwrap

from pytest_kernelperf.doctor.diagnosis import Diagnosis
from pytest_kernelperf.doctor.finding import TOPICS
from pytest_kernelperf.report.text import one_line
from pytest_kernelperf.units import format_counted

WIDTH = 118
_STATE = 9
_TOPIC = max(len(topic) for topic in TOPICS) + 2


def render_diagnosis(diagnosis: Diagnosis) -> str:
    """The report: topics in order, then the verdict."""
    lines: list[str] = []
    for finding in diagnosis.findings:
        head = f"{finding.state:<{_STATE}}{finding.topic:<{_TOPIC}}"
        lines += _wrap(head, one_line(finding.says))
        if finding.next_step:
            lines += _wrap(" " * (_STATE + _TOPIC), f"→ {one_line(finding.next_step)}")
    return "\n".join([*lines, "", headline(diagnosis)]) + "\n"


def headline(diagnosis: Diagnosis) -> str:
    """``the guard can run here; 1 warning``."""
    counts = {state: sum(1 for each in diagnosis.findings if each.state == state) for state in ("problem", "warning")}
    counted = [format_counted(count, state) for state, count in counts.items() if count]
    if diagnosis.examination.requested:
        verdict = "the guard can run here" if diagnosis.able else "the guard cannot run here"
    else:
        verdict = "the files were read; no device was opened" if diagnosis.able else "the files do not describe a GPU"
    return "; ".join([verdict, *counted])


def _wrap(head: str, text: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False,
        break_on_hyphens=False,
    ) or [head.rstrip()]  # fmt: skip
