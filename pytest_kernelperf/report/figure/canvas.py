"""A small canvas of characters: dots and lines in Braille, or one mark a cell where a font may lack those.

Log axes, a band of tolerance and marks for what fails would have had to be drawn into a plotting library's canvas all
the same, which would have left little of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Braille's dots by row and column of a cell."""

ONE, SEVERAL = "•", "●"
"""What stands for dots in a coarse cell; both are in every font that programmers use."""


class Canvas:
    """``columns`` by ``rows`` cells. Dots are addressed from 0 to 1, left to right and bottom to top; cells as cells.

    A text covers dots, dots cover a background.
    """

    def __init__(self, columns: int, rows: int, *, braille: bool = True) -> None:
        self.columns = columns
        self.rows = rows
        self._fine = (2, 4) if braille else (1, 1)
        self._dots: dict[tuple[int, int], int] = {}
        self._seen: dict[tuple[int, int], int] = {}
        self._behind: dict[tuple[int, int], str] = {}
        self._before: dict[tuple[int, int], str] = {}

    def dot(self, x: float, y: float) -> None:
        """Set the dot nearest to a place; what is outside of the canvas is never drawn."""
        wide, high = self.columns * self._fine[0], self.rows * self._fine[1]
        column, row = round(x * (wide - 1)), round((1 - y) * (high - 1))
        cell = (row // self._fine[1], column // self._fine[0])
        self._dots[cell] = self._dots.get(cell, 0) | _BITS[row % self._fine[1]][column % self._fine[0]]
        self._seen[cell] = self._seen.get(cell, 0) + 1

    def line(self, start: tuple[float, float], end: tuple[float, float], every: int = 1) -> None:
        """Set every n-th dot of a straight line."""
        wide, high = self.columns * self._fine[0], self.rows * self._fine[1]
        steps = max(1, round(abs(end[0] - start[0]) * wide), round(abs(end[1] - start[1]) * high))
        for step in range(0, steps + 1, every):
            part = step / steps
            self.dot(start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1]))

    def cell(self, x: float, y: float) -> tuple[int, int]:
        """Return the row and column of a place."""
        column, row = round(x * (self.columns - 1)), round((1 - y) * (self.rows - 1))
        return min(max(row, 0), self.rows - 1), min(max(column, 0), self.columns - 1)

    def write(self, row: int, column: int, text: str) -> None:
        """Write text, one cell a letter; what does not fit is left out."""
        for place, letter in enumerate(text, column):
            if 0 <= row < self.rows and 0 <= place < self.columns:
                self._before[row, place] = letter

    def written(self, row: int, column: int) -> str:
        """Return the letter that a cell holds, empty for none."""
        return self._before.get((row, column), "")

    def behind(self, row: int, column: int, letter: str) -> None:
        """Put a letter behind dots."""
        self._behind[row, column] = letter

    def lines(self) -> Iterator[str]:
        """Yield the canvas, row by row from the top."""
        for row in range(self.rows):
            yield "".join(self._letter((row, column)) for column in range(self.columns)).rstrip()

    def _letter(self, cell: tuple[int, int]) -> str:
        if cell in self._before:
            return self._before[cell]
        if cell in self._dots:
            if self._fine == (1, 1):
                return ONE if self._seen[cell] == 1 else SEVERAL
            return chr(0x2800 + self._dots[cell])
        return self._behind.get(cell, " ")


def key_lines(parts: Iterable[str], indent: int, columns: int) -> list[str]:
    """Return what signs stand for as lines of at most ``columns`` characters; a longer part is cut."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= columns:
            lines[-1] += f"   {part}"
        else:
            lines.append(f"{'':>{indent}}{part}"[:columns])
    return lines
