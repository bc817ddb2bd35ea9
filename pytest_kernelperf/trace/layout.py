"""rocpd's tables (schema 3.0.3), as the SQL that creates them for one process.

Each table's name ends in the process's GUID, so that several processes' files can be united; a view of the plain name
shows it. Every table but the metadata begins with ``id`` and ``guid``. Which tables and columns there are, and their
order, is AMD's (ROCm/rocm-systems, rocprofiler-sdk-rocpd); columns here are ``name:type`` with ``!`` for NOT NULL.
"""

from __future__ import annotations

from collections.abc import Iterator

SCHEMA_VERSION = "3"
"""What AMD's own files say in all schemas from 3.0.0; columns tell which one it is."""

_TYPES = {"I": "INTEGER", "B": "BIGINT", "T": "TEXT", "R": "REAL", "J": "JSONB"}
_DEVICES = "'CPU', 'GPU', 'NIC'"
_TIMES = "start:B! end:B!"
_GRAPH = "graph_exec_id:I!=0 graph_node_id:I!=0"

TABLES = {
    "metadata": "tag:T! value:T!",
    "string": "string:T!",
    "info_node": "hash:B! machine_id:T! system_name:T hostname:T release:T version:T hardware_name:T domain_name:T",
    "info_process": "nid:I! ppid:I pid:I! init:B fini:B start:B end:B command:T environment:J! extdata:J!",
    "info_thread": "nid:I! ppid:I pid:I! tid:I! name:T start:B end:B extdata:J!",
    "info_agent": "nid:I! pid:I! type:T absolute_index:I logical_index:I type_index:I uuid:I name:T model_name:T "
    "vendor_name:T product_name:T user_name:T extdata:J!",
    "info_queue": "nid:I! pid:I! name:T extdata:J!",
    "info_stream": "nid:I! pid:I! name:T extdata:J!",
    "info_pmc": "nid:I! pid:I! agent_id:I target_arch:T event_code:I instance_id:I name:T! symbol:T! description:T "
    "long_description:T='' component:T units:T='' value_type:T block:T expression:T is_constant:I is_derived:I "
    "spm_support:I extdata:J!",
    "info_code_object": "nid:I! pid:I! agent_id:I uri:T load_base:B load_size:B load_delta:B storage_type:T extdata:J!",
    "info_kernel_symbol": "nid:I! pid:I! code_object_id:I! kernel_name:T display_name:T kernel_object:I "
    "kernarg_segment_size:I kernarg_segment_alignment:I group_segment_size:I private_segment_size:I sgpr_count:I "
    "arch_vgpr_count:I accum_vgpr_count:I extdata:J!",
    "track": "nid:I! pid:I tid:I name_id:I extdata:J!",
    "event": "category_id:I stack_id:I parent_stack_id:I correlation_id:I call_stack:J! line_info:J! extdata:J!",
    "arg": "event_id:I! position:I! type:T! name:T! value:T extdata:J!",
    "pmc_event": "event_id:I sample_id:I pmc_id:I! value:R=0.0 xcc:I shader_engine:I instance:I extdata:J",
    "region": f"nid:I! pid:I! tid:I! {_TIMES} name_id:I! event_id:I extdata:J!",
    "sample": "track_id:I! timestamp:B! event_id:I extdata:J!",
    "kernel_dispatch": f"nid:I! pid:I! tid:I agent_id:I! kernel_id:I! dispatch_id:I! queue_id:I! stream_id:I! {_TIMES} "
    "private_segment_size:I group_segment_size:I workgroup_size_x:I! workgroup_size_y:I! workgroup_size_z:I! "
    f"grid_size_x:I! grid_size_y:I! grid_size_z:I! {_GRAPH} region_name_id:I event_id:I extdata:J!",
    "memory_copy": f"nid:I! pid:I! tid:I {_TIMES} name_id:I! dst_agent_id:I dst_address:I src_agent_id:I src_address:I "
    f"size:I! queue_id:I stream_id:I {_GRAPH} region_name_id:I event_id:I extdata:J!",
    "memory_allocate": f"nid:I! pid:I! tid:I agent_id:I type:T level:T {_TIMES} address:I size:I! queue_id:I "
    "stream_id:I event_id:I extdata:J!",
    "graph_launch": f"nid:I! pid:I! tid:I agent_id:I queue_id:I {_TIMES} graph_exec_id:I! kernel_dispatch_count:I!=0 "
    "event_id:I extdata:J!",
    "event_operation": "nid:I! pid:I! tid:I agent_id:I! event_obj:I! type_id:I! issue_id:I! queue_id:I! stream_id:I! "
    f"{_TIMES} type:T event_id:I",
}

