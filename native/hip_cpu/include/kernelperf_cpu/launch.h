// From a launch's packed arguments to the loop over a workgroup's threads.
//
// Each kernel has been given a hidden first parameter, kp_index, and is inlined into a thunk: one function that runs a
// range of workgroups. The x loop promises the compiler that threads do not depend on each other (they may not, in a
// kernel without barriers), so that it can put several threads into one vector instruction.
#pragma once

#include "group.h"
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
    unsigned zero;
    // Runs workgroups as fibres: calls entry(context, group) as each of their threads (source/group.h).
    void (*run_groups)(const Launch* launch, u64 first, u64 count, void (*entry)(void* context, Group* group), void* context, const char* kernel);
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

template <class F> struct Signature {
    static_assert(sizeof(F) == 0, "a kernel must return void");
    using Declared = void();
    using Parameters = Table<0>;
    static constexpr Parameters table() { return {}; }
};
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

// What the source says of a kernel, found when it was read (source/kernel_body.h):
//   outside    a device function uses threadIdx and friends, so each thread sets the variable they read
//   strided    it has a loop "for (c = threadIdx.x; c < n; c += blockDim.x)" that one thread may run for its whole workgroup
//   segmented  it divides the thread's place in the grid by a number that is the same for all threads
//   linear     it knows its x place in the grid only, not its workgroup's
//   limited    threads beyond a limit do nothing
template <bool outside_, bool strided_, bool segmented_, bool linear_, bool limited_> struct Traits {
    static constexpr bool outside = outside_, strided = strided_, segmented = segmented_, linear = linear_, limited = limited_;
};

constexpr long long no_limit = 0x7fffffffffffffff;

// Of one launch: what the index is divided by, and the limit it is compared with.
struct Run {
    long long divisor = 0;
    long long limit = no_limit;
};

// The first whole number i of type I for which i < limit does not hold, by C++'s rules for mixed types.
template <class I, class E> KP_INLINE long long limit_of(E limit) {
    using Common = decltype(I() + limit);
    if constexpr (kind_of<E>() == 'f') return no_limit;
    else if constexpr (kind_of<Common>() == 'i') return static_cast<long long>(limit);
    else return static_cast<Common>(limit) > static_cast<Common>(0x7fffffff) ? no_limit : static_cast<long long>(limit);
}

// Below this many threads (more than fit into a vector of bytes) neither of the two pays.
constexpr int least_run = 64;

// i / n and i % n in a kernel whose threads run in segments of one and the same quotient.
template <class A, class B> KP_INLINE auto quotient(const Index& index, A a, B b) -> decltype(a / b) {
    if constexpr (kind_of<B>() == 'f') return a / b;
    else return index.segmented ? static_cast<decltype(a / b)>(index.quotient) : a / b;
}
template <class A, class B> KP_INLINE auto remainder(const Index& index, A a, B b) -> decltype(a % b) {
    return index.segmented ? static_cast<decltype(a % b)>(a - static_cast<decltype(a % b)>(index.quotient) * b) : a % b;
}

template <class T, class Body, class... P> KP_INLINE void thread(Body body, const Index& index, const P&... values) {
    if constexpr (T::outside) ::kp_index = index;
    body(index, values...);
}

// Threads at places first <= i < last of the whole grid. The loop counts places, from which threadIdx.x is derived:
// blockIdx.x * blockDim.x + threadIdx.x then folds to the counter itself, and the compiler sees neighbouring threads
// touch neighbouring elements (unsigned wrap-around would hide that).
template <class T, class Body, class... P>
KP_INLINE void places(Body body, const Index& index, unsigned base, int first, int last, const P&... values) {
    KP_INDEPENDENT
    for (int i = first; i < last; ++i) {
        Index mine = index;
        mine.thread.x = static_cast<unsigned>(i) - base;
        thread<T>(body, mine, values...);
    }
}

// Threads of one row: of a workgroup, or of `run` neighbouring ones.
template <class T, class Body, class Facts, class... P>
KP_INLINE void row(Body body, Facts facts, Index index, unsigned run, const P&... values) {
    const unsigned base = index.block.x * index.block_size.x;
    const int first = static_cast<int>(base);
    int last = first + static_cast<int>(run * index.block_size.x);
    index.first_place = base;
    if constexpr (T::strided) {
        if (last - first >= least_run) {
            index.stride = stride_leader;
            thread<T>(body, index, values...);
            index.stride = stride_follower;
            return places<T>(body, index, base, first + 1, last, values...);
        }
    }
    if constexpr (T::limited) {
        const long long limit = facts(values...).limit;
        if (limit != no_limit) {
            index.within = true;
            if (limit <= first) return;
            if (limit < last) last = static_cast<int>(limit);
        }
    }
    if constexpr (T::segmented) {
        const long long length = facts(values...).divisor;
        if (length >= least_run) {
            index.segmented = true;
            index.quotient = first / length;
            for (int begin = first; begin < last; ++index.quotient) {
                const long long end = (index.quotient + 1) * length;
                const int stop = end < last ? static_cast<int>(end) : last;
                places<T>(body, index, base, begin, stop, values...);
                begin = stop;
            }
            return;
        }
    }
    places<T>(body, index, base, first, last, values...);
}

