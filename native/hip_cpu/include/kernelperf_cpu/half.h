// Sixteen-bit floating-point numbers as bits. All arithmetic is done in float or double, where it is exact enough that
// rounding the result once to sixteen bits (to nearest, ties to even) gives what the GPU's instruction gives.
#pragma once

#include "device.h"

namespace kp {

// A double, rounded to a format of `fraction` bits whose exponents are `bias`ed; denormals, infinity and NaN as usual.
template <int fraction, int bias> KP_DEVICE unsigned short narrow(double value) {
    constexpr int exponents = 2 * bias + 1;
    const auto bits = kp_same_bits<unsigned long long>(value);
    const auto sign = static_cast<unsigned short>(bits >> 63 << 15);
    const auto magnitude = static_cast<unsigned long long>(bits << 1 >> 1);
    constexpr unsigned short infinity = static_cast<unsigned short>(exponents << fraction);
    if (magnitude > 0x7ff0000000000000ull) return static_cast<unsigned short>(sign | infinity | 1u << (fraction - 1));
    const int exponent = static_cast<int>(magnitude >> 52) - 1023 + bias;
    unsigned long long mantissa = (magnitude & 0xfffffffffffffull) | (magnitude >> 52 != 0 ? 1ull << 52 : 0);
    if (exponent >= exponents) return static_cast<unsigned short>(sign | infinity);
    int drop = 52 - fraction;
    if (exponent <= 0) drop += 1 - exponent;
    if (drop > 60) return sign;
    const unsigned long long half = 1ull << (drop - 1), rest = mantissa & (2 * half - 1);
    mantissa >>= drop;
    if (rest > half || (rest == half && (mantissa & 1) != 0)) mantissa += 1;
    // A carry out of the fraction raises the exponent, up to infinity.
    const unsigned long long biased = exponent <= 0 ? mantissa : (static_cast<unsigned long long>(exponent - 1) << fraction) + mantissa;
    return static_cast<unsigned short>(sign | biased);
}

// --- IEEE half ---------------------------------------------------------------------------------

#if defined(__F16C__)
typedef float Four __attribute__((vector_size(16)));
typedef short EightShorts __attribute__((vector_size(16)));
KP_DEVICE unsigned short half_bits(float value) {
    return static_cast<unsigned short>(__builtin_ia32_vcvtps2ph(Four{value, 0, 0, 0}, 0)[0]);
}
KP_DEVICE float half_value(unsigned short bits) {
    return __builtin_ia32_vcvtph2ps(EightShorts{static_cast<short>(bits), 0, 0, 0, 0, 0, 0, 0})[0];
}
#else
KP_DEVICE unsigned short half_bits(float value) { return narrow<10, 15>(value); }
KP_DEVICE float half_value(unsigned short bits) {
    const unsigned sign = static_cast<unsigned>(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return kp_same_bits<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13 | (magnitude > 0x7c00u ? 0x400000u : 0u));
    const float scaled = kp_same_bits<float>(magnitude << 13) * 0x1p112f;  // moves the exponent's bias; exact
    return kp_same_bits<float>(sign | kp_same_bits<unsigned>(scaled));
}
#endif

// --- bfloat16 ----------------------------------------------------------------------------------

KP_DEVICE unsigned short bfloat_bits(float value) {
    const auto bits = kp_same_bits<unsigned>(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>(bits >> 16 | 0x40u);
    return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
KP_DEVICE float bfloat_value(unsigned short bits) { return kp_same_bits<float>(static_cast<unsigned>(bits) << 16); }

// --- what both have ----------------------------------------------------------------------------

struct HalfFormat {
    static KP_DEVICE_MEMBER unsigned short bits(float value) { return half_bits(value); }
    static KP_DEVICE_MEMBER unsigned short bits(double value) { return narrow<10, 15>(value); }
    static KP_DEVICE_MEMBER float value(unsigned short bits) { return half_value(bits); }
    // The product is exact in double. So is the sum, but where one side is so small that it decides no rounding.
    static KP_DEVICE_MEMBER unsigned short fused(float a, float b, float c) { return narrow<10, 15>(static_cast<double>(a) * b + c); }
};
// As in AMD's header: a double goes through float, and a fused multiply-add is float's, rounded again.
struct BfloatFormat {
    static KP_DEVICE_MEMBER unsigned short bits(float value) { return bfloat_bits(value); }
    static KP_DEVICE_MEMBER unsigned short bits(double value) { return bfloat_bits(static_cast<float>(value)); }
    static KP_DEVICE_MEMBER float value(unsigned short bits) { return bfloat_value(bits); }
    static KP_DEVICE_MEMBER unsigned short fused(float a, float b, float c) { return bfloat_bits(__builtin_fmaf(a, b, c)); }
};



// A number of sixteen bits. Trivial, so that it may lie in shared memory and be copied as bytes.
template <class Format> struct Narrow {
    unsigned short raw;

    Narrow() = default;
    KP_DEVICE_MEMBER Narrow(float value) : raw(Format::bits(value)) {}
    KP_DEVICE_MEMBER Narrow(double value) : raw(Format::bits(value)) {}
    KP_DEVICE_MEMBER Narrow(int value) : raw(Format::bits(static_cast<double>(value))) {}
    KP_DEVICE_MEMBER Narrow(unsigned value) : raw(Format::bits(static_cast<double>(value))) {}
    KP_DEVICE_MEMBER Narrow(long value) : raw(Format::bits(static_cast<double>(value))) {}
    KP_DEVICE_MEMBER Narrow(unsigned long value) : raw(Format::bits(static_cast<double>(value))) {}
    KP_DEVICE_MEMBER Narrow(long long value) : raw(Format::bits(static_cast<double>(value))) {}
    KP_DEVICE_MEMBER Narrow(unsigned long long value) : raw(Format::bits(static_cast<double>(value))) {}
    KP_DEVICE_MEMBER Narrow(short value) : raw(Format::bits(static_cast<float>(value))) {}
    KP_DEVICE_MEMBER Narrow(unsigned short value) : raw(Format::bits(static_cast<float>(value))) {}
    static KP_DEVICE_MEMBER Narrow of_bits(unsigned short bits) {
        Narrow made;
        made.raw = bits;
        return made;
    }
    KP_DEVICE_MEMBER operator float() const { return Format::value(raw); }
    KP_DEVICE_MEMBER float wide() const { return Format::value(raw); }

    friend KP_DEVICE_MEMBER Narrow operator+(Narrow a, Narrow b) { return Narrow(a.wide() + b.wide()); }
    friend KP_DEVICE_MEMBER Narrow operator-(Narrow a, Narrow b) { return Narrow(a.wide() - b.wide()); }
    friend KP_DEVICE_MEMBER Narrow operator*(Narrow a, Narrow b) { return Narrow(a.wide() * b.wide()); }
    friend KP_DEVICE_MEMBER Narrow operator/(Narrow a, Narrow b) { return Narrow(a.wide() / b.wide()); }
    KP_DEVICE_MEMBER Narrow operator-() const { return of_bits(raw ^ 0x8000u); }
    KP_DEVICE_MEMBER Narrow operator+() const { return *this; }
    KP_DEVICE_MEMBER Narrow& operator+=(Narrow b) { return *this = *this + b; }
    KP_DEVICE_MEMBER Narrow& operator-=(Narrow b) { return *this = *this - b; }
    KP_DEVICE_MEMBER Narrow& operator*=(Narrow b) { return *this = *this * b; }
    KP_DEVICE_MEMBER Narrow& operator/=(Narrow b) { return *this = *this / b; }
    KP_DEVICE_MEMBER Narrow& operator++() { return *this += Narrow(1.0f); }
    friend KP_DEVICE_MEMBER bool operator==(Narrow a, Narrow b) { return a.wide() == b.wide(); }
    friend KP_DEVICE_MEMBER bool operator!=(Narrow a, Narrow b) { return a.wide() != b.wide(); }
    friend KP_DEVICE_MEMBER bool operator<(Narrow a, Narrow b) { return a.wide() < b.wide(); }
    friend KP_DEVICE_MEMBER bool operator>(Narrow a, Narrow b) { return a.wide() > b.wide(); }
    friend KP_DEVICE_MEMBER bool operator<=(Narrow a, Narrow b) { return a.wide() <= b.wide(); }
    friend KP_DEVICE_MEMBER bool operator>=(Narrow a, Narrow b) { return a.wide() >= b.wide(); }
// Beside a float the result is a float, as C++ has it for a conversion; beside an int it is of this type.
#define KP_MIXED(op)                                                                                                          \
    friend KP_DEVICE_MEMBER Narrow operator op(Narrow a, int b) { return a op Narrow(b); }                                    \
    friend KP_DEVICE_MEMBER Narrow operator op(int a, Narrow b) { return Narrow(a) op b; }                                    \
    friend KP_DEVICE_MEMBER float operator op(Narrow a, float b) { return a.wide() op b; }                                    \
    friend KP_DEVICE_MEMBER float operator op(float a, Narrow b) { return a op b.wide(); }                                    \
    friend KP_DEVICE_MEMBER double operator op(Narrow a, double b) { return a.wide() op b; }                                  \
    friend KP_DEVICE_MEMBER double operator op(double a, Narrow b) { return a op b.wide(); }
    KP_MIXED(+)
    KP_MIXED(-)
    KP_MIXED(*)
    KP_MIXED(/)
#undef KP_MIXED
#define KP_COMPARED(op)                                                                               \
    friend KP_DEVICE_MEMBER bool operator op(Narrow a, float b) { return a.wide() op b; }             \
    friend KP_DEVICE_MEMBER bool operator op(float a, Narrow b) { return a op b.wide(); }             \
    friend KP_DEVICE_MEMBER bool operator op(Narrow a, int b) { return a.wide() op static_cast<float>(b); } \
    friend KP_DEVICE_MEMBER bool operator op(int a, Narrow b) { return static_cast<float>(a) op b.wide(); }
    KP_COMPARED(==)
    KP_COMPARED(!=)
    KP_COMPARED(<)
    KP_COMPARED(>)
    KP_COMPARED(<=)
    KP_COMPARED(>=)
#undef KP_COMPARED
};

// Two of them, side by side.
template <class Format> struct alignas(4) NarrowPair {
    Narrow<Format> x, y;

    NarrowPair() = default;
    KP_DEVICE_MEMBER NarrowPair(Narrow<Format> x_, Narrow<Format> y_) : x(x_), y(y_) {}
#define KP_PAIRED(op)                                                                                                             \
    friend KP_DEVICE_MEMBER NarrowPair operator op(NarrowPair a, NarrowPair b) { return {a.x op b.x, a.y op b.y}; }               \
    KP_DEVICE_MEMBER NarrowPair& operator op##=(NarrowPair b) { return *this = *this op b; }
    KP_PAIRED(+)
    KP_PAIRED(-)
    KP_PAIRED(*)
    KP_PAIRED(/)
#undef KP_PAIRED
    KP_DEVICE_MEMBER NarrowPair operator-() const { return {-x, -y}; }
    friend KP_DEVICE_MEMBER bool operator==(NarrowPair a, NarrowPair b) { return a.x == b.x && a.y == b.y; }
    friend KP_DEVICE_MEMBER bool operator!=(NarrowPair a, NarrowPair b) { return !(a == b); }
};

template <class Format> KP_DEVICE Narrow<Format> fused(Narrow<Format> a, Narrow<Format> b, Narrow<Format> c) {
    return Narrow<Format>::of_bits(Format::fused(a.wide(), b.wide(), c.wide()));
}
template <class Format> KP_DEVICE Narrow<Format> greater(Narrow<Format> a, Narrow<Format> b) {
    return Narrow<Format>(__builtin_fmaxf(a.wide(), b.wide()));
}
template <class Format> KP_DEVICE Narrow<Format> lesser(Narrow<Format> a, Narrow<Format> b) {
    return Narrow<Format>(__builtin_fminf(a.wide(), b.wide()));
}

}  // namespace kp

// Names that both headers define, for either type.
#define KP_NARROW_FUNCTIONS(one, two)                                                                          \
    KP_DEVICE one __hadd(one a, one b) { return a + b; }                                                       \
    KP_DEVICE one __hsub(one a, one b) { return a - b; }                                                       \
    KP_DEVICE one __hmul(one a, one b) { return a * b; }                                                       \
    KP_DEVICE one __hdiv(one a, one b) { return a / b; }                                                       \
    KP_DEVICE one __hadd_rn(one a, one b) { return a + b; }                                                    \
    KP_DEVICE one __hsub_rn(one a, one b) { return a - b; }                                                    \
    KP_DEVICE one __hmul_rn(one a, one b) { return a * b; }                                                    \
    KP_DEVICE one __hneg(one a) { return -a; }                                                                 \
    KP_DEVICE one __habs(one a) { return one::of_bits(a.raw & 0x7fffu); }                                      \
    KP_DEVICE one __hfma(one a, one b, one c) { return kp::fused(a, b, c); }                                   \
    KP_DEVICE one __hmax(one a, one b) { return kp::greater(a, b); }                                           \
    KP_DEVICE one __hmin(one a, one b) { return kp::lesser(a, b); }                                            \
    KP_DEVICE bool __heq(one a, one b) { return a == b; }                                                      \
    KP_DEVICE bool __hne(one a, one b) { return a != b; }                                                      \
    KP_DEVICE bool __hlt(one a, one b) { return a < b; }                                                       \
    KP_DEVICE bool __hle(one a, one b) { return a <= b; }                                                      \
    KP_DEVICE bool __hgt(one a, one b) { return a > b; }                                                       \
    KP_DEVICE bool __hge(one a, one b) { return a >= b; }                                                      \
    KP_DEVICE bool __hisnan(one a) { return a.wide() != a.wide(); }                                            \
    KP_DEVICE int __hisinf(one a) { return __builtin_isinf(a.wide()) ? (a.wide() > 0 ? 1 : -1) : 0; }          \
    KP_DEVICE one hsqrt(one a) { return one(__builtin_sqrtf(a.wide())); }                                      \
    KP_DEVICE one hrsqrt(one a) { return one(1.0 / __builtin_sqrt(static_cast<double>(a.wide()))); }           \
    KP_DEVICE one hrcp(one a) { return one(1.0f / a.wide()); }                                                 \
    KP_DEVICE one hexp(one a) { return one(__builtin_expf(a.wide())); }                                        \
    KP_DEVICE one hexp2(one a) { return one(__builtin_exp2f(a.wide())); }                                      \
    KP_DEVICE one hlog(one a) { return one(__builtin_logf(a.wide())); }                                        \
    KP_DEVICE one hlog2(one a) { return one(__builtin_log2f(a.wide())); }                                      \
    KP_DEVICE one hsin(one a) { return one(__builtin_sinf(a.wide())); }                                        \
    KP_DEVICE one hcos(one a) { return one(__builtin_cosf(a.wide())); }                                        \
    KP_DEVICE one hfloor(one a) { return one(__builtin_floorf(a.wide())); }                                    \
    KP_DEVICE one hceil(one a) { return one(__builtin_ceilf(a.wide())); }                                      \
    KP_DEVICE one hrint(one a) { return one(__builtin_rintf(a.wide())); }                                      \
    KP_DEVICE one htrunc(one a) { return one(__builtin_truncf(a.wide())); }                                    \
    KP_DEVICE two __hadd2(two a, two b) { return a + b; }                                                      \
    KP_DEVICE two __hsub2(two a, two b) { return a - b; }                                                      \
    KP_DEVICE two __hmul2(two a, two b) { return a * b; }                                                      \
    KP_DEVICE two __h2div(two a, two b) { return a / b; }                                                      \
    KP_DEVICE two __hneg2(two a) { return -a; }                                                                \
    KP_DEVICE two __habs2(two a) { return {__habs(a.x), __habs(a.y)}; }                                        \
    KP_DEVICE two __hfma2(two a, two b, two c) { return {kp::fused(a.x, b.x, c.x), kp::fused(a.y, b.y, c.y)}; } \
    KP_DEVICE two __hmax2(two a, two b) { return {kp::greater(a.x, b.x), kp::greater(a.y, b.y)}; }             \
    KP_DEVICE two __hmin2(two a, two b) { return {kp::lesser(a.x, b.x), kp::lesser(a.y, b.y)}; }               \
    KP_DEVICE two h2exp(two a) { return {hexp(a.x), hexp(a.y)}; }                                              \
    KP_DEVICE two h2sqrt(two a) { return {hsqrt(a.x), hsqrt(a.y)}; }                                           \
    KP_DEVICE two h2rcp(two a) { return {hrcp(a.x), hrcp(a.y)}; }
