// Half precision by the compiler's own type.
#pragma once
#include <hip/hip_runtime.h>

using __half = _Float16;
using half = __half;
struct alignas(4) __half2 {
    __half x, y;
    __half2() = default;
    constexpr __host__ __device__ __half2(__half x_, __half y_) : x(x_), y(y_) {}
    constexpr __host__ __device__ explicit __half2(__half both) : x(both), y(both) {}
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
KERNELPERF_HALF __half2 __float2half2_rn(float both) { return __half2(static_cast<__half>(both)); }
KERNELPERF_HALF __half2 __half2half2(__half both) { return __half2(both); }
KERNELPERF_HALF __half2 make_half2(__half x, __half y) { return {x, y}; }
KERNELPERF_HALF float2 __half22float2(__half2 value) { return {__low2float(value), __high2float(value)}; }
KERNELPERF_HALF __half2 __float22half2_rn(float2 value) { return __floats2half2_rn(value.x, value.y); }
KERNELPERF_HALF __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
KERNELPERF_HALF __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
KERNELPERF_HALF __half2 __lowhigh2highlow(__half2 value) { return {value.y, value.x}; }
KERNELPERF_HALF __half2 __hsub2(__half2 a, __half2 b) { return {a.x - b.x, a.y - b.y}; }
KERNELPERF_HALF __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
KERNELPERF_HALF __half2 operator-(__half2 a, __half2 b) { return __hsub2(a, b); }
KERNELPERF_HALF __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }
KERNELPERF_HALF __half2& operator+=(__half2& a, __half2 b) { return a = a + b; }
KERNELPERF_HALF __half2& operator*=(__half2& a, __half2 b) { return a = a * b; }
KERNELPERF_HALF __half __hdiv(__half a, __half b) { return a / b; }
KERNELPERF_HALF __half __hneg(__half a) { return -a; }
KERNELPERF_HALF __half __habs(__half a) { return a < 0 ? -a : a; }
KERNELPERF_HALF __half __hfma(__half a, __half b, __half c) { return a * b + c; }
KERNELPERF_HALF __half __hmax(__half a, __half b) { return a < b ? b : a; }
KERNELPERF_HALF __half __hmin(__half a, __half b) { return b < a ? b : a; }
KERNELPERF_HALF bool __hgt(__half a, __half b) { return a > b; }
KERNELPERF_HALF bool __hge(__half a, __half b) { return a >= b; }
KERNELPERF_HALF bool __hlt(__half a, __half b) { return a < b; }
KERNELPERF_HALF bool __hle(__half a, __half b) { return a <= b; }
KERNELPERF_HALF bool __heq(__half a, __half b) { return a == b; }
KERNELPERF_HALF bool __hisnan(__half a) { return a != a; }
KERNELPERF_HALF __half __int2half_rn(int value) { return static_cast<__half>(value); }
KERNELPERF_HALF int __half2int_rn(__half value) { return static_cast<int>(__builtin_rintf(static_cast<float>(value))); }
KERNELPERF_HALF unsigned short __half_as_ushort(__half value) { return __builtin_bit_cast(unsigned short, value); }
KERNELPERF_HALF __half __ushort_as_half(unsigned short bits) { return __builtin_bit_cast(__half, bits); }
KERNELPERF_HALF short __half_as_short(__half value) { return __builtin_bit_cast(short, value); }
KERNELPERF_HALF __half __short_as_half(short bits) { return __builtin_bit_cast(__half, bits); }
#undef KERNELPERF_HALF

#define KERNELPERF_HALF_BY_FLOAT(name, function)                                                                       \
    KERNELPERF_DEVICE __half name(__half x) { return static_cast<__half>(function(static_cast<float>(x))); }
KERNELPERF_HALF_BY_FLOAT(hexp, expf)
KERNELPERF_HALF_BY_FLOAT(hexp2, exp2f)
KERNELPERF_HALF_BY_FLOAT(hlog, logf)
KERNELPERF_HALF_BY_FLOAT(hsqrt, sqrtf)
KERNELPERF_HALF_BY_FLOAT(hrsqrt, rsqrtf)
KERNELPERF_HALF_BY_FLOAT(hrcp, __frcp_rn)
KERNELPERF_HALF_BY_FLOAT(hsin, sinf)
KERNELPERF_HALF_BY_FLOAT(hcos, cosf)
#undef KERNELPERF_HALF_BY_FLOAT
KERNELPERF_DEVICE __half2 h2exp(__half2 x) { return {hexp(x.x), hexp(x.y)}; }
KERNELPERF_DEVICE __half2 h2sqrt(__half2 x) { return {hsqrt(x.x), hsqrt(x.y)}; }
KERNELPERF_DEVICE __half2 h2rsqrt(__half2 x) { return {hrsqrt(x.x), hrsqrt(x.y)}; }
