// An engine's file as engines write them: kernels beside what launches, times and captures them on the host.
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                    \
    do {                                                                                               \
        const hipError_t status = (call);                                                              \
        if (status != hipSuccess) {                                                                    \
            std::fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, hipGetErrorString(status));             \
            std::abort();                                                                              \
        }                                                                                              \
    } while (0)

namespace engine {
namespace {

constexpr int kWarp = 32;
enum class Activation : int { kGelu, kGeluTanh, kSilu, kRelu };
struct RopeParams {
    int pairs, heads;
    float base, scale;
};
__constant__ float table[64];
__device__ unsigned int finished;

template <typename T>
__device__ __forceinline__ float to_float(T value) {
    if constexpr (std::is_same_v<T, __half>) return __half2float(value);
    else if constexpr (std::is_same_v<T, __hip_bfloat16>) return __bfloat162float(value);
    else return static_cast<float>(value);
}
template <typename T>
__device__ __forceinline__ T from_float(float value) {
    if constexpr (std::is_same_v<T, __half>) return __float2half(value);
    else if constexpr (std::is_same_v<T, __hip_bfloat16>) return __float2bfloat16(value);
    else return value;
}

template <int kWidth = kWarp>
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
    for (int mask = kWidth / 2; mask > 0; mask >>= 1) value += __shfl_xor(value, mask, kWidth);
    return value;
}
__device__ __noinline__ float block_sum(float value, float* shared) {
    const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
    value = warp_sum(value);
    if (lane == 0) shared[wave] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / warpSize ? shared[lane] : 0.f;
    return warp_sum(value);
}

template <Activation kKind>
__device__ float activate(float x) {
    switch (kKind) {
        case Activation::kGelu: return 0.5f * x * (1.f + erff(x * 0.70710678f));
        case Activation::kGeluTanh: return 0.5f * x * (1.f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
        case Activation::kSilu: return x / (1.f + expf(-x));
        default: return fmaxf(x, 0.f);
    }
}

template <typename T, Activation kKind, int kVec>
__global__ void __launch_bounds__(256) activation(const T* __restrict__ x, T* __restrict__ y, size_t n) {
    static_assert(kVec > 0 && (kVec & (kVec - 1)) == 0);
    for (size_t i = (blockIdx.x * size_t(blockDim.x) + threadIdx.x) * kVec; i < n; i += size_t(gridDim.x) * blockDim.x * kVec)
#pragma unroll
        for (int v = 0; v < kVec; ++v) y[i + v] = from_float<T>(activate<kKind>(to_float(x[i + v])));
}

template <typename T>
__global__ void rope(T* q, const int32_t* positions, RopeParams p) {
    const int head = blockIdx.y, token = blockIdx.x, pair = threadIdx.x;
    if (pair >= p.pairs) return;
    const float frequency = powf(p.base, -2.f * pair / (2 * p.pairs)) * p.scale;
    float sine, cosine;
    sincosf(positions[token] * frequency, &sine, &cosine);
    T* row = q + (size_t(token) * p.heads + head) * 2 * p.pairs;
    const float a = to_float(row[pair]), b = to_float(row[pair + p.pairs]);
    row[pair] = from_float<T>(a * cosine - b * sine);
    row[pair + p.pairs] = from_float<T>(fmaf(b, cosine, a * sine));
}

__global__ void vectors(const float4* a, float4* b, const uint4* packed, half2* h, float scale) {
    extern __shared__ __align__(16) unsigned char dynamic[];
    float4* tile = reinterpret_cast<float4*>(dynamic);
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 v = __ldg(&a[i]);
    v = v * scale + make_float4(1.f, 2.f, 3.f, 4.f);
    v += a[i];
    v *= 2.f;
    v = -v;
    const int2 counts{static_cast<int>(i), 3};
    float4 zero = 0.f, places(counts.x, counts.y, 1u, 2.5), braced{counts.x, counts.y, i, 0};
    v += zero + places * braced;
    tile[threadIdx.x] = v;
    __syncthreads();
    const uint4 bits = packed[i];
    const int dot = __builtin_amdgcn_sudot4(true, bits.x, true, bits.y, 0, false);
    const unsigned byte = __byte_perm(bits.z, bits.w, 0x3210) & 0xffu;
    const half2 two = __hfma2(h[i], __float2half2_rn(scale), __halves2half2(__float2half(1.f), __half(2.f)));
    h[i] = __hadd2(two, __hmul2(two, two));
    const float2 wide = __half22float2(h[i]);
    b[i] = tile[threadIdx.x ^ 1];
    b[i].x += dot + byte + wide.x + __half2float(__low2half(two)) + table[i & 63];
    h[i].x = h[i].x + h[i].y * __float2half(0.5f);
    if (h[i].x > h[i].y) h[i].y = hexp(h[i].x);
}

__global__ void reduce(const float* x, float* out, int* counts, unsigned long long* big, double* wide, int n) {
    __shared__ float shared[32];
    __shared__ bool last;
    float sum = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        atomicAdd(out, sum);
        unsafeAtomicAdd(out + 1, sum);
        atomicAdd(wide, double(sum));
        atomicMax(counts, n);
        atomicMin(counts + 1, 3);
        atomicAdd(big, 1ull);
        atomicOr(counts + 2, 1);
        atomicCAS(counts + 3, 0, 1);
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    if (__syncthreads_or(last) && __syncthreads_count(1) > 0) counts[4] = __popcll(__ballot(last));
    const auto mask = __activemask();
    if (__any(n > 3) && __all(n < 100)) counts[5] = __ffsll(mask) + __clz(n) + __brev(n);
    const float down = __shfl_down(sum, 1) + __shfl_up(sum, 1u, 16) + __shfl(sum, 0);
    if (down > 1e30f) printf("sum %f in block %d\n", down, blockIdx.x);
    assert(n >= 0);
    long long start = clock64();
    __builtin_amdgcn_s_sleep(1);
    if (clock64() - start < 0) __trap();
    wide[1] = exp(wide[0]) + pow(wide[0], 2.0) + log1p(wide[0]) + rsqrt(wide[0]) + sin(wide[0]);
    out[2] = fminf(fmodf(sum, 3.f), floorf(sum)) + roundf(sum) + atan2f(sum, 1.f) + cbrtf(sum) + hypotf(sum, 2.f) + log1pf(sum) + expm1f(sum);
    out[3] = __saturatef(sum) + __frcp_rn(sum) + __fdividef(sum, 3.f) + __powf(sum, 2.f) + __log10f(sum) + __exp10f(sum) + exp10f(sum) + rsqrtf(sum);
    out[4] = std::max(sum, 1.f) + std::min(sum, 2.f) + std::abs(sum) + std::sqrt(sum) + std::exp(sum) + std::fma(sum, 1.f, 2.f) + std::pow(sum, 2.f);
    out[5] = isnan(sum) || isinf(sum) || std::isfinite(sum) ? INFINITY : NAN;
    counts[6] = max(n, 3) + min(n, 4) + abs(n) + __float2int_rn(sum) + __float_as_int(sum) + __mul24(n, 3) + int(__umulhi(n, 7)) + __popc(n) + int(__funnelshift_l(n, n, 3)) + __sad(n, 3, 1u);
}

__global__ void tiles(float* x) {
    namespace cg = cooperative_groups;
    const auto block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<16>(block);
    float value = x[block.thread_rank()];
    for (unsigned by = tile.size() / 2; by > 0; by /= 2) value += tile.shfl_down(value, by);
    block.sync();
    if (tile.thread_rank() == 0 && tile.any(value > 0)) x[tile.meta_group_rank()] = value;
    cg::this_grid().sync();
}

template <class F>
__global__ void elementwise(F function, float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = function(x[i], i);
}

}  // namespace

class Stream {
  public:
    Stream() {
        int low = 0, high = 0;
        CHECK(hipDeviceGetStreamPriorityRange(&low, &high));
        CHECK(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, high));
    }
    ~Stream() { (void)hipStreamDestroy(stream_); }
    operator hipStream_t() const { return stream_; }

