"""The line of progress on a terminal, seen as a terminal shows it."""

from __future__ import annotations

import os
import pty
import termios
import tty
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TextIO

import pytest

from pytest_kernelperf.plugin.line import LiveLine, open_line

pyte = pytest.importorskip("pyte")


@dataclass
class Terminal:
    """A terminal of ten lines, pytest's writer on it, and the line."""

    master: int
    file: TextIO
    writer: Any
    line: LiveLine
    screen: Any
    stream: Any

    def rows(self) -> list[str]:
        """What it shows, without empty lines at the end."""
        os.set_blocking(self.master, False)
        while True:
            try:
                self.stream.feed(os.read(self.master, 65536))
            except BlockingIOError:
                break
        text = "\n".join(row.rstrip() for row in self.screen.display)
        return text.rstrip("\n").split("\n")


def sized(fd: int, rows: int, columns: int) -> None:
    """Make a terminal so large."""
    termios.tcsetwinsize(fd, (rows, columns)) if hasattr(termios, "tcsetwinsize") else _set_size(fd, rows, columns)


def _set_size(fd: int, rows: int, columns: int) -> None:  # Python 3.10
    import fcntl
    import struct

    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@pytest.fixture
def terminal(pytestconfig: pytest.Config) -> Iterator[Terminal]:
    """The terminal; its writer is of pytest's own class."""
    master, slave = pty.openpty()
    sized(slave, 10, 40)
    file = os.fdopen(slave, "w", encoding="utf-8")
    writer = type(pytestconfig.get_terminal_writer())(file)
    screen = pyte.Screen(40, 10)
    own = os.fdopen(os.dup(slave), "w", encoding="utf-8", errors="replace", newline="")
    line = LiveLine(own, writer)
    yield Terminal(master, file, writer, line, screen, pyte.ByteStream(screen))
    line.close()
    file.close()
    os.close(master)


def test_the_line_stands_below_and_pytests_own_goes_on(terminal: Terminal) -> None:
    """Redrawn in place; the cursor is where pytest left it; what pytest writes takes the line away first."""
    terminal.writer.write("test_a.py ", flush=True)
    terminal.line.draw("[1/9] first, a long one")
    terminal.line.draw("[2/9] second")
    assert terminal.rows() == ["test_a.py", "[2/9] second"]
    terminal.writer.write(".", flush=True)
    assert terminal.rows() == ["test_a.py ."]
    terminal.line.draw("[3/9] third")
    assert terminal.rows() == ["test_a.py .", "[3/9] third"]
    terminal.writer.line(" and the end")
    terminal.writer.line("summary", flush=True)
    assert terminal.rows() == ["test_a.py . and the end", "summary"]


def test_it_scrolls_at_the_bottom(terminal: Terminal) -> None:
    """Where pytest writes the last row, everything moves up by one, once."""
    terminal.writer.write("".join(f"{row}\n" for row in range(9)) + "last ", flush=True)
    for number in range(5):
        terminal.line.draw(f"[{number}/9]")
    assert terminal.rows() == [*(str(row) for row in range(1, 9)), "last", "[4/9]"]
    terminal.writer.write("word", flush=True)
    assert terminal.rows() == [*(str(row) for row in range(1, 9)), "last word"]


def test_the_cursor_may_be_anywhere(terminal: Terminal) -> None:
    """Under -s a test writes past pytest, and the line does not need to know."""
    terminal.writer.write("test_a.py ", flush=True)
    terminal.file.write("printed, 7 % ")
    terminal.file.flush()
    terminal.line.draw("[1/9]")
    terminal.line.clear()
    terminal.file.write("14 %")
    terminal.file.flush()
    assert terminal.rows() == ["test_a.py printed, 7 % 14 %"]


def test_its_width_is_the_terminals_even_when_that_changes(terminal: Terminal) -> None:
    """One column less than it has, since it wraps after its last."""
    assert terminal.line.width == 39
    sized(terminal.file.fileno(), 10, 20)
    assert terminal.line.width == 19


def test_a_row_that_is_just_full_is_left_alone(terminal: Terminal) -> None:
    """The next word must begin the next row; a cursor that was moved would put it over the last column."""
    for width in (40, 80):
        terminal.writer.write("a" * width, flush=True)
        terminal.line.draw("[1/9]")
        terminal.writer.line("PASSED", flush=True)
    row = "a" * 40
    assert terminal.rows() == [row, "PASSED", row, row, "PASSED"]
    terminal.line.draw("[1/9]")
    assert terminal.rows()[-1] == "[1/9]"


def test_clearing_what_was_not_drawn_writes_nothing(terminal: Terminal) -> None:
    """A run without a line is, to the byte, what it was without us."""
    tty.setraw(terminal.file.fileno())
    terminal.line.clear()
    terminal.writer.write("x", flush=True)
    assert os.read(terminal.master, 100) == b"x"


def test_after_its_end_the_writer_is_pytests_own_again(terminal: Terminal) -> None:
    """Nothing is left on the screen, and a late drawer draws nothing."""
    terminal.line.draw("[1/9]")
    terminal.line.close()
    terminal.line.draw("late")
    assert terminal.rows() == [""]
    assert "write" not in vars(terminal.writer)


def test_there_is_no_line_but_on_pytests_own_terminal() -> None:
    """Without a reporter, with another plugin's, and where pytest writes into a file."""

    class Sugar(pytest.TerminalReporter):
        """What pytest-sugar does."""

    assert open_line(None) is None
    assert open_line(object()) is None
    assert open_line(Sugar.__new__(Sugar)) is None


def test_a_file_is_no_terminal(pytestconfig: pytest.Config, tmp_path: Any) -> None:
    """Nor is a pipe."""

    class Config:
        """What the reporter's configuration gives."""

        def get_terminal_writer(self) -> Any:
            return type(pytestconfig.get_terminal_writer())(file)

    reporter = pytest.TerminalReporter.__new__(pytest.TerminalReporter)
    reporter.config = Config()  # type: ignore[assignment]
    with (tmp_path / "log").open("w") as file:
        assert open_line(reporter) is None


def test_pytest_8_0_has_a_reporter_without_exporting_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest pytest that is supported ends with an error where the class is looked for in it."""
    monkeypatch.delattr(pytest, "TerminalReporter")
    assert open_line(object()) is None
