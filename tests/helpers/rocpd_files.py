"""rocpd databases as rocprofv3 writes them, written from the published layout (schema 3.0.0 and 3.0.3).

Tables carry the process's GUID in their names, unsuffixed names are views of them, and ``kernels`` joins as AMD's view
does: a dispatch without its event, region string, queue, thread or kernel symbol is in the table and not in the view.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

VERSIONS = ("3.0.0", "3.0.3")
NODE = 7_311_942


@dataclass(frozen=True)
class Dispatch:
    """One row of rocpd_kernel_dispatch; grid in work-items as AMD has it."""

    name: str
    start_ns: int
    end_ns: int
    grid: tuple[int, int, int] = (256, 1, 1)
    workgroup: tuple[int, int, int] = (256, 1, 1)
    agent: int = 1
    stream: int = 0


@dataclass(frozen=True)
class Agent:
    """One agent: KFD's node id, and the compute units that its extdata tells."""

    node_id: int = 1
    compute_units: int | None = 40
    kind: str = "GPU"
    name: str = "gfx1151"
    product: str = "Radeon 8060S Graphics"


@dataclass(frozen=True)
class Process:
    """One traced process with its dispatches."""

    dispatches: Sequence[Dispatch]
    pid: int = 4711
    agents: Sequence[Agent] = (Agent(0, None, "CPU", "AMD RYZEN AI MAX+ 395", ""), Agent())
    command: str = "first_kernel --trace"

    @property
    def guid(self) -> str:
        """A GUID of AMD's shape, different for each process."""
        return f"0000ddb5-8903-7903-b269-{self.pid:012x}"


TABLES = {
    "string": "string TEXT NOT NULL UNIQUE ON CONFLICT ABORT",
    "info_node": "hash BIGINT NOT NULL UNIQUE, machine_id TEXT NOT NULL UNIQUE, system_name TEXT, hostname TEXT, "
    "release TEXT, version TEXT, hardware_name TEXT, domain_name TEXT",
    "info_process": "nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, init BIGINT, fini BIGINT, start BIGINT, "
    "\"end\" BIGINT, command TEXT, environment JSONB NOT NULL DEFAULT '{}', extdata JSONB NOT NULL DEFAULT '{}'",
    "info_thread": "nid INTEGER NOT NULL, ppid INTEGER, pid INTEGER NOT NULL, tid INTEGER NOT NULL, name TEXT, "
    "start BIGINT, \"end\" BIGINT, extdata JSONB NOT NULL DEFAULT '{}'",
    "info_agent": "nid INTEGER NOT NULL, pid INTEGER NOT NULL, type TEXT CHECK (type IN ('CPU', 'GPU')), "
    "absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, uuid INTEGER, name TEXT, model_name TEXT, "
    "vendor_name TEXT, product_name TEXT, user_name TEXT, extdata JSONB NOT NULL DEFAULT '{}'",
    "info_queue": "nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, extdata JSONB NOT NULL DEFAULT '{}'",
    "info_stream": "nid INTEGER NOT NULL, pid INTEGER NOT NULL, name TEXT, extdata JSONB NOT NULL DEFAULT '{}'",
    "info_code_object": "nid INTEGER NOT NULL, pid INTEGER NOT NULL, agent_id INTEGER, uri TEXT, load_base BIGINT, "
    "load_size BIGINT, load_delta BIGINT, storage_type TEXT, extdata JSONB NOT NULL DEFAULT '{}'",
    "info_kernel_symbol": "nid INTEGER NOT NULL, pid INTEGER NOT NULL, code_object_id INTEGER NOT NULL, "
    "kernel_name TEXT, display_name TEXT, kernel_object INTEGER, kernarg_segment_size INTEGER, "
    "kernarg_segment_alignment INTEGER, group_segment_size INTEGER, private_segment_size INTEGER, sgpr_count INTEGER, "
    "arch_vgpr_count INTEGER, accum_vgpr_count INTEGER, extdata JSONB NOT NULL DEFAULT '{}'",
    "event": "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, "
    "call_stack JSONB NOT NULL DEFAULT '{}', line_info JSONB NOT NULL DEFAULT '{}', "
    "extdata JSONB NOT NULL DEFAULT '{}'",
    "kernel_dispatch": "nid INTEGER NOT NULL, pid INTEGER NOT NULL, tid INTEGER, agent_id INTEGER NOT NULL, "
    "kernel_id INTEGER NOT NULL, dispatch_id INTEGER NOT NULL, queue_id INTEGER NOT NULL, "
    'stream_id INTEGER NOT NULL, start BIGINT NOT NULL, "end" BIGINT NOT NULL, private_segment_size INTEGER, '
    "group_segment_size INTEGER, workgroup_size_x INTEGER NOT NULL, workgroup_size_y INTEGER NOT NULL, "
    "workgroup_size_z INTEGER NOT NULL, grid_size_x INTEGER NOT NULL, grid_size_y INTEGER NOT NULL, "
    "grid_size_z INTEGER NOT NULL, {graph}region_name_id INTEGER, event_id INTEGER, "
    "extdata JSONB NOT NULL DEFAULT '{{}}'",
}

