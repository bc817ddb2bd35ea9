// Rotary embedding: each head's first and second half are turned against each other, by an angle that grows with the
// token's position and differs for each of the 64 pairs of values.
//
//   low'  = low * cos - high * sin
//   high' = high * cos + low * sin
//
// Cosines and sines come from a table, as in engines; each result is one product and one fused multiply-add, so that
// the bits are the same on every device. Queries and keys are rotated in place.
#include <hip/hip_runtime.h>

constexpr int kPairs = 64;
constexpr int kQueryHeads = 32;
constexpr int kKeyHeads = 8;
constexpr int kHeadsInTile = 4;
constexpr int kQueryTiles = kQueryHeads / kHeadsInTile;
constexpr int kTiles = (kQueryHeads + kKeyHeads) / kHeadsInTile;

static __device__ inline void rotate(float& low, float& high, float cosine, float sine) {
    const float old_low = low;
    const float old_high = high;
    low = fmaf(old_low, cosine, -(old_high * sine));
#ifdef MUTATION_TURNS_BACK
    high = fmaf(old_high, cosine, -(old_low * sine));
#else
    high = fmaf(old_high, cosine, old_low * sine);
#endif
}

// One tensor, one thread a pair: launched for the queries, then for the keys.
extern "C" __global__ void rope_tensor(int tokens, int heads, const int* positions, const float* cosines,
                                       const float* sines, float* values) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= tokens * heads * kPairs) return;
    const int pair = i % kPairs;
    const int row = i / kPairs;  // token * heads + head
    const int angle = positions[row / heads] * kPairs + pair;
    rotate(values[row * 2 * kPairs + pair], values[row * 2 * kPairs + pair + kPairs], cosines[angle], sines[angle]);
}

// The values of a tile of four heads of a token: eight tiles of queries, then two of keys.
static __device__ inline float* tile_values(int token, int tile, float* queries, float* keys) {
    const int first = tile * kHeadsInTile;
    const int row = tile < kQueryTiles ? token * kQueryHeads + first : token * kKeyHeads + first - kQueryHeads;
    return (tile < kQueryTiles ? queries : keys) + row * 2 * kPairs;
}

// Queries and keys in one launch, a workgroup of 64 threads for each tile and token: four pairs a thread, loaded and
// stored 16 bytes at a time.
extern "C" __global__ void __launch_bounds__(64)
    rope_fused(const int* positions, const float* cosines, const float* sines, float* queries, float* keys) {
    constexpr int kQuads = kPairs / 4;
    const int token = blockIdx.y;
    const int quad = threadIdx.x % kQuads;
    float* values = tile_values(token, blockIdx.x, queries, keys) + threadIdx.x / kQuads * 2 * kPairs;
    float4* low = reinterpret_cast<float4*>(values) + quad;
    float4* high = reinterpret_cast<float4*>(values + kPairs) + quad;
    const float4 cosine = reinterpret_cast<const float4*>(cosines + positions[token] * kPairs)[quad];
    const float4 sine = reinterpret_cast<const float4*>(sines + positions[token] * kPairs)[quad];
    float4 new_low = *low;
    float4 new_high = *high;
    rotate(new_low.x, new_high.x, cosine.x, sine.x);
    rotate(new_low.y, new_high.y, cosine.y, sine.y);
    rotate(new_low.z, new_high.z, cosine.z, sine.z);
    rotate(new_low.w, new_high.w, cosine.w, sine.w);
    *low = new_low;
    *high = new_high;
}

// One workgroup a token: right, and at one token it leaves all compute units but one idle.
extern "C" __global__ void rope_one_workgroup_a_token(const int* positions, const float* cosines, const float* sines,
                                                      float* queries, float* keys) {
    const int token = blockIdx.x;
    for (int i = threadIdx.x; i < kTiles * kHeadsInTile * kPairs; i += blockDim.x) {
        const int tile = i / (kHeadsInTile * kPairs);
        const int pair = i % kPairs;
        const int angle = positions[token] * kPairs + pair;
        float* values = tile_values(token, tile, queries, keys) + i / kPairs % kHeadsInTile * 2 * kPairs;
        rotate(values[pair], values[pair + kPairs], cosines[angle], sines[angle]);
    }
}
