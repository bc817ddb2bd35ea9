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

#define KERNELPERF_ATOMIC(name, function)                                                                              \
    template <class T>                                                                                                 \
    KERNELPERF_DEVICE T name(T* address, T value) {                                                                    \
        return function(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                   \
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
KERNELPERF_DEVICE T atomicSub(T* address, T value) {
    return __hip_atomic_fetch_add(address, -value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
KERNELPERF_DEVICE T atomicCAS(T* address, T compare, T value) {
    __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    return compare;
}
