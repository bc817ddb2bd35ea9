"""Opens a rocpd file: read-only, after looking whether it is whole, and one sentence where it is not.

Only what AMD keeps stable is asked for: unsuffixed views, with columns found by PRAGMA (every schema says version 3).
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.strict_json import one_line
from pytest_kernelperf.trace.restraint import excess, restrain

MAGIC = b"SQLite format 3\x00"
HEADER_BYTES = 100
WAL_FORMAT = 2
NEEDED = ("name", "start", "end", "grid_x", "grid_y", "grid_z", "workgroup_x", "workgroup_y", "workgroup_z")
AGAIN = "record it again with rocprofv3 --kernel-trace --output-format rocpd"


def find_files(path: Path) -> tuple[Path, ...]:
    """Return the trace's files: the file, or all ``*.db`` of a folder (rocprofv3 writes one for each process).

    Raises:
        TraceError: there is none, or a folder below cannot be looked into: a part is not taken for the whole.
    """
    if not os.path.isdir(path):  # what nobody can look at is said by whoever opens it
        return (path,)
    found = []
    try:
        for place, _, names in os.walk(path, onerror=_refuse):
            found += [one for name in names if name.endswith(".db") and (one := Path(place, name)).is_file()]
    except OSError as problem:
        where = shown(Path(os.fsdecode(problem.filename or path)))
        raise TraceError(
            f"{where} cannot be looked into ({problem.strerror}), and a trace may lie there: make it readable, or name "
            "the traces' own folder"
        ) from None
    if not found:
        raise TraceError(f"{shown(path)} holds no .db file: without any kernel rocprofv3 writes none; {AGAIN}")
    return tuple(sorted(found))


def _refuse(problem: OSError) -> None:
    raise problem


@contextmanager
def open_trace(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a rocpd file for reading; nothing is written, beside it neither.

    Raises:
        TraceError: missing, empty, cut off, damaged (also while it is read), locked, no SQLite, no rocpd.
    """
    header = _check_header(path)
    if header[18] != WAL_FORMAT:
        _check_unlocked(path)
    connection = _connect(path)
    try:
        restrain(connection, path)
        _check_layout(connection, path)
        yield connection
    except (sqlite3.Error, UnicodeDecodeError, OSError) as problem:
        raise TraceError(f"{shown(path)} {_ailment(str(problem))}: {AGAIN}") from None
    finally:
        connection.close()


def connect(path: Path, statements: Sequence[str] = ()) -> sqlite3.Connection:
    """Open a file that ``open_trace`` has looked at once more, for another thread or one process of several.

    ``statements`` are run first; they can change nothing but the connection.

    Raises:
        TraceError: it cannot be opened.
        sqlite3.Error: a statement cannot be run.
    """
    connection = _connect(path)
    if statements:
        connection.execute("PRAGMA temp_store=MEMORY")
    for statement in statements:
        connection.execute(statement)
    restrain(connection, path)
    return connection


def _ailment(problem: str) -> str:
    if problem == "interrupted":
        return "has views that do not come to an end within what a trace of its size takes"
    if any(words in problem for words in ("not authorized", "prohibited", "unsafe use")):
        return f"has views that do more than rocpd's ({one_line(problem)[:200]})"
    return f"is damaged ({one_line(problem)[:200]})"


def columns_of(connection: sqlite3.Connection, view: str) -> frozenset[str]:
    """Return the columns of a view or table, none where there is no such thing."""
    return frozenset(str(row[1]) for row in connection.execute(f'PRAGMA table_info("{view}")'))


def shown(path: Path) -> str:
    """A path in a sentence; names of files may be a stranger's."""
    return one_line(str(path))


def is_database(path: Path) -> bool:
    """Whether a file is there that sqlite wrote."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:  # no waiting for a pipe
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _check_header(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise TraceError(
                f"{shown(path)} is no file (a pipe, a device or a folder): name a file that rocprofv3 wrote"
            )
        size_bytes = status.st_size
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
        left = [name for name in ("-journal", "-wal") if _size(path.with_name(path.name + name))]
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise TraceError(f"{shown(path)} cannot be read ({reason}): name a file that rocprofv3 wrote") from None
    if not header:
        raise TraceError(f"{shown(path)} is empty: the profiler was stopped before it wrote; {AGAIN}")
    if not header.startswith(MAGIC[: len(header)]):
        raise TraceError(f"{shown(path)} is no SQLite database: a trace is the .db that rocprofv3 writes as rocpd")
    if len(header) < HEADER_BYTES:
        raise TraceError(f"{shown(path)} is cut off within its header: {AGAIN}")
    if left:
        raise TraceError(
            f"{shown(path)} is unfinished ({shown(path)}{left[0]} lies beside it): wait until its program has ended, "
            f"or {AGAIN}"
        )
    page_bytes = int.from_bytes(header[16:18], "big")
    expected_bytes = (65536 if page_bytes == 1 else page_bytes) * int.from_bytes(header[28:32], "big")
    if header[24:28] == header[92:96] and size_bytes < expected_bytes:
        raise TraceError(f"{shown(path)} is cut off ({size_bytes:,} bytes of {expected_bytes:,}): copy it again")
    return header


def _size(path: Path) -> int:
    return path.stat().st_size if os.path.exists(path) else 0


def _check_unlocked(path: Path) -> None:
    connection = _connect(path, immutable=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as problem:
        if "locked" in str(problem):
            raise TraceError(
                f"{shown(path)} is locked by another program: it is still being written, so wait until it has ended"
            ) from None
    except (sqlite3.Error, UnicodeDecodeError):
        pass  # Damage is told by whoever reads.
    finally:
        connection.close()


def _connect(path: Path, *, immutable: bool = True) -> sqlite3.Connection:
    address = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro{'&immutable=1' if immutable else ''}"
    try:
        return sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)
    except sqlite3.Error as problem:
        raise TraceError(f"{shown(path)} cannot be opened ({one_line(str(problem))})") from None


def _check_layout(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute("SELECT type, name, sql FROM sqlite_master")
    schema = [(str(kind), str(name), str(sql)) for kind, name, sql in found]
    names = {name for _, name, _ in schema}
    if why := excess(schema):
        raise TraceError(f"{shown(path)} has views that do more than rocpd's ({one_line(why)[:200]}): {AGAIN}")
    if "kernels" in names:
        missing = [name for name in NEEDED if name not in columns_of(connection, "kernels")]
        if missing:
            raise TraceError(
                f"{shown(path)}: its view kernels has no column {', '.join(missing)}: no rocpd layout that is known"
            )
    elif {"rocpd_api", "rocpd_op"} <= names:
        raise TraceError(f"{shown(path)} is an old .rpd (rocmProfileData), not rocpd of ROCm 7.0 or newer: {AGAIN}")
    elif any(name.startswith("rocpd_kernel_dispatch") for name in names):
        raise TraceError(f"{shown(path)} has rocpd's tables but not its view kernels: its writer was stopped; {AGAIN}")
    else:
        raise TraceError(f"{shown(path)} is a database, but no trace: it has no view kernels")
