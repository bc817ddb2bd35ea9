// Reductions over 32 neighbouring threads, in the same order on every device.
//
// AMD's RDNA runs waves of 32 threads, its CDNA waves of 64. Exchanging values only between threads whose numbers differ
// in the lower five bits treats a wave of 64 as two of 32, so that neither results nor their bits depend on it.
#pragma once

constexpr int kWave = 32;

// The upper half onto the lower, until one value is left; every lane gets the same bits, since a + b = b + a.
static __device__ inline float wave_sum(float value) {
    for (int half = kWave / 2; half > 0; half /= 2) value += __shfl_xor(value, half, kWave);
    return value;
}

static __device__ inline float wave_max(float value) {
    for (int half = kWave / 2; half > 0; half /= 2) value = fmaxf(value, __shfl_xor(value, half, kWave));
    return value;
}
