// HIP's vector types, their make functions and operators, and dim3.
// Aligned like HIP's: to the whole vector, but three elements align like one.
#pragma once

#define KP_VECTOR_TYPE(name, type)                                                            \
    struct alignas(sizeof(type)) name##1 { type x; };                                         \
    struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                  \
    struct alignas(sizeof(type)) name##3 { type x, y, z; };                                   \
    struct alignas(4 * sizeof(type)) name##4 { type x, y, z, w; };                            \
    static inline name##1 make_##name##1(type x) { return {x}; }                              \
    static inline name##2 make_##name##2(type x, type y) { return {x, y}; }                   \
    static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }        \
    static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; } \
    KP_VECTOR_OPERATOR(name, type, +)                                                         \
    KP_VECTOR_OPERATOR(name, type, -)                                                         \
    KP_VECTOR_OPERATOR(name, type, *)                                                         \
    KP_VECTOR_OPERATOR(name, type, /)                                                         \
    KP_VECTOR_EQUALITY(name)

// Both sides vectors, or one side a scalar; and the assigning form.
#define KP_VECTOR_OPERATOR(name, type, op)                                                                              \
    static inline name##1 operator op(name##1 a, name##1 b) { return {static_cast<type>(a.x op b.x)}; }                 \
    static inline name##2 operator op(name##2 a, name##2 b) {                                                           \
        return {static_cast<type>(a.x op b.x), static_cast<type>(a.y op b.y)};                                          \
    }                                                                                                                   \
    static inline name##3 operator op(name##3 a, name##3 b) {                                                           \
        return {static_cast<type>(a.x op b.x), static_cast<type>(a.y op b.y), static_cast<type>(a.z op b.z)};           \
    }                                                                                                                   \
    static inline name##4 operator op(name##4 a, name##4 b) {                                                           \
        return {static_cast<type>(a.x op b.x), static_cast<type>(a.y op b.y), static_cast<type>(a.z op b.z),            \
                static_cast<type>(a.w op b.w)};                                                                         \
    }                                                                                                                   \
    KP_VECTOR_SCALAR(name##1, type, op, {s})                                                                            \
    KP_VECTOR_SCALAR(name##2, type, op, {s KP_COMMA s})                                                                 \
    KP_VECTOR_SCALAR(name##3, type, op, {s KP_COMMA s KP_COMMA s})                                                      \
    KP_VECTOR_SCALAR(name##4, type, op, {s KP_COMMA s KP_COMMA s KP_COMMA s})

#define KP_COMMA ,
#define KP_VECTOR_SCALAR(vector, type, op, spread)                                      \
    static inline vector operator op(vector a, type s) { return a op vector spread; }   \
    static inline vector operator op(type s, vector b) { return vector spread op b; }   \
    static inline vector& operator op##=(vector& a, vector b) { return a = a op b; }    \
    static inline vector& operator op##=(vector& a, type s) { return a = a op s; }

#define KP_VECTOR_EQUALITY(name)                                                                                     \
    static inline bool operator==(name##1 a, name##1 b) { return a.x == b.x; }                                       \
    static inline bool operator==(name##2 a, name##2 b) { return a.x == b.x && a.y == b.y; }                         \
    static inline bool operator==(name##3 a, name##3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; }           \
    static inline bool operator==(name##4 a, name##4 b) {                                                            \
        return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;                                                 \
    }                                                                                                                \
    static inline bool operator!=(name##1 a, name##1 b) { return !(a == b); }                                        \
    static inline bool operator!=(name##2 a, name##2 b) { return !(a == b); }                                        \
    static inline bool operator!=(name##3 a, name##3 b) { return !(a == b); }                                        \
    static inline bool operator!=(name##4 a, name##4 b) { return !(a == b); }

KP_VECTOR_TYPE(char, signed char)
KP_VECTOR_TYPE(uchar, unsigned char)
KP_VECTOR_TYPE(short, short)
KP_VECTOR_TYPE(ushort, unsigned short)
KP_VECTOR_TYPE(int, int)
KP_VECTOR_TYPE(uint, unsigned int)
KP_VECTOR_TYPE(long, long)
KP_VECTOR_TYPE(ulong, unsigned long)
KP_VECTOR_TYPE(longlong, long long)
KP_VECTOR_TYPE(ulonglong, unsigned long long)
KP_VECTOR_TYPE(float, float)
KP_VECTOR_TYPE(double, double)

#undef KP_VECTOR_TYPE
#undef KP_VECTOR_OPERATOR
#undef KP_VECTOR_SCALAR
#undef KP_VECTOR_EQUALITY
#undef KP_COMMA

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};
