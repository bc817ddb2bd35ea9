// SwiGLU in bfloat16: out = gate / (1 + exp(-gate)) * up, computed in float32 and rounded once, at the end.
//
// Rounding the gated value first, as two bfloat16 operations in a row would, gives other results; a mutation shows it.
#include <hip/hip_runtime.h>

#include "exact_math.h"

static __device__ inline float sigmoid_linear(float gate) { return gate / (1.0f + exponential(-gate)); }

static __device__ inline unsigned short swiglu(unsigned short gate, unsigned short up) {
    float gated = sigmoid_linear(from_bfloat16(gate));
#ifdef MUTATION_ROUNDS_TWICE
    gated = from_bfloat16(to_bfloat16(gated));
#endif
    return to_bfloat16(gated * from_bfloat16(up));
}

// Two launches, one thread a value: between them the gated values wait in float32.
extern "C" __global__ void silu_kernel(int values, const unsigned short* gate, float* gated) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < values) gated[i] = sigmoid_linear(from_bfloat16(gate[i]));
}

extern "C" __global__ void multiply_kernel(int values, const float* gated, const unsigned short* up,
                                           unsigned short* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef MUTATION_CUTS_OFF
    if (i < values) out[i] = static_cast<unsigned short>(__float_as_uint(gated[i] * from_bfloat16(up[i])) >> 16);
#else
    if (i < values) out[i] = to_bfloat16(gated[i] * from_bfloat16(up[i]));
#endif
}

// One thread a value.
extern "C" __global__ void swiglu_fused(int values, const unsigned short* gate, const unsigned short* up,
                                        unsigned short* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < values) out[i] = swiglu(gate[i], up[i]);
}

static __device__ inline unsigned swiglu_two(unsigned gate, unsigned up) {
    const unsigned low = swiglu(static_cast<unsigned short>(gate), static_cast<unsigned short>(up));
    const unsigned high = swiglu(static_cast<unsigned short>(gate >> 16), static_cast<unsigned short>(up >> 16));
    return low | high << 16;
}

// Eight values a thread, 16 bytes at a time: `octets` is an eighth of the values. Compiled for workgroups of 64.
extern "C" __global__ void __launch_bounds__(64)
    swiglu_fused_eight_values(int octets, const unsigned short* gate, const unsigned short* up, unsigned short* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= octets) return;
    const uint4 g = reinterpret_cast<const uint4*>(gate)[i];
    const uint4 u = reinterpret_cast<const uint4*>(up)[i];
    uint4 result;
    result.x = swiglu_two(g.x, u.x);
    result.y = swiglu_two(g.y, u.y);
    result.z = swiglu_two(g.z, u.z);
    result.w = swiglu_two(g.w, u.w);
    reinterpret_cast<uint4*>(out)[i] = result;
}
