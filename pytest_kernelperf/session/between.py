"""What stands between a guard and its workers: passes everything on; what is to be different overrides one method."""

from __future__ import annotations

from typing import Any

import numpy as np

from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, Measurement, Plan, SourceBundle
from pytest_kernelperf.session.part import Workers
from pytest_kernelperf.worker.array import InputSet


class WorkersBetween:
    """A worker pool that asks another for everything."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def facts(self) -> DeviceFacts:
        """Return the device's facts."""
        return self._workers.facts()

    def start(self, processes: int) -> None:
        """Start workers as the pool does."""
        self._workers.start(processes)

    def compile(self, bundle: SourceBundle, kernels: tuple[str, ...], **keywords: Any) -> CodeObject:
        """Compile as the pool does."""
        return self._workers.compile(bundle, kernels, **keywords)

    def run(
        self, case: CaseId, plan: Plan, code: CodeObject, inputs: InputSet, outputs: tuple[str, ...]
    ) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Run as the pool does."""
        return self._workers.run(case, plan, code, inputs, outputs)

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Measure as the pool does."""
        return self._workers.measure(process, request, inputs)

    @property
    def profilers(self) -> tuple[str, ...]:
        """Profilers seen in any worker."""
        return self._workers.profilers

    def close(self) -> None:
        """Stop all workers; a later request starts fresh ones."""
        self._workers.close()
