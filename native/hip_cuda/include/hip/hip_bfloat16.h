// HIP's older bfloat16: sixteen bits in `data`, rounded to nearest even, computed in float.
#pragma once
#include <kernelperf_cuda/device.h>

struct hip_bfloat16 {
    unsigned short data;

    hip_bfloat16() = default;
    explicit __device__ hip_bfloat16(float value) : data(rounded(value)) {}
    static __device__ hip_bfloat16 round_to_bfloat16(float value) { return hip_bfloat16(value); }
    __device__ operator float() const { return __uint_as_float(static_cast<unsigned>(data) << 16); }

private:
    static __device__ unsigned short rounded(float value) {
        const unsigned bits = __float_as_uint(value);
        if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>(bits >> 16 | 0x40u);  // stays a NaN
        return static_cast<unsigned short>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
};

#define KERNELPERF_BFLOAT16(op)                                                                                       \
    inline __device__ hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) {                                      \
        return hip_bfloat16(static_cast<float>(a) op static_cast<float>(b));                                          \
    }                                                                                                                 \
    inline __device__ hip_bfloat16& operator op##=(hip_bfloat16& a, hip_bfloat16 b) { return a = a op b; }
KERNELPERF_BFLOAT16(+)
KERNELPERF_BFLOAT16(-)
KERNELPERF_BFLOAT16(*)
KERNELPERF_BFLOAT16(/)
#undef KERNELPERF_BFLOAT16
inline __device__ hip_bfloat16 operator-(hip_bfloat16 a) {
    a.data ^= 0x8000u;
    return a;
}
