// From a launch's packed arguments to the loop over a workgroup's threads.
//
// Each kernel has been given a hidden first parameter, kp_index, and is inlined into a thunk: one function that runs a
// range of workgroups. The x loop promises the compiler that threads do not depend on each other (they may not, in a
// kernel without barriers), so that it can put several threads into one vector instruction.
#pragma once

#include "index.h"

#define KP_INLINE inline __attribute__((always_inline))

#if defined(__clang__)
#define KP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety) interleave(enable)")
#else
#define KP_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace kp {

using u64 = unsigned long long;

// What a thunk is told about its launch; must match source/launch.h.
struct Launch {
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
};

// --- parameters --------------------------------------------------------------------------------

// One entry of a kernel's parameter table; must match the container's description in source/container.h.
struct Parameter {
    char kind;
    char pointee_kind;
    unsigned short alignment;
    unsigned size;
    unsigned pointee_size;
    unsigned zero;
};

template <class T> struct Bare { using type = T; };
template <class T> struct Bare<const T> { using type = T; };
template <class T> struct Bare<volatile T> { using type = T; };
template <class T> struct Bare<const volatile T> { using type = T; };

template <class T> constexpr char kind_of() {
    using B = typename Bare<T>::type;
    if constexpr (__is_enum(B)) return 'i';
    else if constexpr (__is_class(B) || __is_union(B)) return 's';
    else return '?';
}
template <> constexpr char kind_of<bool>() { return 'b'; }
template <> constexpr char kind_of<float>() { return 'f'; }
template <> constexpr char kind_of<double>() { return 'f'; }
template <> constexpr char kind_of<char>() { return static_cast<char>(-1) < 0 ? 'i' : 'u'; }
template <> constexpr char kind_of<signed char>() { return 'i'; }
template <> constexpr char kind_of<short>() { return 'i'; }
template <> constexpr char kind_of<int>() { return 'i'; }
template <> constexpr char kind_of<long>() { return 'i'; }
template <> constexpr char kind_of<long long>() { return 'i'; }
template <> constexpr char kind_of<unsigned char>() { return 'u'; }
template <> constexpr char kind_of<unsigned short>() { return 'u'; }
template <> constexpr char kind_of<unsigned int>() { return 'u'; }
template <> constexpr char kind_of<unsigned long>() { return 'u'; }
template <> constexpr char kind_of<unsigned long long>() { return 'u'; }

template <class T> struct Pointee {
    static constexpr bool is_pointer = false;
    static constexpr char kind = '?';
    static constexpr unsigned size = 0;
};
template <class T, bool known = (kind_of<typename Bare<T>::type>() != '?')> struct PointeeOf {
    static constexpr char kind = '?';
    static constexpr unsigned size = 0;
};
template <class T> constexpr unsigned size_if_complete(decltype(sizeof(T))*) { return sizeof(T); }
template <class T> constexpr unsigned size_if_complete(...) { return 0; }
template <class T> struct PointeeOf<T, true> {
    static constexpr char kind = kind_of<typename Bare<T>::type>();
    static constexpr unsigned size = size_if_complete<T>(nullptr);
};
template <class T> struct Pointee<T*> {
    static constexpr bool is_pointer = true;
    static constexpr char kind = __is_same(typename Bare<T>::type, void) ? '?' : PointeeOf<T>::kind;
    static constexpr unsigned size = PointeeOf<T>::size;
};

template <class T> constexpr Parameter parameter_of() {
    static_assert(__is_trivially_copyable(T),
                  "a kernel parameter must be trivially copyable, since its bytes are copied into the launch");
    return Parameter{Pointee<T>::is_pointer ? 'p' : kind_of<T>(), Pointee<T>::kind,
                     static_cast<unsigned short>(alignof(T)), sizeof(T), Pointee<T>::size, 0};
}

template <unsigned n> struct Table { Parameter entries[n]; };
template <> struct Table<0> { Parameter entries[0]; };

template <class F> struct Signature;
template <class... P> struct Signature<void (*)(Index, P...)> {
    using Declared = void(P...);
    using Parameters = Table<sizeof...(P)>;
    static constexpr Parameters table() { return {{parameter_of<P>()...}}; }
};
template <> struct Signature<void (*)(Index)> {
    using Declared = void();
    using Parameters = Table<0>;
    static constexpr Parameters table() { return {}; }
};