template <class T, class Body, class Facts, class... P>
KP_INLINE void rows(Body body, Facts facts, Index index, unsigned run, const P&... values) {
    for (unsigned z = 0; z < index.block_size.z; ++z)
        for (unsigned y = 0; y < index.block_size.y; ++y) {
            index.thread.y = y;
            index.thread.z = z;
            row<T>(body, facts, index, run, values...);
        }
}

KP_INLINE void advance(uint3& block, const dim3& grid, unsigned run) {
    if ((block.x += run) == grid.x) {
        block.x = 0;
        if (++block.y == grid.y) {
            block.y = 0;
            ++block.z;
        }
    }
}

template <class T, class Body, class Facts, class... P>
KP_INLINE void groups(Body body, Facts facts, const Launch& launch, u64 first, u64 count, const P... values) {
    Index index;
    index.block_size = dim3(launch.block[0], launch.block[1], launch.block[2]);
    index.grid_size = dim3(launch.grid[0], launch.grid[1], launch.grid[2]);
    if (first != 0) {
        const u64 plane = first / index.grid_size.x;
        index.block = uint3{static_cast<unsigned>(first % index.grid_size.x), static_cast<unsigned>(plane % index.grid_size.y),
                            static_cast<unsigned>(plane / index.grid_size.y)};
    }
    const bool one_row = index.block_size.y == 1 && index.block_size.z == 1;
    if (one_row) index.block_size.y = index.block_size.z = 1;
    while (count != 0) {
        unsigned run = 1;
        if constexpr (T::linear) {
            run = index.grid_size.x - index.block.x;
            if (run > count) run = static_cast<unsigned>(count);
        }
        // Most workgroups are one row; without loops over y and z there are registers left for it.
        if (one_row) row<T>(body, facts, index, run, values...);
        else rows<T>(body, facts, index, run, values...);
        advance(index.block, index.grid_size, run);
        count -= run;
    }
}

template <unsigned... i> struct Numbers {};

template <class T, class Body, class Facts, class... P, unsigned... i>
KP_INLINE void unpack(Body body, Facts facts, void (*)(Index, P...), Numbers<i...>, const void* arguments, u64 first, u64 count,
                      const Launch* launch) {
    [[maybe_unused]] const auto* bytes = static_cast<const unsigned char*>(arguments);
    groups<T>(body, facts, *launch, first, count, load<P>(bytes + offset_of<P...>(i))...);
}

#if defined(__clang__)
template <class T, T... i> Numbers<static_cast<unsigned>(i)...> numbers_of_(T);
template <class T, T... i> struct NumberList { using type = Numbers<static_cast<unsigned>(i)...>; };
template <unsigned n> using Counting = typename __make_integer_seq<NumberList, unsigned, n>::type;
#else
template <unsigned n> using Counting = Numbers<__integer_pack(n)...>;
#endif

template <class... P> constexpr unsigned count_of(void (*)(Index, P...)) { return sizeof...(P); }

template <class T, class F, class Body, class Facts>
KP_INLINE void run(Body body, Facts facts, const void* arguments, u64 first, u64 count, const Launch* launch) {
    unpack<T>(body, facts, static_cast<F>(nullptr), Counting<count_of(static_cast<F>(nullptr))>{}, arguments, first,
                   count, launch);
}

// --- threads that wait for each other ----------------------------------------------------------

template <class F, class Body, class... P>
KP_INLINE void fibres(Body body, const Launch& launch, u64 first, u64 count, const char* kernel, const P... values) {
    auto thread = [&](Group* group) {
        Index index;
        index.block_size = dim3(launch.block[0], launch.block[1], launch.block[2]);
        index.grid_size = dim3(launch.grid[0], launch.grid[1], launch.grid[2]);
        index.block = uint3{group->block[0], group->block[1], group->block[2]};
        index.thread = uint3{group->thread, 0, 0};
        if (launch.block[1] != 1 || launch.block[2] != 1) {
            const unsigned row = group->thread / launch.block[0];
            index.thread = uint3{group->thread % launch.block[0], row % launch.block[1], row / launch.block[1]};
        }
        ::kp_index = index;
        ::kp_group = group;
        body(index, values...);
    };
    using Thread = decltype(thread);
    launch.run_groups(&launch, first, count, [](void* context, Group* group) { (*static_cast<Thread*>(context))(group); }, &thread, kernel);
}

template <class F, class Body, class... P, unsigned... i>
KP_INLINE void unpack_group(Body body, void (*)(Index, P...), Numbers<i...>, const void* arguments, u64 first, u64 count,
                            const Launch* launch, const char* kernel) {
    [[maybe_unused]] const auto* bytes = static_cast<const unsigned char*>(arguments);
    fibres<F>(body, *launch, first, count, kernel, load<P>(bytes + offset_of<P...>(i))...);
}

template <class F, class Body>
KP_INLINE void run_group(Body body, const void* arguments, u64 first, u64 count, const Launch* launch, const char* kernel) {
    unpack_group<F>(body, static_cast<F>(nullptr), Counting<count_of(static_cast<F>(nullptr))>{}, arguments, first, count, launch, kernel);
}

}  // namespace kp
