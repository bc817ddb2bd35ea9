// The host calls that launch wrappers make: declared so that they can be read, never called.
#pragma once

enum hipError_t {
    hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorMemoryAllocation = 2,
    hipErrorNotInitialized = 3, hipErrorDeinitialized = 4, hipErrorInvalidConfiguration = 9, hipErrorInvalidSymbol = 13,
    hipErrorInvalidDevicePointer = 17, hipErrorInvalidMemcpyDirection = 21, hipErrorInsufficientDriver = 35,
    hipErrorInvalidDeviceFunction = 98, hipErrorNoDevice = 100, hipErrorInvalidDevice = 101, hipErrorInvalidImage = 200,
    hipErrorInvalidContext = 201, hipErrorNoBinaryForGpu = 209, hipErrorInvalidSource = 300, hipErrorFileNotFound = 301,
    hipErrorInvalidHandle = 400, hipErrorNotFound = 500, hipErrorNotReady = 600, hipErrorIllegalAddress = 700,
    hipErrorLaunchOutOfResources = 701, hipErrorLaunchTimeOut = 702, hipErrorPeerAccessAlreadyEnabled = 704,
    hipErrorPeerAccessNotEnabled = 705, hipErrorHostMemoryAlreadyRegistered = 712, hipErrorLaunchFailure = 719,
    hipErrorCooperativeLaunchTooLarge = 720, hipErrorNotSupported = 801, hipErrorStreamCaptureUnsupported = 900,
    hipErrorStreamCaptureInvalidated = 901, hipErrorGraphExecUpdateFailure = 910, hipErrorUnknown = 999
};
enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice, hipMemcpyDefault };
enum hipFuncAttribute { hipFuncAttributeMaxDynamicSharedMemorySize = 8, hipFuncAttributePreferredSharedMemoryCarveout = 9 };
enum hipFuncCache_t { hipFuncCachePreferNone, hipFuncCachePreferShared, hipFuncCachePreferL1, hipFuncCachePreferEqual };
enum hipStreamCaptureMode { hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed };
enum hipStreamCaptureStatus { hipStreamCaptureStatusNone, hipStreamCaptureStatusActive, hipStreamCaptureStatusInvalidated };
enum hipMemoryAdvise { hipMemAdviseSetReadMostly = 1, hipMemAdviseSetPreferredLocation = 3, hipMemAdviseSetCoarseGrain = 100 };
enum hipMemPoolAttr { hipMemPoolAttrReleaseThreshold = 4 };
enum hipLimit_t { hipLimitStackSize, hipLimitPrintfFifoSize, hipLimitMallocHeapSize };
enum hipDeviceAttribute_t {
    hipDeviceAttributeClockRate = 5, hipDeviceAttributeComputeCapabilityMajor = 23, hipDeviceAttributeComputeCapabilityMinor = 61,
    hipDeviceAttributeCooperativeLaunch = 10, hipDeviceAttributeIntegrated = 16, hipDeviceAttributeL2CacheSize = 19,
    hipDeviceAttributeMaxThreadsPerBlock = 56, hipDeviceAttributeMaxThreadsPerMultiProcessor = 57,
    hipDeviceAttributeMemoryBusWidth = 59, hipDeviceAttributeMemoryClockRate = 60, hipDeviceAttributeMultiprocessorCount = 63,
    hipDeviceAttributeMaxSharedMemoryPerBlock = 74, hipDeviceAttributeWarpSize = 87, hipDeviceAttributeWallClockRate = 10017
};
typedef struct ihipStream_t* hipStream_t;
typedef struct ihipEvent_t* hipEvent_t;
typedef struct ihipModule_t* hipModule_t;
typedef struct ihipModuleSymbol_t* hipFunction_t;
typedef struct ihipGraph* hipGraph_t;
typedef struct hipGraphExec* hipGraphExec_t;
typedef struct hipGraphNode* hipGraphNode_t;
typedef struct ihipCtx_t* hipCtx_t;
typedef struct ihipMemPoolHandle_t* hipMemPool_t;
typedef struct kernelperf_array* hipArray_t;
typedef int hipDevice_t;
typedef void* hipDeviceptr_t;
typedef void (*hipHostFn_t)(void*);
typedef void (*hipStreamCallback_t)(hipStream_t, hipError_t, void*);

