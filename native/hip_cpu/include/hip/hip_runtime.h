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

// __global__, __launch_bounds__ and __noinline__ stay as they are: the reader of the preprocessed text sees to them.
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__
#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(name) name
#define warpSize 32
#define __AMDGCN_WAVEFRONT_SIZE__ 32
#define __AMDGCN_WAVEFRONT_SIZE 32

#include "../kernelperf_cpu/atomic.h"
#include "../kernelperf_cpu/device.h"
#include "../kernelperf_cpu/function.h"
#include "../kernelperf_cpu/group.h"
#include "../kernelperf_cpu/integer.h"
#include "../kernelperf_cpu/launch.h"

typedef struct ihipStream_t* hipStream_t;
