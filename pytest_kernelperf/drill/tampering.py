"""What a drill does to a run of the guard, between the guard and its workers. The guard does not know of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.model import CaseId, CodeObject, Frozen, Measurement, Plan
from pytest_kernelperf.session.between import WorkersBetween
from pytest_kernelperf.session.part import Workers
from pytest_kernelperf.worker.array import InputSet

Array = np.ndarray[Any, np.dtype[Any]]

_WORKING_TICKS = 2
_POLL_S = 0.002
_LONGEST_S = 60.0


class Tampering(Frozen, frozen=True):
    """What to do to a run.

    ``choose``: keep so many cases, of different kernels where there are some; 0: those named in ``cases``
    (``str(CaseId)``), or all where none is. ``mutations``: keep the chosen kernels' mutations too.
    ``slow``: arm -> rounds ratio, put into every measurement of the case that ``of`` names (empty: of every case).
    ``flip``: change one bit of one value of the results. ``kill``: kill the first worker while it times.
    """

    chosen_file: str
    choose: int = 0
    cases: tuple[str, ...] = ()
    mutations: bool = False
    slow: dict[str, float] = msgspec.field(default_factory=dict)
    of: str = ""
    flip: bool = False
    kill: bool = False


class TamperedWorkers(WorkersBetween):
    """A worker pool that does to requests and replies what the drill asks for."""

    def __init__(self, workers: Workers, tampering: Tampering, pids: Callable[[], tuple[int, ...]]) -> None:
        """``pids``: the workers' process ids, the first worker's first."""
        super().__init__(workers)
        self._tampering = tampering
        self._pids = pids
        self._killed = False

    def run(
        self, case: CaseId, plan: Plan, code: CodeObject, inputs: InputSet, outputs: tuple[str, ...]
    ) -> dict[str, Array]:
        """Run; one bit of the last value of the first output may come back changed."""
        got = self._workers.run(case, plan, code, inputs, outputs)
        if not self._tampering.flip or not self._concerns(case):
            return got
        name = min(got)
        return {**got, name: flip_bit(got[name])}

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Measure, with arms slowed by whole rounds; the worker may be killed meanwhile."""
        if self._concerns(request.case):
            slow = self._tampering.slow
            arms = (msgspec.structs.replace(arm, rounds_ratio=slow.get(arm.name, 1.0)) for arm in request.arms)
            request = msgspec.structs.replace(request, arms=tuple(arms))
            if self._tampering.kill and not self._killed and process == 0:
                self._killed = True
                threading.Thread(target=kill_working, args=(self._pids()[0],), daemon=True).start()
        return self._workers.measure(process, request, inputs)

    def _concerns(self, case: CaseId) -> bool:
        return not self._tampering.of or self._tampering.of == str(case)


def flip_bit(array: Array) -> Array:
    """Return the array with the highest bit but one of its last value flipped: a float's exponent, an integer's half.

    Not the lowest: a kernel with a tolerance may be off by that.
    """
    changed = np.array(array)
    data = changed.reshape(-1)[-1:].view(np.uint8)
    data[-1] ^= 0x40
    return changed


def kill_working(pid: int, root: Path = Path("/proc")) -> None:
    """Kill a worker as soon as it works at what it was asked for: once it has used a little more CPU time."""
    started_s, before = time.monotonic(), _ticks(root, pid)
    while time.monotonic() - started_s < _LONGEST_S:
        now = _ticks(root, pid)
        if now is None or before is None:
            return
        if now - before >= _WORKING_TICKS:
            os.kill(pid, signal.SIGKILL)
            return
        time.sleep(_POLL_S)


def _ticks(root: Path, pid: int) -> int | None:
    try:
        fields = (root / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[11]) + int(fields[12])
