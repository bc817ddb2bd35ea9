// KV-cache append: each token's keys and values, float32, become bfloat16 in the cache's slot for that token.
//
//   key_cache[head][slot[token]][i]   = bfloat16(key[token][head][i])
//   value_cache[head][slot[token]][i] = bfloat16(value[token][head][i])
//
// A head's slots lie one after another, as attention reads them; slots come in any order and none twice.
#include <hip/hip_runtime.h>

#include "exact_math.h"

constexpr int kHeads = 8;
constexpr int kWidth = 128;
constexpr int kRow = kHeads * kWidth;  // values of a token in each of the two tensors
constexpr int kSlots = 2048;

// Where value i of a token's row goes.
static __device__ inline int cache_index(int slot, int i) {
    return (i / kWidth * kSlots + slot) * kWidth + i % kWidth;
}

static __device__ inline unsigned short stored(float value) {
#ifdef MUTATION_CUTS_OFF
    return static_cast<unsigned short>(__float_as_uint(value) >> 16);
#else
    return to_bfloat16(value);
#endif
}

// One tensor, one thread a value: launched for the keys, then for the values.
extern "C" __global__ void append_tensor(int tokens, const int* slots, const float* rows, unsigned short* cache) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < tokens * kRow) cache[cache_index(slots[i / kRow], i % kRow)] = stored(rows[i]);
}

static __device__ inline void append_four(int quad, const int* slots, const float* rows, unsigned short* cache) {
    const float4 row = reinterpret_cast<const float4*>(rows)[quad];
    const int to = cache_index(slots[4 * quad / kRow], 4 * quad % kRow);
    *reinterpret_cast<ushort4*>(cache + to) = make_ushort4(stored(row.x), stored(row.y), stored(row.z), stored(row.w));
}

// Keys and values in one launch, workgroups of 64: four of each a thread, loaded 16 and stored 8 bytes at a time.
extern "C" __global__ void __launch_bounds__(64)
    append_fused(int tokens, const int* slots, const float* keys, const float* values, unsigned short* key_cache,
                 unsigned short* value_cache) {
    const int quad = blockIdx.x * blockDim.x + threadIdx.x;
    if (quad >= tokens * kRow / 4) return;
    append_four(quad, slots, keys, key_cache);
    append_four(quad, slots, values, value_cache);
}

// One workgroup a token: right, and at one token it leaves all compute units but one idle.
extern "C" __global__ void append_one_workgroup_a_token(const int* slots, const float* keys, const float* values,
                                                        unsigned short* key_cache, unsigned short* value_cache) {
    const int slot = slots[blockIdx.x];
    for (int i = threadIdx.x; i < kRow; i += blockDim.x) {
        key_cache[cache_index(slot, i)] = stored(keys[blockIdx.x * kRow + i]);
        value_cache[cache_index(slot, i)] = stored(values[blockIdx.x * kRow + i]);
    }
}
