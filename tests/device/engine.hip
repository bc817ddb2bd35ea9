#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <limits>

#define WARP_SIZE 32
#define FULL_MASK 0xffffffffu
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))

namespace detail {
template <typename T> struct SumOp { __device__ __forceinline__ T operator()(T a, T b) const { return a + b; } };
template <typename T> struct MaxOp { __device__ __forceinline__ T operator()(T a, T b) const { return a > b ? a : b; } };

template <template <typename> class Op, typename T, int kWidth = WARP_SIZE>
__device__ __forceinline__ T warp_all_reduce(T v) {
#pragma unroll
    for (int mask = kWidth / 2; mask > 0; mask >>= 1) v = Op<T>()(v, __shfl_xor(v, mask, kWidth));
    return v;
}

template <template <typename> class Op, typename T, int kThreads>
__device__ T block_all_reduce(T v, T identity) {
    __shared__ T s_part[kThreads / WARP_SIZE];
    __shared__ T s_total;
    const int lane = threadIdx.x & (WARP_SIZE - 1), warp = threadIdx.x / WARP_SIZE;
    v = warp_all_reduce<Op, T>(v);
    if (lane == 0) s_part[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = lane < kThreads / WARP_SIZE ? s_part[lane] : identity;
        v = warp_all_reduce<Op, T>(v);
        if (lane == 0) s_total = v;
    }
    __syncthreads();
    const T r = s_total;
    __syncthreads();
    return r;
}

template <typename T> struct Vec4;
template <> struct Vec4<float> { using type = float4; };
template <typename T, int N> struct alignas(sizeof(T) * N) Pack { T v[N]; };

template <typename T> __device__ __forceinline__ float to_float(T x) {
    if constexpr (std::is_same_v<T, __hip_bfloat16>) return __bfloat162float(x);
    else if constexpr (std::is_same_v<T, __half>) return __half2float(x);
    else return static_cast<float>(x);
}
template <typename T> __device__ __forceinline__ T from_float(float x) {
    if constexpr (std::is_same_v<T, __hip_bfloat16>) return __float2bfloat16(x);
    else if constexpr (std::is_same_v<T, __half>) return __float2half(x);
    else return static_cast<T>(x);
}
}  // namespace detail

namespace {
template <typename scalar_t, int kThreads, bool kCausal = false>
__global__ void __launch_bounds__(kThreads, 2)
softmax_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, const int columns, const float scale) {
    const int64_t row = blockIdx.x;
    const scalar_t* row_x = x + row * columns;
    float highest = -std::numeric_limits<float>::infinity();
    for (int c = threadIdx.x; c < columns; c += kThreads) highest = fmaxf(highest, detail::to_float(row_x[c]) * scale);
    highest = detail::block_all_reduce<detail::MaxOp, float, kThreads>(highest, -INFINITY);
    float sum = 0.f;
    for (int c = threadIdx.x; c < columns; c += kThreads) sum += __expf(detail::to_float(row_x[c]) * scale - highest);
    sum = detail::block_all_reduce<detail::SumOp, float, kThreads>(sum, 0.f);
    const float inv = __fdividef(1.f, sum);
    for (int c = threadIdx.x; c < columns; c += kThreads)
        y[row * columns + c] = detail::from_float<scalar_t>(__expf(detail::to_float(row_x[c]) * scale - highest) * inv);
}
}  // namespace

template <int BM, int BN, int BK>
__global__ void sgemm(int M, int N, int K, const float* A, const float* B, float* C) {
    extern __shared__ float smem[];
    float* As = smem;
    float* Bs = smem + BM * BK;
    constexpr int kThreads = BM * BN / 16;
    float acc[4][4] = {};
    const int ty = threadIdx.x / (BN / 4), tx = threadIdx.x % (BN / 4);
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += kThreads) As[i] = A[(blockIdx.y * BM + i / BK) * K + k0 + i % BK];
        for (int i = threadIdx.x; i < BK * BN / 4; i += kThreads)
            reinterpret_cast<float4*>(Bs)[i] = *reinterpret_cast<const float4*>(&B[(k0 + i / (BN / 4)) * N + blockIdx.x * BN + i % (BN / 4) * 4]);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) acc[i][j] += As[(ty * 4 + i) * BK + k] * Bs[k * BN + tx * 4 + j];
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) {
        float4 v = make_float4(acc[i][0], acc[i][1], acc[i][2], acc[i][3]);
        *reinterpret_cast<float4*>(&C[(blockIdx.y * BM + ty * 4 + i) * N + blockIdx.x * BN + tx * 4]) = v;
    }
}

// last block done
__device__ unsigned int g_retired = 0;
extern "C" __global__ void total_sum(const float* x, int n, float* partial, float* out) {
    __shared__ bool last;
    float v = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    v = detail::block_all_reduce<detail::SumOp, float, 128>(v, 0.f);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicInc(&g_retired, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float t = 0;
        for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) t += ((volatile float*)partial)[i];
        t = detail::block_all_reduce<detail::SumOp, float, 128>(t, 0.f);
        if (threadIdx.x == 0) *out = t;
    }
}

// stream compaction by ballots, per warp aggregated atomics
extern "C" __global__ void compact(const int* x, int n, int* out, int* count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool keep = i < n && (x[i] & 1);
    const unsigned long long ballot = __ballot(keep);
    const int lane = __lane_id();
    int base = 0;
    if (ballot) {
        const int leader = __ffsll(ballot) - 1;
        if (lane == leader) base = atomicAdd(count, __popcll(ballot));
        base = __shfl(base, leader);
        if (keep) out[base + __popcll(ballot & ((1ull << lane) - 1))] = x[i];
    }
}

// float atomic max through CAS
__device__ static float atomicMaxFloat(float* address, float val) {
    int* a = (int*)address;
    int old = *a, assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= val) break;
        old = atomicCAS(a, assumed, __float_as_int(val));
    } while (assumed != old);
    return __int_as_float(old);
}
extern "C" __global__ void maximum(const float* x, int n, float* out) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicMaxFloat(out, x[i]);
}

struct Params { int n; float alpha; const __half* in; __half* out; };
extern "C" __global__ __launch_bounds__(256) void half_scale(Params p) {
    const int i = (blockIdx.x * 256 + threadIdx.x) * 2;
    if (i + 1 >= p.n) return;
    __half2 v = *reinterpret_cast<const __half2*>(p.in + i);
    v = __hmul2(v, __float2half2_rn(p.alpha));
    v = __hadd2(v, __half2half2(__float2half(1.0f)));
    *reinterpret_cast<__half2*>(p.out + i) = v;
}
