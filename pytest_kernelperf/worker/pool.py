"""The parent's side of the device workers: starts them, asks them, and survives them.

SKETCH of the public API; the implementation follows.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import numpy as np

from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, Frozen, Measurement, Plan, SourceBundle
from pytest_kernelperf.worker.array import InputSet


class Limits(Frozen):
    """How long a worker may take to answer, in seconds, before it is killed."""

    start_s: float = 60.0
    compile_s: float = 120.0
    run_s: float = 30.0
    measure_s: float = 120.0


class WorkerPool:
    """Up to ``size`` device workers, started when first asked and alive together; process ``i`` is slot ``i``.

    Every method sends one request to one worker and waits for its answer. A worker that dies or overruns its limit
    is killed with all its children; the error names the kernel and what it was at, and the slot's next request
    starts a fresh worker.

    Args:
        runtime: ``auto``, ``rocm``, ``cuda`` or ``cpu``.
        size: how many workers.
        limits: how long each kind of request may take.
        clock_script: a JSON file of scripted times (see ``measure.stopwatch``); for tests of the guard itself.
        root_pid: the process whose tree is ours when activity is judged; None: this process.

    All methods raise ``RuntimeUnavailable`` (no worker can start), ``WorkerCrashed`` or ``WorkerHung``.
    """

    def __init__(
        self,
        runtime: str = "auto",
        *,
        size: int = 5,
        limits: Limits = Limits(),
        clock_script: Path | None = None,
        root_pid: int | None = None,
    ) -> None: ...

    def facts(self) -> DeviceFacts:
        """Return the device's facts; starts the first worker if none is alive."""

    def compile(
        self, bundle: SourceBundle, kernels: tuple[str, ...], *, case: CaseId | None = None, process: int = 0
    ) -> CodeObject:
        """Compile a bundle; the code object must hold ``kernels`` (names as launches give them).

        Raises ``CompileError`` (the compiler's words in ``log``).
        """

    def run(
        self,
        case: CaseId,
        plan: Plan,
        code: CodeObject,
        inputs: InputSet,
        outputs: tuple[str, ...],
        *,
        process: int = 0,
    ) -> dict[str, np.ndarray]:
        """Upload ``inputs``, run the plan once, and return ``outputs`` (read-only arrays).

        Raises ``DeviceError`` (a HIP call failed; the sentence names kernel and launch).
        """

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Take the request's samples in process ``process`` (0 to ``size`` - 1).

        ``Measurement.invalid`` holds a sentence where the samples must not be used (traced, outputs gone bad, no
        usable sample); ``foreign_cores`` and ``contended_by`` say who else was active. Measuring again is up to the
        caller, as is holding the machine (``measure.lock``). Raises ``DeviceError``.
        """

    @property
    def profilers(self) -> tuple[str, ...]:
        """Names of the profilers seen in any worker so far: preloaded, asked for by environment, or mapped."""

    def close(self) -> None:
        """Kill all workers and their children. Idempotent."""

    def __enter__(self) -> WorkerPool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
