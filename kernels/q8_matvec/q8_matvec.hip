// Matrix-vector product in int8 with a scale for every 128 values, the work of a decode step:
//
//   y[token][row] = sum over groups g of
//       weight_scales[row][g] * activation_scales[token][g] * dot(weights[row][g], activations[token][g])
//
// Products of bytes are added exactly, in int. What is added in float32 has a fixed order, so that all variants give
// the same bits: sixteen values are a piece, a group has eight; chain c adds piece c of every group with fused
// multiply-adds, and the eight chains are added as a tree.
#include <hip/hip_runtime.h>

constexpr int kRows = 1280;
constexpr int kWidth = 2048;
constexpr int kGroups = 16;
constexpr int kChains = 8;
constexpr int kTokensTogether = 4;

// Sixteen values, loaded at once.
static __device__ inline int4 load_piece(const signed char* values, int row, int group, int chain) {
    return reinterpret_cast<const int4*>(values + row * kWidth)[group * kChains + chain];
}

// The byte that lies `bits` below a word's top.
static __device__ inline int byte_of(int word, int bits) {
    return static_cast<int>(static_cast<unsigned>(word) << bits) >> 24;
}

// The four words side by side, which host compilers turn into vector instructions: five times as fast with g++ 12.
static __device__ inline int dot(const int4& a, const int4& b) {
    int x = 0, y = 0, z = 0, w = 0;
    for (int bits = 0; bits < 32; bits += 8) {
        x += byte_of(a.x, bits) * byte_of(b.x, bits);
        y += byte_of(a.y, bits) * byte_of(b.y, bits);
        z += byte_of(a.z, bits) * byte_of(b.z, bits);
        w += byte_of(a.w, bits) * byte_of(b.w, bits);
    }
    return (x + y) + (z + w);
}

static __device__ inline float scale(const float* weight_scales, const float* activation_scales, int row, int token,
                                     int group) {
#ifdef MUTATION_ONE_SCALE_A_ROW
    return weight_scales[row * kGroups] * activation_scales[token * kGroups];
#else
    return weight_scales[row * kGroups + group] * activation_scales[token * kGroups + group];
#endif
}

// One thread a row: simple, and neighbouring threads read two kilobytes apart. Workgroups of 64.
extern "C" __global__ void __launch_bounds__(64)
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

// Adds the chains of four tokens at once, each in the order above: with every exchange a thread hands over half of what
// it holds, so that four exchanges do what twelve would. Returns the sum of token `chain` / 2.
static __device__ inline float sum_of_four_tokens(const float (&totals)[kTokensTogether], int chain) {
    const bool upper = (chain & 4) != 0;
    const bool right = (chain & 2) != 0;
    const float first = (upper ? totals[2] : totals[0]) + __shfl_xor(upper ? totals[0] : totals[2], 4, kChains);
    const float second = (upper ? totals[3] : totals[1]) + __shfl_xor(upper ? totals[1] : totals[3], 4, kChains);
    const float mine = (right ? second : first) + __shfl_xor(right ? first : second, 2, kChains);
    return mine + __shfl_xor(mine, 1, kChains);
}

// Four tokens at a time, so that each weight is read once for all four.
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
    const float total = sum_of_four_tokens(totals, chain);
    const int token = first + chain / 2;
    if (chain % 2 == 0 && token < tokens) y[token * kRows + row] = total;
}
