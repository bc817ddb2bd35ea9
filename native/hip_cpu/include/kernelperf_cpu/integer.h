// HIP's integer intrinsics besides the counting of bits.
#pragma once

#include "device.h"
#include "vector.h"

KP_DEVICE unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
KP_DEVICE int __mad24(int x, int y, int z) { return __mul24(x, y) + z; }
KP_DEVICE unsigned __umad24(unsigned x, unsigned y, unsigned z) { return __umul24(x, y) + z; }
KP_DEVICE long long __mul64hi(long long x, long long y) { return static_cast<long long>(static_cast<__int128>(x) * y >> 64); }
KP_DEVICE unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
// Halves of sums, of the exact sum; the second pair rounds up.
KP_DEVICE int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
KP_DEVICE int __rhadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1); }
KP_DEVICE unsigned __uhadd(unsigned x, unsigned y) { return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1); }
KP_DEVICE unsigned __urhadd(unsigned x, unsigned y) { return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1); }
KP_DEVICE unsigned __sad(int x, int y, unsigned z) { return static_cast<unsigned>(x > y ? static_cast<long long>(x) - y : static_cast<long long>(y) - x) + z; }
KP_DEVICE unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x > y ? x - y : y - x) + z; }
KP_DEVICE unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) { return shift >= 32 ? low : __funnelshift_l(low, high, shift); }
KP_DEVICE unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) { return shift >= 32 ? high : __funnelshift_r(low, high, shift); }
KP_DEVICE unsigned __bitextract_u32(unsigned x, unsigned offset, unsigned width) {
    offset &= 31, width &= 31;
    return width == 0 ? 0 : x << (32 - (offset + width > 32 ? 32 : offset + width)) >> (32 - (offset + width > 32 ? 32 - offset : width));
}
KP_DEVICE unsigned __bitinsert_u32(unsigned x, unsigned y, unsigned offset, unsigned width) {
    const unsigned mask = (1u << (width & 31)) - 1;
    return (x & ~(mask << (offset & 31))) | (y & mask) << (offset & 31);
}
KP_DEVICE unsigned __lastbit_u32_u32(unsigned x) { return x == 0 ? ~0u : static_cast<unsigned>(__builtin_ctz(x)); }
KP_DEVICE unsigned __dp4a(unsigned x, unsigned y, unsigned sum) {
    for (int i = 0; i < 4; ++i) sum += (x >> 8 * i & 0xff) * (y >> 8 * i & 0xff);
    return sum;
}

// Sums of products of small parts; where asked for, kept within 32 bits.
KP_DEVICE int kp_clamped_sum(long long sum, bool clamp) {
    return clamp ? static_cast<int>(sum > 0x7fffffff ? 0x7fffffff : sum < -0x80000000ll ? -0x80000000ll : sum) : static_cast<int>(sum);
}
KP_DEVICE unsigned kp_clamped_sum_unsigned(unsigned long long sum, bool clamp) { return static_cast<unsigned>(clamp && sum > 0xffffffffu ? 0xffffffffu : sum); }

KP_DEVICE int __builtin_amdgcn_sudot4(bool x_signed, int x, bool y_signed, int y, int sum, bool clamp) {
    long long total = sum;
    for (int i = 0; i < 4; ++i) {
        const int a = x >> 8 * i & 0xff, b = y >> 8 * i & 0xff;
        total += (x_signed ? static_cast<signed char>(a) : a) * (y_signed ? static_cast<signed char>(b) : b);
    }
    return kp_clamped_sum(total, clamp);
}
KP_DEVICE int __builtin_amdgcn_sdot4(int x, int y, int sum, bool clamp) { return __builtin_amdgcn_sudot4(true, x, true, y, sum, clamp); }
KP_DEVICE unsigned __builtin_amdgcn_udot4(unsigned x, unsigned y, unsigned sum, bool clamp) {
    unsigned long long total = sum;
    for (int i = 0; i < 4; ++i) total += (x >> 8 * i & 0xff) * (y >> 8 * i & 0xff);
    return kp_clamped_sum_unsigned(total, clamp);
}
KP_DEVICE int __builtin_amdgcn_sudot8(bool x_signed, int x, bool y_signed, int y, int sum, bool clamp) {
    long long total = sum;
    for (int i = 0; i < 8; ++i) {
        const int a = x >> 4 * i & 0xf, b = y >> 4 * i & 0xf;
        total += (x_signed && a > 7 ? a - 16 : a) * (y_signed && b > 7 ? b - 16 : b);
    }
    return kp_clamped_sum(total, clamp);
}
KP_DEVICE int __builtin_amdgcn_sdot8(int x, int y, int sum, bool clamp) { return __builtin_amdgcn_sudot8(true, x, true, y, sum, clamp); }
KP_DEVICE unsigned __builtin_amdgcn_udot8(unsigned x, unsigned y, unsigned sum, bool clamp) {
    unsigned long long total = sum;
    for (int i = 0; i < 8; ++i) total += (x >> 4 * i & 0xf) * (y >> 4 * i & 0xf);
    return kp_clamped_sum_unsigned(total, clamp);
}
KP_DEVICE int amd_mixed_dot(char4 x, char4 y, int sum, bool clamp) {
    return kp_clamped_sum(static_cast<long long>(sum) + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w, clamp);
}
KP_DEVICE unsigned amd_mixed_dot(uchar4 x, uchar4 y, unsigned sum, bool clamp) {
    return kp_clamped_sum_unsigned(static_cast<unsigned long long>(sum) + static_cast<unsigned>(x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w), clamp);
}

