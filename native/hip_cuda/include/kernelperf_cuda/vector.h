// HIP's operators on vector types: element by element, with a vector or a scalar on either side.
#pragma once

#define KERNELPERF_EACH_2(op) a.x op b.x, a.y op b.y
#define KERNELPERF_EACH_3(op) KERNELPERF_EACH_2(op), a.z op b.z
#define KERNELPERF_EACH_4(op) KERNELPERF_EACH_3(op), a.w op b.w
#define KERNELPERF_NEGATED_2 -a.x, -a.y
#define KERNELPERF_NEGATED_3 -a.x, -a.y, -a.z
#define KERNELPERF_NEGATED_4 -a.x, -a.y, -a.z, -a.w
#define KERNELPERF_SAME_2(v) v, v
#define KERNELPERF_SAME_3(v) v, v, v
#define KERNELPERF_SAME_4(v) v, v, v, v

#define KERNELPERF_VECTOR_OPERATOR(vector, element, n, op)                                                             \
    static __device__ __forceinline__ vector operator op(const vector& a, const vector& b) { return {KERNELPERF_EACH_##n(op)}; } \
    static __device__ __forceinline__ vector operator op(const vector& a, element v) {                                 \
        const vector b = {KERNELPERF_SAME_##n(v)};                                                                     \
        return {KERNELPERF_EACH_##n(op)};                                                                              \
    }                                                                                                                  \
    static __device__ __forceinline__ vector operator op(element v, const vector& b) {                                 \
        const vector a = {KERNELPERF_SAME_##n(v)};                                                                     \
        return {KERNELPERF_EACH_##n(op)};                                                                              \
    }                                                                                                                  \
    static __device__ __forceinline__ vector& operator op##=(vector& a, const vector& b) { return a = a op b; }        \
    static __device__ __forceinline__ vector& operator op##=(vector& a, element b) { return a = a op b; }

#define KERNELPERF_VECTOR(vector, element, n)                                                                          \
    KERNELPERF_VECTOR_OPERATOR(vector, element, n, +)                                                                  \
    KERNELPERF_VECTOR_OPERATOR(vector, element, n, -)                                                                  \
    KERNELPERF_VECTOR_OPERATOR(vector, element, n, *)                                                                  \
    KERNELPERF_VECTOR_OPERATOR(vector, element, n, /)                                                                  \
    static __device__ __forceinline__ vector operator-(const vector& a) { return {KERNELPERF_NEGATED_##n}; }

// CUDA 13 calls double4 deprecated, since it has two of other alignments; HIP has this one.
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1444

KERNELPERF_VECTOR(float2, float, 2)
KERNELPERF_VECTOR(float3, float, 3)
KERNELPERF_VECTOR(float4, float, 4)
KERNELPERF_VECTOR(double2, double, 2)
KERNELPERF_VECTOR(double3, double, 3)
KERNELPERF_VECTOR(double4, double, 4)
KERNELPERF_VECTOR(int2, int, 2)
KERNELPERF_VECTOR(int3, int, 3)
KERNELPERF_VECTOR(int4, int, 4)
KERNELPERF_VECTOR(uint2, unsigned, 2)
KERNELPERF_VECTOR(uint3, unsigned, 3)
KERNELPERF_VECTOR(uint4, unsigned, 4)

#pragma nv_diagnostic pop

#undef KERNELPERF_VECTOR
#undef KERNELPERF_VECTOR_OPERATOR
#undef KERNELPERF_NEGATED_4
#undef KERNELPERF_NEGATED_3
#undef KERNELPERF_NEGATED_2
#undef KERNELPERF_SAME_4
#undef KERNELPERF_SAME_3
#undef KERNELPERF_SAME_2
#undef KERNELPERF_EACH_4
#undef KERNELPERF_EACH_3
#undef KERNELPERF_EACH_2
