"""The parent's side of an examination: workers of its own, so that nothing found there can hang or harm the parent.

A probe that fails, crashes or hangs costs its worker; the next one gets a fresh worker.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from pytest_kernelperf.errors import CompileError, DeviceError, KernelperfError, RuntimeUnavailable
from pytest_kernelperf.machine import Machine, Reading
from pytest_kernelperf.model import DeviceFacts, Frozen
from pytest_kernelperf.worker.message import (
    Examine,
    Examined,
    Failure,
    Hello,
    Look,
    ProbeName,
    Ready,
    Reply,
    Request,
    Seen,
    decode_reply,
    encode,
)
from pytest_kernelperf.worker.process import WorkerProcess

_R = TypeVar("_R")


class Opened(Frozen, frozen=True):
    """An opened device: its facts, and what may distort times in a worker."""

    facts: DeviceFacts
    profilers: tuple[str, ...]


class Examiner:
    """Asks workers about the machine and its device; used with ``with``.

    All methods raise ``RuntimeUnavailable``, ``CompileError``, ``DeviceError``, ``WorkerCrashed`` or ``WorkerHung``.
    """

    def __init__(self, runtime: str, *, look_s: float = 30.0, open_s: float = 60.0, probe_s: float = 60.0) -> None:
        """Prepare; nothing is started yet. ``…_s``: seconds that an answer may take before its worker is killed."""
        self._runtime = runtime
        self._look_s, self._open_s, self._probe_s = look_s, open_s, probe_s
        self._worker: WorkerProcess | None = None

    def look(self, root: Path) -> Machine:
        """Describe a machine by the files below ``root``, in a worker that opens no device."""
        worker = WorkerProcess()
        try:
            return _expect(_ask(worker, Look(str(root)), self._look_s, f"reading {root}"), Seen).machine
        finally:
            worker.kill()

    def open(self) -> Opened:
        """Open the runtime in a fresh worker and return the device's facts."""
        self.close()
        self._worker = WorkerProcess()
        ready = _expect(self._answer(Hello(self._runtime, 0), self._open_s, "no device worker can start"), Ready)
        return Opened(ready.facts, ready.profilers)

    def probe(self, name: ProbeName) -> Reading | None:
        """Do one probe; None: there is nothing to probe here."""
        if self._worker is None:
            self.open()
        request = Examine(name, os.getpid())
        return _expect(self._answer(request, self._probe_s, f"the probe {name!r}"), Examined).reading

    def close(self) -> None:
        """Kill the worker. Idempotent."""
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

    def __enter__(self) -> Examiner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, request: Request, limit_s: float, subject: str) -> Reply:
        assert self._worker is not None
        try:
            return _ask(self._worker, request, limit_s, subject)
        except KernelperfError:
            self.close()
            raise


def _ask(worker: WorkerProcess, request: Request, limit_s: float, subject: str) -> Reply:
    body, descriptors = worker.ask(encode(request), (), limit_s, subject)
    for descriptor in descriptors:
        os.close(descriptor)
    reply = decode_reply(body)
    if isinstance(reply, Failure):
        kinds = {"unavailable": RuntimeUnavailable, "compile": CompileError, "device": DeviceError}
        raise kinds.get(reply.kind, KernelperfError)(reply.sentence)
    return reply


def _expect(reply: Reply, kind: type[_R]) -> _R:
    if not isinstance(reply, kind):
        raise KernelperfError(f"a device worker answered {type(reply).__name__} where {kind.__name__} was expected")
    return reply
