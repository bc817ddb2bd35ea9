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

template <class T, int N>
struct kernelperf_vector;
template <class T>
struct alignas(sizeof(T)) kernelperf_vector<T, 1> {
    T x;
};
template <class T>
struct alignas(2 * sizeof(T)) kernelperf_vector<T, 2> {
    T x, y;
};
template <class T>
struct kernelperf_vector<T, 3> {
    T x, y, z;
};
template <class T>
struct alignas(4 * sizeof(T)) kernelperf_vector<T, 4> {
    T x, y, z, w;
};

#define KERNELPERF_VECTOR(type, name)                                                                                  \
    using name##1 = kernelperf_vector<type, 1>;                                                                        \
    using name##2 = kernelperf_vector<type, 2>;                                                                        \
    using name##3 = kernelperf_vector<type, 3>;                                                                        \
    using name##4 = kernelperf_vector<type, 4>;                                                                        \
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

#define KERNELPERF_EACH(op)                                                                                            \
    template <class T>                                                                                                 \
    constexpr __host__ __device__ inline kernelperf_vector<T, 2> operator op(kernelperf_vector<T, 2> a,                \
                                                                             kernelperf_vector<T, 2> b) {              \
        return {T(a.x op b.x), T(a.y op b.y)};                                                                         \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    constexpr __host__ __device__ inline kernelperf_vector<T, 3> operator op(kernelperf_vector<T, 3> a,                \
                                                                             kernelperf_vector<T, 3> b) {              \
        return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z)};                                                          \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    constexpr __host__ __device__ inline kernelperf_vector<T, 4> operator op(kernelperf_vector<T, 4> a,                \
                                                                             kernelperf_vector<T, 4> b) {              \
        return {T(a.x op b.x), T(a.y op b.y), T(a.z op b.z), T(a.w op b.w)};                                           \
    }                                                                                                                  \
    template <class T, int N>                                                                                          \
    constexpr __host__ __device__ inline kernelperf_vector<T, N>& operator op##=(kernelperf_vector<T, N>& a,           \
                                                                                 kernelperf_vector<T, N> b) {          \
        return a = a op b;                                                                                             \
    }
KERNELPERF_EACH(+)
KERNELPERF_EACH(-)
KERNELPERF_EACH(*)
KERNELPERF_EACH(/)
#undef KERNELPERF_EACH
