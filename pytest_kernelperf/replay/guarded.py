"""Running a program that may do anything: within a time, within a size, and with nothing of it left behind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_kernelperf.errors import ReplayError
from pytest_kernelperf.replay import warden
from pytest_kernelperf.strict_json import one_line

MOST_OUTPUT_BYTES = 64 * 1024
WORDS_LENGTH = 240
NOTHING = re.compile(rb"(?!)")
OVERTIME_S = warden.PATIENCE_S + 5
"""How much longer than the command the warden may take, which has to kill what is left."""


@dataclass(frozen=True)
class Limits:
    """How long a command may take in seconds, and how many bytes its folder may hold."""

    seconds: float
    size_bytes: int


@dataclass(frozen=True)
class Ended:
    """How a command ended: all is well where ``problem`` is empty.

    ``output`` is the end of what it printed, ``sign`` the first of it that was looked for. ``left``: names of processes
    that it had left running, and that are gone now. ``overran``: it was stopped for its time.
    """

    problem: str
    output: str
    code: int = 0
    left: tuple[str, ...] = ()
    overran: bool = False
    sign: str = ""


class _Output:
    """What is kept of a command's words: their end, and the first of them that fits ``sign``."""

    def __init__(self, sign: re.Pattern[bytes]) -> None:
        self._sign = sign
        self.found = b""
        self.end = b""

    def add(self, data: bytes) -> None:
        """Take more words."""
        fresh = self.end[-WORDS_LENGTH:] + data
        if not self.found and (match := self._sign.search(fresh)):
            self.found = match[0]
        self.end = (self.end + data)[-MOST_OUTPUT_BYTES:]


def run_guarded(
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    limits: Limits,
    sign: re.Pattern[bytes] = NOTHING,
) -> Ended:
    """Run a command in a folder; when this returns or raises, nothing of it runs any more.

    ``command`` begins with an absolute path. ``problem`` begins with a verb ("did not end within 60 s"). A command that
    exits with another code than 0 has a problem too. ``sign``: what is kept of its words however many follow.

    Raises:
        ReplayError: this machine cannot run anything.
        KeyboardInterrupt and the like: as they come; the command is dead by then.
    """
    life_read, life_write = os.pipe()
    outcome_read, outcome_write = os.pipe()
    output_read, output_write = os.pipe()
    ours, theirs = [life_write, outcome_read, output_read], [life_read, outcome_write, output_write]
    process = None
    try:
        fixed = (str(life_read), str(outcome_write), str(folder), str(limits.seconds), str(limits.size_bytes))
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", warden.__file__, *fixed, *command],
                stdin=subprocess.DEVNULL,
                stdout=output_write,
                stderr=output_write,
                pass_fds=(life_read, outcome_write),
                start_new_session=True,
                env=dict(environment),
            )
        except OSError as error:
            raise ReplayError(f"no process can be started ({error.strerror})") from None
        while theirs:
            os.close(theirs.pop())
        output, deadline = _Output(sign), time.monotonic() + limits.seconds + OVERTIME_S
        outcome = _listen(outcome_read, output_read, output, deadline)
        if not outcome:  # the warden died of something, perhaps for memory: what has not left its session goes too
            _kill_session(process.pid)
        ended = _read(outcome, output.end.decode(errors="replace"), limits)
        late = not outcome and time.monotonic() >= deadline  # the warden itself was stopped
        return replace(ended, overran=ended.overran or late, sign=output.found.decode(errors="replace"))
    finally:
        os.close(ours.pop(0))  # the warden's sign to clear up, where it has not ended by itself
        if process is not None:
            _bury(process)
        for fd in (*ours, *theirs):
            os.close(fd)


def _listen(outcome_fd: int, output_fd: int, output: _Output, deadline: float) -> bytes:
    """Read both until the outcome's end; return that."""
    outcome = b""
    os.set_blocking(output_fd, False)
    with selectors.DefaultSelector() as selector:
        for fd in (outcome_fd, output_fd):
            selector.register(fd, selectors.EVENT_READ)
        ended = False
        while not ended and time.monotonic() < deadline:
            for key, _ in selector.select(max(0.0, deadline - time.monotonic())):
                data = os.read(key.fd, 65536)
                if key.fd == outcome_fd:
                    outcome += data
                    ended = not data
                elif data:
                    output.add(data)
                else:
                    selector.unregister(output_fd)
    with contextlib.suppress(BlockingIOError):
        while data := os.read(output_fd, 65536):
            output.add(data)
    return outcome


def _read(outcome: bytes, output: str, limits: Limits) -> Ended:
    if not outcome:
        return Ended("was killed together with what watches over it", output)
    found = json.loads(outcome)
    left = tuple(one_line(str(name))[:WORDS_LENGTH] for name in found["left"])
    reason, status = str(found["reason"]), int(found["status"])
    if reason == "overran":
        return Ended(f"did not end within {limits.seconds:g} s and was stopped", output, overran=True)
    if reason == "filled":
        return Ended(f"wrote more than {limits.size_bytes / 2**20:g} MiB and was stopped", output)
    if reason == "cluttered":
        return Ended(f"wrote more than {warden.MOST_FILES:,} files and was stopped", output)
    if reason == "unstartable":
        return Ended(f"cannot be started ({found['problem']})", output)
    if os.WIFSIGNALED(status):
        return Ended(f"died of {_signal_name(os.WTERMSIG(status))}{_words(output)}", output, left=left)
    code = os.WEXITSTATUS(status)
    return Ended(f"exited with code {code}{_words(output)}" if code else "", output, code, left)


def _bury(process: subprocess.Popen[bytes]) -> None:
    """Wait for the warden. Asked to hurry a second time, it is left alone: it ends by itself, and nobody else does."""
    try:
        process.wait(OVERTIME_S)
    except subprocess.TimeoutExpired:
        _kill_session(process.pid)
        process.wait()


def _kill_session(session: int) -> None:
    """Kill all processes of a session, whose number is its own as long as its leader has not been waited for.

    Again until nobody is left, since one may have started another meanwhile.
    """
    deadline = time.monotonic() + OVERTIME_S
    while (living := _session(session)) and time.monotonic() < deadline:
        for pid in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _session(session: int) -> list[int]:
    """Return the processes of a session that are not dead."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with contextlib.suppress(OSError):
                state, _, _, number = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b")")[2].split()[:4]
                if int(number) == session and state not in (b"Z", b"X"):
                    found.append(int(entry))
    return found


def _words(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if not lines:
        return ""
    words = one_line(lines[-1])
    return f"; its last words: {words if len(words) <= WORDS_LENGTH else words[: WORDS_LENGTH - 1] + '…'}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
