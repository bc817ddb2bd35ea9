"""Steps of a plan as a user writes them: plain frozen values; ``plan.py`` turns them into the plans that travel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Floor


def cdiv(numerator: int, denominator: int) -> int:
    """Divide and round up: the workgroups that cover ``numerator`` threads ``denominator`` at a time.

    Raises:
        UsageError: ``denominator`` is not positive or ``numerator`` is negative.
    """
    if denominator <= 0 or numerator < 0:
        raise UsageError(
            f"cdiv needs a numerator of 0 or more and a positive denominator, not {numerator} and {denominator}"
        )
    return -(-numerator // denominator)


@dataclass(frozen=True)
class At:
    """A buffer's address, ``offset`` elements of the buffer's own dtype into it."""

    buffer: str
    offset: int = 0


@dataclass(frozen=True)
class Launch:
    """One kernel launch.

    ``grid`` in workgroups and ``block`` in threads, as an integer or up to three. ``args`` in the kernel's order:
    a buffer's name, ``At(buffer, offset)``, or a numpy scalar (``np.int32(5)``; a structured scalar for a struct).
    ``shared`` is dynamic shared memory in bytes. ``underfill`` states the fewest workgroups that are meant where the
    launch cannot fill the device, and why.
    """

    kernel: str
    grid: int | Sequence[int]
    block: int | Sequence[int]
    args: Sequence[Any] = ()
    shared: int = 0
    underfill: Floor | None = None


@dataclass(frozen=True)
class Fill:
    """Set every byte of a buffer to ``byte`` (0 to 255), on the device."""

    buffer: str
    byte: int = 0


@dataclass(frozen=True)
class Copy:
    """Copy the whole of ``source`` over ``target``, on the device; both have the same size in bytes."""

    target: str
    source: str
