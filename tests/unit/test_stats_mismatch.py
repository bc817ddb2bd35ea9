"""Outputs against the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pytest_kernelperf.kernel import Tolerance
from pytest_kernelperf.model import Mismatch
from pytest_kernelperf.stats.mismatch import find_mismatch, format_value

PAIR = np.dtype([("index", "<i4"), ("weight", "<f4", (2,))], align=True)


def test_equal_outputs_have_no_mismatch() -> None:
    """Of any dtype, of any shape, also with nothing in them."""
    for dtype in ("<f2", "<f4", "<f8", "<c8", "?", "i1", "<u8", "V16"):
        array = np.zeros((3, 4), dtype=dtype)
        assert find_mismatch("x", array, array.copy()) is None
    assert find_mismatch("x", np.empty(0, "<f4"), np.empty(0, "<f4")) is None


def test_the_last_bit_counts() -> None:
    """Bit for bit means the neighbouring float differs, and the first one is named with nine digits."""
    want = np.full((4, 8), 0.1, dtype=np.float32)
    got = want.copy()
    got[2, 3] = np.nextafter(np.float32(0.1), np.float32(1))
    got[3, 1] = 7
    assert find_mismatch("x", got, want) == Mismatch("x", 2, 32, 19, "0.100000009", "0.100000001")


def test_the_lessons_figures_are_written_as_the_lesson_writes_them() -> None:
    """Nine significant digits tell any two float32 apart."""
    assert format_value(np.float32(0.830200195)) == "0.830200195"
    assert format_value(np.float32(1.04614961)) == "1.04614961"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nan_equals_nan_and_nothing_else(dtype: Any) -> None:
    """Hardware differs in the payload; a NaN for a number, or a number for a NaN, is wrong."""
    nan, one = np.array([np.nan], dtype), np.array([1], dtype)
    other = (nan.view(f"u{nan.itemsize}") ^ 1).view(dtype)
    assert np.isnan(other).all()
    assert find_mismatch("x", nan, other) is None
    assert find_mismatch("x", nan, one) is not None
    assert find_mismatch("x", one, nan) is not None


def test_negative_zero_differs_from_zero() -> None:
    """It compares equal, and is what a wrong sign leaves behind."""
    found = find_mismatch("x", np.array([-0.0], np.float32), np.array([0.0], np.float32))
    assert found is not None
    assert (found.got, found.want) == ("-0", "0")


def test_whole_numbers_and_booleans_are_compared_exactly() -> None:
    """2**53 and 2**53 + 1 are the same float64, but not the same integer; a bool of 2 is not a bool of 1."""
    found = find_mismatch("n", np.array([2**53 + 1]), np.array([2**53]))
    assert found == Mismatch("n", 1, 1, 0, "9007199254740993", "9007199254740992")
    assert find_mismatch("b", np.array([2], "u1").view("?"), np.array([1], "u1").view("?")) is not None
    assert find_mismatch("b", np.array([True, False]), np.array([True, True])) == Mismatch(
        "b", 1, 2, 1, "False", "True"
    )


def test_structured_elements_count_once_and_padding_not_at_all() -> None:
    """Each field is compared as what it is."""
    want = np.zeros(5, dtype=PAIR)
    got = want.copy()
    got["weight"][3] = (1.5, 2)
    got["index"][3] = 9
    found = find_mismatch("p", got, want)
    assert found == Mismatch("p", 1, 5, 3, "(index=9, weight=[1.5, 2])", "(index=0, weight=[0, 0])")
    padded = np.dtype({"names": ["a"], "formats": ["u1"], "itemsize": 4})
    bytes_a, bytes_b = np.array([1, 0, 0, 0], "u1"), np.array([1, 9, 9, 9], "u1")
    assert find_mismatch("p", bytes_a.view(padded), bytes_b.view(padded)) is None


def test_elements_of_an_odd_size_are_compared_by_their_bytes() -> None:
    """Such as three raw bytes each."""
    want = np.zeros(4, dtype="V3")
    got = np.frombuffer(b"\0\0\0\0\0\1\0\0\0\0\0\0", dtype="V3")
    found = find_mismatch("raw", got, want)
    assert found is not None
    assert (found.differing, found.first_index) == (1, 1)


def test_views_that_are_not_contiguous_are_compared_in_their_own_order() -> None:
    """The index is the flat one of the array as it is seen."""
    want = np.arange(12, dtype=np.float32).reshape(3, 4).T
    got = want.copy()
    got[1, 0] = 99
    found = find_mismatch("x", got, want)
    assert found is not None
    assert found.first_index == 3


@pytest.mark.parametrize(
    ("got", "want", "agrees"),
    [
        (1.0009, 1.0, True),
        (1.0021, 1.0, False),
        (-1.0, 1.0, False),
        (0.00009, 0.0, True),
        (np.inf, np.inf, True),
        (-np.inf, np.inf, False),
        (3e38, np.inf, False),
        (np.inf, 3e38, False),
        (np.nan, np.nan, True),
        (np.nan, 1.0, False),
        (1.0, np.nan, False),
    ],
)
def test_a_tolerance_is_absolute_plus_relative_to_the_reference(got: float, want: float, agrees: bool) -> None:
    """Infinities and NaN still have to be the expected ones."""
    tolerance = Tolerance(absolute=1e-4, relative=1e-3, reason="sums in another order")
    found = find_mismatch("x", np.array([got], np.float32), np.array([want], np.float32), tolerance)
    assert (found is None) is agrees


def test_a_tolerance_leaves_whole_numbers_exact() -> None:
    """An index that is off by one is off."""
    tolerance = Tolerance(absolute=10, relative=1, reason="sums in another order")
    assert find_mismatch("n", np.array([1]), np.array([2]), tolerance) is not None


def test_other_shapes_and_dtypes_are_refused() -> None:
    """They would broadcast, or compare by value, and hide what is wrong."""
    with pytest.raises(ValueError, match="cannot be compared"):
        find_mismatch("x", np.zeros((1, 4), np.float32), np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="cannot be compared"):
        find_mismatch("x", np.zeros(4, np.float32), np.zeros(4, np.float64))
