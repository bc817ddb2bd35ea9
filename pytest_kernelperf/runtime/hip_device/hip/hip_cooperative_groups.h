// Cooperative groups as far as kernels use them most: a workgroup, its tiles, and the grid.
#pragma once
#include <hip/hip_runtime.h>

namespace cooperative_groups {

#define KERNELPERF_MEMBER __device__ __forceinline__
class thread_block {
  public:
    KERNELPERF_MEMBER void sync() const { __syncthreads(); }
    KERNELPERF_MEMBER unsigned thread_rank() const {
        return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    }
    KERNELPERF_MEMBER unsigned size() const { return blockDim.x * blockDim.y * blockDim.z; }
    KERNELPERF_MEMBER unsigned num_threads() const { return size(); }
    KERNELPERF_MEMBER dim3 group_index() const { return blockIdx; }
    KERNELPERF_MEMBER dim3 thread_index() const { return threadIdx; }
    KERNELPERF_MEMBER dim3 group_dim() const { return blockDim; }
};
KERNELPERF_MEMBER thread_block this_thread_block() { return {}; }
KERNELPERF_MEMBER void sync(const thread_block& group) { group.sync(); }

class grid_group {
  public:
    KERNELPERF_MEMBER bool is_valid() const { return true; }
    KERNELPERF_MEMBER void sync() const { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }  // checked, never run
    KERNELPERF_MEMBER unsigned long long thread_rank() const {
        const unsigned group = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        return static_cast<unsigned long long>(group) * this_thread_block().size() + this_thread_block().thread_rank();
    }
    KERNELPERF_MEMBER unsigned long long size() const {
        return static_cast<unsigned long long>(gridDim.x) * gridDim.y * gridDim.z * this_thread_block().size();
    }
};
KERNELPERF_MEMBER grid_group this_grid() { return {}; }

template <unsigned kSize, class Parent = void>
class thread_block_tile {
  public:
    KERNELPERF_MEMBER void sync() const { __syncwarp(); }
    KERNELPERF_MEMBER unsigned thread_rank() const { return this_thread_block().thread_rank() % kSize; }
    KERNELPERF_MEMBER unsigned meta_group_rank() const { return this_thread_block().thread_rank() / kSize; }
    KERNELPERF_MEMBER unsigned meta_group_size() const { return (this_thread_block().size() + kSize - 1) / kSize; }
    static constexpr __host__ __device__ unsigned size() { return kSize; }
    static constexpr __host__ __device__ unsigned num_threads() { return kSize; }
    template <class T>
    KERNELPERF_MEMBER T shfl(T value, int rank) const {
        return __shfl(value, rank, kSize);
    }
    template <class T>
    KERNELPERF_MEMBER T shfl_up(T value, unsigned by) const {
        return __shfl_up(value, by, kSize);
    }
    template <class T>
    KERNELPERF_MEMBER T shfl_down(T value, unsigned by) const {
        return __shfl_down(value, by, kSize);
    }
    template <class T>
    KERNELPERF_MEMBER T shfl_xor(T value, unsigned mask) const {
        return __shfl_xor(value, static_cast<int>(mask), kSize);
    }
    KERNELPERF_MEMBER unsigned long long ballot(int predicate) const {
        const unsigned first = __lane_id() / kSize * kSize;
        return __ballot(predicate) >> first & (kSize == 64 ? ~0ull : (1ull << kSize) - 1);
    }
    KERNELPERF_MEMBER int any(int predicate) const { return ballot(predicate) != 0; }
    KERNELPERF_MEMBER int all(int predicate) const { return ballot(!predicate) == 0; }
};
template <unsigned kSize, class Parent>
KERNELPERF_MEMBER thread_block_tile<kSize, Parent> tiled_partition(const Parent&) {
    return {};
}
#undef KERNELPERF_MEMBER

}  // namespace cooperative_groups
