// What device code may call besides <cmath>: HIP's own names for mathematics, memory order, clocks and bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>

#define KP_DEVICE static inline __attribute__((always_inline, unused))

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
KP_DEVICE int __mul24(int x, int y) { return x * y; }
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
