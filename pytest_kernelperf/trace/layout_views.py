"""rocpd's views over the plain tables (schema 3.0.3): their names, columns and joins are AMD's.

Joins go by ``id`` and ``guid``, since a united file holds several processes with the same numbers. A row whose
neighbour is missing does not appear: what is written must have them all.
"""

from __future__ import annotations

from collections.abc import Iterator


def _text(of: str, column: str) -> str:
    """A string by its number, null where there is none."""
    return f"(SELECT string FROM rocpd_string Z WHERE Z.id = {of}.{column} AND Z.guid = {of}.guid)"


def _join(table: str, alias: str, by: str, kind: str = "INNER") -> str:
    """A table joined by the number that another one's row has: ``_join("event", "E", "K.event_id")``."""
    return f"{kind} JOIN rocpd_{table} {alias} ON {alias}.id = {by} AND {alias}.guid = {by.partition('.')[0]}.guid"


def _columns(alias: str, names: str) -> str:
    """Columns of one table; ``old>new`` renames."""
    pairs = [name.partition(">") for name in names.split()]
    return ", ".join(f'{alias}."{old}" AS "{new or old}"' for old, _, new in pairs)


_CATEGORY = f"{_text('E', 'category_id')} AS category"
_AGENT = "absolute_index>agent_abs_index logical_index>agent_log_index type_index>agent_type_index type>agent_type"
_STACK = "stack_id parent_stack_id correlation_id>corr_id"
_EVENT_TEXT = "extdata call_stack line_info"
_MACHINE = "id>nid machine_id system_name hostname release>system_release version>system_version"


def _duration(alias: str) -> str:
    return f'{alias}."start", {alias}."end", ({alias}."end" - {alias}."start") AS duration'


def _extra(alias: str, *names: str) -> str:
    """Values out of ``extdata``; ``path>name`` renames."""
    pairs = [name.partition(">") for name in names]
    return ", ".join(f"json_extract({alias}.extdata, '$.{path}') AS {new or path}" for path, _, new in pairs)


def _region_columns(at: str, category: str, name: str, time: str) -> str:
    return (
        f"R.id, R.guid, {category}, {name} AS name, {at}.nid, P.pid, T.tid, {time}, R.event_id, "
        f"{_columns('E', _STACK)}, {_columns('E', _EVENT_TEXT)}"
    )


_SAMPLE_JOINS = " ".join(
    (
        _join("track", "N", "R.track_id"), _join("event", "E", "R.event_id"), _join("info_process", "P", "N.pid"),
        _join("info_thread", "T", "N.tid"),
    )
)  # fmt: skip
_SAMPLE_NAME = _text("N", "name_id")

_COUNTER_JOINS = " ".join(
    (
        _join("info_pmc", "I", "C.pmc_id"), _join("event", "E", "C.event_id"),
        "INNER JOIN rocpd_kernel_dispatch K ON K.event_id = C.event_id AND K.guid = C.guid",
        _join("info_agent", "A", "K.agent_id"), _join("info_kernel_symbol", "S", "K.kernel_id"),
        _join("info_process", "P", "K.pid"), _join("info_thread", "T", "K.tid"),
    )
)  # fmt: skip


def _volume(what: str) -> str:
    sides = [f"K.{what}_size_{axis}" for axis in "xyz"]
    return f"{', '.join(sides)}, ({' * '.join(sides)}) AS {what}_size"


def _counter_columns(number: str, value: str, time: str) -> str:
    return (
        f"{number}, C.guid, K.dispatch_id, K.kernel_id, E.id AS event_id, E.correlation_id, E.stack_id, "
        f"E.parent_stack_id, P.pid, T.tid, K.agent_id, {_columns('A', _AGENT)}, K.queue_id, {_volume('grid')}, "
        f"S.display_name AS kernel_name, {_text('K', 'region_name_id')} AS kernel_region, {_volume('workgroup')}, "
        "K.group_segment_size AS lds_block_size, K.private_segment_size AS scratch_size, "
        "S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count, I.name AS counter_name, "
        "I.symbol AS counter_symbol, I.component, I.description, I.block, I.expression, I.value_type, "
        f"I.id AS counter_id, {value}, {time}, {_CATEGORY}, K.nid, E.extdata, S.code_object_id"
    )


