// Attention of one new token over a cache of keys and values, with online softmax: nothing is stored per cached token.
//
//   out[head] = sum over cached tokens t of softmax(query[head] · key[t] / sqrt(128)) * value[t]
//
// 32 query heads share 8 heads of keys and values, kept in bfloat16, a head's tokens one after another. A workgroup of
// 128 threads takes 64 tokens at a time: two threads compute a token's score, then each thread adds up one of the 128
// values of the result. When a higher score turns up, what was added so far is scaled down.
#include <hip/hip_runtime.h>

#include "exact_math.h"
#include "wave.h"

constexpr int kHeadsOfGroup = 4;  // query heads that share them
constexpr int kWidth = 128;
constexpr int kTile = 64;
constexpr int kWaves = kWidth / kWave;
constexpr float kLowest = -3.0e38f;  // below every score, and its exponential is 0 beside any

// What a thread knows of its value of the result: it is `value` / `sum`, both scaled by exp(-highest).
struct Part {
    float highest;
    float sum;
    float value;
};

static __device__ inline float two_products(const float* query, unsigned keys, float sum) {
    sum = fmaf(query[0], from_bfloat16(static_cast<unsigned short>(keys)), sum);
    return fmaf(query[1], from_bfloat16(static_cast<unsigned short>(keys >> 16)), sum);
}

// Half a token's score: 64 products.
static __device__ inline float half_score(const float* query, const unsigned short* key) {
    float sum = 0.0f;
    for (int i = 0; i < kWidth / 2; i += 8) {
        const uint4 keys = *reinterpret_cast<const uint4*>(key + i);
        sum = two_products(query + i, keys.x, sum);
        sum = two_products(query + i + 2, keys.y, sum);
        sum = two_products(query + i + 4, keys.z, sum);
        sum = two_products(query + i + 6, keys.w, sum);
    }
    return sum;
}

// Attends to tokens first to last - 1, of which there may be none, of a cache with room for `capacity`.
static __device__ inline Part attend(int head, int capacity, int first, int last, const float* queries,
                                     const unsigned short* keys, const unsigned short* values) {
    __shared__ float query[kWidth];
    __shared__ float highest_of_wave[kWaves];
    __shared__ float weights[kTile];
    const int thread = threadIdx.x;
#ifdef MUTATION_WRONG_GROUP
    const int group = head % (32 / kHeadsOfGroup);
#else
    const int group = head / kHeadsOfGroup;
#endif
    keys += group * capacity * kWidth;
    values += group * capacity * kWidth;
    query[thread] = queries[head * kWidth + thread] * 0.0883883476f;  // 1 / sqrt(128)
    Part part = {kLowest, 0.0f, 0.0f};
    __syncthreads();
    for (int tile = first; tile < last; tile += kTile) {
        const int token = tile + thread / 2;
        const int half = thread % 2 * (kWidth / 2);
        float score = token < last ? half_score(query + half, keys + token * kWidth + half) : 0.0f;
        score += __shfl_xor(score, 1, kWave);
        if (token >= last) score = kLowest;
        const float highest_here = wave_max(score);
        if (thread % kWave == 0) highest_of_wave[thread / kWave] = highest_here;
        __syncthreads();
        float highest = part.highest;
        for (int i = 0; i < kWaves; ++i) highest = fmaxf(highest, highest_of_wave[i]);
        if (thread % 2 == 0) weights[thread / 2] = expf(score - highest);
        __syncthreads();
        // A tile's sums start from zero, so that a result of many tokens is rounded a few hundred times at most.
        float sum = 0.0f;
        float value = 0.0f;
        for (int i = 0; i < kTile && tile + i < last; ++i) {
            sum += weights[i];
            value = fmaf(weights[i], from_bfloat16(values[(tile + i) * kWidth + thread]), value);
        }
        const float scale = expf(part.highest - highest);  // 0 for the first tile
        part.sum = fmaf(part.sum, scale, sum);
        part.value = fmaf(part.value, scale, value);
        part.highest = highest;
        // No barrier here: the next tile's weights are written behind the next tile's first one.
    }
    return part;
}

// One workgroup a head, whatever the context: 32 workgroups.
extern "C" __global__ void __launch_bounds__(kWidth)
    attention_one_workgroup_a_head(int context, int capacity, const float* queries, const unsigned short* keys,
                                   const unsigned short* values, float* out) {
    const int head = blockIdx.x;
    const Part part = attend(head, capacity, 0, context, queries, keys, values);
    out[head * kWidth + threadIdx.x] = part.value / part.sum;
}

// First of two launches: each split of a head attends to `share` tokens, a multiple of 64, and stores its part.
extern "C" __global__ void __launch_bounds__(kWidth)
    attention_split(int context, int capacity, int share, const float* queries, const unsigned short* keys,
                    const unsigned short* values, float* part_values, float* part_sums, float* part_highest) {
    const int head = blockIdx.x;
    const int row = head * gridDim.y + blockIdx.y;
    const int first = blockIdx.y * share;
    const int last = first + share < context ? first + share : context;
    const Part part = attend(head, capacity, first, last, queries, keys, values);
    part_values[row * kWidth + threadIdx.x] = part.value;
    if (threadIdx.x == 0) {
        part_sums[row] = part.sum;
        part_highest[row] = part.highest;
    }
}

// Second of two launches: merges a head's parts, from `first` on (0, unless something is to be left out on purpose).
extern "C" __global__ void __launch_bounds__(kWidth)
    attention_merge(int first, int splits, const float* part_values, const float* part_sums, const float* part_highest,
                    float* out) {
    const int head = blockIdx.x;
    float highest = kLowest;
    for (int split = first; split < splits; ++split) highest = fmaxf(highest, part_highest[head * splits + split]);
    float sum = 0.0f;
    float value = 0.0f;
    for (int split = first; split < splits; ++split) {
        const int row = head * splits + split;
        const float scale = expf(part_highest[row] - highest);  // 0 for a split without tokens
        sum = fmaf(part_sums[row], scale, sum);
        value = fmaf(part_values[row * kWidth + threadIdx.x], scale, value);
    }
    out[head * kWidth + threadIdx.x] = value / sum;
}
