"""Run files that a stranger changed: texts that mean something to Markdown or GitHub, numbers at their ends."""

from __future__ import annotations

import json
import random
from typing import Any

HOSTILE = (
    "@everyone", "a@b.cd", "@org/team", "| x | y |", "a|b", "`", "``` ", "```\n# big", "~~~",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>", "</details></td></table>", "<!-- -->", "-->", "[l](https://evil.example)",
    "![i](//evil.example/x.png)", "https://evil.example", "www.evil.example", "HTTP://EVIL.example", "mailto:a@b.cd",
    "xmpp:a@b.cd", "#1", "GH-1", "owner/project#1", "deadbeef", "3c712f1d" * 5, ":smile:", ":+1:", "**bold**", "__b__",
    "*", "_i_", "~~s~~", "$x$", "$$x$$", "$`x`$", "\\", "\\|", "\\`", "&lt;b&gt;", "&#64;everyone", "&commat;everyone",
    "\u202egnp.exe", "\u2066x", "\u061cx", "\ufeffx", "\x00", "\x1b[31m", "\r", "\n", "\n\n# heading",
    "\u2028", "\u0085",
    "- item", "1. item", "> quote", "---", "===", "[ ] todo", "[^1]", "[a]: https://evil.example", "e" + "\u0301" * 40,
    "x" * 999, "|" * 999, "`" * 999, "@a " * 300, "<" * 999, "::error::x", "%0A::error::x", "NaN", "\ud83d\ude00",
    "🚨", "javascript:alert(1)", "<https://evil.example>", "<a@b.cd>", "\t", " ", "", "```\n</details>\n@everyone",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2**31, 2**63 - 1, -(2**63), 2**64 - 1, 1e-300, 1e300, -1e300, 5e-324, 0.1, 1.0, 1e22, 3, True, None,
)  # fmt: skip


OURS = {"verdict", "mode", "cache", "kind", "why", "state", "runtime", "arm", "type"}
"""Fields that are one of a few words."""


def damaged(run: dict[str, Any], seed: int) -> bytes:
    """The run with up to a dozen changes, as JSON; sometimes no JSON any more."""
    draw = random.Random(seed)
    value = json.loads(json.dumps(run))
    for _ in range(draw.randint(1, 12)):
        # Most changed numbers and lists are refused; names of anything are not.
        _change(value, draw, texts=draw.random() < 0.9)
    data = json.dumps(value).encode()
    if draw.random() < 0.05:
        place = draw.randrange(len(data))
        data = data[:place] + draw.choice((b"", b"NaN", b"Infinity", b"[" * 5000, b"\xff", b'"')) + data[place + 1 :]
    return data


def _change(value: Any, draw: random.Random, *, texts: bool) -> None:
    """Change one leaf, or one list, somewhere; ``texts``: one that is text and not a word of ours."""
    top = value
    for _ in range(200):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            value = top
            continue
        key = draw.choice(keys)
        inner = value[key]
        if isinstance(inner, (dict, list)) and inner and (texts or draw.random() < 0.9):
            value = inner
        elif texts and (not isinstance(inner, str) or key in OURS):
            value = top
        elif isinstance(inner, str):
            hostile = draw.choice(HOSTILE)
            value[key] = draw.choice((hostile, inner + hostile, hostile * 3))
            return
        elif isinstance(inner, list) and inner:
            value[key] = draw.choice((inner * 3, inner[:1], []))
            return
        elif isinstance(value, dict) and draw.random() < 0.1:
            value[draw.choice(HOSTILE)] = inner
            return
        elif inner is None or isinstance(inner, (bool, int, float)):
            value[key] = draw.choice(NUMBERS)
            return
