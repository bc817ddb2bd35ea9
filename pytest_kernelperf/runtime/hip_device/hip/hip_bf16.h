// bfloat16: sixteen bits, rounded to nearest even, computed in float. Also given to hiprtc where ROCm's headers are not.
#pragma once
#include <hip/hip_runtime.h>

struct __hip_bfloat16_raw {
    unsigned short x;
};

struct __attribute__((aligned(2))) __hip_bfloat16 {
    unsigned short __x;

    __hip_bfloat16() = default;
    __host__ __device__ __hip_bfloat16(__hip_bfloat16_raw raw) : __x(raw.x) {}
    __host__ __device__ __hip_bfloat16(float value) : __x(rounded(value)) {}
    __host__ __device__ operator float() const {
        const unsigned bits = static_cast<unsigned>(__x) << 16;
        float value;
        __builtin_memcpy(&value, &bits, sizeof value);
        return value;
    }

    static __host__ __device__ unsigned short rounded(float value) {
        unsigned bits;
        __builtin_memcpy(&bits, &value, sizeof bits);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>(bits >> 16 | 0x40u);  // stays a NaN
        return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
};

struct __attribute__((aligned(4))) __hip_bfloat162 {
    __hip_bfloat16 x, y;
};

#define KERNELPERF_BF16 __host__ __device__ inline
#define KERNELPERF_BF16_OP(op, name)                                                                                   \
    KERNELPERF_BF16 __hip_bfloat16 operator op(__hip_bfloat16 a, __hip_bfloat16 b) {                                   \
        return __hip_bfloat16(static_cast<float>(a) op static_cast<float>(b));                                         \
    }                                                                                                                  \
    KERNELPERF_BF16 __hip_bfloat16& operator op##=(__hip_bfloat16& a, __hip_bfloat16 b) { return a = a op b; }         \
    KERNELPERF_BF16 __hip_bfloat16 name(__hip_bfloat16 a, __hip_bfloat16 b) { return a op b; }
KERNELPERF_BF16_OP(+, __hadd)
KERNELPERF_BF16_OP(-, __hsub)
KERNELPERF_BF16_OP(*, __hmul)
KERNELPERF_BF16_OP(/, __hdiv)
#undef KERNELPERF_BF16_OP
KERNELPERF_BF16 __hip_bfloat16 __float2bfloat16(float value) { return __hip_bfloat16(value); }
KERNELPERF_BF16 __hip_bfloat16 __float2bfloat16_rn(float value) { return __hip_bfloat16(value); }
KERNELPERF_BF16 float __bfloat162float(__hip_bfloat16 value) { return static_cast<float>(value); }
KERNELPERF_BF16 unsigned short __bfloat16_as_ushort(__hip_bfloat16 value) { return value.__x; }
KERNELPERF_BF16 __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __hip_bfloat16(__hip_bfloat16_raw{bits}); }
KERNELPERF_BF16 __hip_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__hip_bfloat16(a), __hip_bfloat16(b)}; }
KERNELPERF_BF16 __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 a, __hip_bfloat16 b) { return {a, b}; }
KERNELPERF_BF16 float __low2float(__hip_bfloat162 value) { return static_cast<float>(value.x); }
KERNELPERF_BF16 float __high2float(__hip_bfloat162 value) { return static_cast<float>(value.y); }
KERNELPERF_BF16 __hip_bfloat16 __low2bfloat16(__hip_bfloat162 value) { return value.x; }
KERNELPERF_BF16 __hip_bfloat16 __high2bfloat16(__hip_bfloat162 value) { return value.y; }
KERNELPERF_BF16 __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 both) { return {both, both}; }
KERNELPERF_BF16 __hip_bfloat162 __hadd2(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x + b.x, a.y + b.y}; }
KERNELPERF_BF16 __hip_bfloat162 __hmul2(__hip_bfloat162 a, __hip_bfloat162 b) { return {a.x * b.x, a.y * b.y}; }
#undef KERNELPERF_BF16
