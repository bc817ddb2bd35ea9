// Device code's HIP header for the cpu runtime (see kernelperf_cpu/).
#pragma once

#define __HIP__ 1
#define __HIPCC__ 1
#define __HIPCC_RTC__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __HIP_PLATFORM_AMD__ 1
#define __KERNELPERF_CPU__ 1
#define HIP_VERSION_MAJOR 7
#define HIP_VERSION_MINOR 0
#define HIP_VERSION_PATCH 0
#define HIP_VERSION 70000000

// __global__ and __launch_bounds__ stay as they are: the reader of the preprocessed text takes them out.
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define warpSize 32

#include "../kernelperf_cpu/atomic.h"
#include "../kernelperf_cpu/device.h"
#include "../kernelperf_cpu/group.h"
#include "../kernelperf_cpu/launch.h"
#include "../kernelperf_cpu/unsupported.h"

typedef struct ihipStream_t* hipStream_t;
