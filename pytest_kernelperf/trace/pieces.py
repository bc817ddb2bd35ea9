"""Rows of the view ``kernels`` as whole numbers, in pieces by their ``id``, read by several threads.

sqlite gathers each piece to one text, so Python is not asked for every row: that takes half of the time, and leaves the
interpreter free for another thread while sqlite joins. Only where ``id`` is the key of the table that the view walks
along; else every piece would be a search through all.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

PIECE_ROWS = 20_000
MOST_THREADS = 4
LEAST_DENSITY = 0.5
"""How many of the numbers from the first to the last id must be taken: pieces are of equal length."""

_KEYED = re.compile(r"SEARCH .*USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)")
_NUMBERS = msgspec.json.Decoder(list[int])


@dataclass(frozen=True)
class Piece:
    """Rows: two times, the different keys, rising, and which of them each row has."""

    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    keys: NDArray[np.int64]
    place: NDArray[np.int32]


def piece_of(start_ns: NDArray[np.int64], end_ns: NDArray[np.int64], key: NDArray[np.int64]) -> Piece:
    """Return rows as a piece."""
    keys, place = np.unique(key, return_inverse=True)
    return Piece(start_ns, end_ns, keys, place.astype(np.int32))


def read_pieces(
    connection: sqlite3.Connection, again: Callable[[], sqlite3.Connection], key: str, dispatched: int, most_rows: int
) -> list[Piece] | None:
    """Return all rows; None where they cannot be read so, whatever the reason.

    ``again`` opens another connection, ``key`` is an SQL expression, ``dispatched`` the number of rows of
    ``rocpd_kernel_dispatch``, ``most_rows`` how many rows there can be.

    Raises:
        sqlite3.Error: the file is damaged.
    """
    columns = f'json_group_array(start), json_group_array("end"), json_group_array({key})'
    query = f"SELECT {columns} FROM kernels WHERE id >= ? AND id < ?"
    try:
        ranges = _ranges(connection, dispatched) if _walks_by_id(connection, query) else None
        if ranges is None:
            return None
        threads = min(MOST_THREADS, len(ranges), len(os.sched_getaffinity(0)))
        shares = [ranges[len(ranges) * one // threads : len(ranges) * (one + 1) // threads] for one in range(threads)]
        if threads == 1:
            return _read_share(again, query, ranges, most_rows)
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda share: _read_share(again, query, share, most_rows), shares))
    except sqlite3.OperationalError as problem:
        if "JSON" in str(problem).upper():  # bytes among the values, or an sqlite without these functions
            return None
        raise
    if any(share is None for share in found):
        return None
    return [piece for share in found for piece in share or ()]


def _walks_by_id(connection: sqlite3.Connection, query: str) -> bool:
    plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {query}", (0, 0))]
    walked = [step for step in plan if not re.search(r"USING INTEGER PRIMARY KEY \(rowid=\?\)", step)]
    return len(walked) == 1 and bool(_KEYED.match(walked[0]))


def _ranges(connection: sqlite3.Connection, dispatched: int) -> list[tuple[int, int]] | None:
    ends = "(SELECT min(id) FROM rocpd_kernel_dispatch), (SELECT max(id) FROM rocpd_kernel_dispatch)"
    first, last = connection.execute(f"SELECT {ends}").fetchone() if dispatched else (None, None)
    if type(first) is not int or type(last) is not int or not 0 <= last - first < dispatched / LEAST_DENSITY:
        return None
    edges = [*range(first + PIECE_ROWS, last + 1, PIECE_ROWS), 2**63 - 1]
    return list(zip([-(2**63), *edges], edges, strict=False))


def _read_share(
    again: Callable[[], sqlite3.Connection], query: str, ranges: Sequence[tuple[int, int]], most_rows: int
) -> list[Piece] | None:
    """Return the rows of successive ranges, None where one holds something else than whole numbers."""
    pieces = []
    with closing(again()) as connection:
        for edges in ranges:
            texts = connection.execute(query, edges).fetchone()
            columns = []
            for text in texts:
                try:
                    columns.append(np.array(_NUMBERS.decode(text), np.int64))
                except msgspec.DecodeError:
                    return None
            pieces.append(piece_of(columns[0], columns[1], columns[2]))
            most_rows -= len(columns[0])
            if most_rows < 0:
                return None
    return pieces
