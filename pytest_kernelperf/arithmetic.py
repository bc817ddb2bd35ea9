"""float32 arithmetic that numpy lacks, for references that must match a GPU bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_kernelperf.errors import UsageError

_CHUNK = 1 << 15
"""Elements at a time: six float64 temporaries of it stay in a core's cache."""


def fmaf(a: Any, b: Any, c: Any) -> Any:
    """``a * b + c`` with a single rounding, as C's ``fmaf`` and a GPU's fused multiply-add compute it.

    The product of two float32 is exact in float64, so only the sum rounds. It is rounded to odd: cut off, with the
    lowest bit set when anything was cut. float64 has more than two bits to spare over float32, so rounding that to
    float32 gives what a single rounding gives (S. Boldo, G. Melquiond: "Emulation of a FMA and correctly rounded
    sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57, 2008).

    Args:
        a, b, c: float32 arrays, or numpy float32 scalars, that broadcast against each other.

    Returns:
        float32, of the broadcast shape; a scalar where all three are scalars. NaN payloads are not kept.

    Raises:
        UsageError: an argument is not float32, or the shapes do not broadcast.
    """
    arrays = [_float32(name, value) for name, value in (("a", a), ("b", b), ("c", c))]
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise UsageError(f"fmaf: the shapes {shapes} do not broadcast against each other: reshape one") from None
    result = np.empty(shape, dtype=np.float32)
    chunks = np.nditer(
        [*arrays, result],
        flags=["external_loop", "buffered", "zerosize_ok"],
        op_flags=[["readonly"], ["readonly"], ["readonly"], ["writeonly"]],
        op_dtypes=["f8", "f8", "f8", "f4"],
        casting="same_kind",
        buffersize=_CHUNK,
    )
    with np.errstate(all="ignore"), chunks:
        for x, y, z, out in chunks:
            out[...] = _sum_to_odd(x * y, z)
    return result[()]


def _sum_to_odd(
    product: np.ndarray[Any, np.dtype[np.float64]], addend: np.ndarray[Any, np.dtype[np.float64]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """``product + addend`` in float64, rounded to odd. Infinities and NaN pass through."""
    total = product + addend
    # Knuth's two-sum: total + error is the exact sum. Where total is no number, error is NaN and compares false.
    addend_part = total - product
    error = (product - (total - addend_part)) + (addend - addend_part)
    bits = total.view(np.int64)
    even_and_cut = ((bits & 1) == 0) & ((error > 0) | (error < 0))
    # The odd neighbour lies on the error's side: away from zero (one bit more) where the signs agree.
    step = np.where((error > 0) == (total > 0), 1, -1)
    bits += np.where(even_and_cut, step, 0)
    return total


def _float32(name: str, value: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype == np.float32:
        return np.asarray(value, dtype=np.float32)
    came = f"{value.dtype}" if isinstance(value, (np.ndarray, np.generic)) else type(value).__name__
    raise UsageError(
        f"fmaf: {name} must be a float32 array or np.float32 scalar, not {came}: "
        "convert it yourself, so that its rounding is meant"
    )