  private:
    hipStream_t stream_ = nullptr;
};

struct Buffer {
    explicit Buffer(size_t bytes) { CHECK(hipMalloc(&data, bytes)); }
    ~Buffer() { (void)hipFree(data); }
    void* data = nullptr;
};

template <typename T>
void launch_activation(Activation kind, const T* x, T* y, size_t n, hipStream_t stream) {
    const dim3 block(256), grid(static_cast<unsigned>(std::min<size_t>((n / 4 + 255) / 256, 65535)));
    switch (kind) {
        case Activation::kGelu: activation<T, Activation::kGelu, 4><<<grid, block, 0, stream>>>(x, y, n); break;
        case Activation::kGeluTanh: activation<T, Activation::kGeluTanh, 4><<<grid, block, 0, stream>>>(x, y, n); break;
        case Activation::kSilu: hipLaunchKernelGGL((activation<T, Activation::kSilu, 4>), grid, block, 0, stream, x, y, n); break;
        default: hipLaunchKernelGGL(HIP_KERNEL_NAME(activation<T, Activation::kRelu, 1>), dim3(1), dim3(256), 0, stream, x, y, n);
    }
    CHECK(hipGetLastError());
}
template void launch_activation<float>(Activation, const float*, float*, size_t, hipStream_t);
template void launch_activation<__half>(Activation, const __half*, __half*, size_t, hipStream_t);
template void launch_activation<__hip_bfloat16>(Activation, const __hip_bfloat16*, __hip_bfloat16*, size_t, hipStream_t);

