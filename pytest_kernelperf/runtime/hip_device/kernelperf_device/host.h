// The host calls that launch wrappers make: declared so that they can be read, never called.
#pragma once

enum hipError_t { hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorNotReady = 600, hipErrorUnknown = 999 };
enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault };
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8, hipFuncAttributePreferredSharedMemoryCarveout = 9 };
enum hipDeviceAttribute_t { hipDeviceAttributeMultiprocessorCount = 63, hipDeviceAttributeWarpSize = 87 };
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
constexpr unsigned hipStreamNonBlocking = 1, hipEventDisableTiming = 2;

struct hipDeviceProp_t {
    char name[256], gcnArchName[256];
    int multiProcessorCount, warpSize, maxThreadsPerBlock, maxThreadsPerMultiProcessor, clockRate, l2CacheSize, major, minor;
    unsigned long sharedMemPerBlock, totalGlobalMem;
};

extern "C" {
hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long shared = 0, hipStream_t stream = nullptr);
hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* shared, hipStream_t* stream);
hipError_t hipLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, unsigned long shared, hipStream_t stream);
hipError_t hipModuleLaunchKernel(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void**, void**);
hipError_t hipGetLastError();
hipError_t hipPeekAtLastError();
const char* hipGetErrorString(hipError_t error);
const char* hipGetErrorName(hipError_t error);
hipError_t hipFree(void* memory);
hipError_t hipHostFree(void* memory);
hipError_t hipMemcpy(void* target, const void* source, unsigned long bytes, hipMemcpyKind kind);
hipError_t hipMemcpyAsync(void* target, const void* source, unsigned long bytes, hipMemcpyKind kind, hipStream_t stream = nullptr);
hipError_t hipMemset(void* target, int value, unsigned long bytes);
hipError_t hipMemsetAsync(void* target, int value, unsigned long bytes, hipStream_t stream = nullptr);
hipError_t hipDeviceSynchronize();
hipError_t hipGetDevice(int* device);
hipError_t hipSetDevice(int device);
hipError_t hipGetDeviceCount(int* count);
hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int device);
hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device);
hipError_t hipStreamCreate(hipStream_t* stream);
hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags);
hipError_t hipStreamSynchronize(hipStream_t stream);
hipError_t hipStreamDestroy(hipStream_t stream);
hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags = 0);
hipError_t hipEventCreate(hipEvent_t* event);
hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags);
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream = nullptr);
hipError_t hipEventSynchronize(hipEvent_t event);
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t from, hipEvent_t to);
hipError_t hipEventDestroy(hipEvent_t event);
}
hipError_t hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute, int value);
template <class T>
hipError_t hipMalloc(T** memory, unsigned long bytes);
template <class T>
hipError_t hipHostMalloc(T** memory, unsigned long bytes, unsigned flags = 0);
template <class T>
hipError_t hipMallocAsync(T** memory, unsigned long bytes, hipStream_t stream);
template <class T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* source, unsigned long bytes, unsigned long offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice);
template <class T>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T kernel, int threads, unsigned long shared);

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
