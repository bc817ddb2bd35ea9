// HIP's wave functions, which take no mask: all 32 threads that have not returned must reach them together.
#pragma once

#define KERNELPERF_ALL_LANES 0xffffffffu

template <class T>
static __device__ __forceinline__ T kernelperf_shfl(T value, int lane, int width = 32) {
    return __shfl_sync(KERNELPERF_ALL_LANES, value, lane, width);
}
template <class T>
static __device__ __forceinline__ T kernelperf_shfl_up(T value, unsigned delta, int width = 32) {
    return __shfl_up_sync(KERNELPERF_ALL_LANES, value, delta, width);
}
template <class T>
static __device__ __forceinline__ T kernelperf_shfl_down(T value, unsigned delta, int width = 32) {
    return __shfl_down_sync(KERNELPERF_ALL_LANES, value, delta, width);
}
template <class T>
static __device__ __forceinline__ T kernelperf_shfl_xor(T value, int lanes, int width = 32) {
    return __shfl_xor_sync(KERNELPERF_ALL_LANES, value, lanes, width);
}
static __device__ __forceinline__ unsigned long long kernelperf_ballot(int condition) {
    return __ballot_sync(KERNELPERF_ALL_LANES, condition);
}
static __device__ __forceinline__ int kernelperf_all(int condition) { return __all_sync(KERNELPERF_ALL_LANES, condition); }
static __device__ __forceinline__ int kernelperf_any(int condition) { return __any_sync(KERNELPERF_ALL_LANES, condition); }

// Macros, since NVRTC knows these names and refuses them on today's devices.
#define __shfl kernelperf_shfl
#define __shfl_up kernelperf_shfl_up
#define __shfl_down kernelperf_shfl_down
#define __shfl_xor kernelperf_shfl_xor
#define __ballot kernelperf_ballot
#define __all kernelperf_all
#define __any kernelperf_any

static __device__ __forceinline__ unsigned __lane_id() {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return lane;
}
