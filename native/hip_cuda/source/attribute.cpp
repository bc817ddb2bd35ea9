#include "attribute.h"

#include <algorithm>

#include "context.h"

namespace kp {
namespace {

struct Pair {
    int hip, cuda;
};

// hipDeviceAttribute… and the CUdevice_attribute that says it.
constexpr Pair pairs[] = {
    {0, 32},      // EccEnabled
    {1, 109},     // AccessPolicyMaxWindowSize
    {2, 40},      // AsyncEngineCount
    {3, 19},      // CanMapHostMemory
    {4, 91},      // CanUseHostPointerForRegisteredMem
    {5, 13},      // ClockRate, kHz
    {6, 20},      // ComputeMode
    {7, 90},      // ComputePreemptionSupported
    {8, 31},      // ConcurrentKernels
    {9, 89},      // ConcurrentManagedAccess
    {10, 95},     // CooperativeLaunch
    {11, 96},     // CooperativeMultiDeviceLaunch
    {12, 15},     // DeviceOverlap
    {13, 101},    // DirectManagedMemAccessFromHost
    {14, 79},     // GlobalL1CacheSupported
    {15, 86},     // HostNativeAtomicSupported
    {16, 18},     // Integrated
    {17, 84},     // IsMultiGpuBoard
    {18, 17},     // KernelExecTimeout
    {19, 38},     // L2CacheSize
    {20, 80},     // LocalL1CacheSupported
    {23, 75},     // ComputeCapabilityMajor
    {24, 83},     // ManagedMemory
    {25, 106},    // MaxBlocksPerMultiProcessor
    {26, 2},      // MaxBlockDimX
    {27, 3},      // MaxBlockDimY
    {28, 4},      // MaxBlockDimZ
    {29, 5},      // MaxGridDimX
    {30, 6},      // MaxGridDimY
    {31, 7},      // MaxGridDimZ
    {32, 55},     // MaxSurface1D
    {33, 61},     // MaxSurface1DLayered
    {34, 56},     // MaxSurface2D
    {35, 63},     // MaxSurface2DLayered
    {36, 58},     // MaxSurface3D
    {37, 66},     // MaxSurfaceCubemap
    {38, 67},     // MaxSurfaceCubemapLayered
    {39, 21},     // MaxTexture1DWidth
    {40, 42},     // MaxTexture1DLayered
    {41, 69},     // MaxTexture1DLinear
    {42, 77},     // MaxTexture1DMipmap
    {43, 22},     // MaxTexture2DWidth
    {44, 23},     // MaxTexture2DHeight
    {45, 45},     // MaxTexture2DGather
    {46, 27},     // MaxTexture2DLayered
    {47, 70},     // MaxTexture2DLinear
    {48, 73},     // MaxTexture2DMipmap
    {49, 24},     // MaxTexture3DWidth
    {50, 25},     // MaxTexture3DHeight
    {51, 26},     // MaxTexture3DDepth
    {52, 47},     // MaxTexture3DAlt
    {53, 52},     // MaxTextureCubemap
    {54, 53},     // MaxTextureCubemapLayered
    {55, 2},      // MaxThreadsDim
    {56, 1},      // MaxThreadsPerBlock
    {57, 39},     // MaxThreadsPerMultiProcessor
    {58, 11},     // MaxPitch
    {59, 37},     // MemoryBusWidth, bits
    {60, 36},     // MemoryClockRate, kHz
    {61, 76},     // ComputeCapabilityMinor
    {62, 85},     // MultiGpuBoardGroupID
    {63, 16},     // MultiprocessorCount
    {65, 88},     // PageableMemoryAccess
    {66, 100},    // PageableMemoryAccessUsesHostPageTables
    {67, 33},     // PciBusId
    {68, 34},     // PciDeviceId
    {69, 50},     // PciDomainId
    {70, 108},    // PersistingL2CacheMaxSize
    {71, 12},     // MaxRegistersPerBlock
    {72, 82},     // MaxRegistersPerMultiprocessor
    {73, 111},    // ReservedSharedMemPerBlock
    {74, 8},      // MaxSharedMemoryPerBlock
    {75, 97},     // SharedMemPerBlockOptin
    {76, 81},     // SharedMemPerMultiprocessor
    {77, 87},     // SingleToDoublePrecisionPerfRatio
    {78, 78},     // StreamPrioritiesSupported
    {79, 30},     // SurfaceAlignment
    {80, 35},     // TccDriver
    {81, 14},     // TextureAlignment
    {82, 51},     // TexturePitchAlignment
    {83, 9},      // TotalConstantMemory
    {85, 41},     // UnifiedAddressing
    {87, 10},     // WarpSize
    {88, 115},    // MemoryPoolsSupported
    {89, 102},    // VirtualMemoryManagementSupported
    {90, 99},     // HostRegisterSupported
    {91, 119},    // MemoryPoolSupportedHandleTypes
    {92, 134},    // HostNumaId
    {93, 124},    // DmaBufSupported
    {94, 110},    // GPUDirectRDMAWithHipVMMSupported
    {95, 128},    // HandleTypeFabricSupported
    {10002, 81},  // MaxSharedMemoryPerMultiprocessor
    {10013, 93},  // CanUseStreamWaitValue
    {10015, 16},  // PhysicalMultiProcessorCount
};

constexpr int total_global_memory = 84, wall_clock_rate = 10017, number_of_xccs = 10018;
constexpr int last_common = 95, first_amd = 10001, last_amd = 10022;

}  // namespace

int cuda_attribute(int hip) {
    for (const Pair& pair : pairs)
        if (pair.hip == hip) return pair.cuda;
    return (hip >= 0 && hip <= last_common) || (hip >= first_amd && hip <= last_amd) ? 0 : -1;
}

int attribute_of(int* value, int hip, int device) {
    const int cuda = cuda_attribute(hip);
    if (cuda < 0) return invalid_value;
    *value = 0;
    if (cuda > 0) {
        const int error = calls->device_attribute(value, cuda, device);
        // An attribute newer than the driver is a capability that it does not have.
        return error == cuda_invalid_value ? success : hip_error(error);
    }
    if (hip == wall_clock_rate) *value = 1'000'000;  // wall_clock64() counts the global timer's nanoseconds
    if (hip == number_of_xccs) *value = 1;
    if (hip == total_global_memory) {
        std::size_t bytes = 0;
        const int error = calls->device_memory(&bytes, device);
        *value = static_cast<int>(std::min<std::size_t>(bytes, 0x7fffffff));
        return hip_error(error);
    }
    return success;
}

}  // namespace kp
