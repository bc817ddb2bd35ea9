// What device code may call besides <cmath>: HIP's own names for mathematics, memory order, clocks and bits.
#pragma once

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#define KP_DEVICE static inline __attribute__((always_inline, unused))
#define KP_DEVICE_MEMBER inline __attribute__((always_inline))

// --- mathematics -------------------------------------------------------------------------------

using std::abs;
using std::fabs;
using std::fma;
using std::fmax;
using std::fmin;

KP_DEVICE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
KP_DEVICE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
KP_DEVICE float rsqrt(float x) { return rsqrtf(x); }
// Macros, since the C library has internal functions of these names.
#define __expf(x) __builtin_expf(x)
#define __logf(x) __builtin_logf(x)
#define __log2f(x) __builtin_log2f(x)
#define __log10f(x) __builtin_log10f(x)
#define __powf(x, y) __builtin_powf(x, y)
#define __sinf(x) __builtin_sinf(x)
#define __cosf(x) __builtin_cosf(x)
#define __tanf(x) __builtin_tanf(x)
#define __exp10f(x) kp_exp10f(x)
#define __sincosf(x, sine, cosine) kp_sincosf(x, sine, cosine)
#define sinpif(x) kp_sinpif(x)
#define cospif(x) kp_cospif(x)
KP_DEVICE float __frcp_rn(float x) { return 1.0f / x; }
KP_DEVICE float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
KP_DEVICE float __frsqrt_rn(float x) { return rsqrtf(x); }
KP_DEVICE float __fdividef(float x, float y) { return x / y; }
KP_DEVICE float fdividef(float x, float y) { return x / y; }
KP_DEVICE float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
KP_DEVICE double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
KP_DEVICE float __saturatef(float x) { return x < 0.0f ? 0.0f : (x > 1.0f ? 1.0f : x); }

// Rounded on their own: a volatile result keeps the compiler from contracting them into a fused multiply-add.
KP_DEVICE float __fmul_rn(float x, float y) { volatile float r = x * y; return r; }
KP_DEVICE float __fadd_rn(float x, float y) { volatile float r = x + y; return r; }
KP_DEVICE float __fsub_rn(float x, float y) { volatile float r = x - y; return r; }
KP_DEVICE float __fdiv_rn(float x, float y) { return x / y; }

KP_DEVICE double __dmul_rn(double x, double y) { volatile double r = x * y; return r; }
KP_DEVICE double __dadd_rn(double x, double y) { volatile double r = x + y; return r; }
KP_DEVICE double __dsub_rn(double x, double y) { volatile double r = x - y; return r; }
KP_DEVICE double __ddiv_rn(double x, double y) { return x / y; }
KP_DEVICE double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
KP_DEVICE double __drcp_rn(double x) { return 1.0 / x; }
KP_DEVICE float kp_exp10f(float x) { return __builtin_powf(10.0f, x); }
KP_DEVICE void kp_sincosf(float x, float* sine, float* cosine) { *sine = __builtin_sinf(x); *cosine = __builtin_cosf(x); }
KP_DEVICE float rcbrtf(float x) { return 1.0f / __builtin_cbrtf(x); }
KP_DEVICE float kp_sinpif(float x) { return static_cast<float>(__builtin_sin(3.14159265358979323846 * static_cast<double>(x))); }
KP_DEVICE float kp_cospif(float x) { return static_cast<float>(__builtin_cos(3.14159265358979323846 * static_cast<double>(x))); }
KP_DEVICE float norm3df(float x, float y, float z) { return __builtin_sqrtf(x * x + y * y + z * z); }
KP_DEVICE float __builtin_amdgcn_rcpf(float x) { return 1.0f / x; }
KP_DEVICE float __builtin_amdgcn_rsqf(float x) { return rsqrtf(x); }
KP_DEVICE float __builtin_amdgcn_sqrtf(float x) { return __builtin_sqrtf(x); }
KP_DEVICE float __builtin_amdgcn_exp2f(float x) { return __builtin_exp2f(x); }
KP_DEVICE float __builtin_amdgcn_logf(float x) { return __builtin_log2f(x); }
KP_DEVICE float __builtin_amdgcn_fmed3f(float x, float y, float z) {
    return __builtin_fmaxf(__builtin_fminf(x, y), __builtin_fminf(__builtin_fmaxf(x, y), z));
}

