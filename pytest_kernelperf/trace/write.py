"""Writes a recording as a rocpd database (schema 3.0.3), laid out as rocprofv3 lays out its own."""

from __future__ import annotations

from pathlib import Path

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.recording import Recording


def write_trace(path: Path, recording: Recording) -> None:
    """Write a recording to ``path``, and its origin beside it (``path.json``); both appear whole or not at all.

    Raises:
        TraceError: it holds no dispatch, or the file cannot be written.
    """
    if not len(recording.dispatches):
        raise TraceError(f"{path} is not written: no kernel was recorded")
    raise NotImplementedError
