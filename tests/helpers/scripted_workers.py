"""A worker pool of numbers: the guard's session is tested without a device, a compiler or a clock."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pytest_kernelperf.errors import KernelperfError, WorkerCrashed
from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.model import (
    CaseId,
    CodeObject,
    DeviceFacts,
    KernelFacts,
    Measurement,
    Plan,
    Sample,
    SourceBundle,
    digest_of,
    digest_of_bytes,
)
from pytest_kernelperf.worker.array import InputSet

FACTS = DeviceFacts("cpu", "/lib/libamdhip64.so", "cpu-test", "Test CPU", "x86-64", 4, 4, 32, 1024, 65536, 2**30)

Outputs = Callable[[Plan, InputSet], dict[str, np.ndarray[Any, Any]]]
Times = Callable[[str, int], float]


def doubled(plan: Plan, inputs: InputSet) -> dict[str, np.ndarray[Any, Any]]:
    """Do what the kernels of these tests do: y = 2 x."""
    return {"y": 2 * np.asarray(inputs["x"])}


@dataclass
class ScriptedWorkers:
    """Answers as a pool would.

    ``time_us(arm, process)`` is the middle of an arm's times in a process; ``noise`` their spread within it.
    ``disturbed`` counts down: so many measurements say that somebody was there, and so does each that begins at
    ``disturbed_from`` or a later block; at ``dies_from`` or later the worker dies. A source that holds ``#error`` does
    not compile; the digest of a kernel's instructions is that of the lines that name it.
    """

    time_us: Times = lambda arm, process: 10.0
    outputs: Outputs = doubled
    noise: float = 0.001
    disturbed: int = 0
    disturbed_from: int | None = None
    dies_from: int | None = None
    failure: KernelperfError | None = None
    cannot_run: str = ""
    resources: dict[str, int] = field(default_factory=dict)
    profilers: tuple[str, ...] = ()
    requests: list[MeasureRequest] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    closed: bool = False

    def facts(self) -> DeviceFacts:
        """Return the test device."""
        return FACTS

    def start(self, processes: int) -> None:
        """Remember how many were to start."""
        self.started.append(processes)

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
        """Make a code object of the kernels that stand in the source, one a line: ``kernel NAME ...``."""
        text = bundle.files.get(bundle.main, data.decode())
        self.compiled.append(bundle.digest)
        if self.failure is not None:
            raise self.failure
        lines = [line.split() for line in text.splitlines() if line.startswith("kernel ")]
        facts = {
            words[1]: KernelFacts(digest_of([words, list(bundle.options)]), resources=dict(self.resources))
            for words in lines
        }
        data = repr(lines).encode()
        return CodeObject(digest_of_bytes(data), data, facts, cannot_run=self.cannot_run)

    def run(
        self, case: CaseId, plan: Plan, code: CodeObject, inputs: InputSet, outputs: tuple[str, ...]
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Return the scripted outputs."""
        return self.outputs(plan, inputs)

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Return scripted times."""
        self.requests.append(request)
        if self.dies_from is not None and request.first_block >= self.dies_from:
            raise WorkerCrashed(f"{request.case}: the device worker died of signal 6")
        noise = random.Random(f"{request.seed}/{process}/{request.first_block}")
        samples = tuple(
            Sample(arm.name, block, place, self.time_us(arm.name, process) * noise.gauss(1, self.noise), 1.0)
            for block in range(request.first_block, request.first_block + request.blocks)
            for place, arm in enumerate(request.arms)
        )
        disturbed, self.disturbed = self.disturbed > 0, max(0, self.disturbed - 1)
        disturbed |= self.disturbed_from is not None and request.first_block >= self.disturbed_from
        return Measurement(
            process,
            request.mode,
            200,
            request.seed,
            samples,
            contended_by="pid 7 (ffmpeg)" if disturbed else "",
            dwell_us=request.dwell_us,
        )

    def close(self) -> None:
        """Remember that the pool was closed."""
        self.closed = True


class ScriptedMachine:
    """A lock that only notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Note it."""
        self.asked.append("shared")
        yield

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Note it."""
        self.asked.append("exclusive")
        yield
