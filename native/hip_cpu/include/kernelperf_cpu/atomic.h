// Atomic operations on global and shared memory. Workgroups run on several cores, so these are the processor's own.
// They are ordered, more than a GPU promises; on x86-64 that costs nothing.
#pragma once

#include "device.h"

namespace kp {

template <class T> struct Itself { using type = T; };
template <class T> using Value = typename Itself<T>::type;

template <unsigned size> struct Bits;
template <> struct Bits<2> { using type = unsigned short; };
template <> struct Bits<4> { using type = unsigned; };
template <> struct Bits<8> { using type = unsigned long long; };

// Replace *address by change(*address) in one step; what was there before.
template <class T, class Change> __attribute__((always_inline)) inline T atomically(T* address, Change change) {
    using Word = typename Bits<sizeof(T)>::type;
    auto* word = reinterpret_cast<Word*>(address);
    Word seen = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    for (;;) {
        T before;
        __builtin_memcpy(&before, &seen, sizeof(T));
        const T after = change(before);
        Word wanted;
        __builtin_memcpy(&wanted, &after, sizeof(T));
        if (__atomic_compare_exchange_n(word, &seen, wanted, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return before;
    }
}

template <class T> constexpr bool is_whole_number = __is_same(T, int) || __is_same(T, unsigned) || __is_same(T, long) ||
                                                    __is_same(T, unsigned long) || __is_same(T, long long) || __is_same(T, unsigned long long);

}  // namespace kp

template <class T> KP_DEVICE T atomicAdd(T* address, kp::Value<T> value) {
    if constexpr (kp::is_whole_number<T>) return __atomic_fetch_add(address, value, __ATOMIC_SEQ_CST);
    else return kp::atomically(address, [&](T before) { return before + value; });
}
template <class T> KP_DEVICE T atomicSub(T* address, kp::Value<T> value) {
    if constexpr (kp::is_whole_number<T>) return __atomic_fetch_sub(address, value, __ATOMIC_SEQ_CST);
    else return kp::atomically(address, [&](T before) { return before - value; });
}
template <class T> KP_DEVICE T atomicMin(T* address, kp::Value<T> value) {
    return kp::atomically(address, [&](T before) { return value < before ? value : before; });
}
template <class T> KP_DEVICE T atomicMax(T* address, kp::Value<T> value) {
    return kp::atomically(address, [&](T before) { return before < value ? value : before; });
}
template <class T> KP_DEVICE T atomicAnd(T* address, kp::Value<T> value) { return __atomic_fetch_and(address, value, __ATOMIC_SEQ_CST); }
template <class T> KP_DEVICE T atomicOr(T* address, kp::Value<T> value) { return __atomic_fetch_or(address, value, __ATOMIC_SEQ_CST); }
template <class T> KP_DEVICE T atomicXor(T* address, kp::Value<T> value) { return __atomic_fetch_xor(address, value, __ATOMIC_SEQ_CST); }
template <class T> KP_DEVICE T atomicExch(T* address, kp::Value<T> value) {
    return kp::atomically(address, [&](T) { return value; });
}
template <class T> KP_DEVICE T atomicCAS(T* address, kp::Value<T> expected, kp::Value<T> value) {
    using Word = typename kp::Bits<sizeof(T)>::type;
    Word seen, wanted;
    __builtin_memcpy(&seen, &expected, sizeof(T));
    __builtin_memcpy(&wanted, &value, sizeof(T));
    __atomic_compare_exchange_n(reinterpret_cast<Word*>(address), &seen, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    T found;
    __builtin_memcpy(&found, &seen, sizeof(T));
    return found;
}
KP_DEVICE unsigned atomicInc(unsigned* address, unsigned limit) {
    return kp::atomically(address, [&](unsigned before) { return before >= limit ? 0u : before + 1; });
}
KP_DEVICE unsigned atomicDec(unsigned* address, unsigned limit) {
    return kp::atomically(address, [&](unsigned before) { return before == 0 || before > limit ? limit : before - 1; });
}

// On the host every scope is the whole machine.
#define atomicAdd_system atomicAdd
#define atomicAdd_block atomicAdd
#define atomicSub_system atomicSub
#define atomicMin_system atomicMin
#define atomicMax_system atomicMax
#define atomicAnd_system atomicAnd
#define atomicOr_system atomicOr
#define atomicXor_system atomicXor
#define atomicExch_system atomicExch
#define atomicCAS_system atomicCAS
#define unsafeAtomicAdd atomicAdd
#define safeAtomicAdd atomicAdd
#define atomicAddNoRet(address, value) ((void)atomicAdd(address, value))

#define __hip_atomic_fetch_add(address, value, order, scope) atomicAdd(address, value)
#define __hip_atomic_fetch_sub(address, value, order, scope) atomicSub(address, value)
#define __hip_atomic_fetch_min(address, value, order, scope) atomicMin(address, value)
#define __hip_atomic_fetch_max(address, value, order, scope) atomicMax(address, value)
#define __hip_atomic_fetch_and(address, value, order, scope) __atomic_fetch_and(address, value, order)
#define __hip_atomic_fetch_or(address, value, order, scope) __atomic_fetch_or(address, value, order)
#define __hip_atomic_fetch_xor(address, value, order, scope) __atomic_fetch_xor(address, value, order)
#define __hip_atomic_exchange(address, value, order, scope) __atomic_exchange_n(address, value, order)
#define __hip_atomic_compare_exchange_strong(address, expected, value, success, failure, scope) \
    __atomic_compare_exchange_n(address, expected, value, false, success, failure)
#define __hip_atomic_compare_exchange_weak(address, expected, value, success, failure, scope) \
    __atomic_compare_exchange_n(address, expected, value, true, success, failure)
