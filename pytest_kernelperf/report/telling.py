"""One line that says where a long command is, on a terminal redrawn in place, elsewhere once a minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from pytest_kernelperf.report.text import one_line

TELL_AGAIN_S = 60.0
QUIET_STEP_S = 0.1


class Telling:
    """Takes lines as they come and shows those that a reader can follow. ``clock`` returns seconds."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._terminal = stream.isatty()
        self._told_s: float | None = None
        self._drawn = False

    def __call__(self, line: str) -> None:
        """Show a line, unless one was shown just now."""
        now_s = self._clock()
        step_s = QUIET_STEP_S if self._terminal else TELL_AGAIN_S
        if self._told_s is not None and now_s - self._told_s < step_s:
            return
        self._told_s = now_s
        text = one_line(line)
        self._stream.write(f"\r\x1b[2K{text}" if self._terminal else f"{text}\n")
        self._stream.flush()
        self._drawn = self._terminal

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


@contextmanager
def telling(stream: TextIO) -> Iterator[Telling]:
    """Tell on a stream; the line is gone at the end, however that comes."""
    teller = Telling(stream)
    try:
        yield teller
    finally:
        teller.clear()
