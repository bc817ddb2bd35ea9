"""A line under the one that pytest is writing: drawn in place, gone before pytest writes anything."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any, TextIO

# Index keeps the column and scrolls at the bottom, so that there is a line below before the cursor is saved: it is
# saved as a place on the screen, which scrolling would leave wrong.
_BELOW = "\x1bD\x1b[A\x1b7\x1b[B\r\x1b[2K"
_BACK = "\x1b8"

# By its name, since pytest 8.0 does not export it yet.
_PYTESTS_OWN = ("_pytest.terminal", "TerminalReporter")


class LiveLine:
    """The line. Safe for several threads, pytest's own among them.

    It goes to the terminal itself, past pytest's capture. Where the cursor is need not be known: a test under ``-s``
    may have moved it.
    """

    def __init__(self, terminal: TextIO, writer: Any) -> None:
        """``writer``: pytest's ``TerminalWriter``; whatever it writes, the line is taken away first."""
        self._terminal = terminal
        self._writer = writer
        self._write = writer.write
        self._lock = threading.RLock()
        self._drawn = False
        writer.write = self._write_without_line

    @property
    def width(self) -> int:
        """Columns that a line may have: one less than the terminal, which wraps after its last."""
        return self._columns() - 1

    def draw(self, text: str) -> None:
        """Show a text, which fits ``width``."""
        with self._lock:
            if not self._wraps_next():
                self._put(f"{_BELOW}{text}{_BACK}")
                self._drawn = True

    def clear(self) -> None:
        """Take the line away."""
        with self._lock:
            if self._drawn:
                self._put(f"{_BELOW}{_BACK}")
                self._drawn = False

    def close(self) -> None:
        """Take it away for good."""
        with self._lock:
            self.clear()
            if self._writer.write == self._write_without_line:
                del self._writer.write
            with contextlib.suppress(OSError, ValueError):
                self._terminal.close()

    def _columns(self) -> int:
        try:
            columns = os.get_terminal_size(self._terminal.fileno()).columns
        except (OSError, ValueError):
            columns = 0
        return int(columns or self._writer.fullwidth)

    def _wraps_next(self) -> bool:
        """Whether pytest's line just fills its row: a terminal forgets to wrap then when the cursor moves."""
        width: int = self._writer.width_of_current_line
        return width > 0 and width % self._columns() == 0

    def _write_without_line(self, *arguments: Any, **keywords: Any) -> None:
        with self._lock:
            self.clear()
            self._write(*arguments, **keywords)

    def _put(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone: the run is not
            self._terminal.write(text)
            self._terminal.flush()


def open_line(reporter: Any) -> LiveLine | None:
    """Return a line on pytest's terminal; None where it has none, or another plugin draws on it.

    Called while nothing is captured.
    """
    # Those of pytest-sugar and pytest-rich move the cursor themselves.
    if (type(reporter).__module__, type(reporter).__qualname__) != _PYTESTS_OWN:
        return None
    writer = reporter.config.get_terminal_writer()
    try:
        own = os.dup(writer._file.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    if not os.isatty(own):
        os.close(own)
        return None
    return LiveLine(os.fdopen(own, "w", encoding=writer._file.encoding, errors="replace", newline=""), writer)
