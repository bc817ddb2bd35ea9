// Clocks, and those of clang's builtins for AMD that have a counterpart. Others are compile errors that name them.
#pragma once

// Nanoseconds of the device's global timer; hipDeviceAttributeWallClockRate says 1,000,000 kHz.
static __device__ __forceinline__ long long wall_clock64() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
    return static_cast<long long>(nanoseconds);
}

// AMD's unit is 64 cycles, about 32 ns.
static __device__ __forceinline__ void __builtin_amdgcn_s_sleep(int units) { __nanosleep(static_cast<unsigned>(units) * 32u); }
static __device__ __forceinline__ void __builtin_amdgcn_s_barrier() { __syncthreads(); }
static __device__ __forceinline__ void __builtin_amdgcn_wave_barrier() { __syncwarp(); }
static __device__ __forceinline__ int __builtin_amdgcn_wavefrontsize() { return 32; }
static __device__ __forceinline__ float __builtin_amdgcn_rcpf(float value) { return __frcp_rn(value); }
static __device__ __forceinline__ float __builtin_amdgcn_rsqf(float value) { return rsqrtf(value); }
static __device__ __forceinline__ float __builtin_amdgcn_exp2f(float value) { return exp2f(value); }
static __device__ __forceinline__ int __builtin_amdgcn_readfirstlane(int value) {
    const unsigned active = __activemask();
    return __shfl_sync(active, value, __ffs(static_cast<int>(active)) - 1);
}
static __device__ __forceinline__ int __builtin_amdgcn_readlane(int value, int lane) { return __shfl_sync(__activemask(), value, lane); }

template <class T>
static __device__ __forceinline__ T __builtin_nontemporal_load(const T* address) {
    return __ldcs(address);
}
template <class T>
static __device__ __forceinline__ void __builtin_nontemporal_store(T value, T* address) {
    __stcs(address, value);
}

[[noreturn]] static __device__ __forceinline__ void kernelperf_abort() {
    __trap();
    __builtin_unreachable();
}
#define abort kernelperf_abort
