// hipMalloc, hipMemcpy, hipMemset and their kin.
#include <cstring>

#include "error.h"
#include "export.h"
#include "memory.h"
#include "problem.h"
#include "stream.h"

namespace kp {
namespace {

int check(const void* target, const void* source, std::size_t bytes, int kind) {
    if (bytes == 0) return success;
    if (target == nullptr || source == nullptr) return invalid_value;
    if (kind != 1024 && (kind < 0 || kind > 4)) return invalid_memcpy_direction;
    if (!within_allocation(target, bytes) || !within_allocation(source, bytes)) return invalid_value;
    return success;
}

// Blocking calls wait for all that the null stream waits for, then act in the caller's thread.
int wait_for_null_stream() {
    if (any_capture()) return capture_implicit;
    finish_blocking();
    return after_waiting();
}

int copy_now(void* target, const void* source, std::size_t bytes, int kind) {
    int error = check(target, source, bytes, kind);
    if (error == success && bytes > 0) error = wait_for_null_stream();
    if (error == success && bytes > 0) std::memmove(target, source, bytes);
    return error;
}

int copy_later(void* target, const void* source, std::size_t bytes, int kind, void* handle) {
    const int error = check(target, source, bytes, kind);
    if (error != success) return error;
    const auto stream = stream_of(handle);
    if (!stream) return invalid_handle;
    if (bytes == 0) return success;
    // Pageable host memory is the caller's again when the call returns, as with HIP, so it is read at once or waited for.
    Allocation known;
    const bool pageable = !find_allocation(target, known) || !find_allocation(source, known);
    const int error_later = submit(stream, CopyOp{target, source, bytes});
    if (error_later == success && pageable && !stream->capture) stream->finish();
    return error_later;
}

int fill(void* target, unsigned value, unsigned element_bytes, std::size_t count, void* handle, bool now) {
    const std::size_t bytes = count * element_bytes;
    if (count == 0) return success;
    if (target == nullptr || !within_allocation(target, bytes)) return invalid_value;
    if (reinterpret_cast<std::uintptr_t>(target) % element_bytes != 0) return invalid_value;
    const auto stream = stream_of(handle);
    if (!stream) return invalid_handle;
    if (now && any_capture()) return capture_implicit;
    const int error = submit(stream, FillOp{target, value, element_bytes, count});
    if (now && error == success) stream->finish();
    return error;
}

int copy_2d(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch, std::size_t width, std::size_t height,
            void* handle, bool now) {
    if (width == 0 || height == 0) return success;
    if (target == nullptr || source == nullptr || width > target_pitch || width > source_pitch) return invalid_value;
    if (!within_allocation(target, target_pitch * (height - 1) + width) || !within_allocation(source, source_pitch * (height - 1) + width))
        return invalid_value;
    const auto stream = stream_of(handle);
    if (!stream) return invalid_handle;
    if (now && any_capture()) return capture_implicit;
    const int error = submit(stream, Copy2DOp{static_cast<unsigned char*>(target), target_pitch, static_cast<const unsigned char*>(source),
                                              source_pitch, width, height});
    if (now && error == success) stream->finish();
    return error;
}

int get_memory(void** address, std::size_t bytes, bool host, unsigned flags) {
    if (address == nullptr) return invalid_value;
    *address = nullptr;
    if (bytes == 0) return success;
    *address = allocate(bytes, host, flags);
    return *address != nullptr ? success : out_of_memory;
}

int free_memory_at(void* address, bool host) {
    if (address == nullptr) return success;
    finish_all();
    return release(address, host) ? take_problem() : invalid_value;
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipMalloc(void** address, std::size_t bytes) { return kept(get_memory(address, bytes, false, 0)); }
KP_EXPORT int hipExtMallocWithFlags(void** address, std::size_t bytes, unsigned flags) { return kept(get_memory(address, bytes, false, flags)); }
KP_EXPORT int hipMallocManaged(void** address, std::size_t bytes, unsigned flags) { return kept(get_memory(address, bytes, false, flags)); }
KP_EXPORT int hipMallocAsync(void** address, std::size_t bytes, void* stream) {
    return kept(stream_of(stream) ? get_memory(address, bytes, false, 0) : invalid_handle);
}
KP_EXPORT int hipFree(void* address) { return kept(free_memory_at(address, false)); }
KP_EXPORT int hipFreeAsync(void* address, void* stream) { return kept(stream_of(stream) ? free_memory_at(address, false) : invalid_handle); }
KP_EXPORT int hipHostMalloc(void** address, std::size_t bytes, unsigned flags) { return kept(get_memory(address, bytes, true, flags)); }
KP_EXPORT int hipHostAlloc(void** address, std::size_t bytes, unsigned flags) { return kept(get_memory(address, bytes, true, flags)); }
KP_EXPORT int hipMallocHost(void** address, std::size_t bytes) { return kept(get_memory(address, bytes, true, 0)); }
KP_EXPORT int hipHostFree(void* address) { return kept(free_memory_at(address, true)); }
KP_EXPORT int hipFreeHost(void* address) { return kept(free_memory_at(address, true)); }

KP_EXPORT int hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
    if (device == nullptr || host == nullptr || flags != 0) return kept(invalid_value);
    Allocation found;
    if (!find_allocation(host, found) || !found.host) return kept(invalid_value);
    *device = host;
    return success;
}

KP_EXPORT int hipHostGetFlags(unsigned* flags, void* host) {
    Allocation found;
    if (flags == nullptr || !find_allocation(host, found) || !found.host) return kept(invalid_value);
    *flags = found.flags;
    return success;
}

// The device sees all of the host's memory as it is.
KP_EXPORT int hipHostRegister(void* host, std::size_t bytes, unsigned) { return kept(host != nullptr && bytes > 0 ? success : invalid_value); }
KP_EXPORT int hipHostUnregister(void* host) { return kept(host != nullptr ? success : invalid_value); }

KP_EXPORT int hipMemcpy(void* target, const void* source, std::size_t bytes, int kind) { return kept(copy_now(target, source, bytes, kind)); }
KP_EXPORT int hipMemcpyHtoD(void* target, const void* source, std::size_t bytes) { return kept(copy_now(target, source, bytes, host_to_device)); }
KP_EXPORT int hipMemcpyDtoH(void* target, void* source, std::size_t bytes) { return kept(copy_now(target, source, bytes, device_to_host)); }
KP_EXPORT int hipMemcpyDtoD(void* target, void* source, std::size_t bytes) { return kept(copy_now(target, source, bytes, device_to_device)); }
KP_EXPORT int hipMemcpyAsync(void* target, const void* source, std::size_t bytes, int kind, void* stream) {
    return kept(copy_later(target, source, bytes, kind, stream));
}
KP_EXPORT int hipMemcpyHtoDAsync(void* target, const void* source, std::size_t bytes, void* stream) {
    return kept(copy_later(target, source, bytes, host_to_device, stream));
}
KP_EXPORT int hipMemcpyDtoHAsync(void* target, void* source, std::size_t bytes, void* stream) {
    return kept(copy_later(target, source, bytes, device_to_host, stream));
}
KP_EXPORT int hipMemcpyDtoDAsync(void* target, void* source, std::size_t bytes, void* stream) {
    return kept(copy_later(target, source, bytes, device_to_device, stream));
}
KP_EXPORT int hipMemcpyWithStream(void* target, const void* source, std::size_t bytes, int kind, void* handle) {
    const int error = copy_later(target, source, bytes, kind, handle);
    if (error == success)
        if (const auto stream = stream_of(handle); stream && !stream->capture) stream->finish();
    return kept(error);
}
KP_EXPORT int hipMemcpy2D(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch, std::size_t width,
                          std::size_t height, int) {
    return kept(copy_2d(target, target_pitch, source, source_pitch, width, height, nullptr, true));
}
KP_EXPORT int hipMemcpy2DAsync(void* target, std::size_t target_pitch, const void* source, std::size_t source_pitch, std::size_t width,
                               std::size_t height, int, void* stream) {
    return kept(copy_2d(target, target_pitch, source, source_pitch, width, height, stream, false));
}

KP_EXPORT int hipMemset(void* target, int value, std::size_t bytes) { return kept(fill(target, static_cast<unsigned>(value) & 0xff, 1, bytes, nullptr, true)); }
KP_EXPORT int hipMemsetD8(void* target, unsigned char value, std::size_t count) { return kept(fill(target, value, 1, count, nullptr, true)); }
KP_EXPORT int hipMemsetD16(void* target, unsigned short value, std::size_t count) { return kept(fill(target, value, 2, count, nullptr, true)); }
KP_EXPORT int hipMemsetD32(void* target, int value, std::size_t count) { return kept(fill(target, static_cast<unsigned>(value), 4, count, nullptr, true)); }
KP_EXPORT int hipMemsetAsync(void* target, int value, std::size_t bytes, void* stream) {
    return kept(fill(target, static_cast<unsigned>(value) & 0xff, 1, bytes, stream, false));
}
KP_EXPORT int hipMemsetD8Async(void* target, unsigned char value, std::size_t count, void* stream) { return kept(fill(target, value, 1, count, stream, false)); }
KP_EXPORT int hipMemsetD16Async(void* target, unsigned short value, std::size_t count, void* stream) { return kept(fill(target, value, 2, count, stream, false)); }
KP_EXPORT int hipMemsetD32Async(void* target, int value, std::size_t count, void* stream) {
    return kept(fill(target, static_cast<unsigned>(value), 4, count, stream, false));
}

KP_EXPORT int hipMemGetInfo(std::size_t* free, std::size_t* total) {
    if (free != nullptr) *free = free_memory();
    if (total != nullptr) *total = total_memory();
    return success;
}

KP_EXPORT int hipMemGetAddressRange(void** base, std::size_t* bytes, void* address) {
    Allocation found;
    if (!find_allocation(address, found)) return kept(not_found);
    if (base != nullptr) *base = found.address;
    if (bytes != nullptr) *bytes = found.bytes;
    return success;
}

KP_EXPORT int hipPointerGetAttributes(PointerAttributes* attributes, const void* address) {
    if (attributes == nullptr || address == nullptr) return kept(invalid_value);
    *attributes = {};
    Allocation found;
    if (!find_allocation(address, found)) {
        attributes->device = -2;
        return success;
    }
    attributes->type = found.host ? 1 : 2;
    attributes->device_pointer = const_cast<void*>(address);
    attributes->host_pointer = found.host ? const_cast<void*>(address) : nullptr;
    attributes->allocation_flags = found.flags;
    return success;
}
