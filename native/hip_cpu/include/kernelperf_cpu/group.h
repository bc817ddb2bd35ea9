// Workgroups whose threads wait for each other: barriers, wave operations and dynamic shared memory.
//
// Such a kernel's threads run as fibres (source/group.h), which the runtime switches when one has to wait. A wave is 32
// neighbouring threads. The reader of the source puts a Site before each call of these functions: a number by which the
// runtime knows that two lanes wait at the same place.
#pragma once

#include "assert.h"
#include "device.h"
#include "index.h"

namespace kp {

// What the runtime tells a running workgroup; must match source/group.h.
struct Group {
    unsigned long long (*exchange)(Group*, unsigned kind, unsigned site, unsigned long long value, unsigned source);
    int (*barrier)(Group*, unsigned kind, unsigned site, int predicate);
    void (*fail)(Group*, const char* file, int line, const char* condition);
    void* dynamic_shared;
    unsigned block[3];
    unsigned thread;  // number of the running thread in its workgroup
    unsigned serial;  // of the run of workgroups that this one is in, never 0
    void (*fence)(Group*, void* variable, unsigned bytes, const char* name);
};

enum ExchangeKind : unsigned { exchange_shuffle, exchange_ballot, exchange_match, exchange_push };
enum BarrierKind : unsigned { barrier_plain, barrier_count, barrier_and, barrier_or };

}  // namespace kp

// One OS thread runs all of a workgroup's fibres, so this and static shared memory are thread-local.
static thread_local kp::Group* kp_group __attribute__((tls_model("local-dynamic"), unused));

namespace kp {

constexpr unsigned wave_lanes = 32;
constexpr unsigned fence_bytes = 128;  // as in source/group.h

template <class T> struct SameAs { using type = T; };

// Called, and left in the code, where an argument that has to be a constant is not one that is understood.
__attribute__((error("this DPP control or swizzle is not supported by the cpu runtime: it knows those of RDNA's rows of sixteen lanes"))) void unknown_lanes();

struct Site {
    unsigned number;

    // --- barriers ------------------------------------------------------------------------------

    __attribute__((always_inline)) int wait(unsigned kind, int predicate) const {
        const uint3 thread = ::kp_index.thread;
        const int result = ::kp_group->barrier(::kp_group, kind, number, predicate);
        ::kp_index.thread = thread;  // others have run meanwhile
        return result;
    }
    __attribute__((always_inline)) void __syncthreads() const { wait(barrier_plain, 0); }
    __attribute__((always_inline)) int __syncthreads_count(int predicate) const { return wait(barrier_count, predicate); }
    __attribute__((always_inline)) int __syncthreads_and(int predicate) const { return wait(barrier_and, predicate); }
    __attribute__((always_inline)) int __syncthreads_or(int predicate) const { return wait(barrier_or, predicate); }
    __attribute__((always_inline)) void __builtin_amdgcn_s_barrier() const { wait(barrier_plain, 0); }

    // --- wave operations -----------------------------------------------------------------------

    __attribute__((always_inline)) unsigned long long exchange(unsigned kind, unsigned long long bits, unsigned source) const {
        const uint3 thread = ::kp_index.thread;
        const unsigned long long result = ::kp_group->exchange(::kp_group, kind, number, bits, source);
        ::kp_index.thread = thread;
        return result;
    }
    static __attribute__((always_inline)) unsigned lane() { return ::kp_group->thread % wave_lanes; }

