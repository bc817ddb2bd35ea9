"""Text that came from a file or a compiler, made safe to print."""

from __future__ import annotations

import re

from pytest_kernelperf.model import Run

GUARD = "pytest --kernelperf"
"""What one types to guard where a project has no script of its own for it."""

# Control characters, and those that turn the direction of writing: a stranger's run file could repaint the terminal.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return text with control characters replaced by ``?``; line breaks and tabs stay."""
    return _UNPRINTABLE.sub("?", text)


def one_line(text: str) -> str:
    """Return printable text with all white space made single spaces."""
    return " ".join(printable(text).split())


def shorten(text: str, most: int) -> str:
    """Leave the middle of a long text out: names differ at their ends."""
    if len(text) <= most:
        return text
    kept = most - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def guard_command(run: Run) -> str:
    """Return what the user of a run types to guard: ``pytest --kernelperf``, or the project's own script."""
    return one_line(run.settings.get("command", "") or GUARD)