// --- what AMD's compiler has as built-ins --------------------------------------------------------

KP_DEVICE unsigned __builtin_amdgcn_ubfe(unsigned x, unsigned offset, unsigned width) {
    offset &= 31, width &= 31;
    return width == 0 ? 0 : x >> offset & ((1u << width) - 1);
}
KP_DEVICE int __builtin_amdgcn_sbfe(int x, unsigned offset, unsigned width) {
    const unsigned part = __builtin_amdgcn_ubfe(static_cast<unsigned>(x), offset, width), sign = (width & 31) == 0 ? 0 : 1u << ((width & 31) - 1);
    return static_cast<int>((part ^ sign) - sign);
}
// Each byte of the selector takes one of eight: of y (0 to 3) or of x (4 to 7); 12 is zero, 13 and above ones.
KP_DEVICE unsigned __builtin_amdgcn_perm(unsigned x, unsigned y, unsigned selector) {
    const unsigned long long bytes = static_cast<unsigned long long>(x) << 32 | y;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned s = selector >> 8 * i & 0xff;
        unsigned byte = 0xff;
        if (s < 8) byte = bytes >> 8 * s & 0xff;
        else if (s < 12) byte = bytes >> (16 * (s - 8) + 15) & 1 ? 0xff : 0;
        else if (s == 12) byte = 0;
        result |= byte << 8 * i;
    }
    return result;
}
KP_DEVICE unsigned __builtin_amdgcn_alignbit(unsigned high, unsigned low, unsigned shift) { return __funnelshift_r(low, high, shift); }
KP_DEVICE unsigned __builtin_amdgcn_alignbyte(unsigned high, unsigned low, unsigned shift) { return __funnelshift_r(low, high, 8 * (shift & 3)); }
KP_DEVICE unsigned __builtin_amdgcn_sad_u8(unsigned x, unsigned y, unsigned sum) {
    for (int i = 0; i < 4; ++i) sum = __usad(x >> 8 * i & 0xff, y >> 8 * i & 0xff, sum);
    return sum;
}
KP_DEVICE double __builtin_amdgcn_rcp(double x) { return 1.0 / x; }
KP_DEVICE double __builtin_amdgcn_rsq(double x) { return 1.0 / __builtin_sqrt(x); }
KP_DEVICE double __builtin_amdgcn_sqrt(double x) { return __builtin_sqrt(x); }
KP_DEVICE float __builtin_amdgcn_fractf(float x) { return x - __builtin_floorf(x); }
KP_DEVICE float __builtin_amdgcn_log_clampf(float x) { return __builtin_log2f(x); }
KP_DEVICE float __builtin_amdgcn_ldexpf(float x, int n) { return __builtin_ldexpf(x, n); }
// Their unit is a whole turn.
KP_DEVICE float __builtin_amdgcn_sinf(float x) { return kp_sinpif(2 * x); }
KP_DEVICE float __builtin_amdgcn_cosf(float x) { return kp_cospif(2 * x); }

// What only orders a GPU's instructions.
#define __builtin_amdgcn_fence(order, ...) __atomic_thread_fence(order)
#define __builtin_amdgcn_sched_barrier(mask) ((void)(mask))
#define __builtin_amdgcn_sched_group_barrier(mask, size, group) ((void)(mask))
#define __builtin_amdgcn_iglp_opt(mask) ((void)(mask))
#define __builtin_amdgcn_s_waitcnt(count) __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __builtin_amdgcn_s_setprio(level) ((void)(level))
#define __builtin_amdgcn_s_nop(count) ((void)(count))

#if !defined(__clang__)
// Built-ins of clang, which device code is written for.
#define __builtin_assume(condition) ((condition) ? (void)0 : __builtin_unreachable())
#define __builtin_nontemporal_load(address) (*(address))
#define __builtin_nontemporal_store(value, address) ((void)(*(address) = (value)))
#define __builtin_readcyclecounter() static_cast<unsigned long long>(wall_clock64())
#define __builtin_readsteadycounter() static_cast<unsigned long long>(wall_clock64())
#define __builtin_bitreverse32(x) __brev(x)
#define __builtin_bitreverse64(x) __brevll(x)
#define __builtin_rotateleft32(x, n) __funnelshift_l(x, x, n)
#define __builtin_rotateright32(x, n) __funnelshift_r(x, x, n)
// Told apart from other mistakes by source/refusal.cpp.
#define ext_vector_type(n) kp_only_clang_has_ext_vector_type
#if __GNUC__ < 13
#define _Float16 kp_only_clang_has__Float16
#endif
#else
typedef _Float16 kp_float16_2 __attribute__((ext_vector_type(2)));
KP_DEVICE float __builtin_amdgcn_fdot2(kp_float16_2 x, kp_float16_2 y, float sum, bool) {
    return static_cast<float>(x[0]) * static_cast<float>(y[0]) + static_cast<float>(x[1]) * static_cast<float>(y[1]) + sum;
}
#endif
