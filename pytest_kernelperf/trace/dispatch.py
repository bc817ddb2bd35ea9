"""Dispatches of a trace as columns: two times and the number of their group, read in chunks.

A million rows pass here in about a second, so what is the same for many rows (kernel, queue, workgroups) is looked at
once for each group of equal rows, and rows are only taken apart one by one where a chunk holds something strange.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.trace.file import AGAIN, columns_of, connect, open_trace, shown
from pytest_kernelperf.trace.metadata import count_dispatches, kernel_name, read_commands, read_devices, whole
from pytest_kernelperf.trace.packing import plan_packing
from pytest_kernelperf.trace.pieces import Piece, piece_of, read_pieces
from pytest_kernelperf.trace.record import Device, LeftOut
from pytest_kernelperf.trace.separation import separate

CHUNK_ROWS = 5_000
LEAST_ROW_BYTES = 20
"""What a dispatch takes in a file at least; a view that has more rows than that makes them up."""

MOST_GROUPS = 1_000_000

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
    for (file, path), rows, reader in _each_process(paths):
        timeless += rows.seen - sum(len(chunk.start_ns) for chunk in rows.chunks)
        for chunk in rows.chunks:
            for key in chunk.keys:
                if (file, key) not in numbers:
                    numbers[file, key] = len(groups)
                    groups.append(reader.group(key))
            if len(groups) > MOST_GROUPS:
                raise TraceError(f"{shown(path)} tells more than {MOST_GROUPS:,} kinds of dispatches apart: {AGAIN}")
            number = np.array([numbers[file, key] for key in chunk.keys], np.int32)
            parts.append((chunk.start_ns, chunk.end_ns, number[chunk.place]))
        hidden += max(0, reader.dispatched - rows.seen)
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else []
    start_ns, end_ns = (columns[0], columns[1]) if columns else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    group = columns[2].astype(np.int32) if columns else np.zeros(0, np.int32)
    return Dispatches(tuple(groups), start_ns, end_ns, group, LeftOut(hidden=hidden, timeless=timeless))


@dataclass(frozen=True)
class _Chunk:
    """Rows with times: ``keys`` are the different rows of what is common, ``place`` says which is whose."""

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    keys: list[tuple[Any, ...]]
    place: NDArray[np.integer[Any]]


@dataclass(frozen=True)
class _Rows:
    """All chunks of a file, and how many rows the view had."""

    chunks: list[_Chunk]
    seen: int


def _each_process(paths: tuple[Path, ...]) -> Iterator[tuple[tuple[int, Path], _Rows, _Reader]]:
    """Yield each file, or where they can be told apart each of its processes, while it is open."""
    for file, path in enumerate(paths):
        with open_trace(path) as connection:
            for statements in separate(connection):
                again = partial(connect, path, statements)
                with closing(again()) as alone:
                    reader = _Reader(alone, again, path, file)
                    yield (file, path), reader.packed() or reader.plain(), reader


class _Reader:
    """One open file: its rows, and the names behind their numbers. ``again`` opens it once more."""

    def __init__(
        self, connection: sqlite3.Connection, again: Callable[[], sqlite3.Connection], path: Path, file: int
    ) -> None:
        self._connection = connection
        self._again = again
        self._path = path
        self._file = file
        self._most_rows = path.stat().st_size // LEAST_ROW_BYTES + CHUNK_ROWS
        self.dispatched = count_dispatches(connection)
        self._columns = columns_of(connection, "kernels")
        self._guids = self._read_guids()
        self._devices = read_devices(connection)
        self._commands = read_commands(connection)
        self._names = self._read_names()

    def packed(self) -> _Rows | None:
        """Return the rows, read as three whole numbers each; None where some row needs another look.

        Several processes in one file share no ranges of numbers, so their rows are looked at one by one.
        """
        guid = self._guids[0]
        packing = None
        if self._names is not None and len(self._guids) == 1:
            packing = plan_packing(self._possible(guid), WORKGROUPS)
        if packing is None:
            return None
        key = packing.expression()
        pieces = None
        if "id" in self._columns:
            pieces = read_pieces(self._connection, self._again, key, self.dispatched, self._most_rows)
        if pieces is None:
            pieces = self._pieces_by_row(key)
        if pieces is None or any(len(piece.keys) and piece.keys[0] < 0 for piece in pieces):
            return None
        keys: dict[int, tuple[Any, ...]] = {}
        chunks = []
        for piece in pieces:
            different = piece.keys.tolist()
            for number in different:
                if number not in keys:
                    values, workgroups = packing.unpacked(number)
                    keys[number] = (guid, *(values.get(one) for one in ("kernel_id", *OPTIONAL)), workgroups)
            chunks.append(_Chunk(piece.start_ns, piece.end_ns, [keys[number] for number in different], piece.place))
        return _Rows(chunks, sum(len(piece.start_ns) for piece in pieces))

    def _pieces_by_row(self, key: str) -> list[Piece] | None:
        pieces = []
        for rows in self._select(f'start, "end", {key}'):
            try:
                flat = array("q", chain.from_iterable(rows))
            except (TypeError, OverflowError):
                return None
            table = np.frombuffer(flat, np.int64).reshape(-1, 3)
            pieces.append(piece_of(table[:, 0].copy(), table[:, 1].copy(), table[:, 2]))
        return pieces

    def plain(self) -> _Rows:
        """Return the rows, whatever they hold; those without times are only counted."""
        name = "name" if self._names is None else "kernel_id"
        optional = ", ".join(one if one in self._columns else "NULL" for one in OPTIONAL)
        guid = "guid" if len(self._guids) > 1 else "NULL"
        chunks, seen = [], 0
        for rows in self._select(f'start, "end", {guid}, {name}, {optional}, {WORKGROUPS}'):
            seen += len(rows)
            timed = [row for row in rows if type(row[0]) is int and type(row[1]) is int]
            if timed:
                starts, ends, *common = zip(*timed, strict=True)
                keys = list(zip(*common, strict=True))
                places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
                place = np.fromiter(map(places.__getitem__, keys), np.intp, len(keys))
                full = [(self._guids[0] if one is None else str(one), *more) for one, *more in places]
                chunks.append(_Chunk(np.array(starts, np.int64), np.array(ends, np.int64), full, place))
        return _Rows(chunks, seen)

    def _select(self, columns: str) -> Iterator[list[tuple[Any, ...]]]:
        cursor = self._connection.execute(f"SELECT {columns} FROM kernels")
        seen = 0
        while rows := cursor.fetchmany(CHUNK_ROWS):
            seen += len(rows)
            if seen > self._most_rows:
                raise TraceError(
                    f"{shown(self._path)} has a view kernels of more rows than a file of its size: {AGAIN}"
                )
            yield rows

    def _possible(self, guid: str) -> dict[str, frozenset[int]]:
        """Return which values columns can have in this process; the view joins them, so there are no others."""
        views = {"nid": ("rocpd_info_process", "nid"), "pid": ("rocpd_info_process", "pid"),
                 "agent_abs_index": ("rocpd_info_agent", "absolute_index"), "queue_id": ("rocpd_info_queue", "id"),
                 "stream_id": ("rocpd_info_stream", "id")}  # fmt: skip
        possible = {"kernel_id": frozenset(number for one, number in self._names or () if one == guid)}
        for column, (view, source) in views.items():
            if column in self._columns:
                known = {"guid", source} <= columns_of(self._connection, view)
                query = f"SELECT DISTINCT {source} FROM {view} WHERE guid = ?"
                rows = self._connection.execute(query, (guid,)) if known else ()
                possible[column] = frozenset(row[0] for row in rows if type(row[0]) is int)
        possible["kernel_id"] = frozenset(number for number in possible["kernel_id"] if type(number) is int)
        return possible

    def group(self, key: tuple[Any, ...]) -> Group:
        """Return what a key of rows means."""
        guid, named, nid, pid, agent, queue, stream, workgroups = key
        name = named if self._names is None else self._names.get((guid, named))
        node, index = whole(nid) or 0, whole(agent)
        unknown = Device(node, index if index is not None else -1, "unknown GPU", "", None)
        number = whole(workgroups)
        return Group(
            kernel_name(str(name)) if name else "(kernel without a name)",
            self._file,
            guid,
            whole(pid),
            self._commands.get((guid, whole(pid)), ""),
            replace(self._devices.get((guid, index), unknown), node=node),
            whole(queue),
            whole(stream),
            number if number is not None and number > 0 else None,
        )

    def _read_guids(self) -> list[str]:
        """Return the GUIDs of the file's processes; one alone, maybe empty, where rows need not be told apart."""
        if "guid" not in self._columns or "guid" not in columns_of(self._connection, "rocpd_info_process"):
            return [""]
        processes = self._connection.execute("SELECT DISTINCT guid FROM rocpd_info_process")
        return [str(row[0]) for row in processes if row[0] is not None] or [""]

    def _read_names(self) -> dict[tuple[str, int], str] | None:
        """Return kernels' names by GUID and number: reading a number for each row is faster than reading its text."""
        if not {"id", "guid", "display_name"} <= columns_of(self._connection, "rocpd_info_kernel_symbol"):
            return None
        if not {"kernel_id", "guid"} <= self._columns or self._guids == [""]:
            return None
        rows = self._connection.execute("SELECT guid, id, display_name FROM rocpd_info_kernel_symbol")
        return {(str(guid), number): name for guid, number, name in rows}
