"""Text that has to fit: parts give up lines from their bottom, the least important part first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen

Size = Callable[[str], int]

MORE_ROOM = 160
"""Kept free in each part for the line that says how many are left out."""


def characters(text: str) -> int:
    """Return how many characters a text has as JavaScript, and so the strictest of readers, counts them."""
    return len(text) + sum(letter > "\uffff" for letter in text)


def octets(text: str) -> int:
    """Return how many bytes a text has in UTF-8."""
    return len(text.encode("utf-8", "replace"))


class Part(Frozen, frozen=True):
    """A head, lines, and a foot that closes what the head opened; left out where there is no line.

    ``noun`` and ``plural`` name a line where some are left out. ``table``: lines are rows, so that what is said of
    those left out stands below an empty line. ``weight``: 0 is given room first.
    """

    head: str
    lines: tuple[str, ...]
    foot: str = ""
    noun: str = "line"
    plural: str = ""
    weight: int = 0
    table: bool = False

    def shown(self, count: int) -> str:
        """Return the part with its first ``count`` lines."""
        left = len(self.lines) - count
        names = (f"more {self.noun}", f"more {self.plural or self.noun + 's'}")
        more = f"… {units.format_counted(left, *names)} left out here."
        said = [f"\n{more}" if self.table and count else f"- {more}" if not self.table else more] if left else []
        head = [self.head] if self.head and (count or not self.table or not left) else self.head_without_table()
        return "\n".join([*head, *self.lines[:count], *said, *([self.foot] if self.foot else [])])

    def head_without_table(self) -> list[str]:
        """Return what opens a part whose table has no row."""
        kept = [line for line in self.head.split("\n") if not line.startswith("|")]
        return ["\n".join(kept)] if any(kept) else []


def fitted(parts: Sequence[Part], room: int, size: Size) -> str:
    """Return all parts with as many lines as there is room for; parts that have none are left out.

    Args:
        parts: in the order in which they stand.
        room: how large the text may be.
        size: what counts its size.
    """
    there = [part for part in parts if part.lines]
    least = sum(size(part.shown(0)) + MORE_ROOM + 2 for part in there)
    spare = max(0, room - least)
    texts: dict[int, str] = {}
    for place in sorted(range(len(there)), key=lambda place: (there[place].weight, place)):
        part, count = there[place], 0
        while count < len(part.lines) and (need := size(part.lines[count]) + 1) <= spare:
            spare -= need
            count += 1
        texts[place] = part.shown(count)
    return "\n\n".join(texts[place] for place in sorted(texts))
