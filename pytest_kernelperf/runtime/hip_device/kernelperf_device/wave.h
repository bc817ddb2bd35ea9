// Lanes of a wave, and atomics.
#pragma once

KERNELPERF_DEVICE unsigned __lane_id() { return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)); }

KERNELPERF_DEVICE unsigned long long __ballot(int predicate) {
#if __AMDGCN_WAVEFRONT_SIZE == 32
    return __builtin_amdgcn_ballot_w32(predicate != 0);
#else
    return __builtin_amdgcn_ballot_w64(predicate != 0);
#endif
}
KERNELPERF_DEVICE int __any(int predicate) { return __ballot(predicate) != 0; }
KERNELPERF_DEVICE int __all(int predicate) { return __ballot(!predicate) == 0; }
KERNELPERF_DEVICE unsigned long long __activemask() { return __ballot(1); }

// A value of any size, moved word by word from another lane.
template <class T>
KERNELPERF_DEVICE T kernelperf_from(T value, int lane) {
    constexpr int words = (sizeof(T) + 3) / 4;
    int parts[words] = {};
    __builtin_memcpy(parts, &value, sizeof(T));
    for (int at = 0; at < words; ++at) parts[at] = __builtin_amdgcn_ds_bpermute(lane * 4, parts[at]);
    __builtin_memcpy(&value, parts, sizeof(T));
    return value;
}
template <class T>
KERNELPERF_DEVICE T __shfl(T value, int lane, int width = __AMDGCN_WAVEFRONT_SIZE) {
    const int own = static_cast<int>(__lane_id());
    return kernelperf_from(value, (own & ~(width - 1)) + (lane & (width - 1)));
}
template <class T>
KERNELPERF_DEVICE T __shfl_up(T value, unsigned by, int width = __AMDGCN_WAVEFRONT_SIZE) {
    const int own = static_cast<int>(__lane_id()), from = own - static_cast<int>(by);
    return kernelperf_from(value, from < (own & ~(width - 1)) ? own : from);
}
template <class T>
KERNELPERF_DEVICE T __shfl_down(T value, unsigned by, int width = __AMDGCN_WAVEFRONT_SIZE) {
    const int own = static_cast<int>(__lane_id());
    return kernelperf_from(value, (own & (width - 1)) + static_cast<int>(by) >= width ? own : own + static_cast<int>(by));
}
template <class T>
KERNELPERF_DEVICE T __shfl_xor(T value, int mask, int width = __AMDGCN_WAVEFRONT_SIZE) {
    const int own = static_cast<int>(__lane_id()), from = own ^ mask;
    return kernelperf_from(value, from >= ((own + width) & ~(width - 1)) ? own : from);
}

// The mask says who takes part, and no lane waits for another here.
#define KERNELPERF_MASKED(name)                                                                                        \
    template <class... Arguments>                                                                                      \
    KERNELPERF_DEVICE auto name##_sync(unsigned long long, Arguments... arguments) {                                   \
        return name(arguments...);                                                                                     \
    }
KERNELPERF_MASKED(__shfl)
KERNELPERF_MASKED(__shfl_up)
KERNELPERF_MASKED(__shfl_down)
KERNELPERF_MASKED(__shfl_xor)
KERNELPERF_MASKED(__ballot)
KERNELPERF_MASKED(__any)
KERNELPERF_MASKED(__all)
#undef KERNELPERF_MASKED

static __shared__ __attribute__((unused)) int kernelperf_counted;
KERNELPERF_DEVICE int __syncthreads_count(int predicate) {
    if (threadIdx.x + threadIdx.y + threadIdx.z == 0) kernelperf_counted = 0;
    __syncthreads();
    if (predicate) __hip_atomic_fetch_add(&kernelperf_counted, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __syncthreads();
    const int counted = kernelperf_counted;
    __syncthreads();
    return counted;
}
KERNELPERF_DEVICE int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
KERNELPERF_DEVICE int __syncthreads_and(int predicate) { return __syncthreads_count(!predicate) == 0; }

template <class T>
KERNELPERF_DEVICE T __ldg(const T* address) {
    return *address;
}

#define KERNELPERF_ATOMIC(name, function)                                                                              \
    template <class T>                                                                                                 \
    KERNELPERF_DEVICE T name(T* address, typename kernelperf_same<T>::type value) {                                    \
        return function(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                   \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    KERNELPERF_DEVICE T name##_system(T* address, typename kernelperf_same<T>::type value) {                           \
        return function(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);                                  \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    KERNELPERF_DEVICE T name##_block(T* address, typename kernelperf_same<T>::type value) {                            \
        return function(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);                               \
    }
KERNELPERF_ATOMIC(atomicAdd, __hip_atomic_fetch_add)
KERNELPERF_ATOMIC(atomicAnd, __hip_atomic_fetch_and)
KERNELPERF_ATOMIC(atomicOr, __hip_atomic_fetch_or)
KERNELPERF_ATOMIC(atomicXor, __hip_atomic_fetch_xor)
KERNELPERF_ATOMIC(atomicMin, __hip_atomic_fetch_min)
KERNELPERF_ATOMIC(atomicMax, __hip_atomic_fetch_max)
KERNELPERF_ATOMIC(atomicExch, __hip_atomic_exchange)
#undef KERNELPERF_ATOMIC
template <class T>
KERNELPERF_DEVICE T atomicSub(T* address, typename kernelperf_same<T>::type value) {
    return __hip_atomic_fetch_add(address, -value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
KERNELPERF_DEVICE T atomicCAS(T* address, typename kernelperf_same<T>::type compare,
                              typename kernelperf_same<T>::type value) {
    __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return compare;
}
template <class T>
KERNELPERF_DEVICE T unsafeAtomicAdd(T* address, typename kernelperf_same<T>::type value) {
    return atomicAdd(address, value);
}
template <class T>
KERNELPERF_DEVICE T safeAtomicAdd(T* address, typename kernelperf_same<T>::type value) {
    return atomicAdd(address, value);
}
KERNELPERF_DEVICE unsigned atomicInc(unsigned* address, unsigned last) {
    return __builtin_amdgcn_atomic_inc32(address, last, __ATOMIC_RELAXED, "agent");
}
KERNELPERF_DEVICE unsigned atomicDec(unsigned* address, unsigned last) {
    return __builtin_amdgcn_atomic_dec32(address, last, __ATOMIC_RELAXED, "agent");
}
