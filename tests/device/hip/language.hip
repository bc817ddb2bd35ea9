// C++ as engines write it: one file, many kernels.
#include <hip/hip_runtime.h>
#include <hip/hip_fp16.h>
#include <cassert>
#include <cstdint>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <limits>
#include <utility>
#include <initializer_list>

#if !defined(__HIP_DEVICE_COMPILE__)
#error "device code only"
#endif
#if !defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_NVIDIA__)
#error "platform"
#endif

// device tables
__constant__ float c_table[8] = {0, 1, 2, 3, 4, 5, 6, 7};
__constant__ struct { int shift; float scale; } c_config = {3, 0.5f};
static constexpr __device__ uint8_t kPow2[8] = {1, 2, 4, 8, 16, 32, 64, 128};
__device__ static const int8_t kvalues_iq4nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
__device__ int g_counter;
__device__ float g_state[4][4];
__device__ __managed__ int g_managed = 7;
inline constexpr int kInline = 42;

extern "C" __global__ void tables(const uint8_t* nibbles, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int8_t q = kvalues_iq4nl[nibbles[i] & 15];
    out[i] = q * c_config.scale + c_table[i & 7] + kPow2[i & c_config.shift] + g_managed + kInline;
}

// struct arguments, arrays in structs, bools, pointers to pointers, enums, 64 bit
enum class Act : int8_t { none, relu, square };
struct Shape { int64_t dims[4]; int32_t rank; bool contiguous; };
struct TensorList { const float* ptr[4]; int sizes[4]; };
struct alignas(16) Big { double d; char c; short s[3]; float4 v; };
extern "C" __global__ void arguments(float* out, const float* const* rows, Shape shape, TensorList list, bool flip, Act act, Big big, unsigned long long huge, int8_t small, half h, char4 c4, double d) {
    const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i >= shape.dims[0] * shape.dims[1]) return;
    const int64_t r = i / shape.dims[1], c = i - r * shape.dims[1];
    float v = rows[r][c];
    for (int t = 0; t < 4; ++t) if (c < list.sizes[t]) v += list.ptr[t][c];
    if (flip) v = -v;
    switch (act) {
        case Act::relu: v = v > 0 ? v : 0; break;
        case Act::square: v *= v; break;
        default: break;
    }
    out[i] = v + float(big.d) + big.c + big.s[2] + big.v.z + float(huge >> 40) + small + __half2float(h) + c4.w + float(d) + shape.rank + shape.contiguous;
}

// recursion, virtual-free polymorphism, CRTP
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ unsigned gcd(unsigned a, unsigned b) { return b == 0 ? a : gcd(b, a % b); }
template <class Derived> struct Base { __device__ float eval(float x) const { return static_cast<const Derived*>(this)->f(x) + 1; } };
struct Sq : Base<Sq> { __device__ float f(float x) const { return x * x; } };
struct Cube : Base<Cube> { float k; __device__ explicit Cube(float k_) : k(k_) {} __device__ float f(float x) const { return k * x * x * x; } };
extern "C" __global__ void recursion(int* out) {
    const int i = threadIdx.x;
    out[i] = fib(i % 12) + gcd(12 * (i + 1), 18) + int(Sq().eval(i)) + int(Cube(2).eval(i % 3));
}
struct Shape2 { virtual __device__ float area() const { return 0; } __device__ virtual ~Shape2() {} };
struct Rect : Shape2 { float w, h; __device__ Rect(float a, float b) : w(a), h(b) {} __device__ float area() const override { return w * h; } };
extern "C" __global__ void virtuals(float* out) {
    Rect r(threadIdx.x, 2);
    Shape2* s = &r;
    out[threadIdx.x] = s->area();
}

// new, malloc
extern "C" __global__ void heap(int* out, int n) {
    int* mine = new int[n];
    for (int i = 0; i < n; ++i) mine[i] = i * (threadIdx.x + 1);
    int* more = (int*)malloc(sizeof(int) * n);
    memset(more, 0, sizeof(int) * n);
    memcpy(more, mine, sizeof(int) * n);
    int s = 0;
    for (int i = 0; i < n; ++i) s += more[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = s;
    free(more);
    delete[] mine;
}

// lambdas, generic lambdas, fold expressions, structured bindings, initializer lists
template <class... Ts> __device__ float sum_all(Ts... ts) { return (0.f + ... + float(ts)); }
struct Two { float a; int b; };
extern "C" __global__ void modern(float* out, int n) {
    const int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i >= n) return;
    auto poly = [i](auto x, auto... coefficients) {
        float r = 0;
        for (float c : {float(coefficients)...}) r = r * x + c;
        return r + i;
    };
    auto [a, b] = Two{float(i), i * 2};
    constexpr auto square = [](int v) { return v * v; };
    static_assert(square(4) == 16);
    if (int t = i % 3; t == 1) out[i] = poly(a, 1, 2, 3);
    else if (t == 2) out[i] = sum_all(a, b, 3.5, 1u);
    else out[i] = square(b);
}

