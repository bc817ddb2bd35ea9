"""rocpd's tables and views as AMD publishes them (schema 3.0.3): columns in order, ``!`` for NOT NULL.

From rocprofiler-sdk-rocpd's SQL in ROCm/rocm-systems. Nothing here knows how our writer makes its statements.
"""

from __future__ import annotations

TABLES = {
    "string": "string!",
    "info_node": "hash! machine_id! system_name hostname release version hardware_name domain_name",
    "info_process": "nid! ppid pid! init fini start end command environment! extdata!",
    "info_thread": "nid! ppid pid! tid! name start end extdata!",
    "info_agent": "nid! pid! type absolute_index logical_index type_index uuid name model_name vendor_name "
    "product_name user_name extdata!",
    "info_queue": "nid! pid! name extdata!",
    "info_stream": "nid! pid! name extdata!",
    "info_pmc": "nid! pid! agent_id target_arch event_code instance_id name! symbol! description long_description "
    "component units value_type block expression is_constant is_derived spm_support extdata!",
    "info_code_object": "nid! pid! agent_id uri load_base load_size load_delta storage_type extdata!",
    "info_kernel_symbol": "nid! pid! code_object_id! kernel_name display_name kernel_object kernarg_segment_size "
    "kernarg_segment_alignment group_segment_size private_segment_size sgpr_count arch_vgpr_count accum_vgpr_count "
    "extdata!",
    "track": "nid! pid tid name_id extdata!",
    "event": "category_id stack_id parent_stack_id correlation_id call_stack! line_info! extdata!",
    "arg": "event_id! position! type! name! value extdata!",
    "pmc_event": "event_id sample_id pmc_id! value xcc shader_engine instance extdata",
    "region": "nid! pid! tid! start! end! name_id! event_id extdata!",
    "sample": "track_id! timestamp! event_id extdata!",
    "kernel_dispatch": "nid! pid! tid agent_id! kernel_id! dispatch_id! queue_id! stream_id! start! end! "
    "private_segment_size group_segment_size workgroup_size_x! workgroup_size_y! workgroup_size_z! grid_size_x! "
    "grid_size_y! grid_size_z! graph_exec_id! graph_node_id! region_name_id event_id extdata!",
    "memory_copy": "nid! pid! tid start! end! name_id! dst_agent_id dst_address src_agent_id src_address size! "
    "queue_id stream_id graph_exec_id! graph_node_id! region_name_id event_id extdata!",
    "memory_allocate": "nid! pid! tid agent_id type level start! end! address size! queue_id stream_id event_id "
    "extdata!",
    "graph_launch": "nid! pid! tid agent_id queue_id start! end! graph_exec_id! kernel_dispatch_count! event_id "
    "extdata!",
    "event_operation": "nid! pid! tid agent_id! event_obj! type_id! issue_id! queue_id! stream_id! start! end! type "
    "event_id",
}  # after id and guid, which are NOT NULL

_AGENT = "agent_abs_index agent_log_index agent_type_index agent_type"
_REGION = (
    "id guid category name nid pid tid {time} event_id stack_id parent_stack_id corr_id extdata call_stack line_info"
)
_COUNTER = (
    "dispatch_id kernel_id event_id correlation_id stack_id parent_stack_id pid tid agent_id "
    f"{_AGENT} queue_id grid_size_x grid_size_y grid_size_z grid_size kernel_name kernel_region workgroup_size_x "
    "workgroup_size_y workgroup_size_z workgroup_size lds_block_size scratch_size vgpr_count accum_vgpr_count "
    "sgpr_count counter_name counter_symbol component description block expression value_type counter_id"
)
_MACHINE = "nid machine_id system_name hostname system_release system_version guid ppid pid"

VIEWS = {
    "code_objects": "id guid nid pid agent_abs_index uri load_base load_size load_delta storage_type_str "
    "code_object_size storage_type memory_base memory_size",
    "kernel_symbols": "id guid nid pid code_object_id kernel_name display_name kernel_object kernarg_segment_size "
    "kernarg_segment_alignment group_segment_size private_segment_size sgpr_count arch_vgpr_count accum_vgpr_count "
    "kernel_symbol_size kernel_id kernel_code_entry_byte_offset formatted_kernel_name demangled_kernel_name "
    "truncated_kernel_name kernel_address",
    "processes": f"{_MACHINE} init start end fini command",
    "threads": f"{_MACHINE} tid start end name",
    "regions": _REGION.format(time="start end duration"),
    "region_args": "id guid nid pid type name value",
    "samples": _REGION.format(time="timestamp"),
    "sample_regions": _REGION.format(time="start end duration"),
    "regions_and_samples": _REGION.format(time="start end duration"),
    "kernels": f"id guid tid category region name nid pid {_AGENT} code_object_id kernel_id dispatch_id stream_id "
    "queue_id graph_exec_id graph_node_id queue stream start end duration grid_x grid_y grid_z workgroup_x "
    "workgroup_y workgroup_z lds_size scratch_size vgpr_count accum_vgpr_count sgpr_count static_lds_size "
    "static_scratch_size event_id stack_id parent_stack_id corr_id",
    "pmc_info": "id guid nid pid agent_abs_index is_constant is_derived name description block expression",
    "pmc_events": "id guid pmc_id event_id category name nid pid dispatch_id start end duration counter_name "
    "counter_value",
    "events_args": "event_id category stack_id parent_stack_id correlation_id arg_position arg_type arg_name "
    "arg_value call_stack line_info extdata",
    "stream_args": "argument_id event_id arg_position arg_type arg_value stream_id nid pid stream_name extdata",
    "memory_copies": "id guid category nid pid tid start end duration name region_name stream_id queue_id "
    "graph_exec_id graph_node_id stream_name queue_name size "
    + " ".join(
        f"{end}_device {end}_agent_abs_index {end}_agent_log_index {end}_agent_type_index {end}_agent_type "
        f"{end}_address"
        for end in ("dst", "src")
    )
    + " stack_id parent_stack_id corr_id",
    "graph_launches": f"id guid nid pid tid agent_id {_AGENT} queue_id queue name start end duration graph_exec_id "
    "kernel_dispatch_count event_id stack_id parent_stack_id corr_id",
    "memory_allocations": f"id guid category nid pid tid start end duration type level agent_name {_AGENT} address "
    "size queue_id queue_name stream_id stream_name stack_id parent_stack_id corr_id",
    "scratch_memory": f"id guid nid pid operation agent_name {_AGENT} queue_id tid alloc_flags start end duration "
    "size address correlation_id stack_id parent_stack_id corr_id category event_extdata",
    "counters_collection": f"id guid {_COUNTER} value start end is_constant is_derived duration category nid extdata "
    "code_object_id",
    "spm_counters": f"id guid {_COUNTER} xcc shader_engine instance value timestamp is_constant is_derived category "
    "nid extdata code_object_id",
    "top_kernels": "name total_calls total_duration average percentage",
    "busy": "agent_id type GpuTime WallTime Busy",
    "top": "name total_calls total_duration average percentage",
}

SHOWN = ("info_node", "info_process", "info_thread", "info_agent", "info_queue", "info_stream")
"""ROCm Optiq reads all cells of these as text, for its tracks' names and details (rocprofvis_db_rocprof.cpp)."""
