// __hip_bfloat16 and __hip_bfloat162: the upper half of a float, every operation rounded to nearest even (see
// kernelperf_cpu/half.h).
#pragma once

#include "../kernelperf_cpu/half.h"
#include "hip_runtime.h"

using __hip_bfloat16 = kp::Narrow<kp::BfloatFormat>;
using __hip_bfloat162 = kp::NarrowPair<kp::BfloatFormat>;
using __hip_bfloat16_raw = __hip_bfloat16;
using __nv_bfloat16 = __hip_bfloat16;
using __nv_bfloat162 = __hip_bfloat162;

KP_NARROW_FUNCTIONS(__hip_bfloat16, __hip_bfloat162)

KP_DEVICE __hip_bfloat16 __float2bfloat16(float value) { return __hip_bfloat16(value); }
KP_DEVICE __hip_bfloat16 __float2bfloat16_rn(float value) { return __hip_bfloat16(value); }
KP_DEVICE __hip_bfloat16 __double2bfloat16(double value) { return __hip_bfloat16(value); }
KP_DEVICE __hip_bfloat16 __int2bfloat16_rn(int value) { return __hip_bfloat16(value); }
KP_DEVICE float __bfloat162float(__hip_bfloat16 value) { return value.wide(); }
KP_DEVICE unsigned short __bfloat16_as_ushort(__hip_bfloat16 value) { return value.raw; }
KP_DEVICE short __bfloat16_as_short(__hip_bfloat16 value) { return static_cast<short>(value.raw); }
KP_DEVICE __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __hip_bfloat16::of_bits(bits); }
KP_DEVICE __hip_bfloat16 __short_as_bfloat16(short bits) { return __hip_bfloat16::of_bits(static_cast<unsigned short>(bits)); }

KP_DEVICE __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
KP_DEVICE __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
KP_DEVICE __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return {x, x}; }
KP_DEVICE __hip_bfloat162 __float2bfloat162_rn(float x) { return {__hip_bfloat16(x), __hip_bfloat16(x)}; }
KP_DEVICE __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__hip_bfloat16(x), __hip_bfloat16(y)}; }
KP_DEVICE __hip_bfloat162 __float22bfloat162_rn(float2 v) { return {__hip_bfloat16(v.x), __hip_bfloat16(v.y)}; }
KP_DEVICE float2 __bfloat1622float2(__hip_bfloat162 v) { return {v.x.wide(), v.y.wide()}; }
KP_DEVICE float __low2float(__hip_bfloat162 v) { return v.x.wide(); }
KP_DEVICE float __high2float(__hip_bfloat162 v) { return v.y.wide(); }
KP_DEVICE __hip_bfloat16 __low2bfloat16(__hip_bfloat162 v) { return v.x; }
KP_DEVICE __hip_bfloat16 __high2bfloat16(__hip_bfloat162 v) { return v.y; }
