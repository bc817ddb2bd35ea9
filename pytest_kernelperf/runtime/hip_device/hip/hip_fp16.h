// Half precision by the compiler's own type.
#pragma once
#include <hip/hip_runtime.h>

using __half = _Float16;
using half = __half;
struct alignas(4) __half2 {
    __half x, y;
};
using half2 = __half2;

#define KERNELPERF_HALF constexpr __host__ __device__ inline
KERNELPERF_HALF __half __float2half(float value) { return static_cast<__half>(value); }
KERNELPERF_HALF __half __float2half_rn(float value) { return static_cast<__half>(value); }
KERNELPERF_HALF float __half2float(__half value) { return static_cast<float>(value); }
KERNELPERF_HALF __half __hadd(__half a, __half b) { return a + b; }
KERNELPERF_HALF __half __hsub(__half a, __half b) { return a - b; }
KERNELPERF_HALF __half __hmul(__half a, __half b) { return a * b; }
KERNELPERF_HALF __half2 __halves2half2(__half a, __half b) { return {a, b}; }
KERNELPERF_HALF __half2 __floats2half2_rn(float a, float b) { return {static_cast<__half>(a), static_cast<__half>(b)}; }
KERNELPERF_HALF __half __low2half(__half2 value) { return value.x; }
KERNELPERF_HALF __half __high2half(__half2 value) { return value.y; }
KERNELPERF_HALF float __low2float(__half2 value) { return static_cast<float>(value.x); }
KERNELPERF_HALF float __high2float(__half2 value) { return static_cast<float>(value.y); }
KERNELPERF_HALF __half2 __hadd2(__half2 a, __half2 b) { return {a.x + b.x, a.y + b.y}; }
KERNELPERF_HALF __half2 __hmul2(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }
KERNELPERF_HALF __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {a.x * b.x + c.x, a.y * b.y + c.y}; }
#undef KERNELPERF_HALF
