"""Processes as /proc and the control group tell of them. Only those of the runner's own unit are ever ended."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

UNIT = "kernelperf-job.service"


@dataclass(frozen=True)
class Processes:
    """Where the kernel's files lie; elsewhere only in tests."""

    proc: Path = Path("/proc")
    groups: Path = Path("/sys/fs/cgroup")

    def above(self) -> list[int]:
        """The processes above this one, nearest first."""
        found: list[int] = []
        process = os.getpid()
        while (process := self._parent(process)) > 1:
            found.append(process)
        return found

    def of_the_unit(self) -> list[int]:
        """All other processes of the runner's unit, which nothing leaves without root; none outside such a unit."""
        try:
            group = (self.proc / "self" / "cgroup").read_text(encoding="utf-8").strip().rpartition("::")[2]
            if not group.endswith("/" + UNIT):
                return []
            lines = (self.groups / group.lstrip("/") / "cgroup.procs").read_text(encoding="utf-8").split()
        except OSError:
            return []
        return [int(line) for line in lines if int(line) != os.getpid()]

    def name(self, process: int) -> str:
        """A process's name, as the kernel has it: at most 15 characters."""
        try:
            return (self.proc / str(process) / "comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return "a process"

    def kill(self, process: int) -> None:
        """End a process; one that is gone already is as well."""
        try:
            os.kill(process, signal.SIGKILL)
        except OSError as problem:
            print(f"kernelperf runner: {process} could not be ended: {problem}", flush=True)

    def _parent(self, process: int) -> int:
        try:
            # The name stands in brackets and may hold anything, so the last one ends it.
            line = (self.proc / str(process) / "stat").read_text(encoding="utf-8", errors="replace")
            return int(line.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return 0


HERE = Processes()
