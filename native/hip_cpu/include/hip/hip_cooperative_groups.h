// Cooperative groups within a workgroup: thread_block, tiles of it, and coalesced threads. A grid cannot be waited for:
// workgroups run one after another here.
//
// This is device code like a user's: the calls below are found and given their places as if it were (source/group_use.h).
#pragma once

#include "hip_runtime.h"

namespace cooperative_groups {

class thread_block {
public:
    static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned num_threads() { return size(); }
    static unsigned thread_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
    static dim3 group_index() { return dim3(blockIdx); }
    static dim3 thread_index() { return dim3(threadIdx); }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
    static bool is_valid() { return true; }
    static void sync() { __syncthreads(); }
};

class grid_group {
public:
    static unsigned long long size() { return 1ull * gridDim.x * gridDim.y * gridDim.z * thread_block::size(); }
    static unsigned long long num_threads() { return size(); }
    static unsigned long long thread_rank() {
        return (blockIdx.x + 1ull * gridDim.x * (blockIdx.y + 1ull * gridDim.y * blockIdx.z)) * thread_block::size() + thread_block::thread_rank();
    }
    static dim3 group_dim() { return gridDim; }
    static bool is_valid() { return false; }
    template <class T = void> static void sync() {
        static_assert(__is_same(T, grid_group), "waiting for the whole grid (grid_group::sync) is not supported by the cpu runtime: workgroups run one after another");
    }
};

inline thread_block this_thread_block() { return {}; }
inline grid_group this_grid() { return {}; }

// `lanes` neighbouring threads of a wave.
template <unsigned lanes> class tile {
    static_assert(lanes <= 32 && (lanes & (lanes - 1)) == 0, "a tile has a power of two of threads and is not larger than a wave, which has 32 in the cpu runtime");
    static constexpr unsigned whole = lanes == 32 ? 0xffffffffu : (1u << (lanes & 31)) - 1;
    static unsigned begin() { return __lane_id() & ~(lanes - 1); }

public:
    static constexpr unsigned numThreads = lanes;
    static constexpr unsigned size() { return lanes; }
    static constexpr unsigned num_threads() { return lanes; }
    static unsigned thread_rank() { return __lane_id() & (lanes - 1); }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / lanes; }
    static unsigned meta_group_size() { return (thread_block::size() + lanes - 1) / lanes; }
    static bool is_valid() { return true; }
    static void sync() { __syncwarp(); }
    template <class T> static T shfl(T value, int source) { return __shfl(value, source, lanes); }
    template <class T> static T shfl_down(T value, unsigned delta) { return __shfl_down(value, delta, lanes); }
    template <class T> static T shfl_up(T value, unsigned delta) { return __shfl_up(value, delta, lanes); }
    template <class T> static T shfl_xor(T value, unsigned mask) { return __shfl_xor(value, mask, lanes); }
    static unsigned long long ballot(int predicate) { return __ballot(predicate) >> begin() & whole; }
    static int any(int predicate) { return (__ballot(predicate) >> begin() & whole) != 0; }
    static int all(int predicate) { return (__ballot(!predicate) >> begin() & whole) == 0; }
    template <class T> static unsigned long long match_any(T value) { return __match_any(value) >> begin() & whole; }
};

template <unsigned lanes, class Parent = void> using thread_block_tile = tile<lanes>;

template <unsigned lanes, class Parent> tile<lanes> tiled_partition(const Parent&) { return {}; }

// The lanes of a wave that were here when it was made.
class coalesced_group {
    unsigned long long mask_;
    static int nth(unsigned long long mask, unsigned n) {
        for (; n != 0 && mask != 0; --n) mask &= mask - 1;
        return mask == 0 ? static_cast<int>(__lane_id()) : __builtin_ctzll(mask);
    }
    unsigned long long packed(unsigned long long votes) const {
        unsigned long long result = 0;
        unsigned n = 0;
        for (unsigned long long left = mask_; left != 0; left &= left - 1, ++n) result |= (votes >> __builtin_ctzll(left) & 1) << n;
        return result;
    }

public:
    explicit coalesced_group(unsigned long long mask) : mask_(mask) {}
    unsigned size() const { return static_cast<unsigned>(__builtin_popcountll(mask_)); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return static_cast<unsigned>(__builtin_popcountll(mask_ & ((1ull << __lane_id()) - 1))); }
    bool is_valid() const { return true; }
    void sync() const { __syncwarp(); }
    template <class T> T shfl(T value, int source) const { return __shfl(value, nth(mask_, static_cast<unsigned>(source) % size())); }
    template <class T> T shfl_down(T value, unsigned delta) const {
        return __shfl(value, thread_rank() + delta < size() ? nth(mask_, thread_rank() + delta) : static_cast<int>(__lane_id()));
    }
    template <class T> T shfl_up(T value, unsigned delta) const {
        return __shfl(value, thread_rank() >= delta ? nth(mask_, thread_rank() - delta) : static_cast<int>(__lane_id()));
    }
    unsigned long long ballot(int predicate) const { return packed(__ballot(predicate) & mask_); }
    int any(int predicate) const { return (__ballot(predicate) & mask_) != 0; }
    int all(int predicate) const { return (__ballot(!predicate) & mask_) == 0; }
};

inline coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

template <class Group> void sync(const Group& group) { group.sync(); }

}  // namespace cooperative_groups