constexpr unsigned hipStreamDefault = 0, hipStreamNonBlocking = 1;
constexpr unsigned hipEventDefault = 0, hipEventBlockingSync = 1, hipEventDisableTiming = 2, hipEventInterprocess = 4;
constexpr unsigned hipHostMallocDefault = 0, hipHostMallocPortable = 1, hipHostMallocMapped = 2, hipHostMallocWriteCombined = 4;
constexpr unsigned hipHostMallocNumaUser = 0x20000000, hipHostMallocCoherent = 0x40000000, hipHostMallocNonCoherent = 0x80000000;
constexpr unsigned hipHostRegisterDefault = 0, hipHostRegisterPortable = 1, hipHostRegisterMapped = 2;
constexpr unsigned hipMemAttachGlobal = 1, hipMemAttachHost = 2, hipDeviceMallocDefault = 0, hipDeviceMallocUncached = 3;
constexpr unsigned hipDeviceScheduleAuto = 0, hipDeviceScheduleSpin = 1, hipDeviceScheduleYield = 2, hipDeviceScheduleBlockingSync = 4;
constexpr int hipCpuDeviceId = -1;

struct hipDeviceArch_t {
    unsigned hasGlobalInt32Atomics : 1, hasDoubles : 1, hasWarpShuffle : 1, hasWarpBallot : 1;
};
struct hipDeviceProp_t {
    char name[256], gcnArchName[256];
    unsigned long totalGlobalMem, sharedMemPerBlock, totalConstMem, maxSharedMemoryPerMultiProcessor, memPitch;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, memoryClockRate, memoryBusWidth;
    int multiProcessorCount, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, l2CacheSize, major, minor, computeMode;
    int integrated, concurrentKernels, cooperativeLaunch, canMapHostMemory, managedMemory, isMultiGpuBoard, asyncEngineCount;
    int pciDomainID, pciBusID, pciDeviceID, clockInstructionRate;
    hipDeviceArch_t arch;
};
struct hipFuncAttributes {
    int binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes, maxThreadsPerBlock, numRegs, preferredShmemCarveout, ptxVersion;
    unsigned long constSizeBytes, localSizeBytes, sharedSizeBytes;
};
struct hipPointerAttribute_t {
    int type, device;
    void *devicePointer, *hostPointer;
    int isManaged;
    unsigned allocationFlags;
};
struct hipKernelNodeParams {
    dim3 blockDim;
    void** extra;
    void* func;
    dim3 gridDim;
    void** kernelParams;
    unsigned sharedMemBytes;
};

#define KERNELPERF_HOST(name, ...) extern "C" hipError_t name(__VA_ARGS__);
extern "C" hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, unsigned long shared = 0, hipStream_t stream = nullptr);
extern "C" hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, unsigned long* shared, hipStream_t* stream);
extern "C" const char* hipGetErrorString(hipError_t error);
extern "C" const char* hipGetErrorName(hipError_t error);
// Devices, errors, versions.
KERNELPERF_HOST(hipInit, unsigned)
KERNELPERF_HOST(hipGetLastError)
KERNELPERF_HOST(hipPeekAtLastError)
KERNELPERF_HOST(hipDeviceSynchronize)
KERNELPERF_HOST(hipDeviceReset)
KERNELPERF_HOST(hipGetDevice, int*)
KERNELPERF_HOST(hipSetDevice, int)
KERNELPERF_HOST(hipSetDeviceFlags, unsigned)
KERNELPERF_HOST(hipGetDeviceCount, int*)
KERNELPERF_HOST(hipGetDeviceProperties, hipDeviceProp_t*, int)
KERNELPERF_HOST(hipDeviceGetAttribute, int*, hipDeviceAttribute_t, int)
KERNELPERF_HOST(hipDeviceGet, hipDevice_t*, int)
KERNELPERF_HOST(hipDeviceGetName, char*, int, hipDevice_t)
KERNELPERF_HOST(hipDeviceGetPCIBusId, char*, int, int)
KERNELPERF_HOST(hipDeviceSetLimit, hipLimit_t, unsigned long)
KERNELPERF_HOST(hipDeviceSetCacheConfig, hipFuncCache_t)
KERNELPERF_HOST(hipDeviceCanAccessPeer, int*, int, int)
KERNELPERF_HOST(hipDeviceEnablePeerAccess, int, unsigned)
KERNELPERF_HOST(hipDeviceGetStreamPriorityRange, int*, int*)
KERNELPERF_HOST(hipRuntimeGetVersion, int*)
KERNELPERF_HOST(hipDriverGetVersion, int*)
// Memory.
KERNELPERF_HOST(hipFree, void*)
KERNELPERF_HOST(hipFreeAsync, void*, hipStream_t)
KERNELPERF_HOST(hipHostFree, void*)
KERNELPERF_HOST(hipFreeHost, void*)
KERNELPERF_HOST(hipMemGetInfo, unsigned long*, unsigned long*)
KERNELPERF_HOST(hipHostRegister, void*, unsigned long, unsigned)
KERNELPERF_HOST(hipHostUnregister, void*)
KERNELPERF_HOST(hipHostGetDevicePointer, void**, void*, unsigned)
KERNELPERF_HOST(hipPointerGetAttributes, hipPointerAttribute_t*, const void*)
KERNELPERF_HOST(hipExtMallocWithFlags, void**, unsigned long, unsigned)
KERNELPERF_HOST(hipMemcpy, void*, const void*, unsigned long, hipMemcpyKind)
KERNELPERF_HOST(hipMemcpyAsync, void*, const void*, unsigned long, hipMemcpyKind, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipMemcpyWithStream, void*, const void*, unsigned long, hipMemcpyKind, hipStream_t)
KERNELPERF_HOST(hipMemcpyHtoD, hipDeviceptr_t, const void*, unsigned long)
KERNELPERF_HOST(hipMemcpyDtoH, void*, hipDeviceptr_t, unsigned long)
KERNELPERF_HOST(hipMemcpyDtoD, hipDeviceptr_t, hipDeviceptr_t, unsigned long)
KERNELPERF_HOST(hipMemcpyHtoDAsync, hipDeviceptr_t, const void*, unsigned long, hipStream_t)
KERNELPERF_HOST(hipMemcpyDtoHAsync, void*, hipDeviceptr_t, unsigned long, hipStream_t)
KERNELPERF_HOST(hipMemcpyDtoDAsync, hipDeviceptr_t, hipDeviceptr_t, unsigned long, hipStream_t)
KERNELPERF_HOST(hipMemcpyPeer, void*, int, const void*, int, unsigned long)
KERNELPERF_HOST(hipMemcpyPeerAsync, void*, int, const void*, int, unsigned long, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipMemcpy2D, void*, unsigned long, const void*, unsigned long, unsigned long, unsigned long, hipMemcpyKind)
KERNELPERF_HOST(hipMemcpy2DAsync, void*, unsigned long, const void*, unsigned long, unsigned long, unsigned long, hipMemcpyKind,
                hipStream_t stream = nullptr)
