// Matrix-vector product in int8 with a scale for every 128 values, the work of a decode step:
//
//   y[token][row] = sum over groups g of
//       weight_scales[row][g] * activation_scales[token][g] * dot(weights[row][g], activations[token][g])
//
// Products of bytes are added exactly, in int. What is added in float32 has a fixed order, so that all variants give
// the same bits: sixteen values are a piece, a group has eight; chain c adds piece c of every group with fused
// multiply-adds, and the eight chains are added as a tree.
#include <hip/hip_runtime.h>

constexpr int kRows = 2560;
constexpr int kWidth = 1024;
constexpr int kGroups = 8;
constexpr int kChains = 8;
constexpr int kTokensTogether = 4;

// Sixteen values, loaded at once.
static __device__ inline int4 load_piece(const signed char* values, int row, int group, int chain) {
    return reinterpret_cast<const int4*>(values + row * kWidth)[group * kChains + chain];
}

static __device__ inline int dot_of_four(int a, int b) {
    int sum = 0;
    for (int bits = 0; bits < 32; bits += 8)
        sum += static_cast<signed char>(a >> bits) * static_cast<signed char>(b >> bits);
    return sum;
}

static __device__ inline int dot(const int4& a, const int4& b) {
    return dot_of_four(a.x, b.x) + dot_of_four(a.y, b.y) + dot_of_four(a.z, b.z) + dot_of_four(a.w, b.w);
}

static __device__ inline float scale(const float* weight_scales, const float* activation_scales, int row, int token,
                                     int group) {
#ifdef MUTATION_ONE_SCALE_A_ROW
    return weight_scales[row * kGroups] * activation_scales[token * kGroups];
#else
    return weight_scales[row * kGroups + group] * activation_scales[token * kGroups + group];
#endif
}

// One thread a row: simple, and neighbouring threads read a kilobyte apart.
extern "C" __global__ void __launch_bounds__(128)
    matvec_thread_a_row(const signed char* weights, const float* weight_scales, const signed char* activations,
                        const float* activation_scales, float* y) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int token = blockIdx.y;
    float chains[kChains] = {};
    for (int group = 0; group < kGroups; ++group) {
        const float factor = scale(weight_scales, activation_scales, row, token, group);
        for (int c = 0; c < kChains; ++c) {
            const int sum = dot(load_piece(weights, row, group, c), load_piece(activations, token, group, c));
            chains[c] = fmaf(factor, static_cast<float>(sum), chains[c]);
        }
    }
    y[token * kRows + row] = ((chains[0] + chains[4]) + (chains[2] + chains[6])) +
                             ((chains[1] + chains[5]) + (chains[3] + chains[7]));
}

// Adds what eight neighbouring threads hold, in the order above; eight divides waves of 32 and of 64.
static __device__ inline float sum_of_chains(float chain) {
    for (int half = kChains / 2; half > 0; half /= 2) chain += __shfl_xor(chain, half, kChains);
    return chain;
}

// Eight threads a row, one for each chain: together they read a group's 128 bytes at once. Workgroups of 64.
extern "C" __global__ void __launch_bounds__(64)
    matvec_eight_lanes_a_row(const signed char* weights, const float* weight_scales, const signed char* activations,
                             const float* activation_scales, float* y) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kChains;
    const int chain = threadIdx.x % kChains;
    const int token = blockIdx.y;
    float total = 0.0f;
    for (int group = 0; group < kGroups; ++group) {
        const int sum = dot(load_piece(weights, row, group, chain), load_piece(activations, token, group, chain));
        total = fmaf(scale(weight_scales, activation_scales, row, token, group), static_cast<float>(sum), total);
    }
    total = sum_of_chains(total);
    if (chain == 0) y[token * kRows + row] = total;
}

// The same for four tokens at a time, so that each weight is read once for all four.
extern "C" __global__ void __launch_bounds__(64)
    matvec_four_tokens(int tokens, const signed char* weights, const float* weight_scales,
                       const signed char* activations, const float* activation_scales, float* y) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / kChains;
    const int chain = threadIdx.x % kChains;
    const int first = blockIdx.y * kTokensTogether;
    float totals[kTokensTogether] = {};
    for (int group = 0; group < kGroups; ++group) {
        const int4 piece = load_piece(weights, row, group, chain);
        for (int k = 0; k < kTokensTogether; ++k) {
            if (first + k >= tokens) break;  // the same for the whole workgroup
            const int sum = dot(piece, load_piece(activations, first + k, group, chain));
            totals[k] = fmaf(scale(weight_scales, activation_scales, row, first + k, group), static_cast<float>(sum),
                             totals[k]);
        }
    }
    for (int k = 0; k < kTokensTogether; ++k) {
        if (first + k >= tokens) break;
        const float total = sum_of_chains(totals[k]);
        if (chain == 0) y[(first + k) * kRows + row] = total;
    }
}
