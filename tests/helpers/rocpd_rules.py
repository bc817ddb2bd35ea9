"""AMD's rules for a rocpd database of schema 3.0.3, restated from what is published, each a check of its own.

Tables and columns are rocpd_published's. What rows must be there follows from the inner joins of AMD's views, from how
its ids are made, and from what ROCm Optiq shows without asking whether it is null.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from rocpd_published import SHOWN, TABLES, VIEWS


def broken_rules(path: Path) -> list[str]:
    """The sentences of all rules that a database breaks; none is a good one."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        found = []
        for rule in RULES:
            try:
                for problem in rule(database):
                    found.append(f"{rule.__name__}: {problem}")
            except sqlite3.Error as failure:
                found.append(f"{rule.__name__}: {failure}")
        return found


def sound_file(database: sqlite3.Connection) -> Iterator[str]:
    """SQLite finds the file whole, and every foreign key points to a row."""
    yield from (row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok")
    yield from (f"a key of {row[0]} points nowhere" for row in database.execute("PRAGMA foreign_key_check"))
    if database.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        yield "it needs a WAL beside it"


def metadata(database: sqlite3.Connection) -> Iterator[str]:
    """Three rows: the schema's version, the GUID, and the GUID as it stands in tables' names."""
    rows = dict(database.execute("SELECT tag, value FROM rocpd_metadata"))
    if rows.get("schema_version") != "3":
        yield f"schema_version is {rows.get('schema_version')}"
    guid = rows.get("guid", "")
    if [len(part) for part in guid.split("-")] != [8, 4, 4, 4, 12] or guid.split("-")[2:3] != ["7" + guid[15:18]]:
        yield f"guid {guid!r} is no UUID of version 7"
    if rows.get("uuid") != "_" + guid.replace("-", "_"):
        yield f"uuid {rows.get('uuid')!r} is not that of guid {guid}"


def tables(database: sqlite3.Connection) -> Iterator[str]:
    """Each table has the GUID in its name and the published columns in order; the plain name is a view of it."""
    suffix = database.execute("SELECT value FROM rocpd_metadata WHERE tag = 'uuid'").fetchone()[0]
    guid = database.execute("SELECT value FROM rocpd_metadata WHERE tag = 'guid'").fetchone()[0]
    for table, columns in {
        "metadata": "tag! value!",
        **{name: f"guid! {rest}" for name, rest in TABLES.items()},
    }.items():
        found = [
            (name, bool(needed), default, key)
            for _, name, _, needed, default, key in database.execute(f'PRAGMA table_info("rocpd_{table}{suffix}")')
        ]
        expected = ["id!", *columns.split()]
        if [name + "!" * needed for name, needed, _, _ in found] != expected:
            yield f"rocpd_{table}{suffix} has columns {[name for name, *_ in found]}"
            continue
        if not found[0][3]:
            yield f"id is not the key of rocpd_{table}"
        if table != "metadata" and found[1][2].strip("'\"") != guid:
            yield f"guid of rocpd_{table} is not by default this process's"
        kind = database.execute("SELECT type FROM sqlite_master WHERE name = ?", (f"rocpd_{table}",)).fetchone()
        if kind != ("view",):
            yield f"rocpd_{table} is no view"
            continue
        counts = [
            database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for name in (f"rocpd_{table}", f"rocpd_{table}{suffix}")
        ]
        if counts[0] != counts[1]:
            yield f"rocpd_{table} does not show its table's rows"
        if table != "metadata" and database.execute(
            f"SELECT count(*) FROM rocpd_{table} WHERE guid <> ?", (guid,)
        ).fetchone() != (0,):
            yield f"rocpd_{table} has another process's rows"


def views(database: sqlite3.Connection) -> Iterator[str]:
    """Each view has the published columns in order, and can be selected from."""
    for view, columns in VIEWS.items():
        cursor = database.execute(f"SELECT * FROM {view}")
        cursor.fetchall()
        if [column[0] for column in cursor.description] != columns.split():
            yield f"{view} has columns {[column[0] for column in cursor.description]}"


def nothing_hidden(database: sqlite3.Connection) -> Iterator[str]:
    """No inner join loses a row: every dispatch is in kernels, every symbol, process and thread in its view."""
    pairs = {"kernel_dispatch": "kernels", "info_kernel_symbol": "kernel_symbols", "info_code_object": "code_objects",
             "info_process": "processes", "info_thread": "threads"}  # fmt: skip
    for table, view in pairs.items():
        there, seen = (
            database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in (f"rocpd_{table}", view)
        )
        if there != seen:
            yield f"{view} shows {seen} of {there} rows"
    if not database.execute("SELECT count(*) FROM kernels").fetchone()[0]:
        yield "there is no kernel: rocprofv3 would have written no file"


def strings(database: sqlite3.Connection) -> Iterator[str]:
    """The empty string is there, for regions without a name."""
    if database.execute("SELECT count(*) FROM rocpd_string WHERE string = ''").fetchone() != (1,):
        yield "the empty string is missing"


def ids(database: sqlite3.Connection) -> Iterator[str]:
    """Ids are what they stand for: pid, tid, dispatch, node, kernel."""
    for table, column in (("info_process", "pid"), ("info_thread", "tid"), ("kernel_dispatch", "dispatch_id"),
                          ("info_node", "hash")):  # fmt: skip
        if database.execute(f"SELECT count(*) FROM rocpd_{table} WHERE id <> {column}").fetchone() != (0,):
            yield f"id of rocpd_{table} is not its {column}"
    if database.execute("SELECT count(*) FROM kernel_symbols WHERE kernel_id IS NOT id").fetchone() != (0,):
        yield "a symbol's extdata has another kernel_id"
    for table, name in (("queue", "Default Queue"), ("stream", "Default Stream")):
        if database.execute(f"SELECT name FROM rocpd_info_{table} WHERE id = 0").fetchone() != (name,):
            yield f"{name} is missing"


def dispatches(database: sqlite3.Connection) -> Iterator[str]:
    """Work-items are whole workgroups, times are positive, agents GPUs; each dispatch has an event of its own."""
    sides = " OR ".join(f"grid_{one} <= 0 OR workgroup_{one} <= 0 OR grid_{one} % workgroup_{one}" for one in "xyz")
    checks = {
        "grids are not whole workgroups in work-items": sides,
        "a time is missing or backwards": 'start <= 0 OR "end" < start',
        "an agent is no GPU": "agent_type <> 'GPU'",
        "the category is another": "category IS NOT 'KERNEL_DISPATCH'",
        "a region has a name": "region IS NOT ''",
        "shared memory is less than the kernel declares": "lds_size < static_lds_size",
    }
    for sentence, wrong in checks.items():
        if database.execute(f"SELECT count(*) FROM kernels WHERE {wrong}").fetchone() != (0,):
            yield sentence
    shared = "SELECT count(*) - count(DISTINCT event_id) FROM rocpd_kernel_dispatch"
    if database.execute(shared).fetchone() != (0,):
        yield "two dispatches share an event"


def agents(database: sqlite3.Connection) -> Iterator[str]:
    """A CPU and a GPU; the latter tells its compute units, and both their node, which is their id."""
    kinds = set()
    for number, kind, extdata in database.execute("SELECT id, type, extdata FROM rocpd_info_agent"):
        kinds.add(kind)
        told = json.loads(extdata)
        if told.get("node_id") != number:
            yield f"agent {number} is of node {told.get('node_id')}"
        if kind == "GPU" and not (isinstance(told.get("cu_count"), int) and told["cu_count"] > 0):
            yield f"agent {number} does not tell its compute units"
    if kinds != {"CPU", "GPU"}:
        yield f"agents are {sorted(kinds)}"


def symbols(database: sqlite3.Connection) -> Iterator[str]:
    """A kernel's name ends in .kd; what is shown does not, and is there in all its forms."""
    rows = database.execute(
        "SELECT kernel_name, display_name, formatted_kernel_name, demangled_kernel_name, truncated_kernel_name "
        "FROM kernel_symbols"
    )
    for kernel, *names in rows:
        if not kernel.endswith(".kd"):
            yield f"{kernel} has no .kd"
        if not all(names) or any(name.endswith(".kd") for name in names):
            yield f"{kernel} is shown as {names}"


def shown_texts(database: sqlite3.Connection) -> Iterator[str]:
    """What Optiq shows is never null."""
    for table in SHOWN:
        for column in TABLES[table].replace("!", "").split():
            if database.execute(f'SELECT count(*) FROM rocpd_{table} WHERE "{column}" IS NULL').fetchone() != (0,):
                yield f"{column} of rocpd_{table} is null"


def json_texts(database: sqlite3.Connection) -> Iterator[str]:
    """JSON columns hold JSON text."""
    for table, columns in TABLES.items():
        for column in ("environment", "extdata", "call_stack", "line_info"):
            if column in columns.replace("!", "").split() and database.execute(
                f"SELECT count(*) FROM rocpd_{table} WHERE typeof({column}) <> 'text' OR NOT json_valid({column})"
            ).fetchone() != (0,):
                yield f"{column} of rocpd_{table} is no JSON text"


def summaries(database: sqlite3.Connection) -> Iterator[str]:
    """The ranking is in microseconds and adds up to everything; the GPU's time is its kernels'."""
    total_ns, begin_ns, end_ns = database.execute(
        'SELECT sum(duration), min(start), max("end") FROM kernels'
    ).fetchone()
    if total_ns is None:
        yield "there is nothing to sum up"
        return
    for view in ("top_kernels", "top"):
        total_us, percentage, calls = database.execute(
            f"SELECT sum(total_duration), sum(percentage), sum(total_calls) FROM {view}"
        ).fetchone()
        if abs(total_us * 1000 - total_ns) > 1e-6 * total_ns + 1 or (total_ns and abs(percentage - 100) > 1e-6):
            yield f"{view} is not all kernels in us"
        if calls != database.execute("SELECT count(*) FROM kernels").fetchone()[0]:
            yield f"{view} does not count all kernels"
    if database.execute("SELECT GpuTime, WallTime FROM busy").fetchall() != [(total_ns, end_ns - begin_ns)]:
        yield "busy is another GPU's time"


RULES: tuple[Callable[[sqlite3.Connection], Iterator[str]], ...] = (
    sound_file, metadata, tables, views, nothing_hidden, strings, ids, dispatches, agents, symbols, shown_texts,
    json_texts, summaries,
)  # fmt: skip
