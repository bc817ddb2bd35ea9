"""What the processes of an xdist run tell each other about cases: a folder that all of them see.

A curve needs the records of cases that other processes may have run, or run still. xdist gives every process all items
in one order and hands them out from the front, and curves are last, so waiting for a case cannot block the one who
runs it. What never comes (a process died, a case was never begun) is noticed by everybody else being idle.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

BOARDS = "board"
"""The folder of all boards, in the output folder; gone when a run has ended."""

QUIET_S = 5.0
"""So long all others must have been idle, between two tests as they are now and then, for a case to be given up."""

STEP_S = 0.05


class Board:
    """One process's view of the folder; ``worker`` is its xdist name (``gw0``)."""

    def __init__(
        self,
        folder: Path,
        worker: str,
        sleep: Callable[[float], None] = time.sleep,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """``sleep`` and ``clock_s`` are replaced in tests."""
        self._folder = folder
        self._worker = worker
        self._sleep = sleep
        self._clock_s = clock_s

    def set_busy(self, busy: bool) -> None:
        """Say whether this process runs a test; one that waits for others is idle."""
        path = self._folder / "workers" / self._worker
        _replace(path, f"{os.getpid() if busy else 0}\n")

    def put(self, nodeid: str, record: str) -> None:
        """Say that a test has ended; ``record`` is its record as text, empty where it left none."""
        _replace(self._path(nodeid), record)

    def wait_for(self, nodeids: Iterable[str]) -> list[str]:
        """Return the records of these tests, once each has ended or can no longer be expected to."""
        wanted = [self._path(nodeid) for nodeid in nodeids]
        self.set_busy(False)
        quiet_since_s = self._clock_s()
        while not all(path.exists() for path in wanted):
            if self._others_are_busy():
                quiet_since_s = self._clock_s()
            elif self._clock_s() - quiet_since_s >= QUIET_S:
                break
            self._sleep(STEP_S)
        self.set_busy(True)
        return [text for path in wanted if path.exists() and (text := path.read_text(encoding="utf-8"))]

    def _others_are_busy(self) -> bool:
        others = (path for path in (self._folder / "workers").glob("*") if path.name != self._worker)
        return any(_is_alive(path) for path in others if not path.name.startswith("."))

    def _path(self, nodeid: str) -> Path:
        return self._folder / "cases" / hashlib.sha256(nodeid.encode()).hexdigest()[:32]


def is_writable(folder: Path) -> bool:
    """Whether a folder that may not be there yet can be made and written to."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _replace(path: Path, text: str) -> None:
    """Write a file at once; it need not outlive the machine, so nothing waits for the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _is_alive(path: Path) -> bool:
    """Whether the process that a file names runs a test and lives."""
    try:
        pid = int(path.read_text(encoding="utf-8"))
        if pid > 0:
            os.kill(pid, 0)
    except (OSError, ValueError):
        return False
    return pid > 0
