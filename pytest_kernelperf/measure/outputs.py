"""What an arm's outputs look like, to see after timing whether they are still what they were.

A kernel that does nothing is fast: outputs are compared with the reference before timing (by the parent), and with
themselves after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Outputs:
    """Some buffers at one moment, by name: where they are finite, and their bytes.

    The bytes themselves: comparing two buffers takes a third of the time of a digest of one.
    """

    finite: dict[str, Array]
    bytes: dict[str, Array]


def observe(download: Callable[[str], Array], names: tuple[str, ...]) -> Outputs:
    """Look at buffers as they are now."""
    arrays = {name: download(name) for name in names}
    return Outputs(
        {name: find_finite(array) for name, array in arrays.items()},
        {name: np.ascontiguousarray(array).reshape(-1).view(np.uint8) for name, array in arrays.items()},
    )


def find_finite(array: Array) -> Array:
    """Return where an array is finite; everywhere, in a dtype that has no infinities."""
    return np.isfinite(array) if array.dtype.kind in "fc" else np.ones(array.shape, bool)


def explain_non_finite(once: Outputs, repeated: Outputs, rounds: int) -> str:
    """Say which output is finite after one round but not after ``rounds``; "" if none is."""
    for name, before in once.finite.items():
        bad = int((before & ~repeated.finite[name]).sum())
        if bad:
            return (
                f"leaves {bad} values of {name} infinite or NaN after {rounds} rounds that are finite after one: "
                "choose inputs that stay finite when the plan is repeated"
            )
    return ""


def explain_change(before: Outputs, after: Outputs, once_more: Callable[[], Outputs]) -> str:
    """Say which output of one round is another one after timing than before; "" if none is.

    A kernel whose outputs differ from run to run anyway (atomic sums of floats) proves nothing: ``once_more`` runs it
    again, and only what repeats now, yet is not what it was, counts.
    """
    changed = [name for name, array in before.bytes.items() if not same_bytes(array, after.bytes[name])]
    if not changed:
        return ""
    again = once_more()
    for name in changed:
        if same_bytes(again.bytes[name], after.bytes[name]):
            return f"computes another {name} after timing than before it: does it keep state between launches?"
    return ""


def same_bytes(one: Array, other: Array) -> bool:
    """Whether two arrays of one size in bytes hold the same bytes."""
    # Bytes, since NaN differs from itself; eight at a time where they can be, since buffers are large.
    flat, against = one.reshape(-1).view(np.uint8), np.ascontiguousarray(other).reshape(-1).view(np.uint8)
    whole = flat.size // 8 * 8
    return bool(
        np.array_equal(flat[:whole].view(np.uint64), against[:whole].view(np.uint64))
        and np.array_equal(flat[whole:], against[whole:])
    )
