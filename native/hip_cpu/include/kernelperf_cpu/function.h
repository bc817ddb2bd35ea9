// Mathematical functions that HIP has and <cmath> has not.
#pragma once

#include "device.h"

KP_DEVICE float rhypotf(float x, float y) { return 1.0f / __builtin_hypotf(x, y); }
KP_DEVICE double rhypot(double x, double y) { return 1.0 / __builtin_hypot(x, y); }
KP_DEVICE float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
KP_DEVICE float norm4df(float x, float y, float z, float w) { return __builtin_sqrtf(x * x + y * y + z * z + w * w); }
KP_DEVICE float rnorm4df(float x, float y, float z, float w) { return 1.0f / norm4df(x, y, z, w); }
KP_DEVICE double rcbrt(double x) { return 1.0 / __builtin_cbrt(x); }
KP_DEVICE float normcdff(float x) { return static_cast<float>(0.5 * __builtin_erfc(-0.70710678118654752440 * static_cast<double>(x))); }
KP_DEVICE double normcdf(double x) { return 0.5 * __builtin_erfc(-0.70710678118654752440 * x); }
KP_DEVICE float powif(float x, int n) { return __builtin_powif(x, n); }
KP_DEVICE double powi(double x, int n) { return __builtin_powi(x, n); }
KP_DEVICE double kp_sinpi(double x) { return __builtin_sin(3.14159265358979323846 * __builtin_fmod(x, 2.0)); }
KP_DEVICE double kp_cospi(double x) { return __builtin_cos(3.14159265358979323846 * __builtin_fmod(x, 2.0)); }
KP_DEVICE void kp_sincospif(float x, float* sine, float* cosine) { *sine = kp_sinpif(x); *cosine = kp_cospif(x); }
KP_DEVICE void kp_sincospi(double x, double* sine, double* cosine) { *sine = kp_sinpi(x); *cosine = kp_cospi(x); }
#define sinpi(x) kp_sinpi(x)
#define cospi(x) kp_cospi(x)
#define sincospif(x, sine, cosine) kp_sincospif(x, sine, cosine)
#define sincospi(x, sine, cosine) kp_sincospi(x, sine, cosine)

// The inverse of erf: a first guess (Winitzki's), then Newton's steps on erf itself, until they no longer matter.
KP_DEVICE double erfinv(double y) {
    if (!(y > -1.0 && y < 1.0)) return y == 1.0 ? __builtin_inf() : y == -1.0 ? -__builtin_inf() : __builtin_nan("");
    const double a = 0.147, l = __builtin_log1p(-y * y), t = 2 / (3.14159265358979323846 * a) + l / 2;
    double x = __builtin_copysign(__builtin_sqrt(__builtin_sqrt(t * t - l / a) - t), y);
    for (int i = 0; i < 4; ++i) {
        // erfc keeps its digits where erf is near 1.
        const double off = y > 0 ? (1 - y) - __builtin_erfc(x) : __builtin_erfc(-x) - (1 + y);
        const double step = off / (1.12837916709551257390 * __builtin_exp(-x * x));
        x -= step / (1 - x * step);
    }
    return x;
}
KP_DEVICE float erfinvf(float y) { return static_cast<float>(erfinv(y)); }
KP_DEVICE float erfcinvf(float y) { return static_cast<float>(erfinv(1.0 - y)); }
KP_DEVICE float normcdfinvf(float p) { return static_cast<float>(1.41421356237309504880 * erfinv(2.0 * p - 1.0)); }
KP_DEVICE float erfcxf(float x) { return static_cast<float>(__builtin_exp(static_cast<double>(x) * x) * __builtin_erfc(x)); }

