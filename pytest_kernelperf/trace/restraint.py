"""What a trace's file may make sqlite do: it may be a stranger's, and its views run as programs.

Three things keep them from running for ever: no recursion and no functions but harmless ones (an authorizer, asked
when a query is compiled), no views that refer to each other so often that compiling alone takes for ever, and a limit
to how much a query may work: in sqlite's own steps, which do not depend on the machine's speed, and, for steps that
each handle as much text as a value may hold, in processor time.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MOST_VALUE_BYTES = 1024 * 1024
STEPS_AT_ONCE = 10_000
FREE_STEPS = 20_000_000
STEPS_PER_BYTE = 40
"""A trace of rocprofv3 takes 0.6 steps for each of its bytes; eight processes that share a file take 7."""

FREE_CPU_S = 20.0
CPU_S_PER_BYTE = 2e-7
"""Here a trace of rocprofv3 takes 5e-9 seconds for each of its bytes, read row by row 2e-8."""

MOST_REFERENCES = 10_000
FUNCTIONS = frozenset(
    {
        "abs", "avg", "coalesce", "count", "dense_rank", "first_value", "ifnull", "iif", "instr", "json",
        "json_extract", "json_group_array", "lag", "last_value", "lead", "length", "lower", "ltrim", "max", "min",
        "nullif", "rank", "replace", "round", "row_number", "rtrim", "substr", "substring", "sum", "total", "trim",
        "typeof", "upper", "->", "->>",
    }
)  # fmt: skip
"""Functions that take no longer than their arguments are long."""

ROOTS = frozenset(
    {"kernels", "rocpd_kernel_dispatch", "rocpd_info_agent", "rocpd_info_kernel_symbol", "rocpd_info_process",
     "rocpd_info_queue", "rocpd_info_stream", "rocpd_metadata"}
)  # fmt: skip
"""What this package reads, as far as a file has it."""

MOST_DEPTH = 30
_REFUSED = {"view": {"with": "uses WITH"}, "table": {"virtual": "is a virtual one", "as": "has computed columns"}}
_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"]|"")*"|'(?:[^']|'')*'|`(?:[^`]|``)*`|\[[^\]]*\]|[\w$]+""", re.DOTALL
)

_READ, _SELECT, _FUNCTION, _PRAGMA = 20, 21, 31, 19
_PRAGMAS = frozenset({"table_info", "trusted_schema", "query_only"})


def restrain(connection: sqlite3.Connection, path: Path) -> None:
    """Let a connection read only, and no longer than a trace of this size can take."""
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA query_only=ON")
    if hasattr(connection, "setlimit"):  # Python 3.11
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES)
    connection.set_authorizer(_authorize)
    status = path.stat()
    bytes_on_disk = min(status.st_size, 8 * 512 * status.st_blocks)  # a sparse file has less to read than it says
    steps = FREE_STEPS + STEPS_PER_BYTE * bytes_on_disk
    cpu_s = FREE_CPU_S + CPU_S_PER_BYTE * bytes_on_disk
    connection.set_progress_handler(stop_after(steps, cpu_s), STEPS_AT_ONCE)


def stop_after(steps: int, cpu_s: float, clock: Callable[[], float] = time.thread_time) -> Callable[[], int]:
    """Return what sqlite asks every ``STEPS_AT_ONCE`` steps: 1 to stop. ``clock`` gives seconds."""
    left, until_s = steps // STEPS_AT_ONCE, clock() + cpu_s

    def count() -> int:
        nonlocal left
        left -= 1
        return int(left < 0 or clock() > until_s)

    return count


def _authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    allowed = (
        action == _SELECT
        or (action == _READ and not (first or "").startswith(("json_each", "json_tree", "pragma_", "dbstat")))
        or (action == _FUNCTION and (second or "").lower() in FUNCTIONS)
        or (action == _PRAGMA and (first or "").lower() in _PRAGMAS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def excess(schema: Iterable[tuple[str, str, str]]) -> str:
    """Say what keeps the views that are read here from being rocpd's, empty where nothing does.

    ``schema``: type, name and SQL of what a file holds. sqlite copies a view into each query that names it, so views
    that name each other twice, and WITH, can make compiling alone take for ever; computed columns and virtual tables
    run programs that no authorizer is asked about.
    """
    parts = {name.lower(): (kind, list(tokens(sql))) for kind, name, sql in schema if kind in ("view", "table")}
    reached, found = list(ROOTS & parts.keys()), set(ROOTS & parts.keys())
    uses: dict[str, list[str]] = {}
    for name in reached:
        kind, words = parts[name]
        keywords = {word for word in words if word.isalpha()}
        for keyword, what in _REFUSED[kind].items():
            if keyword in keywords:
                return f"{kind} {name} {what}"
        names = [token.strip("\"`'[]") for token in words]
        uses[name] = [other for other in names if other in parts and other != name]
        reached += sorted(set(uses[name]) - found)
        found.update(uses[name])
    size = dict.fromkeys(uses, 1)
    for _ in range(MOST_DEPTH):
        larger = {name: 1 + sum(size[other] for other in others) for name, others in uses.items()}
        if larger == size:
            return ""
        if max(larger.values()) > MOST_REFERENCES:
            break
        size = larger
    return "its views name each other too often"


def tokens(sql: str) -> Iterator[str]:
    """Yield names and words in lower case, names with their quotes; a comment is one token, and no name."""
    return (found[0].lower() for found in _TOKEN.finditer(sql))
