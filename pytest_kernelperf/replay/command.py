"""How a replay is called, and what it says when it is done: known to who calls it, which opens no device."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROUNDS = 5
MOST_ROUNDS = 1000

# Anywhere in a line: a profiler's own words may have no end of line before it. With what follows the last number, which
# may still be on its way.
RECEIPT = re.compile(rb"replayed (\w{1,40}): (\d{1,9}) rounds of (\d{1,9}) launch(?:es)? in process (\d{1,19})\s")


@dataclass(frozen=True)
class Receipt:
    """What a replay says once all its rounds have run: its arm, rounds, launches in each, and its process id."""

    arm: str
    rounds: int
    launches: int
    pid: int

    def __str__(self) -> str:
        many = "launch" if self.launches == 1 else "launches"
        return f"replayed {self.arm}: {self.rounds} rounds of {self.launches} {many} in process {self.pid}"


def replay_command(case_file: Path, arm: str, rounds: int, trace: Path | None) -> list[str]:
    """Return the command that runs ``replay.program``."""
    recorded = [] if trace is None else [str(trace)]
    return [sys.executable, "-m", "pytest_kernelperf.replay.program", str(case_file), arm, str(rounds), *recorded]


def find_receipt(output: str) -> Receipt | None:
    """Find what a replay said among what it and its profiler printed; None: it did not come to its end."""
    found = RECEIPT.search(output.encode())
    return Receipt(found[1].decode(), int(found[2]), int(found[3]), int(found[4])) if found else None