// goto, switch fallthrough, do while, comma
extern "C" __global__ void control(int* out, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    int v = 0, k = i;
    do { v += k & 1; } while (k >>= 1);
    switch (i % 4) {
        case 0: v += 100;
        [[fallthrough]];
        case 1: v += 10; break;
        case 2: goto done;
        default: v = -v;
    }
    v += 1000;
done:
    out[i] = v;
}

// unions and bit fields, packed structs, unaligned reads
union Bits { float f; uint32_t u; struct { uint32_t mantissa : 23, exponent : 8, sign : 1; } parts; };
#pragma pack(push, 1)
struct Packed { uint8_t tag; float value; uint16_t extra; };
#pragma pack(pop)
extern "C" __global__ void layout(const Packed* in, uint32_t* out, int n) {
    const int i = threadIdx.x;
    if (i >= n) return;
    Bits b;
    b.f = in[i].value;
    out[i] = b.parts.exponent + (b.parts.sign << 8) + in[i].tag + in[i].extra;
}

// overloads and templates of kernels with the same name
__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }
__global__ void scale(int* x, int by) { x[threadIdx.x] *= by; }
template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }
template <> __global__ void scale<double, 2>(double* x) { x[threadIdx.x] *= 200; }
template __global__ void scale<float, 3>(float*);
namespace a { __global__ void scale(float* x, float by) { x[threadIdx.x] += by; } namespace b { inline namespace v1 { __global__ void scale(float* x, float by) { x[threadIdx.x] -= by; } } } }
namespace { __global__ void hidden(float* x) { x[threadIdx.x] = 5; } }
static __global__ void file_local(float* x) { x[threadIdx.x] = 6; }

// kernel with host code around under the usual guards, and a launcher in a dead #if
#ifndef __HIP_DEVICE_COMPILE__
void launch(float* x) { scale<<<1, 32>>>(x, 2.f); }
#endif

// 64 bit indices
extern "C" __global__ void stride64(const uint8_t* x, uint64_t n, unsigned long long* sum) {
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    unsigned long long s = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) s += x[i];
    atomicAdd(sum, s);
}
// index_t template and size_t arithmetic with negative offsets
template <typename index_t> __global__ void conv1d(const float* x, const float* w, float* y, index_t n, index_t k) {
    for (index_t i = blockIdx.x * index_t(blockDim.x) + threadIdx.x; i < n; i += index_t(gridDim.x) * blockDim.x) {
        float acc = 0;
        for (index_t j = 0; j < k; ++j) {
            const index_t s = i + j - k / 2;
            if (s >= 0 && s < n) acc += x[s] * w[j];
        }
        y[i] = acc;
    }
}
extern "C" __global__ void state_update(float* out) {
    // device globals, 2-D array, last writer per element
    g_state[threadIdx.y][threadIdx.x] = threadIdx.x * 10 + threadIdx.y;
    __syncthreads();
    out[threadIdx.y * 4 + threadIdx.x] = g_state[3 - threadIdx.y][3 - threadIdx.x];
    if (threadIdx.x == 0) atomicAdd(&g_counter, 1);
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0) out[16] = g_counter;
}
extern "C" __global__ void says(int n) {
    if (blockIdx.x == 0 && threadIdx.x < n) printf("lane %d of %u: %s %.3f %lld\n", (int)threadIdx.x, blockDim.x, "ok", threadIdx.x * 0.5, (long long)n);
}

