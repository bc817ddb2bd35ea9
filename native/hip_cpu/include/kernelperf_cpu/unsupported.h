// What the cpu runtime cannot do yet is a compile error that names it.
#pragma once

#define KP_UNSUPPORTED(name)                                                                                  \
    template <class... A> struct kp_unsupported_##name {                                                      \
        static_assert(sizeof...(A) == 1000000, #name " is not supported by the cpu runtime yet");             \
        using type = int;                                                                                     \
    };                                                                                                        \
    template <class... A> static inline typename kp_unsupported_##name<A...>::type name(A...) { return 0; }

KP_UNSUPPORTED(__match_all)
KP_UNSUPPORTED(__match_all_sync)
KP_UNSUPPORTED(__builtin_amdgcn_ds_permute)
KP_UNSUPPORTED(__builtin_amdgcn_ds_swizzle)
KP_UNSUPPORTED(__builtin_amdgcn_mov_dpp)
KP_UNSUPPORTED(__builtin_amdgcn_update_dpp)
KP_UNSUPPORTED(__builtin_amdgcn_permlanex16)
KP_UNSUPPORTED(__builtin_amdgcn_writelane)

#undef KP_UNSUPPORTED
