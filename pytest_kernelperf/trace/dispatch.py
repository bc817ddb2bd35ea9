"""Dispatches of a trace as columns: two times and the number of their group, read in chunks.

A million rows pass here in about a second, so what is the same for many rows (kernel, queue, workgroups) is looked at
once for each group of equal rows, and rows are only taken apart one by one where a chunk holds something strange.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.strict_json import one_line
from pytest_kernelperf.trace.file import columns_of, open_trace
from pytest_kernelperf.trace.record import Device, LeftOut

CHUNK_ROWS = 20_000
MOST_NAME = 1000
MOST_COMPUTE_UNITS = 100_000

WORKGROUPS = " * ".join(f"((grid_{one} + workgroup_{one} - 1) / workgroup_{one})" for one in "xyz")
"""AMD's grids are work-items; a workgroup that is not full counts. Zero or NULL makes NULL, unknown."""

OPTIONAL = ("nid", "pid", "agent_abs_index", "queue_id", "stream_id")


@dataclass(frozen=True)
class Group:
    """What dispatches of one group have in common."""

    kernel: str
    file: int
    guid: str
    pid: int | None
    command: str
    device: Device
    queue: int | None
    stream: int | None
    workgroups: int | None


@dataclass(frozen=True)
class Dispatches:
    """All dispatches with times: ``start_ns`` and ``end_ns`` int64, ``group`` int32, of equal length."""

    groups: tuple[Group, ...]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    group: NDArray[np.int32]
    left_out: LeftOut


def read_dispatches(paths: tuple[Path, ...]) -> Dispatches:
    """Read all files of a trace.

    Raises:
        TraceError: one of them cannot be used.
    """
    numbers: dict[tuple[Any, ...], int] = {}
    groups: list[Group] = []
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]] = []
    hidden = timeless = 0
    for file, path in enumerate(paths):
        with open_trace(path) as connection:
            reader = _Reader(connection, file)
            seen = 0
            for guid, rows in reader.chunks():
                seen += len(rows)
                plain = [row for row in rows if type(row[0]) is int and type(row[1]) is int] if _odd(rows) else rows
                timeless += len(rows) - len(plain)
                if not plain:
                    continue
                starts, ends, *common = zip(*plain, strict=True)
                keys = list(zip(*common, strict=True))
                different = dict.fromkeys(keys)
                for key in different:
                    if (file, guid, key) not in numbers:
                        numbers[file, guid, key] = len(groups)
                        groups.append(reader.group(guid, key))
                here = {key: numbers[file, guid, key] for key in different}
                numbered = np.fromiter(map(here.__getitem__, keys), np.int32, len(keys))
                parts.append((np.array(starts, np.int64), np.array(ends, np.int64), numbered))
            hidden += max(0, reader.dispatched() - seen)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else []
    start_ns, end_ns = (columns[0], columns[1]) if columns else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    group = columns[2].astype(np.int32) if columns else np.zeros(0, np.int32)
    return Dispatches(tuple(groups), start_ns, end_ns, group, LeftOut(hidden=hidden, timeless=timeless))


def _odd(rows: list[tuple[Any, ...]]) -> bool:
    return not all(type(row[0]) is int and type(row[1]) is int for row in rows)


class _Reader:
    """One open file: its rows, and the names behind their numbers."""

    def __init__(self, connection: sqlite3.Connection, file: int) -> None:
        self._connection = connection
        self._file = file
        self._columns = columns_of(connection, "kernels")
        self._devices = _read_devices(connection)
        self._commands = _read_commands(connection)
        self._names = self._read_names()

    def chunks(self) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """Yield lists of rows (start, end, name or its number, optional columns, workgroups) with their GUID."""
        name = "name" if self._names is None else "kernel_id"
        optional = ", ".join(one if one in self._columns else "NULL" for one in OPTIONAL)
        query = f'SELECT start, "end", {name}, {optional}, {WORKGROUPS} FROM kernels'
        guids = self._guids()
        for guid in guids:
            where = (query + " WHERE guid = ?", (guid,)) if len(guids) > 1 else (query, ())
            cursor = self._connection.execute(*where)
            while rows := cursor.fetchmany(CHUNK_ROWS):
                yield guid, rows

    def dispatched(self) -> int:
        """Return how many dispatches were recorded, 0 where that view is missing."""
        if not columns_of(self._connection, "rocpd_kernel_dispatch"):
            return 0
        return int(self._connection.execute("SELECT count(*) FROM rocpd_kernel_dispatch").fetchone()[0])

    def group(self, guid: str, key: tuple[Any, ...]) -> Group:
        """Return what a key of rows means."""
        named, nid, pid, agent, queue, stream, workgroups = key
        name = named if self._names is None else self._names.get((guid, named))
        node, index = _whole(nid) or 0, _whole(agent)
        unknown = Device(node, index if index is not None else -1, "unknown GPU", "", None)
        number = _whole(workgroups)
        return Group(
            one_line(str(name))[:MOST_NAME] if name else "(kernel without a name)",
            self._file,
            guid,
            _whole(pid),
            self._commands.get((guid, _whole(pid)), ""),
            replace(self._devices.get((guid, index), unknown), node=node),
            _whole(queue),
            _whole(stream),
            number if number is not None and number > 0 else None,
        )

    def _guids(self) -> list[str]:
        if "guid" not in self._columns or "guid" not in columns_of(self._connection, "rocpd_info_process"):
            return [""]
        processes = self._connection.execute("SELECT DISTINCT guid FROM rocpd_info_process")
        return [str(row[0]) for row in processes if row[0] is not None] or [""]

    def _read_names(self) -> dict[tuple[str, int], str] | None:
        """Return kernels' names by GUID and number: reading a number for each row is faster than reading its text."""
        if not {"id", "guid", "display_name"} <= columns_of(self._connection, "rocpd_info_kernel_symbol"):
            return None
        if not {"kernel_id", "guid"} <= self._columns or self._guids() == [""]:
            return None
        rows = self._connection.execute("SELECT guid, id, display_name FROM rocpd_info_kernel_symbol")
        return {(str(guid), number): name for guid, number, name in rows}


def _read_devices(connection: sqlite3.Connection) -> dict[tuple[str, int | None], Device]:
    columns = columns_of(connection, "rocpd_info_agent")
    if not {"guid", "absolute_index"} <= columns:
        return {}
    asked = ("guid", "absolute_index", "name", "product_name", "extdata")
    query = ", ".join(one if one in columns else "NULL" for one in asked)
    devices = {}
    for guid, index, name, product, extdata in connection.execute(f"SELECT {query} FROM rocpd_info_agent"):
        devices[str(guid), _whole(index)] = Device(
            0, _whole(index) or 0, _text(name) or "unknown GPU", _text(product), _compute_units(extdata)
        )
    return devices


def _compute_units(extdata: object) -> int | None:
    try:
        count = json.loads(extdata).get("cu_count") if isinstance(extdata, (str, bytes)) else None
    except (ValueError, AttributeError, RecursionError):
        return None
    return count if type(count) is int and 0 < count < MOST_COMPUTE_UNITS else None


def _read_commands(connection: sqlite3.Connection) -> dict[tuple[str, int | None], str]:
    if not {"guid", "pid", "command"} <= columns_of(connection, "rocpd_info_process"):
        return {}
    rows = connection.execute("SELECT guid, pid, command FROM rocpd_info_process")
    return {(str(guid), _whole(pid)): _text(command) for guid, pid, command in rows}


def _text(value: object) -> str:
    return one_line(value)[:MOST_NAME] if isinstance(value, str) else ""


def _whole(value: object) -> int | None:
    return value if type(value) is int else None
