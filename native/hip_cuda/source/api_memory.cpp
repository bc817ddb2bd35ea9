// hipMalloc, hipMemcpy, hipMemset and their kin.
#include "context.h"
#include "export.h"
#include "property.h"

namespace kp {
namespace {

Address at(const void* address) { return reinterpret_cast<Address>(address); }
Address* at(void** address) { return reinterpret_cast<Address*>(address); }

constexpr int host_to_host = 0, host_to_device = 1, device_to_host = 2, device_to_device = 3, default_kind = 4,
              device_to_device_no_cu = 1024;
constexpr unsigned cuda_host_flags = 7, host_mapped = 2;  // portable, mapped, write-combined: the same bits in both
constexpr unsigned attach_global = 1;

// cuPointerGetAttribute's questions.
constexpr int memory_type = 2, device_pointer = 3, host_pointer = 4, is_managed = 8, device_ordinal = 9;

int allocate(void** address, std::size_t bytes) {
    if (address == nullptr) return kept(invalid_value);
    *address = nullptr;
    return bytes == 0 ? success : forward(&Driver::allocate, at(address), bytes);
}

// HIP maps all pinned memory, and CUDA's is always coherent, so HIP's flags for these need no counterpart.
int allocate_host(void** address, std::size_t bytes, unsigned flags) {
    if (address == nullptr) return kept(invalid_value);
    *address = nullptr;
    return bytes == 0 ? success : forward(&Driver::host_allocate, address, bytes, (flags & cuda_host_flags) | host_mapped);
}

int copy(void* target, const void* source, std::size_t bytes, int kind) {
    switch (kind) {
        case host_to_device: return forward(&Driver::copy_to_device, at(target), source, bytes);
        case device_to_host: return forward(&Driver::copy_to_host, target, at(source), bytes);
        case device_to_device: case device_to_device_no_cu: return forward(&Driver::copy_on_device, at(target), at(source), bytes);
        case host_to_host: case default_kind: return forward(&Driver::copy, at(target), at(source), bytes);
        default: return kept(invalid_memcpy_direction);
    }
}

int copy_async(void* target, const void* source, std::size_t bytes, int kind, void* stream) {
    switch (kind) {
        case host_to_device: return forward(&Driver::copy_to_device_async, at(target), source, bytes, stream);
        case device_to_host: return forward(&Driver::copy_to_host_async, target, at(source), bytes, stream);
        case device_to_device: case device_to_device_no_cu:
            return forward(&Driver::copy_on_device_async, at(target), at(source), bytes, stream);
        case host_to_host: case default_kind: return forward(&Driver::copy_async, at(target), at(source), bytes, stream);
        default: return kept(invalid_memcpy_direction);
    }
}

int describe(PointerAttributes& known, const void* address) {
    int type = 0;
    int error = forward(&Driver::pointer_attribute, &type, memory_type, at(address));
    if (error == invalid_value) {  // ordinary host memory
        known.device = -2;
        return success;
    }
    unsigned managed = 0;
    if (error == success) error = forward(&Driver::pointer_attribute, &managed, is_managed, at(address));
    if (error == success) error = forward(&Driver::pointer_attribute, &known.device, device_ordinal, at(address));
    if (error != success) return error;
    known.is_managed = managed != 0;
    known.type = managed != 0 ? 3 : type;
    forward(&Driver::pointer_attribute, &known.device_pointer, device_pointer, at(address));
    if (type == 1 || managed != 0) forward(&Driver::pointer_attribute, &known.host_pointer, host_pointer, at(address));
    return success;
}

}  // namespace
}  // namespace kp

using namespace kp;

KP_EXPORT int hipMalloc(void** address, std::size_t bytes) { return allocate(address, bytes); }
KP_EXPORT int hipExtMallocWithFlags(void** address, std::size_t bytes, unsigned) { return allocate(address, bytes); }
KP_EXPORT int hipMallocManaged(void** address, std::size_t bytes, unsigned flags) {
    if (address == nullptr || bytes == 0) return kept(invalid_value);
    return forward(&Driver::allocate_managed, at(address), bytes, flags == 0 ? attach_global : flags);
}
KP_EXPORT int hipMallocAsync(void** address, std::size_t bytes, void* stream) {
    return address == nullptr ? kept(invalid_value) : forward(&Driver::allocate_async, at(address), bytes, stream);
}
KP_EXPORT int hipFree(void* address) { return address == nullptr ? success : forward(&Driver::free, at(address)); }
KP_EXPORT int hipFreeAsync(void* address, void* stream) {
    return address == nullptr ? success : forward(&Driver::free_async, at(address), stream);
}
KP_EXPORT int hipHostMalloc(void** address, std::size_t bytes, unsigned flags) { return allocate_host(address, bytes, flags); }
KP_EXPORT int hipHostAlloc(void** address, std::size_t bytes, unsigned flags) { return allocate_host(address, bytes, flags); }
KP_EXPORT int hipMallocHost(void** address, std::size_t bytes) { return allocate_host(address, bytes, 0); }
KP_EXPORT int hipHostFree(void* address) { return address == nullptr ? success : forward(&Driver::host_free, address); }
KP_EXPORT int hipFreeHost(void* address) { return hipHostFree(address); }
KP_EXPORT int hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
    if (device == nullptr || host == nullptr) return kept(invalid_value);
    return forward(&Driver::host_address, at(device), host, flags);
}
KP_EXPORT int hipHostGetFlags(unsigned* flags, void* host) { return forward(&Driver::host_flags, flags, host); }
KP_EXPORT int hipHostRegister(void* host, std::size_t bytes, unsigned flags) {
    return forward(&Driver::host_register, host, bytes, (flags & 3) | host_mapped);
}
KP_EXPORT int hipHostUnregister(void* host) { return forward(&Driver::host_unregister, host); }

