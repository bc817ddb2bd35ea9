#include <hip/hip_runtime.h>
typedef float floatx4 __attribute__((ext_vector_type(4)));
typedef _Float16 half2_t __attribute__((ext_vector_type(2)));
using half4_t = _Float16 __attribute__((ext_vector_type(4)));

extern "C" __global__ void ext_vectors(const floatx4* x, floatx4* y, const half4_t* h, float* out) {
    const int t = threadIdx.x;
    floatx4 v = x[t];
    v = v * 2.0f + floatx4{1, 2, 3, 4};
    v.x += v.w;
    v[1] *= v[2];
    y[t] = v;
    half4_t g = h[t];
    g = g * g + (_Float16)1.0f;
    out[t] = (float)g[0] + (float)g[1] + (float)g[2] + (float)g[3];
}
extern "C" __global__ void fdot(const half2_t* ha, const half2_t* hb, float* fout) { const int t = threadIdx.x; fout[t] = __builtin_amdgcn_fdot2(ha[t], hb[t], 0.5f, false); }
extern "C" __global__ void streaming(const float4* __restrict__ x, float4* __restrict__ y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    floatx4 v = __builtin_nontemporal_load(reinterpret_cast<const floatx4*>(&x[i]));
    v *= 3.0f;
    __builtin_nontemporal_store(v, reinterpret_cast<floatx4*>(&y[i]));
    if (__builtin_expect(v[0] == 12345.f, 0)) __builtin_trap();
    __builtin_prefetch(&x[i]);
}
