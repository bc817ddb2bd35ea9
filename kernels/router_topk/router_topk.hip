// A mixture-of-experts router: softmax over a token's 128 logits, and the eight experts of the highest probability,
// highest first; of equal ones the lower expert comes first.
//
// All variants add the exponentials in the same order: experts 32 apart one after another, then the 32 sums as a tree.
#include <hip/hip_runtime.h>

#include "exact_math.h"
#include "wave.h"

constexpr int kExperts = 128;
constexpr int kTop = 8;
constexpr int kOfLane = kExperts / kWave;  // experts lane, lane + 32, lane + 64, lane + 96

// Whether an expert comes before another; equal logits are decided by the lower number.
static __device__ inline bool before(float logit, int expert, float other_logit, int other) {
#ifdef MUTATION_HIGHER_EXPERT_FIRST
    return logit > other_logit || (logit == other_logit && expert > other);
#else
    return logit > other_logit || (logit == other_logit && expert < other);
#endif
}

// The sum of a lane's exponentials.
static __device__ inline float lane_sum(const float* logits, int lane, float highest) {
    float sum = exponential(logits[lane] - highest);
    for (int k = 1; k < kOfLane; ++k) sum += exponential(logits[lane + k * kWave] - highest);
    return sum;
}

// One thread a token: right, and 512 tokens are eight workgroups of 64.
extern "C" __global__ void __launch_bounds__(64)
    router_thread_a_token(int tokens, const float* logits, int* experts, float* weights) {
    const int token = blockIdx.x * blockDim.x + threadIdx.x;
    if (token >= tokens) return;
    const float* mine = logits + token * kExperts;
    float top[kTop];
    int top_expert[kTop];
    for (int k = 0; k < kTop; ++k) {
        top[k] = -3.0e38f;
        top_expert[k] = kExperts;
    }
    for (int expert = 0; expert < kExperts; ++expert) {
        float logit = mine[expert];
        int candidate = expert;
        for (int k = 0; k < kTop; ++k) {  // the better one stays, the other goes on
            if (before(logit, candidate, top[k], top_expert[k])) {
                const float other = top[k];
                const int other_expert = top_expert[k];
                top[k] = logit;
                top_expert[k] = candidate;
                logit = other;
                candidate = other_expert;
            }
        }
    }
    float sums[kWave];
    for (int lane = 0; lane < kWave; ++lane) sums[lane] = lane_sum(mine, lane, top[0]);
    for (int half = kWave / 2; half > 0; half /= 2)
        for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    for (int k = 0; k < kTop; ++k) {
        experts[token * kTop + k] = top_expert[k];
        weights[token * kTop + k] = exponential(top[k] - top[0]) / sums[0];
    }
}

// One wave of 32 a token: eight times the best of what is left.
extern "C" __global__ void __launch_bounds__(kWave)
    router_wave_a_token(const float* logits, int* experts, float* weights) {
    const int token = blockIdx.x;
    const int lane = threadIdx.x;
    const float* mine = logits + token * kExperts;
    float left[kOfLane];
    float highest = mine[lane];
    for (int k = 0; k < kOfLane; ++k) {
        left[k] = mine[lane + k * kWave];
        highest = fmaxf(highest, left[k]);
    }
    highest = wave_max(highest);
    const float sum = wave_sum(lane_sum(mine, lane, highest));
    for (int rank = 0; rank < kTop; ++rank) {
        float best = left[0];
        int expert = lane;
        for (int k = 1; k < kOfLane; ++k) {
            if (before(left[k], lane + k * kWave, best, expert)) {
                best = left[k];
                expert = lane + k * kWave;
            }
        }
        for (int half = kWave / 2; half > 0; half /= 2) {
            const float other = __shfl_xor(best, half, kWave);
            const int other_expert = __shfl_xor(expert, half, kWave);
            if (before(other, other_expert, best, expert)) {
                best = other;
                expert = other_expert;
            }
        }
        for (int k = 0; k < kOfLane; ++k)
            if (expert == lane + k * kWave) left[k] = -3.0e38f;
        if (lane == 0) {
            experts[token * kTop + rank] = expert;
            weights[token * kTop + rank] = exponential(best - highest) / sum;
        }
    }
}

// One workgroup a token, one thread an expert: each counts how many come before its own.
extern "C" __global__ void __launch_bounds__(kExperts)
    router_thread_an_expert(const float* logits, int* experts, float* weights) {
    __shared__ float all[kExperts];
    __shared__ float highest_and_sum[2];
    const int token = blockIdx.x;
    const int expert = threadIdx.x;
    const float logit = logits[token * kExperts + expert];
    all[expert] = logit;
    __syncthreads();
    if (expert < kWave) {
        float highest = all[expert];
        for (int k = 1; k < kOfLane; ++k) highest = fmaxf(highest, all[expert + k * kWave]);
        highest = wave_max(highest);
        const float sum = wave_sum(lane_sum(all, expert, highest));
        if (expert == 0) {
            highest_and_sum[0] = highest;
            highest_and_sum[1] = sum;
        }
    }
    int rank = 0;
    for (int other = 0; other < kExperts; ++other) rank += before(all[other], other, logit, expert) ? 1 : 0;
    __syncthreads();
    if (rank < kTop) {
        experts[token * kTop + rank] = expert;
        weights[token * kTop + rank] = exponential(logit - highest_and_sum[0]) / highest_and_sum[1];
    }
}