// --- conversions with a stated rounding ----------------------------------------------------------

// Out of range: the nearest number there is; NaN: 0, as on a GPU.
template <class To, class From> KP_DEVICE To kp_clamped(From x) {
    constexpr To lowest = static_cast<To>(-1) < 0 ? static_cast<To>(1ull << (8 * sizeof(To) - 1)) : 0;
    constexpr To highest = static_cast<To>(~static_cast<unsigned long long>(lowest));
    if (!(x == x)) return 0;
    if (x <= static_cast<From>(lowest)) return lowest;
    if (x >= static_cast<From>(highest)) return highest;
    return static_cast<To>(x);
}
KP_DEVICE int __float2int_rn(float x) { return kp_clamped<int>(__builtin_rintf(x)); }
KP_DEVICE int __float2int_rz(float x) { return kp_clamped<int>(__builtin_truncf(x)); }
KP_DEVICE int __float2int_rd(float x) { return kp_clamped<int>(__builtin_floorf(x)); }
KP_DEVICE int __float2int_ru(float x) { return kp_clamped<int>(__builtin_ceilf(x)); }
KP_DEVICE unsigned __float2uint_rn(float x) { return kp_clamped<unsigned>(__builtin_rintf(x)); }
KP_DEVICE unsigned __float2uint_rz(float x) { return kp_clamped<unsigned>(__builtin_truncf(x)); }
KP_DEVICE unsigned __float2uint_rd(float x) { return kp_clamped<unsigned>(__builtin_floorf(x)); }
KP_DEVICE unsigned __float2uint_ru(float x) { return kp_clamped<unsigned>(__builtin_ceilf(x)); }
KP_DEVICE long long __float2ll_rn(float x) { return kp_clamped<long long>(__builtin_rintf(x)); }
KP_DEVICE unsigned long long __float2ull_rn(float x) { return kp_clamped<unsigned long long>(__builtin_rintf(x)); }
KP_DEVICE int __double2int_rn(double x) { return kp_clamped<int>(__builtin_rint(x)); }
KP_DEVICE int __double2int_rz(double x) { return kp_clamped<int>(__builtin_trunc(x)); }
KP_DEVICE float __double2float_rn(double x) { return static_cast<float>(x); }
KP_DEVICE float __int2float_rn(int x) { return static_cast<float>(x); }
KP_DEVICE float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
KP_DEVICE float __ll2float_rn(long long x) { return static_cast<float>(x); }
KP_DEVICE double __int2double_rn(int x) { return x; }
KP_DEVICE double __uint2double_rn(unsigned x) { return x; }

#define KP_MIN_MAX(type)                                          \
    KP_DEVICE type min(type a, type b) { return b < a ? b : a; }  \
    KP_DEVICE type max(type a, type b) { return a < b ? b : a; }
KP_MIN_MAX(int)
KP_MIN_MAX(unsigned)
KP_MIN_MAX(long)
KP_MIN_MAX(unsigned long)
KP_MIN_MAX(long long)
KP_MIN_MAX(unsigned long long)
#undef KP_MIN_MAX
KP_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
KP_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
KP_DEVICE double min(double a, double b) { return __builtin_fmin(a, b); }
KP_DEVICE double max(double a, double b) { return __builtin_fmax(a, b); }
// Of unlike types, what C++ makes of both.
template <class A, class B> struct KpBoth { using type = decltype(A() + B()); };
template <class A> struct KpBoth<A, A> {};
template <class A, class B> KP_DEVICE typename KpBoth<A, B>::type min(A a, B b) {
    using Both = typename KpBoth<A, B>::type;
    return min(static_cast<Both>(a), static_cast<Both>(b));
}
template <class A, class B> KP_DEVICE typename KpBoth<A, B>::type max(A a, B b) {
    using Both = typename KpBoth<A, B>::type;
    return max(static_cast<Both>(a), static_cast<Both>(b));
}
KP_DEVICE unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
KP_DEVICE unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
KP_DEVICE unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
KP_DEVICE unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }

