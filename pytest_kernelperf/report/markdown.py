"""Text that anybody may have written, inside Markdown of ours: the one place where it is made harmless.

GitHub looks for more than CommonMark does, and partly after rendering, in text whose entities are resolved: mentions,
references to issues and commits, emoji codes. Those are broken by a character without width, as ``@`` and a name are
no mention with one between them.
"""

from __future__ import annotations

import re
import unicodedata

from pytest_kernelperf.report.text import one_line, printable, shorten
from pytest_kernelperf.units import MISSING

ZERO_WIDTH = "\u200b"
MOST_CHARACTERS = 1_000
MOST_MARKS = 2
"""Accents that one letter may carry; more pile up over the lines above."""

MOST_BACKTICKS = 32
"""Runs in a block of code that are kept: GitHub's renderer counts a fence of 256 as none."""

_BEFORE = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "$": "&#36;"}
_SIGNS = re.compile(r"[\\`*\[\]|~#!]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_START = re.compile(r"^([-+](?=\s|$)|=|-(?=-)|:-)|^(\d{1,9})([.)])(?=\s|$)")
"""Lists, lines and underlined headings, which begin a line."""
_BROKEN = re.compile(
    r"@"  # mentions, addresses
    # A word begins behind whatever is no letter or digit: behind an underscore, too, GitHub makes www. a link.
    r"|#(?=\d)|(?<![A-Z0-9])(?:GH-(?=\d)|(?:CVE|GHSA)-(?=\w))"  # issues, advisories
    r"|:(?=//)|(?<![A-Z0-9])(?:mailto|xmpp|www)(?=[:.])"  # links that need no brackets
    r"|:(?=[\w+-])"  # emoji codes, whose second colon may be ours
    r"|(?<!\d\.)(?<![A-Z0-9])[0-9a-f]{4}(?=[0-9a-f]{3,36}(?![A-Z0-9]))",  # commits
    re.IGNORECASE,
)


def inert(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return text as one line that shows as it is written, in a paragraph, a heading, a list or a cell of a table.

    Nothing in it is a tag, link, picture, mention, reference, emoji, formula or emphasis, and it ends no cell. What is
    not to be seen (control characters, marks that turn the direction of writing) becomes ``?``, and what is longer than
    ``most`` characters ends in ``…``.
    """
    line = shortened(visible(" ".join(printable(text).split())), most)
    line = _BROKEN.sub(lambda found: found[0] + ZERO_WIDTH, line)
    line = "".join(_BEFORE.get(letter, letter) for letter in _SIGNS.sub(r"\\\g<0>", line))
    return _START.sub(lambda found: f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}", line)


def inert_name(text: str, most: int) -> str:
    """Return a name as ``inert`` does; a longer one loses its middle, since names differ at their ends."""
    return inert(shorten(one_line(text), most), most)


def cell(text: str) -> str:
    """Return text harmless within a table, where a bare ``-`` is no list."""
    return text if text == MISSING else inert(text)


def fenced(text: str, language: str = "") -> str:
    """Return text as a block of code with its lines kept; the fence is longer than any run of backticks in it."""
    lines = "\n".join(visible(line.expandtabs()).rstrip() for line in printable(text).splitlines())
    lines = re.sub(f"`{{{MOST_BACKTICKS},}}", lambda run: "'" * len(run[0]), lines)
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", lines)), default=0))
    return f"{fence}{language}\n{lines}\n{fence}"


def code(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return text as a span of code, for a paragraph: a table would end its cell at a bar."""
    line = shortened(visible(" ".join(printable(text).split())), most).replace("`", "'") or " "
    return f"`{line}`"


def visible(text: str) -> str:
    """Return text with every character that shows nothing by itself replaced by ``?``, and with few marks a letter."""
    if text.isascii():
        return text
    shown, marks = [], 0
    for letter in text:
        kind = unicodedata.category(letter)
        marks = marks + 1 if kind[0] == "M" else 0
        if marks <= MOST_MARKS:
            shown.append("?" if kind in ("Cc", "Cf", "Cs", "Co", "Cn") else letter)
    return "".join(shown)


def shortened(text: str, most: int) -> str:
    """Return text, cut where it has more than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