KERNELS = """
CREATE VIEW kernels AS SELECT K.id, K.guid, T.tid, (SELECT string FROM rocpd_string RS WHERE RS.id = E.category_id AND
RS.guid = E.guid) AS category, R.string AS region, S.display_name AS name, K.nid, P.pid,
A.absolute_index AS agent_abs_index, A.logical_index AS agent_log_index, A.type_index AS agent_type_index,
A.type AS agent_type, S.code_object_id AS code_object_id, K.kernel_id, K.dispatch_id, K.stream_id, K.queue_id,
{graph}Q.name AS queue, ST.name AS stream, K.start, K.end, (K.end - K.start) AS duration, K.grid_size_x AS grid_x,
K.grid_size_y AS grid_y, K.grid_size_z AS grid_z, K.workgroup_size_x AS workgroup_x, K.workgroup_size_y AS workgroup_y,
K.workgroup_size_z AS workgroup_z, K.group_segment_size AS lds_size, K.private_segment_size AS scratch_size,
S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count, S.group_segment_size AS static_lds_size,
S.private_segment_size AS static_scratch_size, {event}E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id
FROM rocpd_kernel_dispatch K
INNER JOIN rocpd_info_agent A ON A.id = K.agent_id AND A.guid = K.guid
INNER JOIN rocpd_event E ON E.id = K.event_id AND E.guid = K.guid
INNER JOIN rocpd_string R ON R.id = K.region_name_id AND R.guid = K.guid
INNER JOIN rocpd_info_kernel_symbol S ON S.id = K.kernel_id AND S.guid = K.guid
LEFT JOIN rocpd_info_stream ST ON ST.id = K.stream_id AND ST.guid = K.guid
LEFT JOIN rocpd_info_queue Q ON Q.id = K.queue_id AND Q.guid = K.guid
INNER JOIN rocpd_info_process P ON P.id = Q.pid AND P.guid = Q.guid
INNER JOIN rocpd_info_thread T ON T.id = K.tid AND T.guid = K.guid
"""


def write_rocpd(
    path: Path, processes: Sequence[Process], *, version: str = "3.0.0", statements: Iterable[str] = ()
) -> Path:
    """Write a database of one or more processes (several: as ``rocpd merge`` unites them), then run ``statements``."""
    graph = version != "3.0.0"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA synchronous=OFF")
        for process in processes:
            _write_process(database, process, graph)
        for table in ("metadata", *TABLES):
            united = " UNION ALL ".join(f'SELECT * FROM "rocpd_{table}{_suffix(one)}"' for one in processes)
            database.execute(f"CREATE VIEW rocpd_{table} AS {united}")
        database.execute(
            KERNELS.format(
                graph="K.graph_exec_id, K.graph_node_id, " if graph else "", event="K.event_id, " if graph else ""
            )
        )
        for statement in statements:
            database.execute(statement)
    database.close()
    return path


def _suffix(process: Process) -> str:
    return "_" + process.guid.replace("-", "_")