KERNELPERF_HOST(hipMemset, void*, int, unsigned long)
KERNELPERF_HOST(hipMemsetAsync, void*, int, unsigned long, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipMemset2D, void*, unsigned long, int, unsigned long, unsigned long)
KERNELPERF_HOST(hipMemset2DAsync, void*, unsigned long, int, unsigned long, unsigned long, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipMemsetD8, hipDeviceptr_t, unsigned char, unsigned long)
KERNELPERF_HOST(hipMemsetD32, hipDeviceptr_t, int, unsigned long)
KERNELPERF_HOST(hipMemsetD8Async, hipDeviceptr_t, unsigned char, unsigned long, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipMemsetD32Async, hipDeviceptr_t, int, unsigned long, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipMemAdvise, const void*, unsigned long, hipMemoryAdvise, int)
KERNELPERF_HOST(hipMemPrefetchAsync, const void*, unsigned long, int, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipDeviceGetDefaultMemPool, hipMemPool_t*, int)
KERNELPERF_HOST(hipMemPoolSetAttribute, hipMemPool_t, hipMemPoolAttr, void*)
KERNELPERF_HOST(hipMemPoolTrimTo, hipMemPool_t, unsigned long)
// Streams, events, graphs.
KERNELPERF_HOST(hipStreamCreate, hipStream_t*)
KERNELPERF_HOST(hipStreamCreateWithFlags, hipStream_t*, unsigned)
KERNELPERF_HOST(hipStreamCreateWithPriority, hipStream_t*, unsigned, int)
KERNELPERF_HOST(hipStreamSynchronize, hipStream_t)
KERNELPERF_HOST(hipStreamQuery, hipStream_t)
KERNELPERF_HOST(hipStreamDestroy, hipStream_t)
KERNELPERF_HOST(hipStreamWaitEvent, hipStream_t, hipEvent_t, unsigned flags = 0)
KERNELPERF_HOST(hipStreamAddCallback, hipStream_t, hipStreamCallback_t, void*, unsigned)
KERNELPERF_HOST(hipStreamBeginCapture, hipStream_t, hipStreamCaptureMode)
KERNELPERF_HOST(hipStreamEndCapture, hipStream_t, hipGraph_t*)
KERNELPERF_HOST(hipStreamIsCapturing, hipStream_t, hipStreamCaptureStatus*)
KERNELPERF_HOST(hipEventCreate, hipEvent_t*)
KERNELPERF_HOST(hipEventCreateWithFlags, hipEvent_t*, unsigned)
KERNELPERF_HOST(hipEventRecord, hipEvent_t, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipEventSynchronize, hipEvent_t)
KERNELPERF_HOST(hipEventQuery, hipEvent_t)
KERNELPERF_HOST(hipEventElapsedTime, float*, hipEvent_t, hipEvent_t)
KERNELPERF_HOST(hipEventDestroy, hipEvent_t)
KERNELPERF_HOST(hipGraphCreate, hipGraph_t*, unsigned)
KERNELPERF_HOST(hipGraphDestroy, hipGraph_t)
KERNELPERF_HOST(hipGraphInstantiate, hipGraphExec_t*, hipGraph_t, hipGraphNode_t*, char*, unsigned long)
KERNELPERF_HOST(hipGraphInstantiateWithFlags, hipGraphExec_t*, hipGraph_t, unsigned long long)
KERNELPERF_HOST(hipGraphExecUpdate, hipGraphExec_t, hipGraph_t, hipGraphNode_t*, int*)
KERNELPERF_HOST(hipGraphExecDestroy, hipGraphExec_t)
KERNELPERF_HOST(hipGraphLaunch, hipGraphExec_t, hipStream_t)
KERNELPERF_HOST(hipGraphUpload, hipGraphExec_t, hipStream_t)
KERNELPERF_HOST(hipGraphGetNodes, hipGraph_t, hipGraphNode_t*, unsigned long*)
KERNELPERF_HOST(hipGraphAddKernelNode, hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, unsigned long, const hipKernelNodeParams*)
// Launches and what is known of kernels.
KERNELPERF_HOST(hipLaunchKernel, const void*, dim3, dim3, void**, unsigned long shared = 0, hipStream_t stream = nullptr)
KERNELPERF_HOST(hipLaunchCooperativeKernel, const void*, dim3, dim3, void**, unsigned, hipStream_t)
KERNELPERF_HOST(hipExtLaunchKernel, const void*, dim3, dim3, void**, unsigned long, hipStream_t, hipEvent_t, hipEvent_t, int)
KERNELPERF_HOST(hipLaunchHostFunc, hipStream_t, hipHostFn_t, void*)
KERNELPERF_HOST(hipModuleLoad, hipModule_t*, const char*)
KERNELPERF_HOST(hipModuleLoadData, hipModule_t*, const void*)
KERNELPERF_HOST(hipModuleUnload, hipModule_t)
KERNELPERF_HOST(hipModuleGetFunction, hipFunction_t*, hipModule_t, const char*)
KERNELPERF_HOST(hipModuleLaunchKernel, hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                hipStream_t, void**, void**)
KERNELPERF_HOST(hipFuncGetAttributes, hipFuncAttributes*, const void*)
#undef KERNELPERF_HOST