_SUMS = 'SUM("end" - "start")'
_BUSY = f"""SELECT G.agent_id, A.type, G.GpuTime, W.WallTime, G.GpuTime * 1.0 / NULLIF(W.WallTime, 0) AS Busy FROM (
SELECT agent_id, guid, {_SUMS} AS GpuTime FROM (SELECT agent_id, guid, "end", "start" FROM rocpd_kernel_dispatch
UNION ALL SELECT dst_agent_id, guid, "end", "start" FROM rocpd_memory_copy) GROUP BY agent_id, guid) G CROSS JOIN (
SELECT MAX("end") - MIN("start") AS WallTime FROM (SELECT "end", "start" FROM rocpd_kernel_dispatch
UNION ALL SELECT "end", "start" FROM rocpd_memory_copy)) W {_join("info_agent", "A", "G.agent_id")}"""

_ALL_WORK = f"""SELECT S.display_name AS name, K."end" - K."start" AS duration FROM rocpd_kernel_dispatch K
{_join("info_kernel_symbol", "S", "K.kernel_id")}
UNION ALL SELECT S.string, M."end" - M."start" FROM rocpd_memory_copy M {_join("string", "S", "M.name_id")}
UNION ALL SELECT S.string, R."end" - R."start" FROM rocpd_region R {_join("string", "S", "R.name_id")}"""


def _ranking(source: str, all_time: str) -> str:
    """Names by their time in us: calls, sum, mean of whole nanoseconds, percentage."""
    return (
        "SELECT name, COUNT(*) AS total_calls, SUM(duration) / 1000.0 AS total_duration, "
        "(SUM(duration) / COUNT(*)) / 1000.0 AS average, "
        f"SUM(duration) * 100.0 / NULLIF(({all_time}), 0) AS percentage "
        f"FROM ({source}) GROUP BY name ORDER BY total_duration DESC"
    )