_UNIQUE = {("string", "string"), ("info_node", "hash"), ("info_node", "machine_id")}

_ALLOWED = {
    ("info_agent", "type"): _DEVICES,
    ("info_pmc", "target_arch"): _DEVICES,
    ("info_pmc", "value_type"): "'ABS', 'ACCUM', 'RELATIVE'",
    ("info_code_object", "storage_type"): "'FILE', 'MEMORY'",
    ("memory_allocate", "type"): "'ALLOC', 'FREE', 'REALLOC', 'RECLAIM'",
    ("memory_allocate", "level"): "'REAL', 'VIRTUAL', 'SCRATCH'",
    ("event_operation", "type"): "'WAIT', 'SIGNAL'",
}

_REFERENCES = {
    "nid": "info_node",
    "pid": "info_process",
    "tid": "info_thread",
    "agent_id": "info_agent",
    "dst_agent_id": "info_agent",
    "src_agent_id": "info_agent",
    "queue_id": "info_queue",
    "stream_id": "info_stream",
    "code_object_id": "info_code_object",
    "kernel_id": "info_kernel_symbol",
    "pmc_id": "info_pmc",
    "track_id": "track",
    "sample_id": "sample",
    "event_id": "event",
    "category_id": "string",
    "name_id": "string",
    "region_name_id": "string",
}

# A process's own pid, and a thread's own tid, are the system's numbers.
_PLAIN = {("info_process", "pid"), ("info_thread", "tid")}


def table_name(table: str, guid: str) -> str:
    """The name of a process's table: ``rocpd_string_0000ddb5_…``."""
    return f"rocpd_{table}{suffix(guid)}"


def suffix(guid: str) -> str:
    """What a process's tables have at the end of their names; the metadata's ``uuid``."""
    return "_" + guid.replace("-", "_")


def create_tables(guid: str) -> Iterator[str]:
    """Statements that create all tables of a process, and the view of each."""
    for table, columns in TABLES.items():
        parts = ['"id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT']
        if table != "metadata":
            parts.append(f"\"guid\" TEXT DEFAULT '{guid}' NOT NULL")
        names = [column.partition(":")[0] for column in columns.split()]
        parts += [_column(table, column) for column in columns.split()]
        parts += [_reference(name, guid) for name in names if name in _REFERENCES and (table, name) not in _PLAIN]
        yield f'CREATE TABLE "{table_name(table, guid)}" ({", ".join(parts)})'
        yield f'CREATE VIEW "rocpd_{table}" AS SELECT * FROM "{table_name(table, guid)}"'


def _column(table: str, text: str) -> str:
    name, _, rest = text.partition(":")
    kind, _, default = rest.partition("=")
    made = f'"{name}" {_TYPES[kind[0]]}'
    if default or kind[0] == "J":
        made += f" DEFAULT {default or chr(39) + '{}' + chr(39)}"
    if kind.endswith("!"):
        made += " NOT NULL"
    if (table, name) in _UNIQUE:
        made += " UNIQUE"
    if (table, name) in _ALLOWED:
        made += f' CHECK ("{name}" IN ({_ALLOWED[table, name]}))'
    return made


def _reference(name: str, guid: str) -> str:
    return f'FOREIGN KEY ("{name}") REFERENCES "{table_name(_REFERENCES[name], guid)}" ("id") ON UPDATE CASCADE'
