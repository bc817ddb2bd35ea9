// Sizes of launches and HIP's vector types.
#pragma once

typedef unsigned char uchar;
#ifndef _SYS_TYPES_H
typedef unsigned int uint;
typedef unsigned short ushort;
typedef unsigned long ulong;
#endif

struct dim3 {
    unsigned x, y, z;
    constexpr __host__ __device__ dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// Named as ROCm names it, so that kernels with vectors among their template arguments are called alike. As there, a
// single value becomes a vector of that value in every place.
template <class T, unsigned int N>
struct HIP_vector_type;
#define KERNELPERF_HD constexpr __host__ __device__
template <class T>
struct alignas(sizeof(T)) HIP_vector_type<T, 1> {
    using value_type = T;
    T x;
    HIP_vector_type() = default;
    KERNELPERF_HD HIP_vector_type(T x_) : x(x_) {}
};
template <class T>
struct alignas(2 * sizeof(T)) HIP_vector_type<T, 2> {
    using value_type = T;
    T x, y;
    HIP_vector_type() = default;
    KERNELPERF_HD HIP_vector_type(T all) : x(all), y(all) {}
    template <class X, class Y>
    KERNELPERF_HD HIP_vector_type(X x_, Y y_) : x(static_cast<T>(x_)), y(static_cast<T>(y_)) {}
};
template <class T>
struct HIP_vector_type<T, 3> {
    using value_type = T;
    T x, y, z;
    HIP_vector_type() = default;
    KERNELPERF_HD HIP_vector_type(T all) : x(all), y(all), z(all) {}
    template <class X, class Y, class Z>
    KERNELPERF_HD HIP_vector_type(X x_, Y y_, Z z_) : x(static_cast<T>(x_)), y(static_cast<T>(y_)), z(static_cast<T>(z_)) {}
};
template <class T>
struct alignas(4 * sizeof(T)) HIP_vector_type<T, 4> {
    using value_type = T;
    T x, y, z, w;
    HIP_vector_type() = default;
    KERNELPERF_HD HIP_vector_type(T all) : x(all), y(all), z(all), w(all) {}
    template <class X, class Y, class Z, class W>
    KERNELPERF_HD HIP_vector_type(X x_, Y y_, Z z_, W w_)
        : x(static_cast<T>(x_)), y(static_cast<T>(y_)), z(static_cast<T>(z_)), w(static_cast<T>(w_)) {}
};
#undef KERNELPERF_HD

#define KERNELPERF_VECTOR(type, name)                                                                                  \
    using name##1 = HIP_vector_type<type, 1>;                                                                        \
    using name##2 = HIP_vector_type<type, 2>;                                                                        \
    using name##3 = HIP_vector_type<type, 3>;                                                                        \
    using name##4 = HIP_vector_type<type, 4>;                                                                        \
    constexpr __host__ __device__ inline name##1 make_##name##1(type x) { return {x}; }                                \
    constexpr __host__ __device__ inline name##2 make_##name##2(type x, type y) { return {x, y}; }                     \
    constexpr __host__ __device__ inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }          \
    constexpr __host__ __device__ inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
KERNELPERF_VECTOR(signed char, char)
KERNELPERF_VECTOR(unsigned char, uchar)
KERNELPERF_VECTOR(short, short)
KERNELPERF_VECTOR(unsigned short, ushort)
KERNELPERF_VECTOR(int, int)
KERNELPERF_VECTOR(unsigned, uint)
KERNELPERF_VECTOR(long, long)
KERNELPERF_VECTOR(unsigned long, ulong)
KERNELPERF_VECTOR(long long, longlong)
KERNELPERF_VECTOR(unsigned long long, ulonglong)
KERNELPERF_VECTOR(float, float)
KERNELPERF_VECTOR(double, double)
#undef KERNELPERF_VECTOR

// Each operator place by place, on two vectors or on a vector and a single value of any arithmetic type.
template <class T>
struct kernelperf_same {
    using type = T;
};
#define KERNELPERF_HD constexpr __host__ __device__ inline
#define KERNELPERF_EACH(op)                                                                                            \
    template <class T>                                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, 1> operator op(HIP_vector_type<T, 1> a, HIP_vector_type<T, 1> b) {                \
        return {T(a.x op b.x)};                                                                                        \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, 2> operator op(HIP_vector_type<T, 2> a, HIP_vector_type<T, 2> b) {                \
        return {T(a.x op b.x), T(a.y op b.y)};                                                                         \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, 3> operator op(HIP_vector_type<T, 3> a, HIP_vector_type<T, 3> b) {                \
        return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z)};                                                          \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, 4> operator op(HIP_vector_type<T, 4> a, HIP_vector_type<T, 4> b) {                \
        return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z), T(a.w op b.w)};                                           \
    }                                                                                                                  \
    template <class T, unsigned int N>                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, N> operator op(HIP_vector_type<T, N> a, typename kernelperf_same<T>::type b) {    \
        return a op kernelperf_everywhere<T, N>(b);                                                                    \
    }                                                                                                                  \
    template <class T, unsigned int N>                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, N> operator op(typename kernelperf_same<T>::type a, HIP_vector_type<T, N> b) {    \
        return kernelperf_everywhere<T, N>(a) op b;                                                                    \
    }                                                                                                                  \
    template <class T, unsigned int N>                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, N>& operator op##=(HIP_vector_type<T, N>& a, HIP_vector_type<T, N> b) {           \
        return a = a op b;                                                                                             \
    }                                                                                                                  \
    template <class T, unsigned int N>                                                                                 \
    KERNELPERF_HD HIP_vector_type<T, N>& operator op##=(HIP_vector_type<T, N>& a,                                      \
                                                        typename kernelperf_same<T>::type b) {                         \
        return a = a op b;                                                                                             \
    }
template <class T, unsigned int N>
KERNELPERF_HD HIP_vector_type<T, N> kernelperf_everywhere(T value) {
    if constexpr (N == 1) return {value};
    else if constexpr (N == 2) return {value, value};
    else if constexpr (N == 3) return {value, value, value};
    else return {value, value, value, value};
}
KERNELPERF_EACH(+)
KERNELPERF_EACH(-)
KERNELPERF_EACH(*)
KERNELPERF_EACH(/)
KERNELPERF_EACH(%)
KERNELPERF_EACH(&)
KERNELPERF_EACH(|)
KERNELPERF_EACH(^)
KERNELPERF_EACH(<<)
KERNELPERF_EACH(>>)
#undef KERNELPERF_EACH
template <class T, unsigned int N>
KERNELPERF_HD HIP_vector_type<T, N> operator-(HIP_vector_type<T, N> a) {
    return kernelperf_everywhere<T, N>(T(0)) - a;
}
template <class T, unsigned int N>
KERNELPERF_HD bool operator==(HIP_vector_type<T, N> a, HIP_vector_type<T, N> b) {
    bool same = a.x == b.x;
    if constexpr (N > 1) same = same && a.y == b.y;
    if constexpr (N > 2) same = same && a.z == b.z;
    if constexpr (N > 3) same = same && a.w == b.w;
    return same;
}
template <class T, unsigned int N>
KERNELPERF_HD bool operator!=(HIP_vector_type<T, N> a, HIP_vector_type<T, N> b) {
    return !(a == b);
}
#undef KERNELPERF_HD
