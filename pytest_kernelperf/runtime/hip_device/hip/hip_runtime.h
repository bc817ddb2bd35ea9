// HIP's device side for clang alone, without ROCm: enough to compile kernels for an AMD GPU, so that their names,
// arguments and registers can be checked where they cannot run. What this header lacks is undeclared, and the compiler
// says so.
// Host calls are declared, never defined: of a file that also holds host code the device's part alone is compiled.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
// __noinline__ is clang's own word for HIP; a macro of that name would break C++ library headers that use it.
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) KERNELPERF_BOUNDS(__VA_ARGS__, KERNELPERF_TWO_BOUNDS, KERNELPERF_ONE_BOUND, 0)(__VA_ARGS__)
#define KERNELPERF_BOUNDS(first, second, chosen, ...) chosen
#define KERNELPERF_ONE_BOUND(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#define KERNELPERF_TWO_BOUNDS(threads, waves) KERNELPERF_ONE_BOUND(threads) __attribute__((amdgpu_waves_per_eu(waves)))
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_SYMBOL(name) name
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#ifndef __HIP_PLATFORM_AMD__
#define __HIP_PLATFORM_AMD__ 1
#endif

// ROCm's header brings these along, and sources rely on it.
#include <stddef.h>
#include <stdint.h>
#if __has_include(<cmath>)
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#endif

#include <kernelperf_device/type.h>
#include <kernelperf_device/host.h>
#include <kernelperf_device/builtin.h>
#include <kernelperf_device/math.h>
#include <kernelperf_device/wave.h>
