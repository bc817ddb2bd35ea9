// Parallel primitives: scans, sorts, reductions, counting, top-k.
#include <hip/hip_runtime.h>
#include <cstdint>
#include <type_traits>

#ifndef warpSize
#define warpSize 32
#endif

namespace prim {
enum class algorithm { shuffle, lds };

template <class T, unsigned int LogicalWarp> class warp_scan {
public:
    struct storage_type { T values[LogicalWarp * 2]; };
    __device__ __forceinline__ void inclusive_scan(T in, T& out) { scan(in, out, [](T a, T b) { return a + b; }); }
    template <class Op> __device__ __forceinline__ void scan(T in, T& out, Op op) {
        out = in;
        const unsigned lane = __lane_id() % LogicalWarp;
#pragma unroll
        for (unsigned offset = 1; offset < LogicalWarp; offset *= 2) {
            T value = __shfl_up(out, offset, LogicalWarp);
            if (lane >= offset) out = op(value, out);
        }
    }
};

template <class T, unsigned BlockSize, unsigned ItemsPerThread = 1> class block_scan {
    static constexpr unsigned warps = (BlockSize + 31) / 32;
public:
    struct storage_type { T warp_prefixes[warps]; T total; };
    __device__ void exclusive(const T (&in)[ItemsPerThread], T (&out)[ItemsPerThread], T init, T& reduction, storage_type& storage) {
        T thread_sum = in[0];
#pragma unroll
        for (unsigned i = 1; i < ItemsPerThread; i++) thread_sum += in[i];
        T inclusive;
        warp_scan<T, 32>().inclusive_scan(thread_sum, inclusive);
        const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        if (lane == 31) storage.warp_prefixes[warp] = inclusive;
        __syncthreads();
        if (warp == 0) {
            T v = lane < warps ? storage.warp_prefixes[lane] : T(0), s;
            warp_scan<T, 32>().inclusive_scan(v, s);
            if (lane < warps) storage.warp_prefixes[lane] = s - v;
            if (lane == warps - 1) storage.total = s;
        }
        __syncthreads();
        T prefix = storage.warp_prefixes[warp] + inclusive - thread_sum + init;
#pragma unroll
        for (unsigned i = 0; i < ItemsPerThread; i++) { out[i] = prefix; prefix += in[i]; }
        reduction = storage.total;
        __syncthreads();
    }
};
}  // namespace prim

template <class T, unsigned BlockSize, unsigned Items>
__global__ __launch_bounds__(BlockSize) void block_exclusive_scan(const T* in, T* out, T* totals, T init) {
    using scan_t = prim::block_scan<T, BlockSize, Items>;
    __shared__ typename scan_t::storage_type storage;
    T values[Items], result[Items], total;
    const unsigned base = (blockIdx.x * BlockSize + threadIdx.x) * Items;
#pragma unroll
    for (unsigned i = 0; i < Items; i++) values[i] = in[base + i];
    scan_t().exclusive(values, result, init, total, storage);
    for (unsigned i = 0; i < Items; i++) out[base + i] = result[i];
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

// Decoupled look-back scan: one pass, descriptors with status in the high word. Blocks get their number from a ticket.
__device__ unsigned long long g_descriptors[1024];
__device__ unsigned g_ticket;
__global__ void lookback_scan(const unsigned* __restrict__ in, unsigned* __restrict__ out, int n) {
    __shared__ unsigned tile_id;
    __shared__ unsigned exclusive_prefix;
    __shared__ unsigned sums[8];
    if (threadIdx.x == 0) tile_id = atomicAdd(&g_ticket, 1u);
    __syncthreads();
    const unsigned tile = tile_id;
    const int i = tile * blockDim.x + threadIdx.x;
    const unsigned v = i < n ? in[i] : 0;
    unsigned inclusive = v;
    for (int o = 1; o < 32; o <<= 1) {
        const unsigned up = __shfl_up(inclusive, o);
        if ((threadIdx.x & 31) >= o) inclusive += up;
    }
    if ((threadIdx.x & 31) == 31) sums[threadIdx.x / 32] = inclusive;
    __syncthreads();
    unsigned before = 0, total = 0;
    for (int w = 0; w < blockDim.x / 32; ++w) {
        if (w < threadIdx.x / 32) before += sums[w];
        total += sums[w];
    }
    inclusive += before;
    if (threadIdx.x == 0) {
        unsigned long long mine = (tile == 0 ? 2ull : 1ull) << 32 | total;
        __hip_atomic_store(&g_descriptors[tile], mine, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        unsigned running = 0;
        for (int look = int(tile) - 1; look >= 0;) {
            const unsigned long long d = __hip_atomic_load(&g_descriptors[look], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
            const unsigned status = d >> 32;
            if (status == 0) continue;
            running += (unsigned)d;
            if (status == 2) break;
            --look;
        }
        exclusive_prefix = running;
        __threadfence();
        if (tile != 0) atomicExch(&g_descriptors[tile], 2ull << 32 | (running + total));
    }
    __syncthreads();
    if (i < n) out[i] = inclusive + exclusive_prefix;
}

// Radix sort, 4 bits a pass within a block, with ballots (match-style ranking).
template <int BITS> __device__ unsigned match_digit(unsigned digit) {
    unsigned mask = 0xffffffffu;
#pragma unroll
    for (int b = 0; b < BITS; ++b) {
        const unsigned long long vote = __ballot(digit >> b & 1);
        mask &= (digit >> b & 1) ? unsigned(vote) : ~unsigned(vote);
    }
    return mask;
}
extern "C" __global__ void __launch_bounds__(256) block_radix_sort(unsigned* keys) {
    __shared__ unsigned s_keys[256];
    __shared__ unsigned counters[8][16];
    const unsigned tid = threadIdx.x, warp = tid >> 5, lane = tid & 31;
    unsigned key = keys[blockIdx.x * 256 + tid];
    for (unsigned shift = 0; shift < 32; shift += 4) {
        if (lane < 16) counters[warp][lane] = 0;
        __syncthreads();
        const unsigned digit = key >> shift & 15;
        const unsigned peers = match_digit<4>(digit);
        const unsigned rank_in_warp = __popc(peers & ((1u << lane) - 1));
        if (rank_in_warp == 0) counters[warp][digit] = __popc(peers);
        __syncthreads();
        if (tid < 16) {
            unsigned sum = 0;
            for (int w = 0; w < 8; ++w) { const unsigned c = counters[w][tid]; counters[w][tid] = sum; sum += c; }
            unsigned inclusive = sum;
            for (int o = 1; o < 16; o <<= 1) { const unsigned u = __shfl_up(inclusive, o, 16); if (tid >= o) inclusive += u; }
            const unsigned digit_base = inclusive - sum;
            for (int w = 0; w < 8; ++w) counters[w][tid] += digit_base;
        }
        __syncthreads();
        s_keys[counters[warp][digit] + rank_in_warp] = key;
        __syncthreads();
        key = s_keys[tid];
        __syncthreads();
    }
    keys[blockIdx.x * 256 + tid] = key;
}

// match_any + aggregated atomics
extern "C" __global__ void histogram_match(const int* x, int n, unsigned* bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n + 31) / 32 * 32; i += gridDim.x * blockDim.x) {
        const int v = i < n ? x[i] : -1;
        const unsigned long long peers = __match_any(v);
        if (v >= 0 && __ffsll(peers) - 1 == __lane_id()) atomicAdd(bins + v, __popcll(peers));
    }
}

// Grid-wide argmax packed in 64 bits
extern "C" __global__ void argmax64(const float* x, int n, unsigned long long* best) {
    unsigned long long mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        unsigned bits = __float_as_uint(x[i]);
        bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
        const unsigned long long packed = (unsigned long long)bits << 32 | (0xffffffffu - i);
        mine = mine > packed ? mine : packed;
    }
    for (int o = warpSize / 2; o > 0; o >>= 1) {
        const unsigned long long other = __shfl_down(mine, o);
        mine = max(mine, other);
    }
    if ((threadIdx.x & (warpSize - 1)) == 0) atomicMax(best, mine);
}