VIEWS = {
    "code_objects": "SELECT C.id, C.guid, C.nid, P.pid, A.absolute_index AS agent_abs_index, C.uri, C.load_base, "
    "C.load_size, C.load_delta, C.storage_type AS storage_type_str, "
    f"{_extra('C', 'size>code_object_size', 'storage_type', 'memory_base', 'memory_size')} "
    f"FROM rocpd_info_code_object C {_join('info_agent', 'A', 'C.agent_id')} {_join('info_process', 'P', 'C.pid')}",
    "kernel_symbols": "SELECT S.id, S.guid, S.nid, P.pid, S.code_object_id, S.kernel_name, S.display_name, "
    "S.kernel_object, S.kernarg_segment_size, S.kernarg_segment_alignment, S.group_segment_size, "
    "S.private_segment_size, S.sgpr_count, S.arch_vgpr_count, S.accum_vgpr_count, "
    + _extra("S", "size>kernel_symbol_size", "kernel_id", "kernel_code_entry_byte_offset", "formatted_kernel_name",
             "demangled_kernel_name", "truncated_kernel_name", "kernel_address.handle>kernel_address")
    + f" FROM rocpd_info_kernel_symbol S {_join('info_process', 'P', 'S.pid')}",
    "processes": f"SELECT {_columns('N', _MACHINE)}, {_columns('P', 'guid ppid pid init start end fini command')} "
    f"FROM rocpd_info_process P {_join('info_node', 'N', 'P.nid')}",
    "threads": f"SELECT {_columns('N', _MACHINE)}, P.guid, P.ppid, P.pid, {_columns('T', 'tid start end name')} "
    f"FROM rocpd_info_thread T {_join('info_process', 'P', 'T.pid')} {_join('info_node', 'N', 'T.nid')}",
    "regions": f"SELECT {_region_columns('R', _CATEGORY, 'S.string', _duration('R'))} FROM rocpd_region R "
    f"{_join('event', 'E', 'R.event_id')} {_join('string', 'S', 'R.name_id')} {_join('info_process', 'P', 'R.pid')} "
    f"{_join('info_thread', 'T', 'R.tid')}",
    "region_args": "SELECT R.id, R.guid, R.nid, P.pid, A.type, A.name, A.value FROM rocpd_region R "
    f"{_join('event', 'E', 'R.event_id')} INNER JOIN rocpd_arg A ON A.event_id = E.id AND A.guid = R.guid "
    f"{_join('info_process', 'P', 'R.pid')}",
    "samples": f"SELECT {_region_columns('N', _CATEGORY, _SAMPLE_NAME, 'R.timestamp')} FROM rocpd_sample R "
    + _SAMPLE_JOINS,
    "sample_regions": "SELECT "
    + _region_columns("N", _CATEGORY, _SAMPLE_NAME, 'R.timestamp AS "start", R.timestamp AS "end", 0 AS duration')
    + f" FROM rocpd_sample R {_SAMPLE_JOINS}",
    "regions_and_samples": "SELECT * FROM regions UNION ALL SELECT * FROM sample_regions",
    "kernels": f"SELECT K.id, K.guid, T.tid, {_CATEGORY}, R.string AS region, S.display_name AS name, K.nid, P.pid, "
    f"{_columns('A', _AGENT)}, S.code_object_id, K.kernel_id, K.dispatch_id, K.stream_id, K.queue_id, K.graph_exec_id, "
    f"K.graph_node_id, Q.name AS queue, W.name AS stream, {_duration('K')}, K.grid_size_x AS grid_x, "
    "K.grid_size_y AS grid_y, K.grid_size_z AS grid_z, K.workgroup_size_x AS workgroup_x, "
    "K.workgroup_size_y AS workgroup_y, K.workgroup_size_z AS workgroup_z, K.group_segment_size AS lds_size, "
    "K.private_segment_size AS scratch_size, S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count, "
    "S.group_segment_size AS static_lds_size, S.private_segment_size AS static_scratch_size, K.event_id, "
    f"{_columns('E', _STACK)} FROM rocpd_kernel_dispatch K {_join('info_agent', 'A', 'K.agent_id')} "
    f"{_join('event', 'E', 'K.event_id')} {_join('string', 'R', 'K.region_name_id')} "
    f"{_join('info_kernel_symbol', 'S', 'K.kernel_id')} {_join('info_stream', 'W', 'K.stream_id', 'LEFT')} "
    f"{_join('info_queue', 'Q', 'K.queue_id', 'LEFT')} {_join('info_process', 'P', 'Q.pid')} "
    f"{_join('info_thread', 'T', 'K.tid')}",
    "pmc_info": "SELECT I.id, I.guid, I.nid, P.pid, A.absolute_index AS agent_abs_index, I.is_constant, I.is_derived, "
    "I.name, I.description, I.block, I.expression FROM rocpd_info_pmc I "
    f"{_join('info_agent', 'A', 'I.agent_id')} {_join('info_process', 'P', 'I.pid')}",
    "pmc_events": f"SELECT C.id, C.guid, C.pmc_id, E.id AS event_id, {_CATEGORY}, (SELECT display_name FROM "
    "rocpd_info_kernel_symbol S WHERE S.id = K.kernel_id AND S.guid = K.guid) AS name, K.nid, P.pid, K.dispatch_id, "
    f"{_duration('K')}, I.name AS counter_name, C.value AS counter_value FROM rocpd_pmc_event C "
    f"{_join('info_pmc', 'I', 'C.pmc_id')} {_join('event', 'E', 'C.event_id')} INNER JOIN rocpd_kernel_dispatch K "
    f"ON K.event_id = C.event_id AND K.guid = C.guid {_join('info_process', 'P', 'K.pid')}",
    "events_args": f"SELECT E.id AS event_id, {_CATEGORY}, E.stack_id, E.parent_stack_id, E.correlation_id, "
    "A.position AS arg_position, A.type AS arg_type, A.name AS arg_name, A.value AS arg_value, E.call_stack, "
    "E.line_info, A.extdata FROM rocpd_event E INNER JOIN rocpd_arg A ON A.event_id = E.id AND A.guid = E.guid",
    "stream_args": "SELECT A.id AS argument_id, A.event_id, A.position AS arg_position, A.type AS arg_type, "
    "A.value AS arg_value, json_extract(A.extdata, '$.stream_id') AS stream_id, W.nid, P.pid, W.name AS stream_name, "
    "W.extdata FROM rocpd_arg A INNER JOIN rocpd_info_stream W ON W.id = json_extract(A.extdata, '$.stream_id') "
    f"AND W.guid = A.guid {_join('info_process', 'P', 'W.pid')} WHERE A.name = 'stream'",
    "memory_copies": f"SELECT M.id, M.guid, {_CATEGORY}, M.nid, P.pid, T.tid, {_duration('M')}, S.string AS name, "
    "R.string AS region_name, M.stream_id, M.queue_id, M.graph_exec_id, M.graph_node_id, W.name AS stream_name, "
    "Q.name AS queue_name, M.size, "
    + ", ".join(
        f"{side}.name AS {end}_device, {side}.absolute_index AS {end}_agent_abs_index, "
        f"{side}.logical_index AS {end}_agent_log_index, {side}.type_index AS {end}_agent_type_index, "
        f"{side}.type AS {end}_agent_type, M.{end}_address"
        for side, end in (("D", "dst"), ("O", "src"))
    )
    + f", {_columns('E', _STACK)} FROM rocpd_memory_copy M {_join('string', 'S', 'M.name_id')} "
    f"{_join('string', 'R', 'M.region_name_id', 'LEFT')} {_join('info_agent', 'D', 'M.dst_agent_id')} "
    f"{_join('info_agent', 'O', 'M.src_agent_id')} {_join('info_queue', 'Q', 'M.queue_id', 'LEFT')} "
    f"{_join('info_stream', 'W', 'M.stream_id', 'LEFT')} {_join('event', 'E', 'M.event_id')} "
    f"{_join('info_process', 'P', 'M.pid')} {_join('info_thread', 'T', 'M.tid')}",
    "graph_launches": f"SELECT G.id, G.guid, G.nid, P.pid, T.tid, G.agent_id, {_columns('A', _AGENT)}, G.queue_id, "
    f"Q.name AS queue, 'Graph Execution' AS name, {_duration('G')}, G.graph_exec_id, G.kernel_dispatch_count, "
    f"G.event_id, {_columns('E', _STACK)} FROM rocpd_graph_launch G {_join('info_agent', 'A', 'G.agent_id', 'LEFT')} "
    f"{_join('info_queue', 'Q', 'G.queue_id', 'LEFT')} {_join('event', 'E', 'G.event_id')} "
    f"{_join('info_process', 'P', 'G.pid')} {_join('info_thread', 'T', 'G.tid')}",
    "memory_allocations": f"SELECT M.id, M.guid, {_CATEGORY}, M.nid, P.pid, T.tid, {_duration('M')}, M.type, M.level, "
    f"A.name AS agent_name, {_columns('A', _AGENT)}, M.address, M.size, M.queue_id, Q.name AS queue_name, "
    f"M.stream_id, W.name AS stream_name, {_columns('E', _STACK)} FROM rocpd_memory_allocate M "
    f"{_join('info_agent', 'A', 'M.agent_id', 'LEFT')} {_join('info_queue', 'Q', 'M.queue_id', 'LEFT')} "
    f"{_join('info_stream', 'W', 'M.stream_id', 'LEFT')} {_join('event', 'E', 'M.event_id')} "
    f"{_join('info_process', 'P', 'M.pid')} {_join('info_thread', 'T', 'M.tid')}",
    "scratch_memory": f"SELECT M.id, M.guid, M.nid, P.pid, M.type AS operation, A.name AS agent_name, "
    f"{_columns('A', _AGENT)}, M.queue_id, T.tid, {_extra('M', 'flags>alloc_flags')}, {_duration('M')}, M.size, "
    f"M.address, E.correlation_id, {_columns('E', _STACK)}, {_CATEGORY}, E.extdata AS event_extdata "
    f"FROM rocpd_memory_allocate M {_join('info_agent', 'A', 'M.agent_id', 'LEFT')} "
    f"{_join('info_queue', 'Q', 'M.queue_id', 'LEFT')} {_join('event', 'E', 'M.event_id')} "
    f"{_join('info_process', 'P', 'M.pid')} {_join('info_thread', 'T', 'M.tid')} "
    'WHERE M.level = \'SCRATCH\' ORDER BY M."start"',
    "counters_collection": "SELECT "
    + _counter_columns("MIN(C.id) AS id", "SUM(C.value) AS value",
                       'K."start", K."end", I.is_constant, I.is_derived, (K."end" - K."start") AS duration')
    + f" FROM rocpd_pmc_event C {_COUNTER_JOINS} WHERE C.sample_id IS NULL "
    "GROUP BY C.guid, K.dispatch_id, I.name, K.agent_id",
    "spm_counters": "SELECT "
    + _counter_columns("C.id", "C.xcc, C.shader_engine, C.instance, C.value",
                       "M.timestamp, I.is_constant, I.is_derived")
    + f" FROM rocpd_pmc_event C {_join('sample', 'M', 'C.sample_id')} {_COUNTER_JOINS}",
    "top_kernels": _ranking(
        'SELECT S.display_name AS name, K."end" - K."start" AS duration FROM rocpd_kernel_dispatch K '
        + _join("info_kernel_symbol", "S", "K.kernel_id"),
        f"SELECT {_SUMS} FROM rocpd_kernel_dispatch",
    ),
    "busy": _BUSY,
    "top": _ranking(_ALL_WORK, f"SELECT SUM(duration) FROM ({_ALL_WORK})"),
}  # fmt: skip


def create_views() -> Iterator[str]:
    """Statements that create all views; the plain tables' views must be there."""
    for name, select in VIEWS.items():
        yield f"CREATE VIEW {name} AS {select}"