def _write_process(database: sqlite3.Connection, process: Process, graph: bool) -> None:
    suffix, guid, pid = _suffix(process), process.guid, process.pid
    database.execute(
        f'CREATE TABLE "rocpd_metadata{suffix}" (id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, '
        "value TEXT NOT NULL)"
    )
    database.executemany(
        f'INSERT INTO "rocpd_metadata{suffix}" (tag, value) VALUES (?, ?)',
        [("schema_version", "3"), ("uuid", suffix), ("guid", guid)],
    )
    graph_columns = "graph_exec_id INTEGER NOT NULL DEFAULT 0, graph_node_id INTEGER NOT NULL DEFAULT 0, "
    for table, columns in TABLES.items():
        columns = columns.format(graph=graph_columns if graph else "") if table == "kernel_dispatch" else columns
        database.execute(
            f'CREATE TABLE "rocpd_{table}{suffix}" (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, '
            f'guid TEXT NOT NULL DEFAULT "{guid}", {columns})'
        )

    def insert(table: str, columns: str, rows: Iterable[Sequence[object]]) -> None:
        marks = ", ".join("?" for _ in columns.split(","))
        database.executemany(f'INSERT INTO "rocpd_{table}{suffix}" ({columns}) VALUES ({marks})', rows)

    names = {name: number for number, name in enumerate(dict.fromkeys(one.name for one in process.dispatches), 1)}
    streams = sorted({0, *(one.stream for one in process.dispatches)})
    insert("string", "id, string", [(1, ""), (2, "KERNEL_DISPATCH")])
    insert("info_node", "id, hash, machine_id, hostname", [(NODE, NODE, "strix", "strix")])
    insert("info_process", "id, nid, pid, command", [(pid, NODE, pid, process.command)])
    insert("info_thread", "id, nid, pid, tid", [(pid, NODE, pid, pid)])
    insert(
        "info_agent",
        "id, nid, pid, type, absolute_index, logical_index, type_index, name, product_name, extdata",
        [
            (one.node_id, NODE, pid, one.kind, one.node_id, one.node_id, 0, one.name, one.product,
             json.dumps({"node_id": one.node_id} | ({"cu_count": one.compute_units} if one.compute_units else {})))
            for one in process.agents
        ],
    )  # fmt: skip
    insert("info_queue", "id, nid, pid, name", [(0, NODE, pid, "Default Queue")])
    insert("info_stream", "id, nid, pid, name", [(one, NODE, pid, f"Stream {one}") for one in streams])
    insert("info_code_object", "id, nid, pid, agent_id", [(1, NODE, pid, 1)])
    insert(
        "info_kernel_symbol",
        "id, nid, pid, code_object_id, kernel_name, display_name",
        [(number, NODE, pid, 1, f"{name}.kd", name) for name, number in names.items()],
    )
    insert(
        "event",
        "id, category_id, correlation_id",
        ((number, 2, number) for number in range(1, len(process.dispatches) + 1)),
    )
    insert(
        "kernel_dispatch",
        'id, nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, "end", workgroup_size_x, '
        "workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id",
        (
            (number, NODE, pid, pid, one.agent, names[one.name], number, 0, one.stream, one.start_ns, one.end_ns,
             *one.workgroup, *one.grid, 1, number)
            for number, one in enumerate(process.dispatches, 1)
        ),
    )  # fmt: skip


LESSON = (
    ("add_kernel", 10 * 256, (1680, 720, 950, 1000, 1000)),
    ("inject_kernel", 40 * 256, (1300, 800, 1000, 1000, 1000)),
    ("fused_one_block_per_token", 256, (3400, 3240, 3310, 3300, 3300)),
    ("fused_column_tiles", 10 * 256, (1200, 1240, 1160, 1100, 1100)),
)
"""Kernel, work-items, and nanoseconds of its five calls; the averages are the lesson's."""


def lesson_dispatches(begin_ns: int = 1_000_000_000, gap_ns: int = 2000) -> list[Dispatch]:
    """The lesson's trace: five rounds of its four kernels."""
    rows, now_ns = [], begin_ns
    for round_number in range(5):
        for name, work_items, durations_ns in LESSON:
            rows.append(Dispatch(name, now_ns, now_ns + durations_ns[round_number], (work_items, 1, 1)))
            now_ns = rows[-1].end_ns + gap_ns
    return rows
