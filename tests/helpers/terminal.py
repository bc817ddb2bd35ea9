"""A pseudo-terminal in which a program runs, and all that was ever to be seen on it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyte

LIMIT_S = 240.0

_CURSOR_BACK = re.compile(rb"(?<=\x1b8)")


class Terminal:
    """A terminal of ``rows`` by ``columns``; scrolled text is kept."""

    def __init__(self, rows: int = 24, columns: int = 160) -> None:
        self.master, self.slave = pty.openpty()
        set_size(self.slave, rows, columns)
        self.screen = pyte.HistoryScreen(columns, rows, history=10_000)
        self._stream = pyte.ByteStream(self.screen)
        self.seen: list[list[str]] = []
        """The screens after each piece of output."""

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        on_screen: Callable[[list[str]], bytes] = lambda rows: b"",
    ) -> int:
        """Run a command to its end and return its exit code; ``on_screen`` types what it returns."""
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=self._take_over,
        )
        os.close(self.slave)
        deadline = time.monotonic() + LIMIT_S
        try:
            for piece in self._pieces(deadline):
                self._stream.feed(piece)
                self.seen.append(self.rows())
                if typed := on_screen(self.seen[-1]):
                    os.write(self.master, typed)
            return process.wait(max(0.0, deadline - time.monotonic()))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(self.master)

    def rows(self) -> list[str]:
        """What it shows."""
        return [row.rstrip() for row in self.screen.display]

    def text(self) -> list[str]:
        """All that was left on it, scrolled or not, without empty rows at the end."""
        scrolled = [
            "".join(row[column].data for column in range(self.screen.columns)).rstrip()
            for row in self.screen.history.top
        ]
        return "\n".join([*scrolled, *self.rows()]).rstrip("\n").split("\n")

    def _pieces(self, deadline: float) -> Iterator[bytes]:
        while time.monotonic() < deadline:
            if select.select([self.master], [], [], 1.0)[0]:
                try:
                    piece = os.read(self.master, 65536)
                except OSError:  # nobody holds the other end any more
                    return
                if not piece:
                    return
                yield from _CURSOR_BACK.split(piece)  # a reader that is late sees each drawing all the same

    def _take_over(self) -> None:
        """Make it the child's controlling terminal, so that ^C reaches it."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def set_size(fd: int, rows: int, columns: int) -> None:
    """Make a terminal so large."""
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
