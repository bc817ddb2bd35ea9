// HIP's older bfloat16: sixteen bits in `data`, rounded to nearest even, computed in float.
#pragma once
#include <hip/hip_bf16.h>

struct hip_bfloat16 {
    unsigned short data;

    hip_bfloat16() = default;
    explicit __host__ __device__ hip_bfloat16(float value) : data(__hip_bfloat16::rounded(value)) {}
    static __host__ __device__ hip_bfloat16 round_to_bfloat16(float value) { return hip_bfloat16(value); }
    __host__ __device__ operator float() const { return __hip_bfloat16(__hip_bfloat16_raw{data}); }
};
