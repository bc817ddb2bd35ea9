#pragma once

static __device__ inline float blend(float value, float weight) { return fmaf(weight, value, 1.0f - weight); }
