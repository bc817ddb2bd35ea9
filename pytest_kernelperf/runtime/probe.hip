// What the probes launch and compile: small kernels of which each shows one thing.

#include "probe_part.h"

// Says that it ran: behind a closed gate the word must keep its old value.
extern "C" __global__ void kernelperf_mark(volatile unsigned int* word, unsigned int value) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *word = value;
}

// Instructions enough for a compiler to have choices: a loop, a branch, arithmetic of its header.
extern "C" __global__ void kernelperf_mix(float* values, const float* weights, int count) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < count; i += gridDim.x * blockDim.x) {
        const float value = values[i];
        values[i] = value > 0.0f ? blend(value, weights[i % 16]) : -value;
    }
}
