"""The arithmetic that the project's own kernels share with their references (``kernels/exact_math.py``)."""

from __future__ import annotations

import numpy as np
import pytest

exact_math = pytest.importorskip("exact_math", reason="kernels/ is not beside these tests")


def test_the_exponential_is_within_one_unit_in_the_last_place() -> None:
    """From -87 to 88; exact at zero, and 0 and infinity beyond."""
    x = np.linspace(-87, 88, 100_001, dtype=np.float32)
    true = np.exp(x.astype(np.float64))
    unit = np.spacing(true.astype(np.float32)).astype(np.float64)

    assert np.max(np.abs(exact_math.exponential(x) - true) / unit) < 1
    beyond = exact_math.exponential(np.array([-np.inf, -88, -0.0, 0, 89, np.inf], np.float32))
    assert beyond.tolist() == [0, 0, 1, 1, np.inf, np.inf]


def test_bfloat16_is_the_nearest_and_of_two_the_even_one() -> None:
    """Compared with both neighbours in float64, ties among them."""
    upper = np.arange(0x3F00, 0x4100, dtype=np.uint32) << 16
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    values = (upper[:, None] + lower).view(np.float32)
    down, up = (exact_math.from_bfloat16(((upper >> 16) + step).astype(np.uint16)) for step in (0, 1))
    above, below = up[:, None] - values.astype(np.float64), values.astype(np.float64) - down[:, None]
    even_is_up = (upper >> 16 & 1)[:, None] == 1
    expected = np.where((above < below) | ((above == below) & even_is_up), up[:, None], down[:, None])

    assert np.array_equal(exact_math.from_bfloat16(exact_math.to_bfloat16(values)), expected)
    assert np.array_equal(exact_math.to_bfloat16(-values), exact_math.to_bfloat16(values) | 0x8000)


def test_a_halving_sum_adds_the_upper_half_onto_the_lower() -> None:
    """The order shows in float32, where 1 is lost beside 2 ** 24; any axis."""
    values = np.array([2.0**24, 1, -(2.0**24), 1], np.float32)

    assert exact_math.halving_sum(values) == 2
    assert exact_math.halving_sum(values[[0, 2, 1, 3]]) == 1
    assert exact_math.halving_sum(np.stack([values, values], axis=1), axis=0).tolist() == [2, 2]
