// The part of HIP's C interface that we answer to: numbers and layouts as in HIP 7's headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kp {

enum Error : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    invalid_configuration = 9,
    invalid_symbol = 13,
    invalid_device_pointer = 17,
    invalid_memcpy_direction = 21,
    invalid_device_function = 98,
    no_device = 100,
    invalid_device = 101,
    invalid_image = 200,
    invalid_context = 201,
    no_binary_for_gpu = 209,
    file_not_found = 301,
    shared_object_init_failed = 303,
    invalid_handle = 400,
    illegal_state = 401,
    not_found = 500,
    not_ready = 600,
    illegal_address = 700,
    assertion_failed = 710,
    launch_failure = 719,
    not_supported = 801,
    capture_unsupported = 900,
    capture_invalidated = 901,
    capture_merge = 902,
    capture_unmatched = 903,
    capture_unjoined = 904,
    capture_isolation = 905,
    capture_implicit = 906,
    captured_event = 907,
    capture_wrong_thread = 908,
    unknown_error = 999,
};

enum MemcpyKind : int { host_to_host = 0, host_to_device = 1, device_to_host = 2, device_to_device = 3, default_kind = 4 };

constexpr unsigned stream_non_blocking = 1;
constexpr unsigned event_blocking_sync = 1, event_disable_timing = 2;
constexpr unsigned record_external = 1;

struct Dim3 {
    unsigned x, y, z;
};

// hipDeviceProp_tR0600.
struct DeviceProperties {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luid_device_node_mask;
    std::size_t total_global_memory;
    std::size_t shared_memory_per_block;
    int registers_per_block;
    int warp_size;
    std::size_t memory_pitch;
    int max_threads_per_block;
    int max_threads_dimension[3];
    int max_grid_size[3];
    int clock_rate;
    std::size_t total_constant_memory;
    int major;
    int minor;
    std::size_t texture_alignment;
    std::size_t texture_pitch_alignment;
    int device_overlap;
    int multiprocessor_count;
    int kernel_execution_timeout_enabled;
    int integrated;
    int can_map_host_memory;
    int compute_mode;
    int texture_sizes[3 + 2 + 2 + 3 + 2 + 3 + 3 + 1 + 2 + 3 + 2];
    int surface_sizes[1 + 2 + 3 + 2 + 3 + 1 + 2];
    std::size_t surface_alignment;
    int concurrent_kernels;
    int ecc_enabled;
    int pci_bus_id;
    int pci_device_id;
    int pci_domain_id;
    int tcc_driver;
    int async_engine_count;
    int unified_addressing;
    int memory_clock_rate;
    int memory_bus_width;
    int l2_cache_size;
    int persisting_l2_cache_max_size;
    int max_threads_per_multiprocessor;
    int stream_priorities_supported;
    int global_l1_cache_supported;
    int local_l1_cache_supported;
    std::size_t shared_memory_per_multiprocessor;
    int registers_per_multiprocessor;
    int managed_memory;
    int is_multi_gpu_board;
    int multi_gpu_board_group_id;
    int host_native_atomic_supported;
    int single_to_double_precision_performance_ratio;
    int pageable_memory_access;
    int concurrent_managed_access;
    int compute_preemption_supported;
    int can_use_host_pointer_for_registered_memory;
    int cooperative_launch;
    int cooperative_multi_device_launch;
    std::size_t shared_memory_per_block_opt_in;
    int pageable_memory_access_uses_host_page_tables;
    int direct_managed_memory_access_from_host;
    int max_blocks_per_multiprocessor;
    int access_policy_max_window_size;
    std::size_t reserved_shared_memory_per_block;
    int host_register_supported;
    int sparse_array_supported;
    int host_register_read_only_supported;
    int timeline_semaphore_interop_supported;
    int memory_pools_supported;
    int gpu_direct_rdma[4];
    int deferred_mapping_array_supported;
    int ipc_event_supported;
    int cluster_launch;
    int unified_function_pointers;
    int reserved[63];
    int hip_reserved[32];
    char architecture_name[256];
    std::size_t max_shared_memory_per_multiprocessor;
    int clock_instruction_rate;
    unsigned architecture_features;
    unsigned* hdp_memory_flush_control;
    unsigned* hdp_register_flush_control;
    int cooperative_unmatched[4];
    int is_large_bar;
    int asic_revision;
};
static_assert(sizeof(DeviceProperties) == 1472, "hipDeviceProp_tR0600 is 1472 bytes");

// hipPointerAttribute_t.
struct PointerAttributes {
    int type;  // 0 unregistered, 1 host, 2 device
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned allocation_flags;
};

}  // namespace kp
