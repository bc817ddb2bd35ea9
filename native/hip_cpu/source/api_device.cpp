// Device queries: one device, whose compute units are the physical cores we may run on.
#include "device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cpu.h"
#include "error.h"
#include "export.h"
#include "memory.h"
#include "problem.h"
#include "stream.h"

namespace kp {
namespace {

int cores() { return static_cast<int>(cpu().cores.size()); }
int as_int(std::size_t value) { return static_cast<int>(std::min<std::size_t>(value, 0x7fffffff)); }

int attribute(int* value, int which, int device) {
    if (value == nullptr) return invalid_value;
    if (device != 0) return invalid_device;
    switch (which) {
        case 3: case 4: case 8: case 13: case 15: case 16: case 24: case 65: case 66: case 85: case 90: case 10011: case 10016:
            *value = 1;  // mapped host memory, concurrent kernels, one memory for host and device
            return success;
        case 5: *value = cpu().khz; return success;
        case 19: *value = as_int(static_cast<std::size_t>(std::max<long>(cpu().last_level_bytes, cpu().l2_bytes))); return success;
        case 23: *value = 0; return success;  // compute capability
        case 25: *value = 1; return success;  // workgroups per multiprocessor
        case 26: case 55: case 56: case 57: *value = max_threads_per_block; return success;
        case 27: *value = static_cast<int>(max_block[1]); return success;
        case 28: *value = static_cast<int>(max_block[2]); return success;
        case 29: *value = static_cast<int>(max_grid[0]); return success;
        case 30: *value = static_cast<int>(max_grid[1]); return success;
        case 31: *value = static_cast<int>(max_grid[2]); return success;
        case 58: *value = 0x7fffffff; return success;
        case 59: case 60: *value = 0; return success;  // memory bus width and clock: not known
        case 63: case 10015: *value = cores(); return success;
        case 74: case 75: case 76: case 10002: *value = static_cast<int>(max_shared_bytes); return success;
        case 83: case 84: *value = as_int(total_memory()); return success;
        case 87: *value = warp_size; return success;
        case 10017: *value = 1'000'000; return success;  // wall_clock64() counts nanoseconds
        case 10018: *value = 1; return success;
        default: break;
    }
    if ((which >= 1 && which <= 95) || (which >= 10001 && which <= 10022)) {
        *value = 0;
        return success;
    }
    return invalid_value;
}

const char* device_name() {
    return cpu().model.empty() ? "CPU" : cpu().model.c_str();
}

int properties(DeviceProperties* p, int device) {
    if (p == nullptr) return invalid_value;
    if (device != 0) return invalid_device;
    std::memset(static_cast<void*>(p), 0, sizeof *p);
    std::snprintf(p->name, sizeof p->name, "%s", device_name());
    std::snprintf(p->architecture_name, sizeof p->architecture_name, "cpu");
    p->total_global_memory = total_memory();
    p->shared_memory_per_block = p->shared_memory_per_multiprocessor = p->max_shared_memory_per_multiprocessor =
        p->shared_memory_per_block_opt_in = max_shared_bytes;
    p->warp_size = warp_size;
    p->memory_pitch = 0x7fffffff;
    p->max_threads_per_block = p->max_threads_per_multiprocessor = max_threads_per_block;
    for (int i = 0; i < 3; ++i) {
        p->max_threads_dimension[i] = static_cast<int>(max_block[i]);
        p->max_grid_size[i] = static_cast<int>(max_grid[i]);
    }
    p->clock_rate = p->clock_instruction_rate = cpu().khz;
    p->total_constant_memory = total_memory();
    p->multiprocessor_count = cores();
    p->integrated = p->can_map_host_memory = p->concurrent_kernels = p->unified_addressing = p->managed_memory = 1;
    p->pageable_memory_access = p->host_native_atomic_supported = p->host_register_supported = p->is_large_bar = 1;
    p->l2_cache_size = as_int(static_cast<std::size_t>(std::max<long>(cpu().last_level_bytes, cpu().l2_bytes)));
    p->max_blocks_per_multiprocessor = 1;
    return success;
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipInit(unsigned flags) { return kept(flags == 0 ? success : invalid_value); }
KP_EXPORT int hipGetDeviceCount(int* count) {
    if (count == nullptr) return kept(invalid_value);
    *count = 1;
    return success;
}
KP_EXPORT int hipGetDevice(int* device) {
    if (device == nullptr) return kept(invalid_value);
    *device = 0;
    return success;
}
KP_EXPORT int hipSetDevice(int device) { return kept(device == 0 ? success : invalid_device); }
KP_EXPORT int hipDeviceGet(int* device, int ordinal) {
    if (device == nullptr) return kept(invalid_value);
    if (ordinal != 0) return kept(invalid_device);
    *device = 0;
    return success;
}
KP_EXPORT int hipDeviceGetAttribute(int* value, int which, int device) { return kept(attribute(value, which, device)); }
KP_EXPORT int hipDeviceGetName(char* name, int length, int device) {
    if (name == nullptr || length <= 0) return kept(invalid_value);
    if (device != 0) return kept(invalid_device);
    std::snprintf(name, static_cast<std::size_t>(length), "%s", device_name());
    return success;
}
KP_EXPORT int hipDeviceGetPCIBusId(char* id, int length, int device) {
    if (id == nullptr || length <= 0) return kept(invalid_value);
    if (device != 0) return kept(invalid_device);
    std::snprintf(id, static_cast<std::size_t>(length), "0000:00:00.0");
    return success;
}
KP_EXPORT int hipDeviceGetUuid(char* uuid, int device) {
    if (uuid == nullptr) return kept(invalid_value);
    if (device != 0) return kept(invalid_device);
    std::memcpy(uuid, "kernelperf-cpu-0", 16);
    return success;
}
KP_EXPORT int hipDeviceTotalMem(std::size_t* bytes, int device) {
    if (bytes == nullptr) return kept(invalid_value);
    if (device != 0) return kept(invalid_device);
    *bytes = total_memory();
    return success;
}
KP_EXPORT int hipDeviceComputeCapability(int* major, int* minor, int device) {
    if (major == nullptr || minor == nullptr) return kept(invalid_value);
    if (device != 0) return kept(invalid_device);
    *major = *minor = 0;
    return success;
}
KP_EXPORT int hipGetDevicePropertiesR0600(DeviceProperties* p, int device) { return kept(properties(p, device)); }
KP_EXPORT int hipDriverGetVersion(int* version) {
    if (version == nullptr) return kept(invalid_value);
    *version = hip_version;
    return success;
}
KP_EXPORT int hipRuntimeGetVersion(int* version) {
    if (version == nullptr) return kept(invalid_value);
    *version = hip_version;
    return success;
}
KP_EXPORT int hipDeviceSynchronize() {
    if (any_capture()) return kept(capture_unsupported);
    finish_all();
    return kept(after_waiting());
}
KP_EXPORT int hipDeviceReset() {
    finish_all();
    return success;
}
KP_EXPORT int hipSetDeviceFlags(unsigned) { return success; }
KP_EXPORT int hipGetDeviceFlags(unsigned* flags) {
    if (flags == nullptr) return kept(invalid_value);
    *flags = 0;
    return success;
}
KP_EXPORT int hipDeviceSetCacheConfig(int) { return success; }
KP_EXPORT int hipProfilerStart() { return success; }
KP_EXPORT int hipProfilerStop() { return success; }
