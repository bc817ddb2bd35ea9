"""Strangers' text in Markdown of ours."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """Return text that may hold anything as one line without markup, mention, reference or link."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = text.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")
    return re.sub(r"([`*_\[\]|~#\\!])", r"\\\1", text)
