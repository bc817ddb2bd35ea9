// clang's atomics with scopes, and HIP's atomic functions that CUDA lacks.
#pragma once

#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5
#ifndef __ATOMIC_RELAXED
#define __ATOMIC_RELAXED 0
#define __ATOMIC_CONSUME 1
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
#endif

// Order by fences around a relaxed access: never weaker than asked for. A volatile access is relaxed at system scope.
static __device__ __forceinline__ void kernelperf_fence(int scope) {
    if (scope >= __HIP_MEMORY_SCOPE_SYSTEM) __threadfence_system();
    else if (scope >= __HIP_MEMORY_SCOPE_AGENT) __threadfence();
    else __threadfence_block();
}
static __device__ __forceinline__ void kernelperf_fence_before(int order, int scope) {
    if (order >= __ATOMIC_RELEASE) kernelperf_fence(scope);
}
static __device__ __forceinline__ void kernelperf_fence_after(int order, int scope) {
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE) kernelperf_fence(scope);
}

template <class T>
struct kernelperf_same {
    using type = T;
};

template <class T>
static __device__ __forceinline__ T __hip_atomic_load(const T* address, int order, int scope) {
    if (order == __ATOMIC_SEQ_CST) kernelperf_fence(scope);
    const T value = *const_cast<const volatile T*>(address);
    kernelperf_fence_after(order, scope);
    return value;
}
template <class T>
static __device__ __forceinline__ void __hip_atomic_store(T* address, typename kernelperf_same<T>::type value, int order, int scope) {
    kernelperf_fence_before(order, scope);
    *const_cast<volatile T*>(address) = value;
    if (order == __ATOMIC_SEQ_CST) kernelperf_fence(scope);
}

#define KERNELPERF_READ_MODIFY_WRITE(name, function)                                                                   \
    template <class T>                                                                                                 \
    static __device__ __forceinline__ T name(T* address, typename kernelperf_same<T>::type value, int order, int scope) { \
        kernelperf_fence_before(order, scope);                                                                         \
        const T old = scope >= __HIP_MEMORY_SCOPE_SYSTEM ? function##_system(address, value) : function(address, value); \
        kernelperf_fence_after(order, scope);                                                                          \
        return old;                                                                                                    \
    }
KERNELPERF_READ_MODIFY_WRITE(__hip_atomic_exchange, atomicExch)
KERNELPERF_READ_MODIFY_WRITE(__hip_atomic_fetch_add, atomicAdd)
KERNELPERF_READ_MODIFY_WRITE(__hip_atomic_fetch_and, atomicAnd)
KERNELPERF_READ_MODIFY_WRITE(__hip_atomic_fetch_or, atomicOr)
KERNELPERF_READ_MODIFY_WRITE(__hip_atomic_fetch_xor, atomicXor)
KERNELPERF_READ_MODIFY_WRITE(__hip_atomic_fetch_min, atomicMin)
KERNELPERF_READ_MODIFY_WRITE(__hip_atomic_fetch_max, atomicMax)
#undef KERNELPERF_READ_MODIFY_WRITE

template <class T>
static __device__ __forceinline__ bool __hip_atomic_compare_exchange_strong(T* address, T* expected,
                                                                            typename kernelperf_same<T>::type desired, int success,
                                                                            int failure, int scope) {
    kernelperf_fence_before(success > failure ? success : failure, scope);
    const T wanted = *expected;
    const T old = scope >= __HIP_MEMORY_SCOPE_SYSTEM ? atomicCAS_system(address, wanted, desired) : atomicCAS(address, wanted, desired);
    kernelperf_fence_after(success > failure ? success : failure, scope);
    *expected = old;
    return old == wanted;
}
template <class T>
static __device__ __forceinline__ bool __hip_atomic_compare_exchange_weak(T* address, T* expected,
                                                                          typename kernelperf_same<T>::type desired, int success,
                                                                          int failure, int scope) {
    return __hip_atomic_compare_exchange_strong(address, expected, desired, success, failure, scope);
}

// By compare and exchange on the bits, as HIP does where the device has no instruction for it.
#define KERNELPERF_FLOAT_ATOMIC(name, type, bits_type, to_bits, from_bits, better)                                     \
    static __device__ __forceinline__ type name(type* address, type value) {                                          \
        bits_type* bits = reinterpret_cast<bits_type*>(address);                                                       \
        bits_type old = *const_cast<volatile bits_type*>(bits);                                                        \
        while (value better from_bits(old)) {                                                                          \
            const bits_type seen = atomicCAS(bits, old, static_cast<bits_type>(to_bits(value)));                       \
            if (seen == old) break;                                                                                    \
            old = seen;                                                                                                \
        }                                                                                                              \
        return from_bits(old);                                                                                         \
    }
KERNELPERF_FLOAT_ATOMIC(atomicMax, float, unsigned, __float_as_uint, __uint_as_float, >)
KERNELPERF_FLOAT_ATOMIC(atomicMin, float, unsigned, __float_as_uint, __uint_as_float, <)
KERNELPERF_FLOAT_ATOMIC(atomicMax, double, unsigned long long, __double_as_longlong, __longlong_as_double, >)
KERNELPERF_FLOAT_ATOMIC(atomicMin, double, unsigned long long, __double_as_longlong, __longlong_as_double, <)
#undef KERNELPERF_FLOAT_ATOMIC

// size_t is unsigned long, which CUDA's atomics do not take.
static __device__ __forceinline__ unsigned long atomicAdd(unsigned long* address, unsigned long value) {
    return atomicAdd(reinterpret_cast<unsigned long long*>(address), static_cast<unsigned long long>(value));
}

template <class T>
static __device__ __forceinline__ T unsafeAtomicAdd(T* address, typename kernelperf_same<T>::type value) {
    return atomicAdd(address, value);
}
template <class T>
static __device__ __forceinline__ T safeAtomicAdd(T* address, typename kernelperf_same<T>::type value) {
    return atomicAdd(address, value);
}
template <class T>
static __device__ __forceinline__ void atomicAddNoRet(T* address, typename kernelperf_same<T>::type value) {
    atomicAdd(address, value);
}
