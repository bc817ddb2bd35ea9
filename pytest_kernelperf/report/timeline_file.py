"""Pictures of traced cases as files: beside their traces at the end of a run, or in a folder of the user's."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.model import CaseId, Run
from pytest_kernelperf.report.timeline import render_timeline
from pytest_kernelperf.report.traced import timeline_path

MOST_NAME = 150


def write_beside_traces(run: Run, folder: Path) -> None:
    """Write each traced case's picture beside its traces, below the run file's ``folder``.

    Raises:
        OSError: a file cannot be written.
    """
    for record in run.records:
        place = timeline_path(record.trace) if record.trace is not None else None
        if place is None or place.is_absolute() or ".." in place.parts:
            continue
        _write(folder / place, render_timeline(record))


def write_timelines(run: Run, folder: Path) -> tuple[Path, ...]:
    """Write the pictures of a run, which may be a stranger's, to a folder; return their files.

    Raises:
        OSError: a file cannot be written.
    """
    written: list[Path] = []
    for record in run.records:
        picture = render_timeline(record)
        if picture is not None:
            path = folder / f"{_case_name(record.case)}.svg"
            if path in written:  # names that differ in what no file's name may hold
                path = folder / f"{_case_name(record.case)}-{len(written)}.svg"
            _write(path, picture)
            written.append(path)
    return tuple(written)


def file_name(text: str) -> str:
    """Return text as the beginning of a file's name, which is no hidden file, option or folder's."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text).lstrip(".-")[:MOST_NAME]


def _case_name(case: CaseId) -> str:
    return file_name(f"{case.kernel}-{case.variant}-{case.tokens}")


def _write(path: Path, picture: str | None) -> None:
    if picture is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, picture.encode())
