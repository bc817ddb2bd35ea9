"""What ``exact_math.h`` computes, for references: the same operations in the same order, so the same bits."""

from __future__ import annotations

import numpy as np

from pytest_kernelperf import fmaf

_SERIES = tuple(np.float32(1) / np.float32(n) for n in (5040, 720, 120, 24, 6, 2, 1, 1))
_LOG2_E, _MINUS_LN_2, _LN_2_REST = np.float32(1.44269502), np.float32(-0.693147182), np.float32(1.90465421e-9)


def exponential(x):
    """exp(x) in float32, bit for bit as ``exponential`` of the header; any shape."""
    x = np.asarray(x, np.float32)
    inside = np.clip(x, np.float32(-87), np.float32(88))
    power = np.rint(inside * _LOG2_E)
    rest = fmaf(power, _LN_2_REST, fmaf(power, _MINUS_LN_2, inside))
    result = np.full_like(rest, _SERIES[0])
    for term in _SERIES[1:]:
        result = fmaf(result, rest, term)
    result *= ((power.astype(np.int32) + 127) << 23).view(np.float32)
    return np.where(x < -87, np.float32(0), np.where(x > 88, np.float32(np.inf), result))


def to_bfloat16(values):
    """float32 -> bfloat16 as uint16: to nearest, ties to even. Finite values only."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits):
    """bfloat16 as uint16 -> float32, exactly."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def halving_sum(values, axis=-1):
    """Sum an axis, a power of two long, as a tree: the upper half onto the lower, until one value is left.

    What lanes get that add what the lane ``half`` away holds, for each half from the largest down.
    """
    values = np.moveaxis(values, axis, 0)
    while len(values) > 1:
        half = len(values) // 2
        values = values[:half] + values[half:]
    return values[0]
