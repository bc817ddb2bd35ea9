"""One request to a worker and its reply: what is left out of it, what comes in between, and what a failure becomes."""

from __future__ import annotations

import os
from typing import Protocol

import msgspec

from pytest_kernelperf.errors import CompileError, DeviceError, KernelperfError, RuntimeUnavailable, UsageError
from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.model import CodeObject
from pytest_kernelperf.worker.message import (
    Failure,
    GoOn,
    HowFar,
    Measure,
    Reply,
    Request,
    RunOnce,
    decode_reply,
    encode,
)
from pytest_kernelperf.worker.process import WorkerProcess


class Watcher(Protocol):
    """Who follows a measurement; nothing is told where nobody does."""

    @property
    def watched(self) -> bool:
        """Whether somebody looks."""

    def follow(self, told: Told) -> None:
        """Take how far it is; the worker goes on when this returns."""


def exchange(
    worker: WorkerProcess,
    request: Request,
    descriptors: tuple[int, ...],
    limit_s: float,
    subject: str,
    watcher: Watcher | None = None,
) -> tuple[Reply, list[int]]:
    """Send a request and return the reply; what a measurement says in between goes to ``watcher``.

    Raises:
        KernelperfError: the reply cannot be read; else as ``WorkerProcess.ask``.
    """

    def go_on(body: bytes) -> bytes | None:
        message = decode_reply(body)
        if not isinstance(message, HowFar) or watcher is None:
            return None
        watcher.follow(message.told)
        return encode(GoOn(message.number))

    told = isinstance(request, Measure) and request.tell
    body, received = worker.ask(encode(request), descriptors, limit_s, subject, go_on if told else None)
    try:
        return decode_reply(body), received
    except KernelperfError:
        close_all(received)
        worker.kill()
        raise


def without_code(request: Request, sent: set[str]) -> tuple[Request, set[str]]:
    """Leave out the bytes of code objects that the worker was sent before; return the digests it then has."""

    def lean(code: CodeObject) -> CodeObject:
        data = b"" if code.digest in sent else code.data
        return msgspec.structs.replace(code, data=data, kernels={}, log="")

    if isinstance(request, RunOnce):
        return msgspec.structs.replace(request, code=lean(request.code)), {request.code.digest}
    if isinstance(request, Measure):
        arms = tuple(msgspec.structs.replace(arm, code=lean(arm.code)) for arm in request.request.arms)
        bare = msgspec.structs.replace(request.request, arms=arms)
        return msgspec.structs.replace(request, request=bare), {arm.code.digest for arm in arms}
    return request, set()


def error_of(failure: Failure, subject: str) -> KernelperfError:
    """Return the error that a failure is raised as; ``subject`` begins its sentence."""
    # The subject ends with the file that is compiled; a sentence that begins with it goes on behind it.
    rest = failure.sentence.removeprefix(subject.rpartition(", ")[2])
    sentence = f"{subject}: {rest}" if rest == failure.sentence else f"{subject}{rest}"
    if failure.kind == "compile":
        return CompileError(sentence, failure.log)
    if failure.kind == "unavailable":
        return RuntimeUnavailable(failure.sentence)
    if failure.kind == "usage":
        return UsageError(sentence)
    if failure.kind == "device":
        return DeviceError(sentence)
    return KernelperfError(sentence)


def close_all(descriptors: list[int]) -> None:
    """Close descriptors that came with a message."""
    for descriptor in descriptors:
        os.close(descriptor)
