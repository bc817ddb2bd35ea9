"""SIGTERM ends a run as Ctrl-C does: the case being judged is given up, and what was judged so far is written.

Job managers send it before they kill. A second one ends the process at once.
"""

from __future__ import annotations

import contextlib
import signal
from types import FrameType
from typing import NoReturn


class Terminated(KeyboardInterrupt):
    """SIGTERM came. pytest ends its session for it as for Ctrl-C, and no code of a test takes it for a failure."""


class Termination:
    """Turns the first SIGTERM into ``Terminated`` while a run guards, where nobody else minds the signal."""

    def __init__(self) -> None:
        self._minds = False

    def begin(self) -> None:
        """Mind the signal from now on; not beside a handler of somebody else's, nor outside of the main thread."""
        with contextlib.suppress(ValueError):  # only the main thread may
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, self._interrupt)
                self._minds = True

    def end(self) -> None:
        """Leave the signal as it was."""
        if self._minds:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self._minds = False

    def _interrupt(self, number: int, frame: FrameType | None) -> NoReturn:
        self.end()
        raise Terminated("SIGTERM: what was judged so far is written")