// A result rounded to nearest, and whether the exact one lies above or below it, from an exact remainder.
KP_DEVICE float kp_directed(float nearest, double rest, int direction) {
    const float infinity = __builtin_inff();
    if (direction == 0) direction = nearest > 0 || (nearest == 0 && rest > 0) ? -1 : 1;
    if (direction < 0 && rest < 0) return __builtin_nextafterf(nearest, -infinity);
    if (direction > 0 && rest > 0) return __builtin_nextafterf(nearest, infinity);
    return nearest;
}
// Products and sums of floats are exact in double but for sums of very unlike numbers, where the sign of what is lost is known.
KP_DEVICE float kp_add_directed(float x, float y, int direction) {
    volatile double sum = static_cast<double>(x) + y;
    const double high = sum, lost = (static_cast<double>(x) - (high - (high - x))) + (y - (high - x));
    const float nearest = static_cast<float>(high);
    return kp_directed(nearest, (high - nearest) + lost, direction);
}
KP_DEVICE float kp_multiply_directed(float x, float y, int direction) {
    const double product = static_cast<double>(x) * y;
    const float nearest = static_cast<float>(product);
    return kp_directed(nearest, product - nearest, direction);
}
KP_DEVICE float kp_divide_directed(float x, float y, int direction) {
    const float nearest = x / y;
    const double rest = __builtin_fma(-static_cast<double>(nearest), static_cast<double>(y), static_cast<double>(x));
    return kp_directed(nearest, y < 0 ? -rest : rest, direction);
}
KP_DEVICE float kp_root_directed(float x, int direction) {
    const float nearest = __builtin_sqrtf(x);
    return kp_directed(nearest, __builtin_fma(-static_cast<double>(nearest), static_cast<double>(nearest), static_cast<double>(x)), direction);
}
#define KP_DIRECTED(letter, direction)                                                                      \
    KP_DEVICE float __fadd_r##letter(float x, float y) { return kp_add_directed(x, y, direction); }         \
    KP_DEVICE float __fsub_r##letter(float x, float y) { return kp_add_directed(x, -y, direction); }        \
    KP_DEVICE float __fmul_r##letter(float x, float y) { return kp_multiply_directed(x, y, direction); }    \
    KP_DEVICE float __fdiv_r##letter(float x, float y) { return kp_divide_directed(x, y, direction); }      \
    KP_DEVICE float __frcp_r##letter(float x) { return kp_divide_directed(1.0f, x, direction); }            \
    KP_DEVICE float __fsqrt_r##letter(float x) { return kp_root_directed(x, direction); }                   \
    KP_DEVICE float __double2float_r##letter(double x) { return kp_directed(static_cast<float>(x), x - static_cast<double>(static_cast<float>(x)), direction); } \
    KP_DEVICE float __int2float_r##letter(int x) { return __double2float_r##letter(x); }                    \
    KP_DEVICE float __uint2float_r##letter(unsigned x) { return __double2float_r##letter(x); }
KP_DIRECTED(z, 0)
KP_DIRECTED(d, -1)
KP_DIRECTED(u, 1)
#undef KP_DIRECTED

KP_DEVICE long long __float2ll_rz(float x) { return kp_clamped<long long>(__builtin_truncf(x)); }
KP_DEVICE long long __float2ll_rd(float x) { return kp_clamped<long long>(__builtin_floorf(x)); }
KP_DEVICE long long __float2ll_ru(float x) { return kp_clamped<long long>(__builtin_ceilf(x)); }
KP_DEVICE unsigned long long __float2ull_rz(float x) { return kp_clamped<unsigned long long>(__builtin_truncf(x)); }
KP_DEVICE int __double2int_rd(double x) { return kp_clamped<int>(__builtin_floor(x)); }
KP_DEVICE int __double2int_ru(double x) { return kp_clamped<int>(__builtin_ceil(x)); }
KP_DEVICE unsigned __double2uint_rn(double x) { return kp_clamped<unsigned>(__builtin_rint(x)); }
KP_DEVICE unsigned __double2uint_rz(double x) { return kp_clamped<unsigned>(__builtin_trunc(x)); }
KP_DEVICE long long __double2ll_rn(double x) { return kp_clamped<long long>(__builtin_rint(x)); }
KP_DEVICE long long __double2ll_rz(double x) { return kp_clamped<long long>(__builtin_trunc(x)); }
KP_DEVICE unsigned long long __double2ull_rn(double x) { return kp_clamped<unsigned long long>(__builtin_rint(x)); }
KP_DEVICE double __ll2double_rn(long long x) { return static_cast<double>(x); }
KP_DEVICE double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
KP_DEVICE float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
KP_DEVICE int __double2hiint(double x) { return static_cast<int>(kp_same_bits<unsigned long long>(x) >> 32); }
KP_DEVICE int __double2loint(double x) { return static_cast<int>(kp_same_bits<unsigned long long>(x)); }
KP_DEVICE double __hiloint2double(int high, int low) {
    return kp_same_bits<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 | static_cast<unsigned>(low));
}
