// Mathematics by what the compiler has built in, and what it lacks (AMD's device library has it) by short formulas: code
// that is compiled with this header is checked and never run, so their last digits do not matter. What a kernel uses of
// registers is therefore not exactly what it uses with ROCm's headers.
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

KERNELPERF_DEVICE bool signbit(float x) { return __builtin_signbit(x); }
KERNELPERF_DEVICE bool isnan(double x) { return __builtin_isnan(x); }
KERNELPERF_DEVICE bool isinf(double x) { return __builtin_isinf(x); }
KERNELPERF_DEVICE bool isfinite(double x) { return __builtin_isfinite(x); }

KERNELPERF_DEVICE float powf(float x, float y) { return __builtin_exp2f(y * __builtin_log2f(x)); }
KERNELPERF_DEVICE float tanhf(float x) { return 1.0f - 2.0f / (__builtin_expf(2.0f * x) + 1.0f); }
KERNELPERF_DEVICE float sinhf(float x) { return 0.5f * (__builtin_expf(x) - __builtin_expf(-x)); }
KERNELPERF_DEVICE float coshf(float x) { return 0.5f * (__builtin_expf(x) + __builtin_expf(-x)); }
KERNELPERF_DEVICE float tanf(float x) { return __builtin_sinf(x) / __builtin_cosf(x); }
KERNELPERF_DEVICE float exp10f(float x) { return __builtin_exp2f(x * 3.3219280948873623f); }
KERNELPERF_DEVICE float expm1f(float x) { return __builtin_expf(x) - 1.0f; }
KERNELPERF_DEVICE float log1pf(float x) { return __builtin_logf(1.0f + x); }
KERNELPERF_DEVICE float fmodf(float x, float y) { return x - y * __builtin_truncf(x / y); }
KERNELPERF_DEVICE float remainderf(float x, float y) { return x - y * __builtin_rintf(x / y); }
KERNELPERF_DEVICE float hypotf(float x, float y) { return __builtin_sqrtf(x * x + y * y); }
KERNELPERF_DEVICE float fdimf(float x, float y) { return x > y ? x - y : 0.0f; }
KERNELPERF_DEVICE float cbrtf(float x) { return __builtin_copysignf(powf(__builtin_fabsf(x), 1.0f / 3.0f), x); }
KERNELPERF_DEVICE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KERNELPERF_DEVICE float atanf(float x) {
    const float most = __builtin_fabsf(x), by = most > 1.0f ? 1.0f / most : most;
    const float arc = by * (0.9998660f + by * by * (-0.3302995f + by * by * (0.1801410f - 0.0851330f * by * by)));
    return __builtin_copysignf(most > 1.0f ? 1.5707964f - arc : arc, x);
}
KERNELPERF_DEVICE float atan2f(float y, float x) { return x > 0.0f ? atanf(y / x) : atanf(y / x) + 3.1415927f; }
KERNELPERF_DEVICE float asinf(float x) { return atan2f(x, __builtin_sqrtf(1.0f - x * x)); }
KERNELPERF_DEVICE float acosf(float x) { return 1.5707964f - asinf(x); }
KERNELPERF_DEVICE float asinhf(float x) { return __builtin_logf(x + __builtin_sqrtf(x * x + 1.0f)); }
KERNELPERF_DEVICE float acoshf(float x) { return __builtin_logf(x + __builtin_sqrtf(x * x - 1.0f)); }
KERNELPERF_DEVICE float atanhf(float x) { return 0.5f * __builtin_logf((1.0f + x) / (1.0f - x)); }
KERNELPERF_DEVICE float erff(float x) {
    const float t = 1.0f / (1.0f + 0.3275911f * __builtin_fabsf(x));
    const float sum = t * (0.2548296f + t * (-0.2844967f + t * (1.4214137f + t * (-1.4531520f + t * 1.0614054f))));
    return __builtin_copysignf(1.0f - sum * __builtin_expf(-x * x), x);
}
KERNELPERF_DEVICE float erfcf(float x) { return 1.0f - erff(x); }
KERNELPERF_DEVICE float normcdff(float x) { return 0.5f * erfcf(x * -0.7071068f); }
KERNELPERF_DEVICE float sinpif(float x) { return __builtin_sinf(x * 3.1415927f); }
KERNELPERF_DEVICE float cospif(float x) { return __builtin_cosf(x * 3.1415927f); }
KERNELPERF_DEVICE float frexpf(float x, int* power) { return __builtin_frexpf(x, power); }
KERNELPERF_DEVICE long lrintf(float x) { return static_cast<long>(__builtin_rintf(x)); }
KERNELPERF_DEVICE long lroundf(float x) { return static_cast<long>(__builtin_roundf(x)); }
KERNELPERF_DEVICE float __powf(float x, float y) { return powf(x, y); }
KERNELPERF_DEVICE float __tanf(float x) { return tanf(x); }
KERNELPERF_DEVICE float __exp10f(float x) { return exp10f(x); }
KERNELPERF_DEVICE float __log10f(float x) { return __builtin_log10f(x); }
KERNELPERF_DEVICE float __saturatef(float x) { return __builtin_fminf(__builtin_fmaxf(x, 0.0f), 1.0f); }
// The overloads of C++: of float as above, of double by what float has, which the compiler's own double lacks.
#define KERNELPERF_FLOAT(name)                                                                                         \
    KERNELPERF_DEVICE float name(float x) { return name##f(x); }                                                       \
    KERNELPERF_DEVICE double name(double x) { return name##f(static_cast<float>(x)); }
#define KERNELPERF_DOUBLE(name)                                                                                        \
    KERNELPERF_DEVICE double name(double x) { return __builtin_##name##f(static_cast<float>(x)); }
KERNELPERF_FLOAT(tanh)
KERNELPERF_FLOAT(sinh)
KERNELPERF_FLOAT(cosh)
KERNELPERF_FLOAT(tan)
KERNELPERF_FLOAT(exp10)
KERNELPERF_FLOAT(expm1)
KERNELPERF_FLOAT(log1p)
KERNELPERF_FLOAT(cbrt)
KERNELPERF_FLOAT(atan)
KERNELPERF_FLOAT(asin)
KERNELPERF_FLOAT(acos)
KERNELPERF_FLOAT(asinh)
KERNELPERF_FLOAT(acosh)
KERNELPERF_FLOAT(atanh)
KERNELPERF_FLOAT(erf)
KERNELPERF_FLOAT(erfc)
KERNELPERF_FLOAT(rsqrt)
KERNELPERF_DOUBLE(exp)
KERNELPERF_DOUBLE(exp2)
KERNELPERF_DOUBLE(log)
KERNELPERF_DOUBLE(log2)
KERNELPERF_DOUBLE(log10)
KERNELPERF_DOUBLE(sin)
KERNELPERF_DOUBLE(cos)
KERNELPERF_DOUBLE(round)
#undef KERNELPERF_FLOAT
#undef KERNELPERF_DOUBLE
#define KERNELPERF_FLOATS(name)                                                                                        \
    KERNELPERF_DEVICE float name(float x, float y) { return name##f(x, y); }                                           \
    KERNELPERF_DEVICE double name(double x, double y) { return name##f(static_cast<float>(x), static_cast<float>(y)); }
KERNELPERF_FLOATS(pow)
KERNELPERF_FLOATS(fmod)
KERNELPERF_FLOATS(hypot)
KERNELPERF_FLOATS(atan2)
KERNELPERF_FLOATS(fdim)
KERNELPERF_FLOATS(remainder)
#undef KERNELPERF_FLOATS
KERNELPERF_DEVICE double copysign(double x, double y) { return __builtin_copysign(x, y); }

KERNELPERF_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
KERNELPERF_DEVICE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
KERNELPERF_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
KERNELPERF_DEVICE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
KERNELPERF_DEVICE float __int2float_rn(int x) { return static_cast<float>(x); }
KERNELPERF_DEVICE int __float2int_rn(float x) { return static_cast<int>(__builtin_rintf(x)); }
KERNELPERF_DEVICE int __float2int_rz(float x) { return static_cast<int>(x); }
KERNELPERF_DEVICE int __float2int_ru(float x) { return static_cast<int>(__builtin_ceilf(x)); }
KERNELPERF_DEVICE unsigned __float2uint_rn(float x) { return static_cast<unsigned>(__builtin_rintf(x)); }
KERNELPERF_DEVICE unsigned __float2uint_rz(float x) { return static_cast<unsigned>(x); }
KERNELPERF_DEVICE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
KERNELPERF_DEVICE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
KERNELPERF_DEVICE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
KERNELPERF_DEVICE int __float2int_rd(float x) { return static_cast<int>(__builtin_floorf(x)); }

KERNELPERF_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
KERNELPERF_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KERNELPERF_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
KERNELPERF_DEVICE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
KERNELPERF_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
KERNELPERF_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
KERNELPERF_DEVICE unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
KERNELPERF_DEVICE unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
KERNELPERF_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
    unsigned bytes = 0;
    for (int at = 0; at < 4; ++at) {
        bytes |= static_cast<unsigned>(both >> ((selector >> 4 * at & 7) * 8) & 0xff) << 8 * at;
    }
    return bytes;
}
KERNELPERF_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned by) {
    return __builtin_amdgcn_alignbit(high, low, -by & 31);
}
KERNELPERF_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return __builtin_amdgcn_alignbit(high, low, by & 31);
}
KERNELPERF_DEVICE unsigned __sad(int x, int y, unsigned z) { return static_cast<unsigned>(x < y ? y - x : x - y) + z; }
KERNELPERF_DEVICE unsigned __umul24(unsigned x, unsigned y) { return x * y; }
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
