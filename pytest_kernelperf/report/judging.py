"""What a pull request changes of that which judges it, as the paragraph above its result.

The result comes from the pull request's own code, which could have said anything; this comes from GitHub.
"""

from __future__ import annotations

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen
from pytest_kernelperf.report.markdown import inert

MOST_NAMES, MOST_NAME, MOST_DETAIL, MOST_SENTENCE = 3, 80, 160, 300


class Changed(Frozen, frozen=True):
    """A file that judges, and what of it changes where that is known."""

    file: str
    detail: str = ""


class Judging(Frozen, frozen=True):
    """What is changed, by kind and in order of weight; ``unknown``: why that cannot be said, or not all of it.

    ``unconfirmed``: why nobody has accepted a slowdown, where the run says that somebody has.
    """

    changed: tuple[tuple[str, tuple[Changed, ...]], ...] = ()
    unknown: str = ""
    unconfirmed: str = ""


def render_judging(found: Judging) -> str:
    """Return the paragraph; empty where nothing that judges is changed."""
    lines = []
    if found.unconfirmed:
        lines.append(
            "> ⛔ **Not accepted**, whatever the result below says: " + inert(found.unconfirmed, MOST_SENTENCE)
        )
    if found.changed:
        lines.append(
            "> ⚠️ **This pull request changes what judges it.** The result below was made with these changes: "
            "review them first."
        )
        lines += [f"> - {kind}: {_files(files)}" for kind, files in found.changed]
    if found.unknown:
        lines.append(f"> ⚠️ Whether it changes {'more' if found.changed else 'what judges it'} is not known: ")
        lines[-1] += inert(found.unknown, MOST_DETAIL)
    return "\n".join(lines)


def _files(files: tuple[Changed, ...]) -> str:
    shown = [
        inert(one.file, MOST_NAME) + (f" ({inert(one.detail, MOST_DETAIL)})" if one.detail else "")
        for one in files[:MOST_NAMES]
    ]
    more = len(files) - len(shown)
    return ", ".join(shown) + (f" and {units.format_counted(more, 'more file')}" if more else "")
