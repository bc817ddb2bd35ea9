// Arithmetic that gives the same bits on every device: only operations that round once and correctly, in a stated order.
// Its counterpart for references is exact_math.py; change both together.
#pragma once

// exp(x) in float32, within one unit in the last place; 0 below -87 and infinity above 88, where float32 ends anyway.
// The device's own expf differs by a bit between makers, so a result made with it could only be compared loosely.
static __device__ inline float exponential(float x) {
    if (x < -87.0f) return 0.0f;
    if (x > 88.0f) return __int_as_float(0x7f800000);
    const float power = rintf(x * 1.44269502f);  // x = power * ln 2 + rest
    float rest = fmaf(power, -0.693147182f, x);  // ln 2 in two parts, since float32 holds only half of it
    rest = fmaf(power, 1.90465421e-9f, rest);
    float result = 1.0f / 5040.0f;  // Taylor's series: |rest| < 0.35 makes the first term left out 5e-9
    result = fmaf(result, rest, 1.0f / 720.0f);
    result = fmaf(result, rest, 1.0f / 120.0f);
    result = fmaf(result, rest, 1.0f / 24.0f);
    result = fmaf(result, rest, 1.0f / 6.0f);
    result = fmaf(result, rest, 0.5f);
    result = fmaf(result, rest, 1.0f);
    result = fmaf(result, rest, 1.0f);
    // Times a power of two: exact, so it does not matter whether a compiler merges it into a following addition.
    return result * __int_as_float((static_cast<int>(power) + 127) << 23);
}

// bfloat16 is the upper half of a float32. Kernels keep it as unsigned short, so that no header's type is needed.
static __device__ inline float from_bfloat16(unsigned short bits) {
    return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

// Rounds to nearest, ties to even. NaN stays NaN.
static __device__ inline unsigned short to_bfloat16(float value) {
    const unsigned bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<unsigned short>((bits >> 16) | 0x40u);
    return static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