// Those that ROCm has for kernels and pointers of any type as well.
hipError_t hipFuncSetAttribute(const void* kernel, hipFuncAttribute attribute, int value);
hipError_t hipFuncSetCacheConfig(const void* kernel, hipFuncCache_t config);
template <class T>
hipError_t hipMalloc(T** memory, unsigned long bytes);
template <class T>
hipError_t hipHostMalloc(T** memory, unsigned long bytes, unsigned flags = 0);
template <class T>
hipError_t hipMallocHost(T** memory, unsigned long bytes);
template <class T>
hipError_t hipMallocManaged(T** memory, unsigned long bytes, unsigned flags = hipMemAttachGlobal);
template <class T>
hipError_t hipMallocAsync(T** memory, unsigned long bytes, hipStream_t stream);
template <class T>
hipError_t hipMallocPitch(T** memory, unsigned long* pitch, unsigned long width, unsigned long height);
template <class T>
hipError_t hipGetSymbolAddress(void** memory, const T& symbol);
template <class T>
hipError_t hipGetSymbolSize(unsigned long* bytes, const T& symbol);
template <class T>
hipError_t hipMemcpyToSymbol(const T& symbol, const void* source, unsigned long bytes, unsigned long offset = 0,
                             hipMemcpyKind kind = hipMemcpyHostToDevice);
template <class T>
hipError_t hipMemcpyToSymbolAsync(const T& symbol, const void* source, unsigned long bytes, unsigned long offset,
                                  hipMemcpyKind kind, hipStream_t stream = nullptr);
template <class T>
hipError_t hipMemcpyFromSymbol(void* target, const T& symbol, unsigned long bytes, unsigned long offset = 0,
                               hipMemcpyKind kind = hipMemcpyDeviceToHost);
template <class T>
hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T kernel, int threads, unsigned long shared);
template <class T>
hipError_t hipOccupancyMaxPotentialBlockSize(int* blocks, int* threads, T kernel, unsigned long shared = 0, int most = 0);
template <class T>
hipError_t hipLaunchCooperativeKernel(T kernel, dim3 grid, dim3 block, void** arguments, unsigned shared, hipStream_t stream);
template <class... Parameters, class... Arguments>
void hipExtLaunchKernelGGL(void (*kernel)(Parameters...), dim3 grid, dim3 block, unsigned shared, hipStream_t stream,
                           hipEvent_t begin, hipEvent_t end, unsigned flags, Arguments&&... arguments);

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