// Block reduce, Harris style, volatile shared tail without a barrier but with __syncwarp
template <unsigned blockSize> __device__ void warpReduce(volatile float* sdata, unsigned tid) {
    if (blockSize >= 64) { sdata[tid] += sdata[tid + 32]; __syncwarp(); }
    float v = sdata[tid];
    if (blockSize >= 32) { __syncwarp(); v += sdata[tid + 16]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 16) { v += sdata[tid + 8]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 8) { v += sdata[tid + 4]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 4) { v += sdata[tid + 2]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 2) { v += sdata[tid + 1]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
}
template <unsigned blockSize> __global__ void reduce6(const float* g_idata, float* g_odata, unsigned n) {
    extern __shared__ float sdata[];
    unsigned tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + tid, gridSize = blockSize * 2 * gridDim.x;
    sdata[tid] = 0;
    while (i < n) {
        sdata[tid] += g_idata[i] + (i + blockSize < n ? g_idata[i + blockSize] : 0.f);
        i += gridSize;
    }
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) { sdata[tid] += sdata[tid + 256]; } __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) { sdata[tid] += sdata[tid + 128]; } __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) { sdata[tid] += sdata[tid + 64]; } __syncthreads(); }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

// top-k per row with warp-level bitonic on pairs
struct Pair { float v; int i; };
__device__ inline bool operator<(const Pair& a, const Pair& b) { return a.v < b.v || (a.v == b.v && a.i > b.i); }
template <int K> __global__ void warp_topk(const float* __restrict__ x, int n, float* __restrict__ values, int* __restrict__ indices) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    const float* r = x + (size_t)row * n;
    Pair best[K];
    for (auto& b : best) b = {-INFINITY, 0x7fffffff};
    for (int i = lane; i < n; i += 32) {
        Pair p{r[i], i};
#pragma unroll
        for (int k = 0; k < K; ++k)
            if (best[k] < p) { const Pair t = best[k]; best[k] = p; p = t; }
    }
    int head = 0;
    for (int k = 0; k < K; ++k) {
        Pair mine = head < K ? best[head] : Pair{-INFINITY, 0x7fffffff};
        const int owner_index = mine.i;
        for (int o = 16; o; o /= 2) {
            Pair other{__shfl_xor(mine.v, o), __shfl_xor(mine.i, o)};
            if (mine < other) mine = other;
        }
        if (mine.i == owner_index) ++head;
        if (lane == 0) { values[row * K + k] = mine.v; indices[row * K + k] = mine.i; }
    }
}
