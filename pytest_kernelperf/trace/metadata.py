"""What a trace says beside its dispatches: how many there are, its agents, its processes."""

from __future__ import annotations

import hashlib
import json
import sqlite3

from pytest_kernelperf.strict_json import one_line
from pytest_kernelperf.trace.file import columns_of
from pytest_kernelperf.trace.record import Device

MOST_NAME, DIGEST = 1000, 8
MOST_COMPUTE_UNITS = 100_000


def count_dispatches(connection: sqlite3.Connection) -> int:
    """Return how many dispatches were recorded, 0 where that view is missing."""
    if not columns_of(connection, "rocpd_kernel_dispatch"):
        return 0
    return int(connection.execute("SELECT count(*) FROM rocpd_kernel_dispatch").fetchone()[0])


def read_devices(connection: sqlite3.Connection) -> dict[tuple[str, int | None], Device]:
    """Return agents by GUID and index."""
    columns = columns_of(connection, "rocpd_info_agent")
    if not {"guid", "absolute_index"} <= columns:
        return {}
    asked = ("guid", "absolute_index", "name", "product_name", "extdata")
    query = ", ".join(one if one in columns else "NULL" for one in asked)
    devices = {}
    for guid, index, name, product, extdata in connection.execute(f"SELECT {query} FROM rocpd_info_agent"):
        devices[str(guid), whole(index)] = Device(
            0, whole(index) or 0, _text(name) or "unknown GPU", _text(product), _compute_units(extdata)
        )
    return devices


def _compute_units(extdata: object) -> int | None:
    try:
        count = json.loads(extdata).get("cu_count") if isinstance(extdata, (str, bytes)) else None
    except (ValueError, AttributeError, RecursionError):
        return None
    return count if type(count) is int and 0 < count < MOST_COMPUTE_UNITS else None


def read_commands(connection: sqlite3.Connection) -> dict[tuple[str, int | None], str]:
    """Return processes' commands by GUID and number."""
    if not {"guid", "pid", "command"} <= columns_of(connection, "rocpd_info_process"):
        return {}
    rows = connection.execute("SELECT guid, pid, command FROM rocpd_info_process")
    return {(str(guid), whole(pid)): _text(command) for guid, pid, command in rows}


def kernel_name(text: str) -> str:
    """Return a name as one line of bounded length; names that are equal then were equal before.

    Of template libraries' kernels many begin with the same thousand letters.
    """
    line = one_line(text)
    if len(line) <= MOST_NAME:
        return line
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:DIGEST]
    return f"{line[: MOST_NAME - DIGEST - 1]}…{digest}"


def _text(value: object) -> str:
    return one_line(value)[:MOST_NAME] if isinstance(value, str) else ""


def whole(value: object) -> int | None:
    """Return a whole number, None for anything else."""
    return value if type(value) is int else None
