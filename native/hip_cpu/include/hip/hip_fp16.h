// __half and __half2: IEEE half precision, every operation rounded to nearest even (see kernelperf_cpu/half.h).
#pragma once

#include "../kernelperf_cpu/half.h"
#include "hip_runtime.h"

using __half = kp::Narrow<kp::HalfFormat>;
using __half2 = kp::NarrowPair<kp::HalfFormat>;
using half = __half;
using half2 = __half2;
using __half_raw = __half;

KP_NARROW_FUNCTIONS(__half, __half2)

KP_DEVICE __half __float2half(float value) { return __half(value); }
KP_DEVICE __half __float2half_rn(float value) { return __half(value); }
KP_DEVICE __half __double2half(double value) { return __half(value); }
KP_DEVICE __half __int2half_rn(int value) { return __half(value); }
KP_DEVICE __half __uint2half_rn(unsigned value) { return __half(value); }
KP_DEVICE __half __short2half_rn(short value) { return __half(value); }
KP_DEVICE __half __ushort2half_rn(unsigned short value) { return __half(value); }
KP_DEVICE float __half2float(__half value) { return value.wide(); }
KP_DEVICE int __half2int_rn(__half value) { return static_cast<int>(__builtin_rintf(value.wide())); }
KP_DEVICE int __half2int_rz(__half value) { return static_cast<int>(value.wide()); }
KP_DEVICE unsigned short __half_as_ushort(__half value) { return value.raw; }
KP_DEVICE short __half_as_short(__half value) { return static_cast<short>(value.raw); }
KP_DEVICE __half __ushort_as_half(unsigned short bits) { return __half::of_bits(bits); }
KP_DEVICE __half __short_as_half(short bits) { return __half::of_bits(static_cast<unsigned short>(bits)); }

KP_DEVICE __half2 make_half2(__half x, __half y) { return {x, y}; }
KP_DEVICE __half2 __halves2half2(__half x, __half y) { return {x, y}; }
KP_DEVICE __half2 __half2half2(__half x) { return {x, x}; }
KP_DEVICE __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
KP_DEVICE __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
KP_DEVICE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
KP_DEVICE float2 __half22float2(__half2 v) { return {v.x.wide(), v.y.wide()}; }
KP_DEVICE float __low2float(__half2 v) { return v.x.wide(); }
KP_DEVICE float __high2float(__half2 v) { return v.y.wide(); }
KP_DEVICE __half __low2half(__half2 v) { return v.x; }
KP_DEVICE __half __high2half(__half2 v) { return v.y; }
KP_DEVICE __half2 __low2half2(__half2 v) { return {v.x, v.x}; }
KP_DEVICE __half2 __high2half2(__half2 v) { return {v.y, v.y}; }
KP_DEVICE __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