KP_EXPORT int hipMemcpy(void* target, const void* source, std::size_t bytes, int kind) { return copy(target, source, bytes, kind); }
KP_EXPORT int hipMemcpyHtoD(void* target, const void* source, std::size_t bytes) { return copy(target, source, bytes, host_to_device); }
KP_EXPORT int hipMemcpyDtoH(void* target, void* source, std::size_t bytes) { return copy(target, source, bytes, device_to_host); }
KP_EXPORT int hipMemcpyDtoD(void* target, void* source, std::size_t bytes) { return copy(target, source, bytes, device_to_device); }
KP_EXPORT int hipMemcpyAsync(void* target, const void* source, std::size_t bytes, int kind, void* stream) {
    return copy_async(target, source, bytes, kind, stream);
}
KP_EXPORT int hipMemcpyHtoDAsync(void* target, const void* source, std::size_t bytes, void* stream) {
    return copy_async(target, source, bytes, host_to_device, stream);
}
KP_EXPORT int hipMemcpyDtoHAsync(void* target, void* source, std::size_t bytes, void* stream) {
    return copy_async(target, source, bytes, device_to_host, stream);
}
KP_EXPORT int hipMemcpyDtoDAsync(void* target, void* source, std::size_t bytes, void* stream) {
    return copy_async(target, source, bytes, device_to_device, stream);
}
KP_EXPORT int hipMemcpyWithStream(void* target, const void* source, std::size_t bytes, int kind, void* stream) {
    const int error = copy_async(target, source, bytes, kind, stream);
    return error != success ? error : forward(&Driver::stream_synchronise, stream);
}

KP_EXPORT int hipMemset(void* target, int value, std::size_t bytes) {
    return forward(&Driver::fill_8, at(target), static_cast<unsigned char>(value), bytes);
}
KP_EXPORT int hipMemsetD8(void* target, unsigned char value, std::size_t count) { return forward(&Driver::fill_8, at(target), value, count); }
KP_EXPORT int hipMemsetD16(void* target, unsigned short value, std::size_t count) { return forward(&Driver::fill_16, at(target), value, count); }
KP_EXPORT int hipMemsetD32(void* target, int value, std::size_t count) {
    return forward(&Driver::fill_32, at(target), static_cast<unsigned>(value), count);
}
KP_EXPORT int hipMemsetAsync(void* target, int value, std::size_t bytes, void* stream) {
    return forward(&Driver::fill_8_async, at(target), static_cast<unsigned char>(value), bytes, stream);
}
KP_EXPORT int hipMemsetD8Async(void* target, unsigned char value, std::size_t count, void* stream) {
    return forward(&Driver::fill_8_async, at(target), value, count, stream);
}
KP_EXPORT int hipMemsetD16Async(void* target, unsigned short value, std::size_t count, void* stream) {
    return forward(&Driver::fill_16_async, at(target), value, count, stream);
}
KP_EXPORT int hipMemsetD32Async(void* target, int value, std::size_t count, void* stream) {
    return forward(&Driver::fill_32_async, at(target), static_cast<unsigned>(value), count, stream);
}

KP_EXPORT int hipMemGetInfo(std::size_t* free, std::size_t* total) { return forward(&Driver::memory_info, free, total); }
KP_EXPORT int hipMemGetAddressRange(void** base, std::size_t* bytes, void* address) {
    return forward(&Driver::address_range, at(base), bytes, at(address));
}
KP_EXPORT int hipPointerGetAttributes(PointerAttributes* attributes, const void* address) {
    if (attributes == nullptr || address == nullptr) return kept(invalid_value);
    *attributes = {};
    return describe(*attributes, address);
}
