"""What GitHub makes of Markdown, and what in it a stranger could have put there.

Rendered by cmark-gfm, the renderer that GitHub uses, with raw HTML let through, so that it is seen. What GitHub does
afterwards, in the rendered text (mentions, references, emoji), is looked for in that text, as GitHub's filters do:
outside of code and links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options

ALLOWED = {
    "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "h3", "h4", "ul", "li", "code", "pre",
    "strong", "blockquote", "sub", "a",
}  # fmt: skip

AFTERWARDS = {
    "mention": re.compile(r"(?:^|[^\w`/])@[A-Za-z0-9]"),
    "reference": re.compile(r"(?:^|[^\w&])#\d|\bGH-\d", re.IGNORECASE),
    "emoji": re.compile(r":[\w+-]+:"),
    "commit": re.compile(r"(?<![\w.\u200b])[0-9a-f]{7,40}(?![\w\u200b])"),
    "link": re.compile(r"://|\bwww\.", re.IGNORECASE),
    "invisible": re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"),
}


class _Seen(HTMLParser):
    """Tags with their attributes, the text outside of code and links, the cells of each row."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.problems: list[str] = []
        self.texts: list[str] = [""]
        self.rows: list[list[int]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in ALLOWED:
            self.problems.append(f"a tag {tag}")
        if tag in ("p", "li", "td", "th", "h3", "h4", "summary", "sub"):
            self.texts.append("")
        extra = [name for name, _ in attributes if (tag, name) not in (("a", "href"), ("td", "align"), ("th", "align"),
                                                                       ("pre", "lang"))]  # fmt: skip
        if extra:
            self.problems.append(f"attributes {extra} of {tag}")
        for name, value in attributes:
            if name == "href" and not str(value).startswith("https://github.com/owner/project/"):
                self.problems.append(f"a link to {value}")
        if tag == "table":
            self.rows.append([])
        if tag == "tr":
            self.rows[-1].append(0)
        if tag in ("td", "th"):
            self.rows[-1][-1] += 1
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"an end of {tag} that has no beginning")

    def handle_comment(self, data: str) -> None:
        self.problems.append("a comment")

    def handle_data(self, data: str) -> None:
        if not {"code", "pre", "a"} & set(self.open):
            self.texts[-1] += data


def render(markdown: str) -> str:
    """The HTML that GitHub's renderer makes, raw HTML let through."""
    return str(cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE))


def problems_of(markdown: str) -> list[str]:
    """All that must not be in a text which strangers took part in."""
    seen = _Seen()
    seen.feed(render(markdown))
    return [*seen.problems, *_afterwards(seen.texts), *(["an open tag"] if seen.open else []), *_tables(seen.rows)]


def tables_of(markdown: str) -> list[list[int]]:
    """The cells of each row of each table."""
    seen = _Seen()
    seen.feed(render(markdown))
    return seen.rows


def _afterwards(texts: list[str]) -> Iterator[str]:
    for text in texts:
        for what, pattern in AFTERWARDS.items():
            found = pattern.search(text)
            if found is not None:
                yield f"{what} in {text[max(0, found.start() - 20) : found.end() + 20]!r}"


def _tables(tables: list[list[int]]) -> Iterator[str]:
    for rows in tables:
        if len(set(rows)) != 1:
            yield f"a table whose rows have {rows} cells"
