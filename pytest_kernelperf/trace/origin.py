"""Where a trace comes from: ``A.db.json`` beside ``A.db`` tells, or the metadata of a trace that we wrote ourselves;
where neither does, rocprofv3 recorded it.

Profilers make small things longer, so times of different origin are never compared.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pytest_kernelperf import strict_json
from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.trace.file import columns_of, find_files, open_trace, shown

VERSION = 1
PROFILER = "rocprofv3"
UNTRACED = "untraced"
CUPTI = "cupti"
ORIGIN_TAG = "kernelperf_origin"
"""Of the row in ``rocpd_metadata`` that says it too: a sidecar is easily left behind when a trace is copied."""
MOST_BYTES = 1_000_000


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sidecar; ``origin`` is ``untraced``, or what recorded the times (``rocprofv3``, ``cpu``, ``cupti``).

    Version 1: version, origin.
    """

    version: int
    origin: str


def sidecar(path: Path) -> Path:
    """Return where a trace's origin is written."""
    return path.with_name(path.name + ".json")


def traced_by(beside: Path) -> Path:
    """Return the trace whose origin a file of this name would tell: the other way of ``sidecar``."""
    return beside.with_suffix("") if beside.suffix == ".json" else beside


def read_origin(path: Path) -> str:
    """Return a trace's origin.

    Raises:
        TraceError: its sidecar cannot be used, or there is none and the trace cannot be read.
    """
    if os.path.isdir(path):
        return " and ".join(sorted({read_origin(one) for one in find_files(path)}))
    beside = sidecar(path)
    if not os.path.exists(beside):  # nor can it be there where its name would be too long
        return _read_metadata(path)
    if not beside.is_file():
        raise TraceError(f"{shown(beside)} is no file: a trace's origin stands there, or nothing")
    try:
        with beside.open("rb") as file:
            data = file.read(MOST_BYTES)
    except OSError as problem:
        raise TraceError(
            f"{shown(beside)} cannot be read ({problem.strerror}): it tells the trace's origin, so make it readable"
        ) from None
    advice = "it was not written by this program; remove it if rocprofv3 recorded the trace"
    found = strict_json.decode(data, Origin, subject=shown(beside), error=TraceError, advice=advice)
    if found.version != VERSION:
        raise TraceError(f"{shown(beside)} has version {found.version}, known is {VERSION}: {advice}")
    return strict_json.one_line(found.origin)[:100]


def _read_metadata(path: Path) -> str:
    with open_trace(path) as connection:
        if not {"tag", "value"} <= columns_of(connection, "rocpd_metadata"):
            return PROFILER
        query = "SELECT value FROM rocpd_metadata WHERE tag = ? AND typeof(value) = 'text'"
        row = connection.execute(query, (ORIGIN_TAG,)).fetchone()
    return strict_json.one_line(row[0])[:100] if row else PROFILER


def check_comparable(path_a: str, origin_a: str, path_b: str, origin_b: str) -> None:
    """Refuse two traces whose times were not taken in the same way.

    Raises:
        TraceError: they have different origins.
    """
    if origin_a != origin_b:
        raise TraceError(
            strict_json.one_line(
                f"{path_a} ({origin_a}) and {path_b} ({origin_b}) are not compared: recording makes times longer, so "
                "only times recorded in the same way say what changed; record both in one way"
            )
        )