    // The value that lane `source` of this wave passed; 0 from a lane that is not here, as on AMD's hardware.
    template <class T> __attribute__((always_inline)) T from(T value, unsigned source) const {
        static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T), "a shuffled value has at most eight bytes");
        unsigned long long bits = 0;
        __builtin_memcpy(&bits, &value, sizeof(T));
        bits = exchange(exchange_shuffle, bits, source);
        __builtin_memcpy(&value, &bits, sizeof(T));
        return value;
    }
    template <class T> __attribute__((always_inline)) T __shfl(T value, int source, int width = wave_lanes) const {
        const unsigned w = static_cast<unsigned>(width);
        return from(value, (lane() & ~(w - 1)) + (static_cast<unsigned>(source) & (w - 1)));
    }
    template <class T> __attribute__((always_inline)) T __shfl_xor(T value, int mask, int width = wave_lanes) const {
        const unsigned w = static_cast<unsigned>(width), source = lane() ^ static_cast<unsigned>(mask);
        return from(value, source < (lane() & ~(w - 1)) + w ? source : lane());
    }
    template <class T> __attribute__((always_inline)) T __shfl_up(T value, unsigned delta, int width = wave_lanes) const {
        const unsigned w = static_cast<unsigned>(width);
        return from(value, (lane() & (w - 1)) < delta ? lane() : lane() - delta);
    }
    template <class T> __attribute__((always_inline)) T __shfl_down(T value, unsigned delta, int width = wave_lanes) const {
        const unsigned w = static_cast<unsigned>(width);
        return from(value, (lane() & (w - 1)) + delta >= w ? lane() : lane() + delta);
    }
    template <class T> __attribute__((always_inline)) T __shfl_sync(unsigned long long, T value, int source, int width = wave_lanes) const { return __shfl(value, source, width); }
    template <class T> __attribute__((always_inline)) T __shfl_xor_sync(unsigned long long, T value, int mask, int width = wave_lanes) const { return __shfl_xor(value, mask, width); }
    template <class T> __attribute__((always_inline)) T __shfl_up_sync(unsigned long long, T value, unsigned delta, int width = wave_lanes) const { return __shfl_up(value, delta, width); }
    template <class T> __attribute__((always_inline)) T __shfl_down_sync(unsigned long long, T value, unsigned delta, int width = wave_lanes) const { return __shfl_down(value, delta, width); }

    __attribute__((always_inline)) unsigned long long __ballot(int predicate) const { return exchange(exchange_ballot, predicate != 0, 0); }
    __attribute__((always_inline)) int __any(int predicate) const { return __ballot(predicate) != 0; }
    __attribute__((always_inline)) int __all(int predicate) const { return __ballot(!predicate) == 0; }
    __attribute__((always_inline)) unsigned long long __activemask() const { return __ballot(1); }
    __attribute__((always_inline)) unsigned long long __ballot_sync(unsigned long long mask, int predicate) const { return __ballot(predicate) & mask; }
    __attribute__((always_inline)) int __any_sync(unsigned long long mask, int predicate) const { return (__ballot(predicate) & mask) != 0; }
    __attribute__((always_inline)) int __all_sync(unsigned long long mask, int predicate) const { return (__ballot(!predicate) & mask) == 0; }
    __attribute__((always_inline)) void __syncwarp(unsigned long long = 0) const { __ballot(1); }
    __attribute__((always_inline)) void loop() const { __ballot(1); }  // at the head of a loop: see source/group_use.h
    __attribute__((always_inline)) void __builtin_amdgcn_wave_barrier() const { __ballot(1); }
    template <class T> __attribute__((always_inline)) unsigned long long __match_any(T value) const {
        static_assert(sizeof(T) <= 8, "a compared value has at most eight bytes");
        unsigned long long bits = 0;
        __builtin_memcpy(&bits, &value, sizeof(T));
        return exchange(exchange_match, bits, 0);
    }
    template <class T> __attribute__((always_inline)) unsigned long long __match_any_sync(unsigned long long mask, T value) const { return __match_any(value) & mask; }
    template <class T> __attribute__((always_inline)) unsigned long long __match_all_sync(unsigned long long mask, T value, int* same) const {
        const unsigned long long here = __activemask() & mask;
        *same = (__match_any(value) & mask) == here;
        return *same ? here : 0;
    }
    template <class T> __attribute__((always_inline)) unsigned long long __match_all(T value, int* same) const { return __match_all_sync(~0ull, value, same); }

    // --- AMD's own ways to move values between lanes -----------------------------------------------

    __attribute__((always_inline)) unsigned __builtin_amdgcn_ballot_w32(bool predicate) const { return static_cast<unsigned>(__ballot(predicate)); }
    __attribute__((always_inline)) unsigned long long __builtin_amdgcn_ballot_w64(bool predicate) const { return __ballot(predicate); }

    // The lane that `control` names, in this lane's row of sixteen; -1 if it names none.
    static __attribute__((always_inline)) int dpp_source(int control) {
        const int me = static_cast<int>(lane()), row = me & ~15, at = me & 15, n = control & 15;
        if (control < 0x100) return (me & ~3) | (control >> 2 * (me & 3) & 3);
        switch (control >> 4) {
            case 0x10: return at + n < 16 ? me + n : -1;
            case 0x11: return at >= n ? me - n : -1;
            case 0x12: return row | ((at - n) & 15);
            case 0x15: return row | n;
            case 0x16: return row | (at ^ n);
            default: break;
        }
        if (control == 0x140) return row | (15 - at);
        if (control == 0x141) return (me & ~7) | (7 - (me & 7));
        unknown_lanes();
        return -1;
    }
    template <class T> __attribute__((always_inline)) T __builtin_amdgcn_update_dpp(T old, T value, int control, int row_mask, int bank_mask, bool bound_control) const {
        const int source = dpp_source(control);
        const unsigned me = lane();
        // Bit 32 tells that the source lane is here.
        const unsigned long long seen = exchange(exchange_shuffle, kp_same_bits<unsigned>(value) | 1ull << 32, static_cast<unsigned>(source) % wave_lanes);
        if ((row_mask >> me / 16 & 1) == 0 || (bank_mask >> me % 16 / 4 & 1) == 0) return old;
        if (source >= 0 && seen >> 32 != 0) return kp_same_bits<T>(static_cast<unsigned>(seen));
        return bound_control ? T{} : old;
    }
    template <class T> __attribute__((always_inline)) T __builtin_amdgcn_mov_dpp(T value, int control, int row_mask, int bank_mask, bool bound_control) const {
        return __builtin_amdgcn_update_dpp(T{}, value, control, row_mask, bank_mask, bound_control);
    }
    __attribute__((always_inline)) int __builtin_amdgcn_ds_swizzle(int value, int pattern) const {
        const int me = static_cast<int>(lane());
        if (pattern >= 0xc000) unknown_lanes();
        if ((pattern & 0x8000) != 0) return from(value, static_cast<unsigned>((me & ~3) | (pattern >> 2 * (me & 3) & 3)));
        return from(value, static_cast<unsigned>(((me & pattern & 31) | (pattern >> 5 & 31)) ^ (pattern >> 10 & 31)));
    }
    template <class T> __attribute__((always_inline)) T __builtin_amdgcn_permlane16(T, T value, unsigned low, unsigned high, bool, bool) const {
        const unsigned at = lane() & 15;
        return from(value, (lane() & ~15u) | ((at < 8 ? low >> 4 * at : high >> 4 * (at - 8)) & 15));
    }
    template <class T> __attribute__((always_inline)) T __builtin_amdgcn_permlanex16(T, T value, unsigned low, unsigned high, bool, bool) const {
        const unsigned at = lane() & 15;
        return from(value, ((lane() ^ 16) & ~15u) | ((at < 8 ? low >> 4 * at : high >> 4 * (at - 8)) & 15));
    }
    __attribute__((always_inline)) int __builtin_amdgcn_ds_permute(int address, int value) const {
        return static_cast<int>(exchange(exchange_push, static_cast<unsigned>(value), (static_cast<unsigned>(address) >> 2) & (wave_lanes - 1)));
    }
    __attribute__((always_inline)) int __builtin_amdgcn_ds_bpermute(int address, int value) const {
        return from(value, (static_cast<unsigned>(address) >> 2) & (wave_lanes - 1));
    }
    template <class T> __attribute__((always_inline)) T __builtin_amdgcn_readfirstlane(T value) const {
        return from(value, static_cast<unsigned>(__builtin_ctzll(__activemask())));
    }
    template <class T> __attribute__((always_inline)) T __builtin_amdgcn_readlane(T value, int source) const {
        return from(value, static_cast<unsigned>(source) & (wave_lanes - 1));
    }
    template <class T> __attribute__((always_inline)) T __reduce_add_sync(unsigned long long mask, T value) const { return reduce(mask, value, [](T a, T b) { return static_cast<T>(a + b); }); }
    template <class T> __attribute__((always_inline)) T __reduce_min_sync(unsigned long long mask, T value) const { return reduce(mask, value, [](T a, T b) { return b < a ? b : a; }); }
    template <class T> __attribute__((always_inline)) T __reduce_max_sync(unsigned long long mask, T value) const { return reduce(mask, value, [](T a, T b) { return a < b ? b : a; }); }

