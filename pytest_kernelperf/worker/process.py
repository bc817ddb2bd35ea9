"""One worker process as its parent sees it: start, ask, and kill with everything it started."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest_kernelperf
from pytest_kernelperf.errors import WorkerCrashed, WorkerHung
from pytest_kernelperf.worker.board import StatusBoard
from pytest_kernelperf.worker.message import ConnectionClosed, Receiver, send

PROGRAM = ("-m", "pytest_kernelperf.worker.program")

_CAPTURE_BYTES = 16 * 1024
_WORDS_LENGTH = 240
_EXIT_GRACE_S = 10.0

_SIGNAL_MEANING = {
    signal.SIGSEGV: "an invalid memory access",
    signal.SIGBUS: "an invalid memory access",
    signal.SIGFPE: "an integer division by zero or overflow",
    signal.SIGILL: "an invalid instruction",
    signal.SIGABRT: "an abort, as the HIP runtime does on a GPU memory fault",
    signal.SIGKILL: "killed from outside, for memory perhaps",
}


class WorkerProcess:
    """A started worker. ``ask`` sends a request's body and waits for the reply's.

    Not safe for several threads at once; the pool holds a lock per worker.
    """

    def __init__(self, program: tuple[str, ...] = PROGRAM) -> None:
        """Start Python with ``program`` and the numbers of three descriptors, in a session of its own.

        Should this process die, however it does, the life pipe closes and the worker's guardian kills that session.
        """
        board_fd = StatusBoard.create_fd()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        life_read, self._life_write = os.pipe()
        self._output, output_write = os.pipe()
        try:
            self.board = StatusBoard(board_fd)
            self._popen = subprocess.Popen(
                [
                    sys.executable,
                    *program,
                    *(str(fd) for fd in (theirs.fileno(), board_fd, life_read)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=output_write,
                stderr=output_write,
                pass_fds=(theirs.fileno(), board_fd, life_read),
                start_new_session=True,
                env=worker_environment(dict(os.environ)),
            )
        except BaseException:
            ours.close()
            os.close(self._life_write)
            os.close(self._output)
            raise
        finally:
            theirs.close()
            for fd in (board_fd, life_read, output_write):
                os.close(fd)
        os.set_blocking(self._output, False)
        self._connection = ours
        self._receiver = Receiver(ours)
        self._selector = selectors.DefaultSelector()
        self._selector.register(ours, selectors.EVENT_READ)
        self._selector.register(self._output, selectors.EVENT_READ)
        self._captured = b""
        self.alive = True

    @property
    def pid(self) -> int:
        """The worker's process id, also that of its process group."""
        return self._popen.pid

    @property
    def died_idle(self) -> bool:
        """Whether it is dead although nobody asked it anything: killed for memory, perhaps."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def ask(
        self,
        body: bytes,
        descriptors: tuple[int, ...],
        limit_s: float,
        subject: str,
        aside: Callable[[bytes], bytes | None] | None = None,
    ) -> tuple[bytes, list[int]]:
        """Send a request and return the reply's body and descriptors.

        ``subject`` begins the sentence of an error. ``aside`` is given each message's body, and returns what to send
        back where it is not the reply yet. Whatever goes wrong, the worker is dead afterwards.

        Raises:
            WorkerCrashed: it died.
            WorkerHung: it did not answer within ``limit_s`` seconds.
        """
        deadline = time.monotonic() + limit_s
        try:
            self._connection.settimeout(limit_s)
            send(self._connection, body, descriptors)
            reply = self._receive(deadline)
            while aside is not None and (answer := aside(reply[0])) is not None:
                send(self._connection, answer)
                reply = self._receive(deadline)
        except ConnectionClosed:
            step = self.board.read()
            how = self._bury()
            raise WorkerCrashed(f"{subject}: the device worker {how}{_while(step)}{self._last_words()}") from None
        except TimeoutError:
            step = self.board.read()
            fate = "was killed" if self.kill() else "cannot be killed: its driver holds it, look at the kernel's log"
            raise WorkerHung(
                f"{subject}: no answer within {limit_s:g} s{_while(step)}; the device worker {fate}"
            ) from None
        except BaseException:  # interrupted half-way through a message: what it sends next would be misread
            self.kill()
            raise
        return reply

    def kill(self) -> bool:
        """Kill the worker and all that it started; release everything. Idempotent.

        False: it does not die, as a process whose driver waits for a GPU that hangs; it is left behind.
        """
        if not self.alive:
            return True
        self.alive = False
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)  # before it is reaped, while its number is still its own
        dead = True
        try:
            self._popen.wait(_EXIT_GRACE_S)
        except subprocess.TimeoutExpired:
            dead = False
        self._drain()
        self._selector.close()
        self._receiver.close()
        self._connection.close()
        self.board.close()
        os.close(self._life_write)
        os.close(self._output)
        return dead

    def _receive(self, deadline: float) -> tuple[bytes, list[int]]:
        while (message := self._receiver.take()) is None:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise TimeoutError
            self._wait(remaining)
        return message

    def _wait(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            if key.fileobj is self._connection:
                self._receiver.read_some()
            elif not self._drain():
                self._selector.unregister(self._output)

    def _bury(self) -> str:
        """Say how the process ended, and clear up after it."""
        deadline = time.monotonic() + _EXIT_GRACE_S
        status = None
        while status is None and time.monotonic() < deadline:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if status is None:
                time.sleep(0.005)
        self.kill()
        if status is None:
            return "closed its connection"
        if status.si_code == os.CLD_EXITED:
            return f"exited with code {status.si_status}"
        return _name_signal(status.si_status)

    def _drain(self) -> bool:
        """Keep the end of what the worker printed; False at the end of its output."""
        try:
            while data := os.read(self._output, 65536):
                self._captured = (self._captured + data)[-_CAPTURE_BYTES:]
        except BlockingIOError:
            return True
        return False

    def _last_words(self) -> str:
        lines = [line.strip() for line in self._captured.decode(errors="replace").splitlines() if line.strip()]
        if not lines:
            return ""
        words = lines[-1] if len(lines[-1]) <= _WORDS_LENGTH else lines[-1][: _WORDS_LENGTH - 1] + "…"
        return f"; its last words: {words}"


def worker_environment(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of a worker.

    It imports this very package, wherever pytest found it, and nothing from the current folder. ``LD_PRELOAD`` and
    profilers' variables stay as they are: what they do to a measurement is found out (``measure.untraced``), not
    hidden.
    """
    folder = Path(next(iter(pytest_kernelperf.__path__))).resolve().parent
    given = [os.path.abspath(entry) for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    ours = [] if folder.name in {"site-packages", "dist-packages"} else [str(folder)]
    path = [*ours, *(entry for entry in given if entry not in ours)]
    fixed = {"PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1", "OPENBLAS_NUM_THREADS": "1"}
    return environment | fixed | ({"PYTHONPATH": os.pathsep.join(path)} if path else {})


def _while(step: str) -> str:
    return f" while {step}" if step else ""


def _name_signal(number: int) -> str:
    try:
        name = signal.Signals(number)
    except ValueError:
        return f"died of signal {number}"
    meaning = _SIGNAL_MEANING.get(name)
    return f"died of {name.name}" + (f" ({meaning})" if meaning else "")
