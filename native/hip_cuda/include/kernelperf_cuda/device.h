// What HIP has and NVRTC has not, in NVRTC's terms. Threads, barriers, mathematics, atomics on int and float, printf
// and vector types are the same in both and come with NVRTC.
#pragma once

#define __HIP_PLATFORM_NVIDIA__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define __HIPCC__ 1
#define __HIPCC_RTC__ 1
#define HIP_VERSION_MAJOR 7
#define HIP_VERSION_MINOR 0
#define HIP_VERSION 70000000
#define KERNELPERF_CUDA 1

#include <stddef.h>
#include <stdint.h>

#include <kernelperf_cuda/atomic.h>
#include <kernelperf_cuda/builtin.h>
#include <kernelperf_cuda/vector.h>
#include <kernelperf_cuda/warp.h>

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

#define HIP_DYNAMIC_SHARED(type, variable) extern __shared__ type variable[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE
#define HIP_KERNEL_NAME(...) __VA_ARGS__
