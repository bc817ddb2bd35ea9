"""The worker: ``python -m pytest_kernelperf.worker.program SOCKET BOARD LIFE`` (three inherited descriptors).

Started by ``worker.process``. It answers requests until the socket closes. Only here, never in pytest's process, is
a HIP library opened.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from pytest_kernelperf.errors import CompileError, DeviceError, KernelperfError, RuntimeUnavailable, UsageError
from pytest_kernelperf.measure.tools import Told
from pytest_kernelperf.runtime.hip import Device
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.survey import read_machine
from pytest_kernelperf.worker.board import StatusBoard
from pytest_kernelperf.worker.executor import CodeMissing, Executor
from pytest_kernelperf.worker.message import (
    Compile,
    ConnectionClosed,
    Examine,
    Failure,
    GoOn,
    Hello,
    Look,
    NeedCode,
    Receiver,
    Reply,
    Request,
    RunOnce,
    Seen,
    decode_request,
    encode,
    send,
)
from pytest_kernelperf.worker.telling import Teller


def main(arguments: list[str]) -> int:
    """Serve the parent behind the first descriptor; return the exit status."""
    socket_fd, board_fd, life_fd = (int(argument) for argument in arguments)
    start_guardian(life_fd)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crashing kernel is expected; its core file is not wanted
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    board = StatusBoard(board_fd)
    connection = socket.socket(fileno=socket_fd)
    for fd in (socket_fd, board_fd):
        os.set_inheritable(fd, False)  # compilers that are started from here have no use for them
    with contextlib.suppress(ConnectionClosed):
        serve(connection, board.write)
    # Not through the interpreter's end: a HIP library's own shutdown may wait for a device that no longer answers.
    sys.stdout.flush()
    os._exit(0)


def start_guardian(life_fd: int) -> None:
    """Fork the process that kills this one's whole group, compilers and all, when the parent is gone.

    The parent holds the other end of ``life_fd``; however it dies, the kernel closes it. The kernel's own signal
    (``PR_SET_PDEATHSIG``) would not do: it reaches this process alone, not its compilers, and comes when the *thread*
    ends that started us. A thread of this process would not do either: native code may hold the interpreter.
    """
    if os.fork() != 0:
        os.close(life_fd)
        return
    # Not closerange: it may try every number there could be, and some containers allow a thousand million.
    for fd in [int(name) for name in os.listdir("/proc/self/fd")]:
        if fd != life_fd:
            with contextlib.suppress(OSError):
                os.close(fd)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        os.read(life_fd, 1)
    finally:
        os.killpg(0, signal.SIGKILL)


def serve(connection: socket.socket, say: Callable[[str], None]) -> None:
    """Answer requests one after the other until ``ConnectionClosed``."""
    receiver = Receiver(connection)
    service = Service(say, Teller(connection, receiver))
    while True:
        body, descriptors = receiver.receive()
        try:
            reply, own = answer(service, body, descriptors)
            try:
                if reply is not None:
                    send(connection, encode(reply), own)
            finally:
                for fd in own:
                    os.close(fd)
        finally:
            for fd in descriptors:
                os.close(fd)
        say("")


def answer(service: Service, body: bytes, descriptors: list[int]) -> tuple[Reply | None, tuple[int, ...]]:
    """Do what a request asks; every failure becomes a reply. None: nobody waits for one."""
    try:
        return service.do(decode_request(body), descriptors[0] if descriptors else -1)
    except CodeMissing as missing:
        return NeedCode(str(missing)), ()
    except CompileError as error:
        return Failure("compile", str(error), error.log), ()
    except RuntimeUnavailable as error:
        return Failure("unavailable", str(error)), ()
    except DeviceError as error:
        return Failure("device", str(error)), ()
    except UsageError as error:
        return Failure("usage", str(error)), ()
    except ConnectionClosed:
        raise
    except KernelperfError as error:
        return Failure("internal", str(error)), ()
    except Exception as error:  # a bug of ours must not look like a crash of the kernel
        return Failure("internal", f"the device worker failed with {type(error).__name__}: {error}"), ()


class Service:
    """Opens the device on ``Hello`` and passes the other requests on."""

    def __init__(self, say: Callable[[str], None], tell: Callable[[Told], None]) -> None:
        self._say = say
        self._tell = tell
        self._executor: Executor | None = None

    def do(self, request: Request, fd: int) -> tuple[Reply | None, tuple[int, ...]]:
        """Answer one request; ``fd`` holds its inputs."""
        if isinstance(request, GoOn):
            return None, ()
        if isinstance(request, Hello):
            self._say(f"opening the HIP runtime ({request.runtime})")
            device = Device(choose(request.runtime))
            self._executor = Executor(
                device.__enter__(), request, self._say, self._tell
            )  # for as long as this process lives
            if request.ahead:
                self._executor.set_up()
            return self._executor.greet(), ()
        if isinstance(request, Look):
            self._say(f"reading the files below {request.root}")
            return Seen(read_machine(Path(request.root))), ()
        if self._executor is None:
            raise KernelperfError("the first request to a device worker must be hello")
        if isinstance(request, Examine):
            return self._executor.examine(request), ()
        if isinstance(request, Compile):
            return self._executor.compile(request), ()
        if isinstance(request, RunOnce):
            outputs, own = self._executor.run(request, fd)
            return outputs, (own,)
        return self._executor.measure(request, fd), ()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
