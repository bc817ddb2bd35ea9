// hipInit, hipSetDevice, hipDeviceGet…: devices and what they are.
#include <cstdio>
#include <cstring>

#include "attribute.h"
#include "context.h"
#include "export.h"
#include "property.h"

namespace kp {
namespace {

constexpr int hip_version = 70000000;  // the HIP whose interface this is: major * 10,000,000 + minor * 100,000 + patch

// Check a device's number without making a context on it.
int must_exist(int device) {
    const int error = started();
    if (error != success) return error;
    return exists(device) ? success : invalid_device;
}

// CUDA's handle for a device is its number, but that is not promised.
template <class... Parameters, class... Arguments>
int ask(int device, int (*Driver::*function)(Parameters...), Arguments... arguments) {
    const int error = must_exist(device);
    if (error != success) return kept(error);
    int cuda_device = 0;
    const int cuda = calls->device_get(&cuda_device, device);
    return answered(cuda != cuda_success ? cuda : (calls->*function)(arguments..., cuda_device));
}

int attribute(int hip, int device) {
    int value = 0;
    attribute_of(&value, hip, device);
    return value;
}

std::size_t bytes(int hip, int device) { return static_cast<std::size_t>(attribute(hip, device)); }

void fill(DeviceProperties& p, int device) {
    p.shared_memory_per_block = bytes(74, device);
    p.registers_per_block = attribute(71, device);
    p.warp_size = attribute(87, device);
    p.memory_pitch = bytes(58, device);
    p.max_threads_per_block = attribute(56, device);
    for (int i = 0; i < 3; ++i) {
        p.max_threads_dimension[i] = attribute(26 + i, device);
        p.max_grid_size[i] = attribute(29 + i, device);
    }
    p.clock_rate = attribute(5, device);
    p.total_constant_memory = bytes(83, device);
    p.major = attribute(23, device);
    p.minor = attribute(61, device);
    p.texture_alignment = bytes(81, device);
    p.texture_pitch_alignment = bytes(82, device);
    p.device_overlap = attribute(12, device);
    p.multiprocessor_count = attribute(63, device);
    p.kernel_execution_timeout_enabled = attribute(18, device);
    p.integrated = attribute(16, device);
    p.can_map_host_memory = attribute(3, device);
    p.compute_mode = attribute(6, device);
    p.surface_alignment = bytes(79, device);
    p.concurrent_kernels = attribute(8, device);
    p.ecc_enabled = attribute(0, device);
    p.pci_bus_id = attribute(67, device);
    p.pci_device_id = attribute(68, device);
    p.pci_domain_id = attribute(69, device);
    p.tcc_driver = attribute(80, device);
    p.async_engine_count = attribute(2, device);
    p.unified_addressing = attribute(85, device);
    p.memory_clock_rate = attribute(60, device);
    p.memory_bus_width = attribute(59, device);
    p.l2_cache_size = attribute(19, device);
    p.persisting_l2_cache_max_size = attribute(70, device);
    p.max_threads_per_multiprocessor = attribute(57, device);
    p.stream_priorities_supported = attribute(78, device);
    p.shared_memory_per_multiprocessor = p.max_shared_memory_per_multiprocessor = bytes(76, device);
    p.registers_per_multiprocessor = attribute(72, device);
    p.managed_memory = attribute(24, device);
    p.single_to_double_precision_performance_ratio = attribute(77, device);
    p.cooperative_launch = attribute(10, device);
    p.shared_memory_per_block_opt_in = bytes(75, device);
    p.max_blocks_per_multiprocessor = attribute(25, device);
    p.reserved_shared_memory_per_block = bytes(73, device);
    p.memory_pools_supported = attribute(88, device);
    p.clock_instruction_rate = 1'000'000;
}

int properties(DeviceProperties* p, int device) {
    if (p == nullptr) return kept(invalid_value);
    const int error = must_exist(device);
    if (error != success) return kept(error);
    std::memset(static_cast<void*>(p), 0, sizeof *p);
    fill(*p, device);
    std::snprintf(p->architecture_name, sizeof p->architecture_name, "sm_%d%d", p->major, p->minor);
    ask(device, &Driver::device_uuid, p->uuid);
    const int named = ask(device, &Driver::device_name, p->name, static_cast<int>(sizeof p->name));
    return named != success ? named : ask(device, &Driver::device_memory, &p->total_global_memory);
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipInit(unsigned flags) { return kept(flags != 0 ? invalid_value : started()); }
KP_EXPORT int hipGetDeviceCount(int* count) {
    if (count == nullptr) return kept(invalid_value);
    *count = driver().devices;
    return kept(started());
}
KP_EXPORT int hipGetDevice(int* device) {
    if (device == nullptr) return kept(invalid_value);
    *device = chosen_device();
    return kept(started());
}
KP_EXPORT int hipSetDevice(int device) { return kept(choose_device(device)); }
KP_EXPORT int hipDeviceGet(int* device, int ordinal) {
    if (device == nullptr) return kept(invalid_value);
    *device = ordinal;
    return kept(must_exist(ordinal));
}
KP_EXPORT int hipDeviceGetAttribute(int* value, int which, int device) {
    if (value == nullptr) return kept(invalid_value);
    const int error = must_exist(device);
    return kept(error != success ? error : attribute_of(value, which, device));
}
KP_EXPORT int hipDeviceGetName(char* name, int length, int device) {
    if (name == nullptr || length <= 0) return kept(invalid_value);
    return ask(device, &Driver::device_name, name, length);
}
KP_EXPORT int hipDeviceGetPCIBusId(char* id, int length, int device) {
    if (id == nullptr || length <= 0) return kept(invalid_value);
    return ask(device, &Driver::device_bus_id, id, length);
}
KP_EXPORT int hipDeviceGetUuid(char* uuid, int device) {
    return uuid == nullptr ? kept(invalid_value) : ask(device, &Driver::device_uuid, uuid);
}
KP_EXPORT int hipDeviceTotalMem(std::size_t* total, int device) {
    return total == nullptr ? kept(invalid_value) : ask(device, &Driver::device_memory, total);
}
KP_EXPORT int hipDeviceComputeCapability(int* major, int* minor, int device) {
    if (major == nullptr || minor == nullptr) return kept(invalid_value);
    const int error = hipDeviceGetAttribute(major, 23, device);
    return error != success ? error : hipDeviceGetAttribute(minor, 61, device);
}
KP_EXPORT int hipGetDevicePropertiesR0600(DeviceProperties* p, int device) { return properties(p, device); }
KP_EXPORT int hipDriverGetVersion(int* version) {
    if (version == nullptr) return kept(invalid_value);
    *version = 0;
    const int error = started();
    return error != success ? kept(error) : answered(calls->driver_version(version));
}
KP_EXPORT int hipRuntimeGetVersion(int* version) {
    if (version == nullptr) return kept(invalid_value);
    *version = hip_version;
    return success;
}
KP_EXPORT int hipDeviceSynchronize() { return forward(&Driver::context_synchronise); }
KP_EXPORT int hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return forward(&Driver::priority_range, least, greatest);
}

// For tests: CUDA's number for one of HIP's attributes.
KP_EXPORT int kernelperf_cuda_attribute(int hip) { return cuda_attribute(hip); }
