"""What holds the device's clock down while samples are taken: heat, the hardware, or the power limit.

Interleaved arms share a clock that is held down, so that their comparison stands; the times themselves are not those
of the device at its own speed, and an arm that draws more power slows the others as much as itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pytest_kernelperf.machine import GpuState
from pytest_kernelperf.model import Frozen

POWER = "the power limit"
"""The driver's word for it; every other reason is heat or the hardware's own."""

POWER_SHARE = 0.97
"""Drawing so much of the limit is being held by it: the controllers keep a little below."""


class Limits(Frozen, frozen=True):
    """What held the clock down in a window, in the driver's words; "" where nothing did or nobody says."""

    throttled_by: str = ""
    power_limited_by: str = ""


class LimitProbe(Protocol):
    """Watches from ``start`` to ``stop``."""

    def start(self) -> None:
        """Begin a window."""

    def stop(self) -> Limits:
        """End it, and say what held the clock down in it."""


class NoLimits:
    """Where nothing is known: the host's cores, or a driver that does not say."""

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> Limits:
        """Nothing is known."""
        return Limits()


class StateLimits:
    """Asks the driver at the end of a window, right after a batch."""

    def __init__(self, read: Callable[[], GpuState | None]) -> None:
        self._read = read

    def start(self) -> None:
        """Nothing to begin: the driver says what is, not what was."""

    def stop(self) -> Limits:
        """What the driver says now."""
        state = self._read()
        return Limits() if state is None else limits_of(state)


def limits_of(state: GpuState) -> Limits:
    """Sort what the driver says into power and all else."""
    reasons = [reason.strip() for reason in state.throttled_by.split(",") if reason.strip()]
    others = ", ".join(reason for reason in reasons if reason != POWER)
    power = POWER in reasons or _at_limit(state)
    shown = f"{POWER} ({state.power_limit_w:.0f} W)" if state.power_limit_w else POWER
    return Limits(throttled_by=others, power_limited_by=shown if power else "")


def _at_limit(state: GpuState) -> bool:
    return bool(state.power_w and state.power_limit_w and state.power_w >= POWER_SHARE * state.power_limit_w)