private:
    template <class T, class Two> __attribute__((always_inline)) T reduce(unsigned long long mask, T value, Two two) const {
        unsigned long long left = __activemask() & mask;
        T result = from(value, static_cast<unsigned>(__builtin_ctzll(left)));
        while ((left &= left - 1) != 0) result = two(result, from(value, static_cast<unsigned>(__builtin_ctzll(left))));
        return result;
    }
};

// A __shared__ variable between bytes that nobody may write: the runtime looks at them when its workgroups have run.
template <class T> struct Fenced {
    unsigned serial;  // of the run that this one was entered in
    unsigned char before[fence_bytes - sizeof(unsigned)];
    T value;
    unsigned char after[fence_bytes];

    __attribute__((always_inline)) void enter(const char* name) {
        if (serial != ::kp_group->serial) begin(name);
    }
    __attribute__((noinline)) void begin(const char* name) {
        serial = ::kp_group->serial;
        ::kp_group->fence(::kp_group, const_cast<void*>(static_cast<const volatile void*>(&value)), sizeof value, name);
    }
};

// extern __shared__ T name[] becomes a reference to what this points to.
__attribute__((always_inline, unused)) static inline void* dynamic_shared() { return ::kp_group->dynamic_shared; }

}  // namespace kp

// A kernel with an assert that is on runs as fibres too: a thread can then end its launch.
static inline __attribute__((unused)) void kp_assert_failed(const char* file, int line, const char* condition) {
    kp_group->fail(kp_group, file, line, condition);
}