void launch_others(float* x, int n, hipStream_t stream) {
    int device = 0, units = 0, blocks = 0, count = 0;
    CHECK(hipGetDeviceCount(&count));
    CHECK(hipGetDevice(&device));
    CHECK(hipSetDevice(device));
    CHECK(hipDeviceGetAttribute(&units, hipDeviceAttributeMultiprocessorCount, device));
    hipDeviceProp_t properties{};
    CHECK(hipGetDeviceProperties(&properties, device));
    std::cout << properties.name << ' ' << properties.gcnArchName << ' ' << properties.totalGlobalMem << '\n';
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 256, 0));
    CHECK(hipFuncSetAttribute(reinterpret_cast<const void*>(&vectors), hipFuncAttributeMaxDynamicSharedMemorySize, 65536));
    hipFuncAttributes attributes;
    CHECK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(reduce)));
    size_t free_bytes = 0, total_bytes = 0;
    CHECK(hipMemGetInfo(&free_bytes, &total_bytes));
    float* host = nullptr;
    CHECK(hipHostMalloc(&host, n * sizeof(float), hipHostMallocDefault));
    CHECK(hipHostMalloc(reinterpret_cast<void**>(&host), n * sizeof(float), hipHostMallocMapped | hipHostMallocNonCoherent));
    void* mapped = nullptr;
    CHECK(hipHostGetDevicePointer(&mapped, host, 0));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), host, sizeof(float) * 64));
    CHECK(hipMemcpyAsync(x, host, n * sizeof(float), hipMemcpyHostToDevice, stream));
    CHECK(hipMemcpy2DAsync(x, 256, host, 256, 128, 4, hipMemcpyHostToDevice, stream));
    CHECK(hipMemsetAsync(x, 0, n * sizeof(float), stream));
    float* pooled = nullptr;
    CHECK(hipMallocAsync(&pooled, 1024, stream));
    CHECK(hipFreeAsync(pooled, stream));
    CHECK(hipMallocManaged(&pooled, 1024));
    rope<float><<<dim3(n, 8), 64, 0, stream>>>(x, nullptr, RopeParams{64, 8, 10000.f, 1.f});
    rope<__half><<<dim3(n, 8), 64>>>(nullptr, nullptr, {64, 8, 10000.f, 1.f});
    vectors<<<n, 64, 64 * sizeof(float4), stream>>>(nullptr, nullptr, nullptr, nullptr, 1.f);
    reduce<<<units * blocks, 256, 0, stream>>>(x, nullptr, nullptr, nullptr, nullptr, n);
    tiles<<<1, 64, 0, stream>>>(x);
    elementwise<<<1, 64, 0, stream>>>([] __device__(float value, int i) { return value * i; }, x, n);
    hipGraph_t graph;
    hipGraphExec_t executable;
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    void* arguments[] = {&x, &n};
    CHECK(hipLaunchKernel(reinterpret_cast<const void*>(reduce), dim3(1), dim3(64), arguments, 0, stream));
    CHECK(hipLaunchCooperativeKernel(reinterpret_cast<const void*>(reduce), dim3(1), dim3(64), arguments, 0, stream));
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
    hipEvent_t begin, end;
    CHECK(hipEventCreateWithFlags(&begin, hipEventDefault | hipEventDisableTiming));
    CHECK(hipEventCreate(&end));
    CHECK(hipEventRecord(begin, stream));
    CHECK(hipStreamWaitEvent(stream, begin, 0));
    if (hipEventQuery(end) == hipErrorNotReady || hipStreamQuery(stream) != hipSuccess) CHECK(hipEventSynchronize(end));
    float milliseconds = 0;
    CHECK(hipEventElapsedTime(&milliseconds, begin, end));
    CHECK(hipStreamSynchronize(stream));
    CHECK(hipDeviceSynchronize());
    CHECK(hipHostFree(host));
    CHECK(hipEventDestroy(begin));
}

}  // namespace engine
