"""The parent's side of the device workers: starts them, asks them, and survives them."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import msgspec

from pytest_kernelperf.errors import (
    KernelperfError,
    RuntimeUnavailable,
    UsageError,
    WorkerFailure,
)
from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.model import CaseId, CodeObject, DeviceFacts, Frozen, Measurement, Plan, SourceBundle
from pytest_kernelperf.worker.array import Array, InputSet, map_arrays
from pytest_kernelperf.worker.exchange import Watcher, close_all, error_of, exchange, without_code
from pytest_kernelperf.worker.message import (
    Compile,
    Compiled,
    Failure,
    Hello,
    Measure,
    Measured,
    NeedCode,
    Outputs,
    Ready,
    Reply,
    Request,
    RunOnce,
    SharedInputs,
)
from pytest_kernelperf.worker.process import WorkerProcess

_R = TypeVar("_R")


class Limits(Frozen, frozen=True):
    """How long a worker may take to answer, in seconds, before it is killed."""

    start_s: float = 60.0
    compile_s: float = 120.0
    run_s: float = 30.0
    measure_s: float = 120.0


DEFAULT_LIMITS = Limits()


class _Slot:
    """A place in the pool: its worker, if one is alive, and the code objects that this worker was sent."""

    def __init__(self, process: int) -> None:
        self.process = process
        self.lock = threading.RLock()
        self.worker: WorkerProcess | None = None
        self.sent: set[str] = set()


class WorkerPool:
    """Device workers, started when first asked and alive together: process 0, 1, … as the caller numbers them.

    Every method sends one request to one worker and waits for its answer. A worker that dies or overruns its limit
    is killed with all its children; the error names the case, the kernel and what it was at, and the slot's next
    request starts a fresh worker. Threads may use different processes at the same time.

    All methods raise ``RuntimeUnavailable`` (no worker can start), ``WorkerCrashed`` or ``WorkerHung``.
    """

    def __init__(
        self,
        runtime: str = "auto",
        *,
        limits: Limits = DEFAULT_LIMITS,
        clock_script: Path | None = None,
        root_pid: int | None = None,
        watcher: Watcher | None = None,
    ) -> None:
        """Prepare; nothing is started yet.

        Args:
            runtime: ``auto``, ``rocm``, ``cuda`` or ``cpu``.
            limits: how long each kind of request may take.
            clock_script: a JSON file of scripted times (``measure.script``), to test the guard itself.
            root_pid: the process whose tree is ours when activity is judged; None: this process.
            watcher: follows measurements.
        """
        self._runtime = runtime
        self._limits = limits
        self._clock_script = str(clock_script.resolve()) if clock_script else None
        self._root_pid = root_pid or os.getpid()
        self._watcher = watcher
        self._slots: dict[int, _Slot] = {}
        self._facts: DeviceFacts | None = None
        self._profilers: dict[str, None] = {}

    def facts(self) -> DeviceFacts:
        """Return the device's facts; starts the first worker if none has started yet."""
        if self._facts is None:
            slot = self._slot(0)
            with slot.lock:
                self._start(slot)
        assert self._facts is not None
        return self._facts

    def start(self, processes: int) -> None:
        """Start workers 0 to ``processes`` - 1 that are not alive, all at once: each takes a second, mostly of waiting.

        They are ready to measure then. One that cannot start says so when it is first asked.
        """
        missing = [slot for slot in map(self._slot, range(processes)) if not (slot.worker and slot.worker.alive)]
        threads = [threading.Thread(target=self._start_early, args=(slot,)) for slot in missing]
        for thread in threads if len(threads) > 1 else ():
            thread.start()
        for thread in threads if len(threads) > 1 else ():
            thread.join()

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
        """Compile a bundle; the code object must hold ``kernels`` (names as launches give them).

        ``data`` is a ready code object's bytes. Where the device cannot run the code, it is compiled for ``target``
        (``gfx1151``) if there is a compiler for it, and ``CodeObject.cannot_run`` says why. Raises ``CompileError``
        (the compiler's words in ``log``).
        """
        subject = f"{case}, {bundle.main}" if case else bundle.main
        reply, _ = self._ask(process, Compile(bundle, kernels, data, target), self._limits.compile_s, subject)
        return _expect(reply, Compiled).code

    def run(
        self,
        case: CaseId,
        plan: Plan,
        code: CodeObject,
        inputs: InputSet,
        outputs: tuple[str, ...],
        *,
        process: int = 0,
    ) -> dict[str, Array]:
        """Upload ``inputs``, run the plan once, and return ``outputs`` (read-only arrays).

        Raises ``DeviceError`` (a HIP call failed; the sentence names kernel and launch).
        """
        request = RunOnce(case, plan, code, SharedInputs(inputs.layout, inputs.digest), outputs)
        reply, descriptors = self._ask(process, request, self._limits.run_s, str(case), inputs)
        try:
            answer = _expect(reply, Outputs)
            self._note(answer.profilers)
            return map_arrays(answer.layout, descriptors[0])
        finally:
            close_all(descriptors)

    def measure(self, process: int, request: MeasureRequest, inputs: InputSet) -> Measurement:
        """Take the request's samples in process ``process``.

        ``Measurement.invalid`` holds a sentence where the samples must not be used (traced, outputs gone bad, no
        usable sample); ``foreign_cores`` and ``contended_by`` say who else was active. Measuring again is up to the
        caller, as is holding the machine (``measure.lock``). Raises ``DeviceError``.
        """
        rooted = msgspec.structs.replace(request, root_pid=request.root_pid or self._root_pid)
        watched = self._watcher is not None and self._watcher.watched
        message = Measure(rooted, SharedInputs(inputs.layout, inputs.digest), watched)
        limit_s = self._limits.measure_s + request.longest_dwell_s
        reply, _ = self._ask(process, message, limit_s, str(request.case), inputs)
        answer = _expect(reply, Measured)
        self._note(answer.profilers)
        return answer.measurement

    @property
    def profilers(self) -> tuple[str, ...]:
        """Names of the profilers seen in any worker so far: preloaded, asked for by environment, or mapped."""
        return tuple(self._profilers)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that are alive."""
        return tuple(slot.worker.pid for slot in self._slots.values() if slot.worker and slot.worker.alive)

    def close(self) -> None:
        """Kill all workers and their children. Idempotent."""
        for slot in self._slots.values():
            if slot.worker:
                slot.worker.kill()
                slot.worker = None

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- one request --------------------------------------------------------------------------

    def _ask(
        self, process: int, request: Request, limit_s: float, subject: str, inputs: InputSet | None = None
    ) -> tuple[Reply, list[int]]:
        slot = self._slot(process)
        descriptors = (inputs.fd,) if inputs else ()
        with slot.lock:
            worker = self._start(slot)
            lean, digests = without_code(request, slot.sent)
            reply, received = exchange(worker, lean, descriptors, limit_s, subject, self._watcher)
            if isinstance(reply, NeedCode):
                reply, received = exchange(worker, request, descriptors, limit_s, subject, self._watcher)
            slot.sent |= digests
            if isinstance(reply, Failure):
                close_all(received)
                if reply.kind in {"device", "internal"}:
                    # A failed HIP call may leave the context unusable; the next request gets a fresh one.
                    worker.kill()
                raise error_of(reply, subject)
            return reply, received

    def _slot(self, process: int) -> _Slot:
        return self._slots.setdefault(process, _Slot(process))

    def _start(self, slot: _Slot, ahead: bool = False) -> WorkerProcess:
        if slot.worker and slot.worker.alive:
            if not slot.worker.died_idle:
                return slot.worker
            slot.worker.kill()  # the next case must not be blamed for it
        slot.worker, slot.sent = WorkerProcess(), set()
        hello = Hello(self._runtime, slot.process, self._clock_script, ahead)
        try:
            reply, _ = exchange(slot.worker, hello, (), self._limits.start_s, "no device worker can start")
            if isinstance(reply, Failure):
                raise UsageError(reply.sentence) if reply.kind == "usage" else RuntimeUnavailable(reply.sentence)
            answer = _expect(reply, Ready)
        except WorkerFailure as error:
            raise RuntimeUnavailable(str(error)) from None
        except BaseException:
            slot.worker.kill()
            raise
        if self._facts is None:
            self._facts = answer.facts
        elif (answer.facts.key, answer.facts.library) != (self._facts.key, self._facts.library):
            slot.worker.kill()
            raise RuntimeUnavailable(
                f"the device changed while pytest ran: it was {self._facts.key} ({self._facts.library}), a fresh "
                f"worker sees {answer.facts.key} ({answer.facts.library}); run again"
            )
        self._note(answer.profilers)
        return slot.worker

    def _start_early(self, slot: _Slot) -> None:
        with contextlib.suppress(KernelperfError), slot.lock:
            self._start(slot, ahead=True)

    def _note(self, profilers: tuple[str, ...]) -> None:
        self._profilers.update(dict.fromkeys(profilers))


def _expect(reply: Reply, kind: type[_R]) -> _R:
    if not isinstance(reply, kind):
        raise KernelperfError(f"a device worker answered {type(reply).__name__} where {kind.__name__} was expected")
    return reply