// A macro, so that a function that asks is seen to use the index.
#define __lane_id() kp_lane_id(kp_index)
static inline __attribute__((always_inline, unused)) unsigned kp_lane_id(const kp::Index& index) {
    return (index.thread.x + index.block_size.x * (index.thread.y + index.block_size.y * index.thread.z)) % kp::wave_lanes;
}

#define __builtin_amdgcn_workitem_id_x() (kp_index.thread.x)
#define __builtin_amdgcn_workitem_id_y() (kp_index.thread.y)
#define __builtin_amdgcn_workitem_id_z() (kp_index.thread.z)
#define __builtin_amdgcn_workgroup_id_x() (kp_index.block.x)
#define __builtin_amdgcn_workgroup_id_y() (kp_index.block.y)
#define __builtin_amdgcn_workgroup_id_z() (kp_index.block.z)
#define __builtin_amdgcn_workgroup_size_x() (kp_index.block_size.x)
#define __builtin_amdgcn_workgroup_size_y() (kp_index.block_size.y)
#define __builtin_amdgcn_workgroup_size_z() (kp_index.block_size.z)
#define __builtin_amdgcn_wavefrontsize() 32
// Of the lanes before this one, how many are in the mask. A wave has no upper half.
#define __builtin_amdgcn_mbcnt_lo(mask, count) ((count) + static_cast<unsigned>(__builtin_popcount((mask) & ((1u << __lane_id()) - 1))))
#define __builtin_amdgcn_mbcnt_hi(mask, count) ((void)(mask), (count))
#define __builtin_amdgcn_writelane(value, to, old) (__lane_id() == static_cast<unsigned>(to) ? (value) : (old))
