// Mathematics by what the compiler has built in: right for checking code, not AMD's library to the last bit.
#pragma once

#define KERNELPERF_ONE(name)                                                                                           \
    KERNELPERF_DEVICE float name##f(float x) { return __builtin_##name##f(x); }                                        \
    KERNELPERF_DEVICE float name(float x) { return __builtin_##name##f(x); }
KERNELPERF_ONE(fabs)
KERNELPERF_ONE(sqrt)
KERNELPERF_ONE(exp)
KERNELPERF_ONE(exp2)
KERNELPERF_ONE(log)
KERNELPERF_ONE(log2)
KERNELPERF_ONE(log10)
KERNELPERF_ONE(floor)
KERNELPERF_ONE(ceil)
KERNELPERF_ONE(trunc)
KERNELPERF_ONE(rint)
KERNELPERF_ONE(round)
KERNELPERF_ONE(nearbyint)
KERNELPERF_ONE(sin)
KERNELPERF_ONE(cos)
#undef KERNELPERF_ONE
KERNELPERF_DEVICE double fabs(double x) { return __builtin_fabs(x); }
KERNELPERF_DEVICE double sqrt(double x) { return __builtin_sqrt(x); }
KERNELPERF_DEVICE double floor(double x) { return __builtin_floor(x); }
KERNELPERF_DEVICE double ceil(double x) { return __builtin_ceil(x); }
KERNELPERF_DEVICE double trunc(double x) { return __builtin_trunc(x); }
KERNELPERF_DEVICE double rint(double x) { return __builtin_rint(x); }
#define KERNELPERF_TWO(name)                                                                                           \
    KERNELPERF_DEVICE float name##f(float x, float y) { return __builtin_##name##f(x, y); }                            \
    KERNELPERF_DEVICE float name(float x, float y) { return __builtin_##name##f(x, y); }
KERNELPERF_TWO(fmin)
KERNELPERF_TWO(fmax)
KERNELPERF_TWO(copysign)
#undef KERNELPERF_TWO
KERNELPERF_DEVICE double fmin(double x, double y) { return __builtin_fmin(x, y); }
KERNELPERF_DEVICE double fmax(double x, double y) { return __builtin_fmax(x, y); }
KERNELPERF_DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KERNELPERF_DEVICE float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KERNELPERF_DEVICE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
KERNELPERF_DEVICE float ldexpf(float x, int power) { return __builtin_ldexpf(x, power); }
KERNELPERF_DEVICE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
KERNELPERF_DEVICE float __frsqrt_rn(float x) { return __builtin_amdgcn_rsqf(x); }
KERNELPERF_DEVICE float __frcp_rn(float x) { return 1.0f / x; }
KERNELPERF_DEVICE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
KERNELPERF_DEVICE float __expf(float x) { return __builtin_amdgcn_exp2f(x * 1.4426950408889634f); }
KERNELPERF_DEVICE float __exp2f(float x) { return __builtin_amdgcn_exp2f(x); }
KERNELPERF_DEVICE float __logf(float x) { return __builtin_amdgcn_logf(x) * 0.6931471805599453f; }
KERNELPERF_DEVICE float __log2f(float x) { return __builtin_amdgcn_logf(x); }
KERNELPERF_DEVICE float __sinf(float x) { return __builtin_sinf(x); }
KERNELPERF_DEVICE float __cosf(float x) { return __builtin_cosf(x); }
KERNELPERF_DEVICE float __fdividef(float x, float y) { return x / y; }
KERNELPERF_DEVICE float __fdiv_rn(float x, float y) { return x / y; }
KERNELPERF_DEVICE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
// Rounded on its own: never one half of a multiply-add.
KERNELPERF_DEVICE float __fadd_rn(float x, float y) {
#pragma clang fp contract(off)
    return x + y;
}
KERNELPERF_DEVICE float __fsub_rn(float x, float y) {
#pragma clang fp contract(off)
    return x - y;
}
KERNELPERF_DEVICE float __fmul_rn(float x, float y) {
#pragma clang fp contract(off)
    return x * y;
}
KERNELPERF_DEVICE void sincosf(float x, float* sine, float* cosine) {
    *sine = __builtin_sinf(x);
    *cosine = __builtin_cosf(x);
}
KERNELPERF_DEVICE void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
KERNELPERF_DEVICE bool isnan(float x) { return __builtin_isnan(x); }
KERNELPERF_DEVICE bool isinf(float x) { return __builtin_isinf(x); }
KERNELPERF_DEVICE bool isfinite(float x) { return __builtin_isfinite(x); }

KERNELPERF_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
KERNELPERF_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
KERNELPERF_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
KERNELPERF_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
KERNELPERF_DEVICE float __int2float_rn(int x) { return static_cast<float>(x); }
KERNELPERF_DEVICE int __float2int_rn(float x) { return static_cast<int>(__builtin_rintf(x)); }
KERNELPERF_DEVICE int __float2int_rz(float x) { return static_cast<int>(x); }
KERNELPERF_DEVICE int __float2int_rd(float x) { return static_cast<int>(__builtin_floorf(x)); }

KERNELPERF_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
KERNELPERF_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KERNELPERF_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
KERNELPERF_DEVICE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
KERNELPERF_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
KERNELPERF_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
KERNELPERF_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
KERNELPERF_DEVICE int __mul24(int x, int y) { return x * y; }
KERNELPERF_DEVICE int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
KERNELPERF_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}

// Overloads rather than templates, so that they stand beside the standard library's.
#define KERNELPERF_ORDER(type)                                                                                         \
    KERNELPERF_DEVICE type min(type x, type y) { return y < x ? y : x; }                                               \
    KERNELPERF_DEVICE type max(type x, type y) { return x < y ? y : x; }
KERNELPERF_ORDER(int)
KERNELPERF_ORDER(unsigned)
KERNELPERF_ORDER(long)
KERNELPERF_ORDER(unsigned long)
KERNELPERF_ORDER(long long)
KERNELPERF_ORDER(unsigned long long)
#undef KERNELPERF_ORDER
KERNELPERF_DEVICE float min(float x, float y) { return __builtin_fminf(x, y); }
KERNELPERF_DEVICE float max(float x, float y) { return __builtin_fmaxf(x, y); }
KERNELPERF_DEVICE double min(double x, double y) { return __builtin_fmin(x, y); }
KERNELPERF_DEVICE double max(double x, double y) { return __builtin_fmax(x, y); }
KERNELPERF_DEVICE int abs(int x) { return x < 0 ? -x : x; }
