"""A real foreign process that keeps the device busy: a worker of the drill's own, outside the guarded pytest's tree."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import BufferArgument, CaseId, CodeObject, LaunchStep, Plan, ScalarArgument, SourceBundle
from pytest_kernelperf.worker.array import InputSet
from pytest_kernelperf.worker.pool import WorkerPool

KERNEL = Path(__file__).parent / "kernel" / "drill.hip"

_VALUES = 65_536
# Turns and launches of one request. On two cores of a CPU a launch takes half a second, and a request must end soon
# after it is told to stop; a GPU is through with as many turns before the next request has come.
_CPU_LOAD = (20_000, 2)
_GPU_LOAD = (200_000, 20)
_CASE = CaseId("drill", "load", _VALUES)


@contextmanager
def busy_device(runtime: str) -> Iterator[int]:
    """Keep the device busy from another process until the block ends; gives that process's id.

    Raises:
        KernelperfError: it cannot be kept busy; the sentence says why.
    """
    stop = threading.Event()
    failures: list[KernelperfError] = []
    with WorkerPool(runtime) as pool, InputSet.create({"y": np.zeros(_VALUES, np.float32)}) as inputs:
        code = pool.compile(
            SourceBundle("drill.hip", {"drill.hip": KERNEL.read_text(encoding="utf-8")}), ("drill_spin",)
        )
        plan = load_plan(*(_CPU_LOAD if pool.facts().runtime == "cpu" else _GPU_LOAD))
        pool.run(_CASE, plan, code, inputs, ("y",))  # so that a device that cannot do it says so here
        thread = threading.Thread(target=_spin, args=(pool, plan, code, inputs, stop, failures), daemon=True)
        thread.start()
        try:
            yield pool.pids[0]
        finally:
            stop.set()
            thread.join()
    if failures:
        raise failures[0]


def load_plan(turns: int, launches: int) -> Plan:
    """So many launches of the drill's kernel, each wide enough to fill the device."""
    launch = LaunchStep(
        "drill_spin",
        (_VALUES // 64, 1, 1),
        (64, 1, 1),
        (
            ScalarArgument("<i4", np.int32(_VALUES).tobytes(), 4),
            ScalarArgument("<i4", np.int32(turns).tobytes(), 4),
            BufferArgument("y"),
        ),
    )
    return Plan((launch,) * launches)


def _spin(
    pool: WorkerPool,
    plan: Plan,
    code: CodeObject,
    inputs: InputSet,
    stop: threading.Event,
    failures: list[KernelperfError],
) -> None:
    while not stop.is_set():
        try:
            pool.run(_CASE, plan, code, inputs, ("y",))
        except KernelperfError as error:
            failures.append(error)
            return
