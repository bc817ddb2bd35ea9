// Where a thread is, barriers and fences.
#pragma once

#define KERNELPERF_AXIS(type, xyz, value)                                                                              \
    struct type {                                                                                                      \
        __declspec(property(get = get_x)) unsigned x;                                                                  \
        __declspec(property(get = get_y)) unsigned y;                                                                  \
        __declspec(property(get = get_z)) unsigned z;                                                                  \
        __device__ __forceinline__ unsigned get_x() const { return value(x); }                                         \
        __device__ __forceinline__ unsigned get_y() const { return value(y); }                                         \
        __device__ __forceinline__ unsigned get_z() const { return value(z); }                                         \
        __device__ __forceinline__ operator dim3() const { return dim3(value(x), value(y), value(z)); }                \
    };
#define KERNELPERF_THREAD(axis) __builtin_amdgcn_workitem_id_##axis()
#define KERNELPERF_BLOCK(axis) __builtin_amdgcn_workgroup_id_##axis()
#define KERNELPERF_SIZE(axis) static_cast<unsigned>(__builtin_amdgcn_workgroup_size_##axis())
#define KERNELPERF_GRID(axis) (__builtin_amdgcn_grid_size_##axis() / KERNELPERF_SIZE(axis))
KERNELPERF_AXIS(kernelperf_thread, xyz, KERNELPERF_THREAD)
KERNELPERF_AXIS(kernelperf_block, xyz, KERNELPERF_BLOCK)
KERNELPERF_AXIS(kernelperf_size, xyz, KERNELPERF_SIZE)
KERNELPERF_AXIS(kernelperf_grid, xyz, KERNELPERF_GRID)
#undef KERNELPERF_AXIS
#define KERNELPERF_PLACE static constexpr __device__ __attribute__((unused))
KERNELPERF_PLACE kernelperf_thread threadIdx{};
KERNELPERF_PLACE kernelperf_block blockIdx{};
KERNELPERF_PLACE kernelperf_size blockDim{};
KERNELPERF_PLACE kernelperf_grid gridDim{};
KERNELPERF_PLACE int warpSize = __AMDGCN_WAVEFRONT_SIZE;

#define KERNELPERF_DEVICE static __device__ __forceinline__
KERNELPERF_DEVICE void __syncthreads() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
KERNELPERF_DEVICE void __syncwarp(unsigned long long = ~0ull) {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
    __builtin_amdgcn_wave_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}
KERNELPERF_DEVICE void __threadfence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
KERNELPERF_DEVICE void __threadfence_block() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"); }
KERNELPERF_DEVICE void __threadfence_system() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
KERNELPERF_DEVICE long long clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
KERNELPERF_DEVICE long long wall_clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
KERNELPERF_DEVICE long long clock() { return clock64(); }
KERNELPERF_DEVICE void __trap() { __builtin_trap(); }
KERNELPERF_DEVICE void abort() { __builtin_trap(); }
KERNELPERF_DEVICE void* memcpy(void* target, const void* source, size_t bytes) {
    return __builtin_memcpy(target, source, bytes);
}
KERNELPERF_DEVICE void* memmove(void* target, const void* source, size_t bytes) {
    return __builtin_memmove(target, source, bytes);
}
KERNELPERF_DEVICE void* memset(void* target, int byte, size_t bytes) { return __builtin_memset(target, byte, bytes); }
// What is printed does not matter here; ROCm's runtime would carry it to the host.
KERNELPERF_DEVICE int printf(const char*, ...) { return 0; }
KERNELPERF_DEVICE void __assert_fail(const char*, const char*, unsigned, const char*) { __builtin_trap(); }
