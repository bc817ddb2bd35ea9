// The CUDA driver, opened at run time: the calls we forward to, by the names under which libcuda.so.1 exports them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kp {

using Address = std::uint64_t;  // CUdeviceptr
using Handle = void*;           // contexts, streams, events, modules, functions, graphs
using HostFunction = void (*)(void*);

// Results that we look at; all others are only translated (error.cpp).
constexpr int cuda_success = 0, cuda_invalid_value = 1, cuda_not_ready = 600;

// X(member, exported name, parameters): the exported name carries the version of the interface.
#define KP_DRIVER_CALLS(X)                                                                                             \
    X(init, "cuInit", (unsigned))                                                                                      \
    X(driver_version, "cuDriverGetVersion", (int*))                                                                    \
    X(error_name, "cuGetErrorName", (int, const char**))                                                               \
    X(device_count, "cuDeviceGetCount", (int*))                                                                        \
    X(device_get, "cuDeviceGet", (int*, int))                                                                          \
    X(device_attribute, "cuDeviceGetAttribute", (int*, int, int))                                                      \
    X(device_name, "cuDeviceGetName", (char*, int, int))                                                               \
    X(device_bus_id, "cuDeviceGetPCIBusId", (char*, int, int))                                                         \
    X(device_uuid, "cuDeviceGetUuid", (char*, int))                                                                    \
    X(device_memory, "cuDeviceTotalMem_v2", (std::size_t*, int))                                                       \
    X(retain_context, "cuDevicePrimaryCtxRetain", (Handle*, int))                                                      \
    X(set_context, "cuCtxSetCurrent", (Handle))                                                                        \
    X(context_device, "cuCtxGetDevice", (int*))                                                                        \
    X(context_synchronise, "cuCtxSynchronize", ())                                                                     \
    X(priority_range, "cuCtxGetStreamPriorityRange", (int*, int*))                                                     \
    X(allocate, "cuMemAlloc_v2", (Address*, std::size_t))                                                              \
    X(allocate_managed, "cuMemAllocManaged", (Address*, std::size_t, unsigned))                                        \
    X(allocate_async, "cuMemAllocAsync", (Address*, std::size_t, Handle))                                              \
    X(free, "cuMemFree_v2", (Address))                                                                                 \
    X(free_async, "cuMemFreeAsync", (Address, Handle))                                                                 \
    X(host_allocate, "cuMemHostAlloc", (void**, std::size_t, unsigned))                                                \
    X(host_free, "cuMemFreeHost", (void*))                                                                             \
    X(host_address, "cuMemHostGetDevicePointer_v2", (Address*, void*, unsigned))                                       \
    X(host_flags, "cuMemHostGetFlags", (unsigned*, void*))                                                             \
    X(host_register, "cuMemHostRegister_v2", (void*, std::size_t, unsigned))                                           \
    X(host_unregister, "cuMemHostUnregister", (void*))                                                                 \
    X(memory_info, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                                                    \
    X(address_range, "cuMemGetAddressRange_v2", (Address*, std::size_t*, Address))                                     \
    X(pointer_attribute, "cuPointerGetAttribute", (void*, int, Address))                                               \
    X(copy, "cuMemcpy", (Address, Address, std::size_t))                                                               \
    X(copy_to_device, "cuMemcpyHtoD_v2", (Address, const void*, std::size_t))                                          \
    X(copy_to_host, "cuMemcpyDtoH_v2", (void*, Address, std::size_t))                                                  \
    X(copy_on_device, "cuMemcpyDtoD_v2", (Address, Address, std::size_t))                                              \
    X(copy_async, "cuMemcpyAsync", (Address, Address, std::size_t, Handle))                                            \
    X(copy_to_device_async, "cuMemcpyHtoDAsync_v2", (Address, const void*, std::size_t, Handle))                       \
    X(copy_to_host_async, "cuMemcpyDtoHAsync_v2", (void*, Address, std::size_t, Handle))                               \
    X(copy_on_device_async, "cuMemcpyDtoDAsync_v2", (Address, Address, std::size_t, Handle))                           \
    X(fill_8, "cuMemsetD8_v2", (Address, unsigned char, std::size_t))                                                  \
    X(fill_16, "cuMemsetD16_v2", (Address, unsigned short, std::size_t))                                               \
    X(fill_32, "cuMemsetD32_v2", (Address, unsigned, std::size_t))                                                     \
    X(fill_8_async, "cuMemsetD8Async", (Address, unsigned char, std::size_t, Handle))                                  \
    X(fill_16_async, "cuMemsetD16Async", (Address, unsigned short, std::size_t, Handle))                               \
    X(fill_32_async, "cuMemsetD32Async", (Address, unsigned, std::size_t, Handle))                                     \
    X(stream_create, "cuStreamCreateWithPriority", (Handle*, unsigned, int))                                           \
    X(stream_destroy, "cuStreamDestroy_v2", (Handle))                                                                  \
    X(stream_synchronise, "cuStreamSynchronize", (Handle))                                                             \
    X(stream_query, "cuStreamQuery", (Handle))                                                                         \
    X(stream_wait, "cuStreamWaitEvent", (Handle, Handle, unsigned))                                                    \
    X(stream_flags, "cuStreamGetFlags", (Handle, unsigned*))                                                           \
    X(stream_priority, "cuStreamGetPriority", (Handle, int*))                                                          \
    X(host_function, "cuLaunchHostFunc", (Handle, HostFunction, void*))                                                \
    X(begin_capture, "cuStreamBeginCapture_v2", (Handle, int))                                                         \
    X(end_capture, "cuStreamEndCapture", (Handle, Handle*))                                                            \
    X(is_capturing, "cuStreamIsCapturing", (Handle, int*))                                                             \
    X(exchange_capture_mode, "cuThreadExchangeStreamCaptureMode", (int*))                                              \
    X(event_create, "cuEventCreate", (Handle*, unsigned))                                                              \
    X(event_destroy, "cuEventDestroy_v2", (Handle))                                                                    \
    X(event_record, "cuEventRecord", (Handle, Handle))                                                                 \
    X(event_record_flags, "cuEventRecordWithFlags", (Handle, Handle, unsigned))                                        \
    X(event_query, "cuEventQuery", (Handle))                                                                           \
    X(event_synchronise, "cuEventSynchronize", (Handle))                                                               \
    X(event_elapsed, "cuEventElapsedTime", (float*, Handle, Handle))                                                   \
    X(graph_create, "cuGraphCreate", (Handle*, unsigned))                                                              \
    X(graph_destroy, "cuGraphDestroy", (Handle))                                                                       \
    X(graph_instantiate, "cuGraphInstantiateWithFlags", (Handle*, Handle, unsigned long long))                         \
    X(graph_launch, "cuGraphLaunch", (Handle, Handle))                                                                 \
    X(graph_upload, "cuGraphUpload", (Handle, Handle))                                                                 \
    X(graph_free, "cuGraphExecDestroy", (Handle))                                                                      \
    X(graph_nodes, "cuGraphGetNodes", (Handle, Handle*, std::size_t*))                                                 \
    X(node_type, "cuGraphNodeGetType", (Handle, int*))                                                                 \
    X(module_load, "cuModuleLoadData", (Handle*, const void*))                                                         \
    X(module_unload, "cuModuleUnload", (Handle))                                                                       \
    X(module_function, "cuModuleGetFunction", (Handle*, Handle, const char*))                                          \
    X(module_count, "cuModuleGetFunctionCount", (unsigned*, Handle))                                                   \
    X(module_global, "cuModuleGetGlobal_v2", (Address*, std::size_t*, Handle, const char*))                            \
    X(function_attribute, "cuFuncGetAttribute", (int*, int, Handle))                                                   \
    X(set_function_attribute, "cuFuncSetAttribute", (Handle, int, int))                                                \
    X(function_name, "cuFuncGetName", (const char**, Handle))                                                          \
    X(launch, "cuLaunchKernel",                                                                                        \
      (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void**, void**))          \
    X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", (int*, Handle, int, std::size_t, unsigned))   \
    X(best_block, "cuOccupancyMaxPotentialBlockSize", (int*, int*, Handle, void*, std::size_t, int))

// Each member is null where this driver is older than the call.
struct Driver {
#define KP_MEMBER(member, symbol, parameters) int(*member) parameters;
    KP_DRIVER_CALLS(KP_MEMBER)
#undef KP_MEMBER
};

// What opening the driver gave.
struct OpenedDriver {
    Driver calls{};
    bool opened = false;     // libcuda.so.1 is there and has all that a device needs
    int start = 0;           // what cuInit said
    int devices = 0;         // how many there are
    std::string problem;     // one sentence when there is no device to use
};

// The driver, opened and started once. Never throws.
const OpenedDriver& driver();

// The CUDA version (12, 13, …) whose machine code and tools the driver is sure to take; 0 where there is no driver.
int driver_major();

// CUDA's name for one of its result codes; "CUDA error 4711" for one that the driver does not know.
std::string cuda_error_name(int code);

}  // namespace kp
