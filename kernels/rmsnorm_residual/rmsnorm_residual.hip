// RMSNorm with residual: the layer's input is added to the residual stream, and the sum is normalised.
//
//   hidden[token][c] = x[token][c] + residual[token][c]
//   y[token][c]      = hidden[token][c] * (1 / sqrt(mean of hidden[token]² + epsilon)) * weight[c]
//
// All variants add the squares in the same order, so they give the same bits: columns 512 apart one after another with
// fused multiply-adds, the 512 chains in slices of 32 as trees, and the sixteen slices as a tree.
#include <hip/hip_runtime.h>

#include "wave.h"

constexpr int kColumns = 4096;
constexpr int kChains = 512;
constexpr int kOfChain = kColumns / kChains;
constexpr int kSlices = kChains / kWave;
constexpr float kEpsilon = 1.0e-5f;

// What all of a token's values are multiplied by, from the sums of its sixteen slices.
static __device__ inline float normaliser(const float* slice_sums) {
    float sums[kSlices];
    for (int i = 0; i < kSlices; ++i) sums[i] = slice_sums[i];
    for (int half = kSlices / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
    // The mean is exact, a division by a power of two, so it does not matter whether the addition is fused with it.
    return 1.0f / sqrtf(sums[0] * (1.0f / kColumns) + kEpsilon);
}

// The normaliser of a token, computed by a workgroup of 512 threads together; `mine` receives a thread's own values.
static __device__ inline float reduce_token(const float* x, const float* residual, float (&mine)[kOfChain]) {
    __shared__ float slice_sums[kSlices];
    const int chain = threadIdx.x;
    float squares = 0.0f;
    for (int k = 0; k < kOfChain; ++k) {
        mine[k] = x[k * kChains + chain] + residual[k * kChains + chain];
        squares = fmaf(mine[k], mine[k], squares);
    }
    squares = wave_sum(squares);
    if (chain % kWave == 0) slice_sums[chain / kWave] = squares;
#ifdef MUTATION_LAST_SLICE_LOST
    if (chain == kChains - kWave) slice_sums[kSlices - 1] = 0.0f;
#endif
    __syncthreads();
    return normaliser(slice_sums);
}

// One workgroup a token: every value is read once, and at one token all compute units but one are idle.
extern "C" __global__ void __launch_bounds__(kChains)
    rmsnorm_one_workgroup_a_token(const float* x, const float* residual, const float* weight, float* hidden, float* y) {
    const int row = blockIdx.x * kColumns;
    float mine[kOfChain];
    const float factor = reduce_token(x + row, residual + row, mine);
    for (int k = 0; k < kOfChain; ++k) {
        const int column = k * kChains + threadIdx.x;
        hidden[row + column] = mine[k];
        y[row + column] = mine[k] * factor * weight[column];
    }
}

// Eight workgroups a token: each reads the whole row and writes its own 512 columns.
extern "C" __global__ void __launch_bounds__(kChains)
    rmsnorm_column_tiles(const float* x, const float* residual, const float* weight, float* hidden, float* y) {
    const int row = blockIdx.y * kColumns;
    float mine[kOfChain];
    const float factor = reduce_token(x + row, residual + row, mine);
    float own = mine[0];
    for (int k = 1; k < kOfChain; ++k)
        if (k == blockIdx.x) own = mine[k];
    const int column = blockIdx.x * kChains + threadIdx.x;
    hidden[row + column] = own;
    y[row + column] = own * factor * weight[column];
}

// First of two launches: a workgroup of 256 threads for each slice and token adds up the slice's squares.
extern "C" __global__ void __launch_bounds__(kWave * kOfChain)
    rmsnorm_sum_slices(const float* x, const float* residual, float* hidden, float* slice_sums) {
    __shared__ float values[kOfChain][kWave];
    const int lane = threadIdx.x % kWave;
    const int k = threadIdx.x / kWave;
    const int i = blockIdx.y * kColumns + k * kChains + blockIdx.x * kWave + lane;
    const float value = x[i] + residual[i];
    hidden[i] = value;
    values[k][lane] = value;
    __syncthreads();
    if (k != 0) return;
    float squares = 0.0f;
    for (int n = 0; n < kOfChain; ++n) squares = fmaf(values[n][lane], values[n][lane], squares);
    squares = wave_sum(squares);
    if (lane == 0) slice_sums[blockIdx.y * kSlices + blockIdx.x] = squares;
}

// Second of two launches: one thread a value.
extern "C" __global__ void rmsnorm_normalise(const float* hidden, const float* slice_sums, const float* weight, float* y) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int i = blockIdx.y * kColumns + column;
    y[i] = hidden[i] * normaliser(slice_sums + blockIdx.y * kSlices) * weight[column];
}
