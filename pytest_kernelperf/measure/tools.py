"""What a measurement works with, and what is known of it so far: shared by its phases."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy.typing as npt

from pytest_kernelperf.measure.activity import Activity, ActivityProbe
from pytest_kernelperf.measure.limits import LimitProbe, NoLimits
from pytest_kernelperf.measure.policy import BatchSize
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.measure.stopwatch import Stopwatch
from pytest_kernelperf.model import Frozen, InvalidCode, Mode, Noise, Sample

Array = npt.NDArray[Any]


class MeasuredBuffers(Protocol):
    """The shared buffers, as the procedure needs them."""

    @property
    def names(self) -> frozenset[str]:
        """All buffers."""

    def restore(self, names: frozenset[str]) -> None:
        """Put buffers back to their input."""

    def find_changed(self, names: frozenset[str]) -> frozenset[str]:
        """Which of them no longer hold their input."""

    def download(self, name: str) -> Array:
        """A copy of a buffer."""


class Told(Frozen, frozen=True):
    """How far a measurement is: blocks taken of all that were asked for, and each arm's median time in us so far."""

    taken: int
    blocks: int
    median_us: dict[str, float]


@dataclass(frozen=True)
class Tools:
    """What a measurement works with.

    ``find_profilers`` names what distorts times; ``say`` is told what is being done, for the sentence should this
    process die of it; ``rest`` waits so many seconds for a hot device; ``tell``, if somebody watches, is told how far
    it is, between two blocks, and returns when that has been shown: nothing is drawn while a batch is timed.
    """

    process: int
    stopwatch: Stopwatch
    buffers: MeasuredBuffers
    probe: ActivityProbe
    find_profilers: Callable[[], tuple[str, ...]]
    say: Callable[[str], None]
    size: BatchSize
    warm_up_us: float
    limits: LimitProbe = field(default_factory=NoLimits)
    rest: Callable[[float], None] = time.sleep
    tell: Callable[[Told], None] | None = None


class Unusable(Exception):
    """The samples cannot be used: a code, and a sentence."""

    def __init__(self, code: InvalidCode, sentence: str) -> None:
        super().__init__(sentence)
        self.code: InvalidCode = code


class GateTimedOut(Exception):
    """The gate opened by itself: the batch is too long for the queue."""


@dataclass
class Progress:
    """What is known so far, so that an abandoned measurement can still say it."""

    mode: Mode
    rounds: int = 0
    fallback: str = ""
    discarded: int = 0
    activity: Activity = field(default_factory=lambda: Activity(0.0))
    samples: tuple[Sample, ...] = ()
    noise: list[Noise] = field(default_factory=list)


def describe(arm: Arm) -> str:
    """Name an arm and its kernels: ``head (add_kernel, inject_kernel)``."""
    kernels = dict.fromkeys(launch.kernel for launch in arm.plan.launches)
    return f"{arm.name} ({', '.join(kernels) or 'no launches'})"
