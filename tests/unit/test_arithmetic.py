"""fmaf as its users call it: shapes, refusals, and why it exists."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from pytest_kernelperf import fmaf
from pytest_kernelperf.errors import UsageError

ONE = np.float32(1)


def test_it_rounds_once_where_numpy_rounds_twice() -> None:
    """(1 + eps)^2 - (1 + 2 eps) is eps^2, which a rounded product has lost."""
    eps = np.float32(2.0**-23)
    assert (ONE + eps) * (ONE + eps) - (ONE + eps + eps) == 0
    assert fmaf(ONE + eps, ONE + eps, -(ONE + eps + eps)) == np.float32(2.0**-46)


def test_it_is_not_a_float64_sum_rounded_to_float32() -> None:
    """The sum in float64 lands on a tie of float32, and the exact sum lies just below it."""
    a, b = np.float32(1 + 2.0**-15), np.float32(2.0**-24 * (1 - 2.0**-15))
    c = np.float32(1 + 2.0**-23)
    assert np.float32(np.float64(a) * np.float64(b) + np.float64(c)) == c + np.float32(2.0**-23)
    assert fmaf(a, b, c) == c  # a * b is 2^-24 - 2^-54, less than half a unit of c
    assert fmaf(-a, b, -c) == -c


def test_shapes_broadcast() -> None:
    """A weight for each row, a row for each weight, as the lesson's reference needs it."""
    weights = np.arange(4, dtype=np.float32).reshape(1, 4, 1)
    rows = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
    sums = np.ones((2, 4, 3), dtype=np.float32)
    result = fmaf(weights, rows, sums)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, weights * rows + sums)


def test_chunks_meet_without_a_seam() -> None:
    """More values than one chunk holds, from views that are not contiguous."""
    values = np.random.default_rng(0).standard_normal((3, 2, 100_003)).astype(np.float32)[:, :, ::-1]
    a, b, c = values
    seam = (1, slice(65_000, 66_000))
    np.testing.assert_array_equal(fmaf(a, b, c)[seam], fmaf(a[seam], b[seam], c[seam]))
    np.testing.assert_allclose(fmaf(a, b, c), a * b + c, rtol=1e-4, atol=1e-6)


def test_scalars_give_a_scalar_and_nothing_gives_nothing() -> None:
    """The result has the broadcast shape, whatever it is."""
    assert isinstance(fmaf(ONE, ONE, ONE), np.float32)
    assert fmaf(np.empty((0, 3), np.float32), ONE, ONE).shape == (0, 3)


def test_arguments_are_left_alone() -> None:
    """Read-only arrays will do, and none is written to."""
    a = np.full(10, 3, dtype=np.float32)
    a.flags.writeable = False
    fmaf(a, a, a)
    assert (a == 3).all()


def test_infinities_warn_about_nothing() -> None:
    """A reference with an overflow in it says so by its value, not by numpy's warnings."""
    large = np.full(4, 3e38, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isinf(fmaf(large, large, large)).all()
        assert np.isnan(fmaf(np.float32(np.inf), np.float32(0), ONE))


@pytest.mark.parametrize("value", [1.0, 1, np.float64(1), np.int32(1), np.ones(3), [1.0], None, np.array(1, ">f4")])
def test_anything_but_float32_is_refused(value: Any) -> None:
    """A float64 would be rounded silently first, and the bits would be nobody's."""
    with pytest.raises(UsageError, match="fmaf: b must be a float32 array or np"):
        fmaf(ONE, value, ONE)


def test_shapes_that_do_not_broadcast_are_named() -> None:
    """The sentence holds all three shapes."""
    with pytest.raises(UsageError, match=r"the shapes \(3,\), \(4,\), \(\) do not broadcast"):
        fmaf(np.ones(3, np.float32), np.ones(4, np.float32), ONE)
