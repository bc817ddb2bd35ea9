"""Several processes in one file, each read as if it were alone.

In a merged file every view is a union of all processes' tables, and sqlite copies these unions before it joins them:
half a million rows of two processes take as long as ten million of one. The tables are named by their process, so
views of one process's tables alone, under the same names, give the same rows at once. They live in our connection.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from pytest_kernelperf.trace.restraint import tokens

MOST_PROCESSES = 1000

_KERNELS = re.compile(r"CREATE\s+VIEW\s+(?:IF\s+NOT\s+EXISTS\s+)?[\"'`\[]?kernels[\"'`\]]?\s+AS\s+(.*)", re.I | re.S)
_OF_A_UNION = frozenset({"create", "view", "if", "not", "exists", "as", "select", "from", "union", "all"})


def separate(connection: sqlite3.Connection) -> tuple[tuple[str, ...], ...]:
    """Return for each process the statements that put its views before the file's; one without any otherwise.

    That is: where the file has one process, or any view is more than the union of all processes' tables.

    Raises:
        sqlite3.Error: the file is damaged.
    """
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    views = {str(name): str(sql) for kind, name, sql in rows if kind == "view"}
    tables = {str(name) for kind, name, _ in rows if kind == "table"}
    kernels = _KERNELS.fullmatch(views.get("kernels", ""))
    bases = [name for name in views if name.startswith("rocpd_")]
    suffixes = sorted(
        name.removeprefix("rocpd_kernel_dispatch") for name in tables if name.startswith("rocpd_kernel_dispatch_")
    )
    if kernels is None or not 1 < len(suffixes) <= MOST_PROCESSES or not _are_unions(bases, suffixes, views):
        return ((),)
    if any(_has_others(connection, suffix) for suffix in suffixes):
        return ((),)
    return tuple(
        (
            *(f"CREATE TEMP VIEW {_quoted(base)} AS SELECT * FROM main.{_quoted(base + suffix)}" for base in bases),
            f"CREATE TEMP VIEW kernels AS {kernels[1]}",
        )
        for suffix in suffixes
    )


def _are_unions(bases: list[str], suffixes: list[str], views: Mapping[str, str]) -> bool:
    """Whether each view names the tables of all processes, and does nothing else."""
    for base in bases:
        found = [token.strip("\"`'[]") for token in tokens(views[base]) if not token.startswith(("--", "/*"))]
        named = sorted(one for one in found if one not in _OF_A_UNION and one != base.lower())
        if named != sorted((base + suffix).lower() for suffix in suffixes):
            return False
    return True


def _has_others(connection: sqlite3.Connection, suffix: str) -> bool:
    """Whether a process's table holds a dispatch of another one."""
    guid = suffix[1:].replace("_", "-")
    table = _quoted(f"rocpd_kernel_dispatch{suffix}")
    return connection.execute(f"SELECT 1 FROM {table} WHERE guid IS NOT ? LIMIT 1", (guid,)).fetchone() is not None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
