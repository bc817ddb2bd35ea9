// What the cpu runtime cannot do yet is a compile error that names it.
#pragma once

#define KP_UNSUPPORTED(name)                                                                                  \
    template <class... A> struct kp_unsupported_##name {                                                      \
        static_assert(sizeof...(A) == 1000000, #name " is not supported by the cpu runtime yet");             \
        using type = int;                                                                                     \
    };                                                                                                        \
    template <class... A> static inline typename kp_unsupported_##name<A...>::type name(A...) { return 0; }

KP_UNSUPPORTED(__syncthreads)
KP_UNSUPPORTED(__syncthreads_count)
KP_UNSUPPORTED(__syncthreads_and)
KP_UNSUPPORTED(__syncthreads_or)
KP_UNSUPPORTED(__syncwarp)
KP_UNSUPPORTED(__shfl)
KP_UNSUPPORTED(__shfl_up)
KP_UNSUPPORTED(__shfl_down)
KP_UNSUPPORTED(__shfl_xor)
KP_UNSUPPORTED(__shfl_sync)
KP_UNSUPPORTED(__shfl_up_sync)
KP_UNSUPPORTED(__shfl_down_sync)
KP_UNSUPPORTED(__shfl_xor_sync)
KP_UNSUPPORTED(__ballot)
KP_UNSUPPORTED(__ballot_sync)
KP_UNSUPPORTED(__all)
KP_UNSUPPORTED(__any)
KP_UNSUPPORTED(__all_sync)
KP_UNSUPPORTED(__any_sync)
KP_UNSUPPORTED(__activemask)
KP_UNSUPPORTED(__lane_id)
KP_UNSUPPORTED(atomicAdd)
KP_UNSUPPORTED(atomicSub)
KP_UNSUPPORTED(atomicMax)
KP_UNSUPPORTED(atomicMin)
KP_UNSUPPORTED(atomicExch)
KP_UNSUPPORTED(atomicCAS)
KP_UNSUPPORTED(atomicAnd)
KP_UNSUPPORTED(atomicOr)
KP_UNSUPPORTED(atomicXor)
KP_UNSUPPORTED(atomicInc)
KP_UNSUPPORTED(atomicDec)
KP_UNSUPPORTED(unsafeAtomicAdd)
KP_UNSUPPORTED(__builtin_amdgcn_s_barrier)
KP_UNSUPPORTED(__builtin_amdgcn_ds_bpermute)
KP_UNSUPPORTED(__builtin_amdgcn_readfirstlane)
KP_UNSUPPORTED(__builtin_amdgcn_wave_barrier)

#undef KP_UNSUPPORTED
