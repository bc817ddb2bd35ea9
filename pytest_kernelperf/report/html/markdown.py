"""The comment's own sentences as HTML, so that the page says the same in the same words.

They are written in a small part of Markdown, in which ``inert`` has made every stranger's text harmless. This reads
exactly that part back: bold, code, escapes. Whatever else stands there is text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from pytest_kernelperf.report.markdown import ZERO_WIDTH, visible
from pytest_kernelperf.report.text import printable

SIGNS = {"❌": "✗", "✅": "✓", "⚠️": "▲", "☑️": "☑", "🆕": "+", "🔤 ": "", "🐌 ": "", "📏 ": "", "🗑️ ": "", "📌 ": ""}
"""The comment's signs as letters: not every machine that shows a page has a font with pictures."""

_TOKEN = re.compile(r"\\(?P<escaped>[^A-Za-z0-9\s])|`(?P<code>[^`]*)`|(?P<bold>\*\*)|(?P<text>[^\\`*]+|.)", re.DOTALL)


def to_markup(line: str) -> Markup:
    """Return one line of the comment as HTML: bold and code are elements, all else is text."""
    parts: list[Markup] = []
    bold = False
    for token in _TOKEN.finditer(line):
        if token["bold"]:
            bold = not bold
            parts.append(Markup("<strong>") if bold else Markup("</strong>"))
        elif token["code"] is not None:
            parts.append(Markup("<code>{}</code>").format(shown(token["code"])))
        else:
            parts.append(escape(shown(_plain(token["escaped"] or token["text"]))))
    return Markup("").join([*parts, Markup("</strong>") if bold else Markup("")])


def to_items(lines: Iterable[str]) -> list[tuple[Markup, list[Markup]]]:
    """Return a list's items, each with the items below it."""
    items: list[tuple[Markup, list[Markup]]] = []
    for line in (one for text in lines for one in text.split("\n")):
        if line.startswith("  - ") and items:
            items[-1][1].append(to_markup(line[4:]))
        elif line.strip():
            items.append((to_markup(line.removeprefix("- ")), []))
    return items


def with_letters(text: str) -> str:
    """Return text with the comment's signs as letters that every font has."""
    for sign, letter in SIGNS.items():
        text = text.replace(sign, letter)
    return text


def shown(text: str) -> str:
    """Return text with what shows nothing by itself, or turns the direction of writing, replaced by ``?``."""
    return text if text.isascii() and text.isprintable() else visible(printable(text))


def _plain(text: str) -> str:
    return html.unescape(with_letters(text.replace(ZERO_WIDTH, "")))
