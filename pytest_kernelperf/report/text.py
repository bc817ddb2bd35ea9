"""Text that came from a file or a compiler, made safe to print."""

from __future__ import annotations

import re

# Control characters, and those that turn the direction of writing: a stranger's run file could repaint the terminal.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return text with control characters replaced by ``?``; line breaks and tabs stay."""
    return _UNPRINTABLE.sub("?", text)


def one_line(text: str) -> str:
    """Return printable text with all white space made single spaces."""
    return " ".join(printable(text).split())
