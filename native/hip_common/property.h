// The structs of HIP's C interface that we fill: layouts as in HIP 7's headers.
#pragma once

#include <cstddef>

namespace kp {

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
    int type;  // 0 unregistered, 1 host, 2 device, 3 managed
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned allocation_flags;
};

// hipFuncAttributes.
struct FunctionAttributes {
    int binary_version;
    int cache_mode;
    std::size_t constant_bytes;
    std::size_t local_bytes;
    int max_dynamic_shared_bytes;
    int max_threads_per_block;
    int registers;
    int shared_memory_carveout;
    int ptx_version;
    std::size_t shared_bytes;
};

}  // namespace kp
