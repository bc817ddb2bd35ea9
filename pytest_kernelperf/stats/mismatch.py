"""Where outputs differ from the reference: bit for bit, or within the tolerance that a kernel states.

NaN equals NaN whatever its payload, since the same operation gives different payloads on different hardware; -0.0
differs from 0.0, since a kernel that gets the sign wrong got something wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_kernelperf.kernel import Tolerance
from pytest_kernelperf.model import Mismatch

Array = np.ndarray[Any, np.dtype[Any]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_DIGITS = {2: 5, 4: 9, 8: 17}
"""Significant digits that tell any two floats of so many bytes apart."""


def find_mismatch(name: str, got: Array, want: Array, tolerance: Tolerance | None = None) -> Mismatch | None:
    """Compare an output with its reference; None where they agree.

    Args:
        name: the output's name.
        got: what the kernel wrote.
        want: what the reference says, same dtype and shape. A structured element is one value.
        tolerance: how far floating-point values may lie apart; everything else is compared bit for bit all the same.

    Raises:
        ValueError: dtypes or shapes differ.
    """
    if got.dtype != want.dtype or got.shape != want.shape:
        raise ValueError(f"{name}: {got.dtype} {got.shape} cannot be compared with {want.dtype} {want.shape}")
    flat_got, flat_want = got.reshape(-1), want.reshape(-1)
    differs = _differs(flat_got, flat_want, tolerance)
    count = int(np.count_nonzero(differs))
    if not count:
        return None
    first = int(np.argmax(differs))
    return Mismatch(
        output=name,
        differing=count,
        values=differs.size,
        first_index=first,
        got=format_value(flat_got[first]),
        want=format_value(flat_want[first]),
    )


def format_value(value: Any) -> str:
    """A single value with as many digits as tell it from its neighbours: ``0.830200195`` for a float32."""
    dtype = value.dtype
    if dtype.names is not None:
        return "(" + ", ".join(f"{field}={format_value(value[field])}" for field in dtype.names) + ")"
    if isinstance(value, np.ndarray) and value.ndim:  # a field that is an array itself
        return "[" + ", ".join(format_value(item) for item in np.asarray(value).reshape(-1)) + "]"
    if dtype.kind == "f":
        return f"{float(value):.{_DIGITS.get(dtype.itemsize, 17)}g}"
    if dtype.kind == "c":
        digits = _DIGITS.get(dtype.itemsize // 2, 17)
        return f"{value.real:.{digits}g}{value.imag:+.{digits}g}j"
    return str(value)


def _differs(got: Array, want: Array, tolerance: Tolerance | None) -> Mask:
    """Which elements of two flat arrays of one dtype differ; padding and byte order do not count."""
    if got.dtype.names is not None:
        differs = np.zeros(got.shape[:1], dtype=bool)
        for field in got.dtype.names:
            differs |= _differs(got[field], want[field], tolerance)
        return differs
    if got.ndim > 1:  # a field that is an array itself
        return np.asarray(_differs(got.reshape(-1), want.reshape(-1), tolerance).reshape(len(got), -1).any(axis=1))
    kind = got.dtype.kind
    if kind == "f":
        if tolerance is not None:
            return _differs_beyond(got, want, tolerance)
        return np.asarray(_bits_differ(got, want) & ~(np.isnan(got) & np.isnan(want)))
    if kind == "c":
        return np.asarray(_differs(got.real, want.real, tolerance) | _differs(got.imag, want.imag, tolerance))
    return _bits_differ(got, want)


def _bits_differ(got: Array, want: Array) -> Mask:
    got, want = np.ascontiguousarray(got), np.ascontiguousarray(want)
    size = got.dtype.itemsize
    if size in (1, 2, 4, 8):
        word = f"u{size}"
        return np.asarray(got.view(word) != want.view(word))
    return np.asarray((got.view("u1").reshape(-1, size) != want.view("u1").reshape(-1, size)).any(axis=1))


def _differs_beyond(got: Array, want: Array, tolerance: Tolerance) -> Mask:
    """Infinities must be the same ones, NaN only where NaN is expected, all else within the tolerance."""
    with np.errstate(invalid="ignore", over="ignore"):
        wide_got, wide_want = got.astype(np.float64), want.astype(np.float64)
        near = np.abs(wide_got - wide_want) <= tolerance.absolute + tolerance.relative * np.abs(wide_want)
    finite = np.isfinite(want)
    same = (wide_got == wide_want) | (np.isnan(got) & np.isnan(want))
    return np.asarray(~np.where(finite, near, same))
