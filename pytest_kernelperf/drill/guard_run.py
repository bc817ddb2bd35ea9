"""What one run of the guard came to, as others see it: exit code, what JUnit says of its items, and its run file."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import DeviceFacts, Frozen, Record
from pytest_kernelperf.report.run_file import read_run

MAX_JUNIT_BYTES = 64 * 1024 * 1024


class GuardRun(Frozen, frozen=True):
    """A run of ``pytest --kernelperf``.

    ``failed``: name and message of each item that JUnit's file calls failed or in error. ``records`` and ``device``
    are the run file's; empty and None where there is none.
    """

    code: int
    seconds: float
    failed: tuple[tuple[str, str], ...]
    records: tuple[Record, ...] = ()
    device: DeviceFacts | None = None
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    output: str = ""

    def record(self, case: str) -> Record | None:
        """The record of a case, by ``str(CaseId)``."""
        return next((record for record in self.records if str(record.case) == case), None)

    @property
    def failing(self) -> tuple[Record, ...]:
        """The records whose verdicts fail."""
        return tuple(record for record in self.records if record.decision.fails)

    @property
    def failed_files(self) -> tuple[tuple[str, str], ...]:
        """The items of baseline files that failed, with their messages."""
        return tuple(item for item in self.failed if item[0].endswith(".json"))

    @property
    def agrees(self) -> bool:
        """Whether exit code and JUnit's file tell the same failures as the records: CI sees the former."""
        tests = len(self.failed) - len(self.failed_files)
        return tests == len(self.failing) and (self.code != 0) == bool(self.failed)


def read_guard_run(folder: Path, code: int, seconds: float, output: str) -> GuardRun:
    """Read what a run left in a folder: ``junit.xml`` and ``run.json``, either of which may be missing."""
    failed: tuple[tuple[str, str], ...] = ()
    junit = folder / "junit.xml"
    if junit.exists() and junit.stat().st_size <= MAX_JUNIT_BYTES:
        failed = tuple(read_failures(junit))
    try:
        run = read_run(folder / "run.json")
    except KernelperfError:
        return GuardRun(code, seconds, failed, output=output)
    return GuardRun(code, seconds, failed, run.records, run.device, run.settings, output)


def read_failures(junit: Path) -> list[tuple[str, str]]:
    """Name and message of each test case that failed or could not be set up, as JUnit's file has them."""
    try:
        cases = list(ET.parse(junit).iter("testcase"))
    except ET.ParseError:
        return []
    failures = []
    for case in cases:
        for kind in ("failure", "error"):
            element = case.find(kind)
            if element is not None:
                failures.append((case.get("name", ""), (element.text or element.get("message") or "").strip()))
                break
    return failures
