"""What the guard is put together from, as it sees it: the real parts and their scripted doubles both fit."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, Plan, Record, SourceBundle
from pytest_kernelperf.report.progress import Timing
from pytest_kernelperf.session.timing import Measures
from pytest_kernelperf.settings import CaseSettings
from pytest_kernelperf.worker.array import InputSet

Keep = Callable[[CodeObject, SourceBundle], None]


class Progress(Protocol):
    """Who is told which case is at what."""

    def __call__(self, case: CaseId, phase: str, timing: Callable[[], Timing] | None = None) -> None:
        """Note it; ``timing`` works out how far it is."""


def unheard(case: CaseId, phase: str, timing: Callable[[], Timing] | None = None) -> None:
    """Progress that nobody listens to."""


class Workers(Measures, Protocol):
    """What the guard needs of the worker pool."""

    def facts(self) -> DeviceFacts:
        """Return the device's facts."""

    def start(self, processes: int) -> None:
        """Start the first so many workers at once, those that are not alive."""

    def compile(
        self,
        bundle: SourceBundle,
        kernels: tuple[str, ...],
        *,
        case: CaseId | None = None,
        process: int = 0,
        data: bytes = b"",
        target: str = "",
    ) -> CodeObject:
        """Compile a bundle, or take the ready code object ``data``; ``target``: the architecture judged for."""

    def run(
        self, case: CaseId, plan: Plan, code: CodeObject, inputs: InputSet, outputs: tuple[str, ...]
    ) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Run a plan once and return outputs."""

    @property
    def profilers(self) -> tuple[str, ...]:
        """Profilers seen in any worker."""

    def close(self) -> None:
        """Stop all workers."""


class Judge(Protocol):
    """Who judges a session's cases: the guard, or who calibrates it."""

    @property
    def device(self) -> DeviceFacts | None:
        """The device's facts; None where there is none."""

    def check(self, spec: CaseSpec, settings: CaseSettings, test: str, keep: Keep | None = None) -> Record:
        """Judge one case."""

    def close(self) -> None:
        """Stop the workers."""


class Machine(Protocol):
    """The lock that guards on one machine share."""

    def shared(self) -> AbstractContextManager[None]:
        """Hold the machine with others, for compiling and references."""

    def exclusive(self) -> AbstractContextManager[None]:
        """Hold the machine alone, for timing."""
