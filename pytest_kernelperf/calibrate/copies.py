"""Workers that measure more copies of a code object than the guard asks for.

The guard compares two arms. A third and a fourth copy cost half as much as another pair would, so they are slipped into
each of its requests; the guard does not see them, and decides as it always does.
"""

from __future__ import annotations

import msgspec

from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import Measurement
from pytest_kernelperf.session.between import WorkersBetween
from pytest_kernelperf.session.part import Workers
from pytest_kernelperf.worker.array import InputSet

REFERENCE = "baseline"
COPY = "copy"


def copy_name(number: int) -> str:
    """The arm's name of the third and later copies: ``copy-3``."""
    return f"{COPY}-{number}"


class CopyingWorkers(WorkersBetween):
    """A worker pool whose measurements of two arms have further copies of the accepted one."""

    def __init__(self, workers: Workers, copies: int) -> None:
        """``copies``: of the code object in all, the two that the guard asks for among them."""
        super().__init__(workers)
        self._copies = copies

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Measure with further copies of the accepted arm, where there is one."""
        reference = next((arm for arm in request.arms if arm.name == REFERENCE), None)
        if reference is not None:
            more = (Arm(copy_name(n), reference.code, reference.plan) for n in range(3, self._copies + 1))
            request = msgspec.structs.replace(request, arms=(*request.arms, *more))
        return self._workers.measure(process, request, inputs)