// reductions behind classes, aliases and function pointers; a return type that only the compiler can read
#define THREADS 64
template <int Lanes> struct Reduce {
    template <class T, class Op> static __device__ __forceinline__ T run(T v, Op op) {
        v = op(v, __shfl_xor(v, Lanes / 2));
        return Reduce<Lanes / 2>::run(v, op);
    }
};
template <> struct Reduce<1> { template <class T, class Op> static __device__ __forceinline__ T run(T v, Op) { return v; } };
struct Larger { template <class T> __device__ T operator()(T a, T b) const { return a < b ? b : a; } };
struct Scratch {
    float* memory;
    __device__ explicit Scratch(float* m) : memory{m} { __syncthreads(); }
    __device__ float& operator[](int i) { return memory[i]; }
    __device__ ~Scratch() { __syncthreads(); }
};
using transform_t = float (*)(float, int);
__device__ float neighbour(float v, int by) { return __shfl(v, threadIdx.x + by); }
__device__ float times(float v, int by) { return v * by; }
template <transform_t transform, int Threads, class T>
__global__ __launch_bounds__(Threads, 1) std::enable_if_t<(Threads > 32) && std::is_floating_point<T>::value, void> through(const T* x, T* y) {
    __shared__ T all[Threads];
    const T v = transform(x[threadIdx.x], 3);
    T most;
    if (threadIdx.x < 32) most = Reduce<32>::run(v, Larger());
    else most = Reduce<8>::run(v, [](T a, T b) { return a + b; });
    {
        Scratch scratch(all);
        scratch[threadIdx.x] = most;
    }
    y[threadIdx.x] = all[Threads - 1 - threadIdx.x] + v;
}
// one side of a branch waits in a member function, the other behind the branch
extern "C" __global__ void rejoins(const int* x, int* y) {
    int v = x[threadIdx.x];
    if (threadIdx.x & 1) v = Reduce<32>::run(v, Larger());
    y[threadIdx.x] = __shfl(v, threadIdx.x ^ 1);
}
__device__ __noinline__ int slow_square(int x) { return x * x; }
struct Waits { __device__ static int all(int v) { return __syncthreads_count(v) + 10 * __syncthreads_and(v) + 20 * __syncthreads_or(v); } };
extern "C" __global__ void votes(const int* x, int* y, int rounds) {
    if (threadIdx.x >= 64) return;  // whole waves
    int v = 0;
    for (int i = 0; i < rounds; ++i) v += Waits::all(slow_square(x[threadIdx.x]) > i * i);
    y[threadIdx.x] = v;
}
// shared memory of several types in one allocation, and of a class
extern "C" __global__ void partitioned(const float* x, float* y, int n) {
    extern __shared__ __align__(16) unsigned char raw[];
    double* sums = reinterpret_cast<double*>(raw);
    float* values = reinterpret_cast<float*>(sums + blockDim.y);
    int* counts = reinterpret_cast<int*>(values + blockDim.x * blockDim.y);
    const int t = threadIdx.y * blockDim.x + threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    values[t] = threadIdx.x < n ? x[row * n + threadIdx.x] : 0;
    counts[t] = values[t] > 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        double s = 0;
        for (int i = 0; i < blockDim.x; ++i) s += values[threadIdx.y * blockDim.x + i] * counts[threadIdx.y * blockDim.x + i];
        sums[threadIdx.y] = s;
    }
    __syncthreads();
    if (threadIdx.x < n) y[row * n + threadIdx.x] = x[row * n + threadIdx.x] / float(sums[threadIdx.y]);
}
// atomics of every kind
extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], 1); atomicSub(&i[1], t); atomicMin(&i[2], -t); atomicMax(&i[3], t); atomicAnd(&i[4], ~(1 << t % 31)); atomicOr(&i[5], 1 << t % 31);
    atomicXor(&i[6], t); atomicExch(&i[7], 5); atomicCAS(&i[8], 0, 9);
    atomicInc(&u[0], 99); atomicDec(&u[1], 99); atomicAdd(&u[2], 3u); atomicMax(&u[3], unsigned(t));
    atomicAdd(&l[0], (unsigned long long)t << 20); atomicMax(&l[1], (unsigned long long)t * t); atomicCAS(&l[2], 0ull, 77ull); atomicAnd(&l[3], ~(1ull << t % 60));
    atomicAdd(&f[0], 0.5f); atomicMax(&f[1], float(t)); atomicMin(&f[2], float(-t)); unsafeAtomicAdd(&f[3], 1.0f); atomicExch(&f[4], 2.5f);
    atomicAdd(&d[0], 0.25); atomicMax(&d[1], double(t));
    atomicAdd(h, __floats2half2_rn(1.f, 0.5f));
    __hip_atomic_fetch_add(&i[9], 2, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    atomicAdd_system(&i[10], 1); atomicAdd_block(&i[11], 1);
}

// packs, and template arguments of every kind
enum Mode { kFirst, kSecond = 5 };
template <template <class> class Op, Mode mode, bool flag, char letter, unsigned... numbers>
__global__ void __launch_bounds__((256 >> 1) + sizeof...(numbers)) folded(int* x) {
    x[threadIdx.x] = Op<int>()(mode + flag + letter + (0 + ... + int(numbers)));
}
template <class T> struct Twice { __device__ T operator()(T v) const { return v + v; } };
template <class... Ts> __global__ void summed(float* out, Ts... values) { out[threadIdx.x] = (float(values) + ... + 0.f); }
struct Scaled { float by; template <class T> __device__ T operator()(T v) const { return v * by; } };
template <class F> __global__ void applied(float* x, F f) {
    HIP_DYNAMIC_SHARED(float, all)
    all[threadIdx.x] = f(x[threadIdx.x]);
    __syncthreads();
    x[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}