// Byte offset of argument n: each aligned to its own type, in order, as HIP packs them.
template <class... P> constexpr unsigned offset_of(unsigned n) {
    constexpr unsigned sizes[] = {sizeof(P)..., 0};
    constexpr unsigned alignments[] = {alignof(P)..., 1};
    unsigned offset = 0;
    for (unsigned i = 0;; ++i) {
        offset = (offset + alignments[i] - 1) / alignments[i] * alignments[i];
        if (i == n) return offset;
        offset += sizes[i];
    }
}

template <class T> KP_INLINE T load(const unsigned char* bytes) {
    T value;
    __builtin_memcpy(&value, bytes, sizeof(T));
    return value;
}

// --- the loop over threads ---------------------------------------------------------------------

// What the source says of a kernel, found when it was read.
//   outside: a device function uses threadIdx and friends, so each thread sets the variable they read
//   strided: it has a loop that one thread may run for its whole workgroup
struct Outside { static constexpr bool outside = true, strided = false; };
struct Plain { static constexpr bool outside = false, strided = false; };
struct Strided { static constexpr bool outside = false, strided = true; };

template <class Traits, class Body, class... P> KP_INLINE void thread(Body body, const Index& index, const P&... values) {
    if constexpr (Traits::outside) ::kp_index = index;
    body(index, values...);
}

// All threads of one row of a workgroup. The loop counts the thread's place in the whole grid, from which threadIdx.x
// is derived: blockIdx.x * blockDim.x + threadIdx.x then folds to the counter itself, and the compiler sees
// neighbouring threads touch neighbouring elements (unsigned wrap-around would hide that).
template <class Traits, class Body, class... P> KP_INLINE void row(Body body, Index index, const P&... values) {
    const unsigned base = index.block.x * index.block_size.x;
    const int first = static_cast<int>(base), last = first + static_cast<int>(index.block_size.x);
    KP_INDEPENDENT
    for (int i = first; i < last; ++i) {
        Index mine = index;
        mine.thread.x = static_cast<unsigned>(i) - base;
        thread<Traits>(body, mine, values...);
    }
}

template <class Traits, class Body, class... P>
KP_INLINE void groups(Body body, const Launch& launch, u64 first, u64 count, const P... values) {
    Index index;
    index.block_size = dim3(launch.block[0], launch.block[1], launch.block[2]);
    index.grid_size = dim3(launch.grid[0], launch.grid[1], launch.grid[2]);
    const u64 plane = first / index.grid_size.x;
    index.block = uint3{static_cast<unsigned>(first % index.grid_size.x), static_cast<unsigned>(plane % index.grid_size.y),
                        static_cast<unsigned>(plane / index.grid_size.y)};
    for (; count != 0; --count) {
        for (unsigned z = 0; z < index.block_size.z; ++z)
            for (unsigned y = 0; y < index.block_size.y; ++y) {
                index.thread.y = y;
                index.thread.z = z;
                row<Traits>(body, index, values...);
            }
        if (++index.block.x == index.grid_size.x) {
            index.block.x = 0;
            if (++index.block.y == index.grid_size.y) {
                index.block.y = 0;
                ++index.block.z;
            }
        }
    }
}

template <unsigned... i> struct Numbers {};

template <class Traits, class Body, class... P, unsigned... i>
KP_INLINE void unpack(Body body, void (*)(Index, P...), Numbers<i...>, const void* arguments, u64 first, u64 count,
                      const Launch* launch) {
    [[maybe_unused]] const auto* bytes = static_cast<const unsigned char*>(arguments);
    groups<Traits>(body, *launch, first, count, load<P>(bytes + offset_of<P...>(i))...);
}

#if defined(__clang__)
template <class T, T... i> Numbers<static_cast<unsigned>(i)...> numbers_of_(T);
template <class T, T... i> struct NumberList { using type = Numbers<static_cast<unsigned>(i)...>; };
template <unsigned n> using Counting = typename __make_integer_seq<NumberList, unsigned, n>::type;
#else
template <unsigned n> using Counting = Numbers<__integer_pack(n)...>;
#endif

template <class... P> constexpr unsigned count_of(void (*)(Index, P...)) { return sizeof...(P); }

template <class Traits, class F, class Body>
KP_INLINE void run(Body body, const void* arguments, u64 first, u64 count, const Launch* launch) {
    unpack<Traits>(body, static_cast<F>(nullptr), Counting<count_of(static_cast<F>(nullptr))>{}, arguments, first, count,
                   launch);
}

}  // namespace kp