// --- bits --------------------------------------------------------------------------------------

template <class To, class From> KP_DEVICE To kp_same_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "");
    To to;
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}
KP_DEVICE int __float_as_int(float x) { return kp_same_bits<int>(x); }
KP_DEVICE unsigned __float_as_uint(float x) { return kp_same_bits<unsigned>(x); }
KP_DEVICE float __int_as_float(int x) { return kp_same_bits<float>(x); }
KP_DEVICE float __uint_as_float(unsigned x) { return kp_same_bits<float>(x); }
KP_DEVICE long long __double_as_longlong(double x) { return kp_same_bits<long long>(x); }
KP_DEVICE double __longlong_as_double(long long x) { return kp_same_bits<double>(x); }
KP_DEVICE int __popc(unsigned x) { return __builtin_popcount(x); }
KP_DEVICE int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
KP_DEVICE int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
KP_DEVICE int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
KP_DEVICE int __ffs(int x) { return __builtin_ffs(x); }
KP_DEVICE int __ffsll(long long x) { return __builtin_ffsll(x); }
KP_DEVICE unsigned long long kp_reversed_bits(unsigned long long x) {
    x = (x & 0x5555555555555555ull) << 1 | (x >> 1 & 0x5555555555555555ull);
    x = (x & 0x3333333333333333ull) << 2 | (x >> 2 & 0x3333333333333333ull);
    x = (x & 0x0f0f0f0f0f0f0f0full) << 4 | (x >> 4 & 0x0f0f0f0f0f0f0f0full);
    return __builtin_bswap64(x);
}
KP_DEVICE unsigned __brev(unsigned x) { return static_cast<unsigned>(kp_reversed_bits(x) >> 32); }
KP_DEVICE unsigned long long __brevll(unsigned long long x) { return kp_reversed_bits(x); }
KP_DEVICE unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
    unsigned result = 0;
    for (unsigned i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}
KP_DEVICE unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
KP_DEVICE unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
KP_DEVICE int __dp4a(int x, int y, int sum) {
    for (int i = 0; i < 4; ++i) sum += static_cast<signed char>(x >> 8 * i) * static_cast<signed char>(y >> 8 * i);
    return sum;
}
template <class T> KP_DEVICE T __ldg(const T* address) { return *address; }
KP_DEVICE int __mul24(int x, int y) { return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * static_cast<unsigned>(y << 8 >> 8)); }
KP_DEVICE int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
KP_DEVICE unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}

// --- memory order, waiting, clocks -------------------------------------------------------------

#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

// On the host every scope is the whole machine. clang has these as built-in functions for HIP only.
#define __hip_atomic_load(pointer, order, scope) __atomic_load_n(pointer, order)
#define __hip_atomic_store(pointer, value, order, scope) __atomic_store_n(pointer, value, order)

KP_DEVICE void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KP_DEVICE void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
KP_DEVICE void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

KP_DEVICE void kp_pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
KP_DEVICE void __builtin_amdgcn_s_sleep(int) { kp_pause(); }
KP_DEVICE void __nanosleep(unsigned) { kp_pause(); }

// Nanoseconds of the host's steady clock; hipDeviceAttributeWallClockRate says so (1,000,000 kHz).
KP_DEVICE long long wall_clock64() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<long long>(now.tv_sec) * 1000000000 + now.tv_nsec;
}
KP_DEVICE long long clock64() { return wall_clock64(); }
KP_DEVICE unsigned long __builtin_amdgcn_s_memrealtime() { return static_cast<unsigned long>(wall_clock64()); }
KP_DEVICE unsigned long __builtin_amdgcn_s_memtime() { return static_cast<unsigned long>(wall_clock64()); }
