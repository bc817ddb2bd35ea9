"""One measurement at a time on a machine: a lock shared by those who compile, exclusive for those who time.

It holds across processes, xdist workers and users (a file in ``/tmp`` that all may open), and the kernel drops it
when its holder dies, however that happens. A turnstile lets an exclusive waiter stop later shared ones, which would
otherwise keep it waiting for ever.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_kernelperf.errors import KernelperfError

VARIABLE = "KERNELPERF_LOCK"
_POLL_S = 0.05
_SAY_EVERY_S = 1.0

UNSEEN = "a process that cannot be seen from here"
_MAX_NOTE_BYTES = 4096


def lock_path(device_key: str) -> Path:
    """Return the machine-wide lock file of a device; ``KERNELPERF_LOCK`` names another (tests use it)."""
    given = os.environ.get(VARIABLE)
    if given:
        return Path(given)
    return Path("/tmp") / f"kernelperf-{re.sub(r'[^A-Za-z0-9._-]', '_', device_key)}.lock"


class MachineLock:
    """The lock. Not reentrant: a holder that asks again is refused, since it would wait for itself.

    Args:
        path: see ``lock_path``.
        command: how this process is called to others that wait (``pytest --kernelperf``).
        on_wait: called with a sentence, once a second, while somebody else holds it.
        timeout_s: how long to wait at most; None: for ever.
    """

    def __init__(
        self,
        path: Path,
        *,
        command: str = "pytest --kernelperf",
        on_wait: Callable[[str], None] | None = None,
        timeout_s: float | None = None,
    ) -> None:
        self._path = path
        self._turnstile = path.with_name(path.name + ".turn")
        self._command = command
        self._on_wait = on_wait or (lambda sentence: None)
        self._timeout_s = timeout_s
        self._held = False

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the machine alone.

        Raises:
            KernelperfError: not within ``timeout_s``, or the file cannot be opened.
        """
        with self._hold(fcntl.LOCK_EX) as fd:
            _write_note(fd, self._command)
            try:
                yield
            finally:
                os.ftruncate(fd, 0)

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the machine together with others that do not time. Raises as ``exclusive``."""
        with self._hold(fcntl.LOCK_SH):
            yield

    @contextlib.contextmanager
    def _hold(self, kind: int) -> Iterator[int]:
        if self._held:
            raise KernelperfError(f"this process holds the lock {self._path} already: it would wait for itself")
        deadline = None if self._timeout_s is None else time.monotonic() + self._timeout_s
        turn = self._acquire(self._turnstile, fcntl.LOCK_EX, deadline)
        try:
            fd = self._acquire(self._path, kind, deadline)
        finally:
            os.close(turn)
        self._held = True
        try:
            yield fd
        finally:
            self._held = False
            os.close(fd)

    def _acquire(self, path: Path, kind: int, deadline: float | None) -> int:
        started = time.monotonic()
        said = started - _SAY_EVERY_S
        while True:
            fd = _open(path)
            try:
                fcntl.flock(fd, kind | fcntl.LOCK_NB)
                if _is_still(path, fd):
                    return fd
            except BlockingIOError:
                now = time.monotonic()
                if now - said >= _SAY_EVERY_S:
                    holder = describe_holder(self._path)
                    # Whoever is not seen at first mostly has the turn for a moment, or has just let go.
                    if holder != UNSEEN or now - started >= _SAY_EVERY_S:
                        said = now
                        self._on_wait(f"waiting for {holder}")
                if deadline is not None and now >= deadline:
                    os.close(fd)
                    raise KernelperfError(
                        f"the machine was not free within {self._timeout_s:g} s: waited for "
                        f"{describe_holder(self._path)}; let it end, or stop it, and run again"
                    ) from None
                time.sleep(_POLL_S)
            except BaseException:
                os.close(fd)
                raise
            os.close(fd)


def describe_holder(path: Path, now_s: float | None = None) -> str:
    """Say who holds the lock: ``pid 12 (pytest --kernelperf), holding the machine since 3 s``.

    The holder writes who it is; of those that share it, the kernel's list of locks names the first.
    """
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_NOTE_BYTES)
            inode = os.fstat(file.fileno()).st_ino
    except OSError:
        return UNSEEN
    holders = _list_holders(inode)
    note = _read_note(text)
    if note and (not holders or note[0] in holders):
        pid, command, since_s = note
        waited_s = max(0, int((time.time() if now_s is None else now_s) - since_s))
        return f"pid {pid} ({command}), holding the machine since {waited_s} s"
    if holders:
        others = f" and {len(holders) - 1} more" if len(holders) > 1 else ""
        return f"pid {holders[0]} ({_read_command(holders[0])}){others}, compiling or computing references"
    return UNSEEN


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        # First without O_CREAT: with it, Linux refuses to open another user's file in a folder like /tmp.
        return os.open(path, flags)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise _cannot_open(path, error) from error
    try:
        fd = os.open(path, flags | os.O_CREAT, 0o666)
    except OSError as error:
        raise _cannot_open(path, error) from error
    with contextlib.suppress(OSError):
        os.fchmod(fd, 0o666)  # past the umask: other users must be able to wait for us
    return fd


def _cannot_open(path: Path, error: OSError) -> KernelperfError:
    return KernelperfError(
        f"the machine's lock file {path} cannot be opened ({error.strerror}): make it readable and writable for all, "
        f"or set {VARIABLE} to a file that every user of this machine can open"
    )


def _is_still(path: Path, fd: int) -> bool:
    """Whether the file that was locked is the one that others will find (somebody may have cleared /tmp)."""
    try:
        there, here = os.stat(path), os.fstat(fd)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def _write_note(fd: int, command: str) -> None:
    note = json.dumps({"pid": os.getpid(), "command": command, "since_s": time.time()}).encode()[:_MAX_NOTE_BYTES]
    os.ftruncate(fd, 0)
    os.pwrite(fd, note, 0)


def _read_note(text: bytes) -> tuple[int, str, float] | None:
    """Parse what a holder wrote; any user can write it, so it is taken for text and nothing more."""
    try:
        note = json.loads(text)
        return int(note["pid"]), _printable(str(note["command"])), float(note["since_s"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _list_holders(inode: int) -> tuple[int, ...]:
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return ()
    found = [
        int(fields[4])
        for fields in (line.split() for line in lines)
        if len(fields) == 8 and fields[1] == "FLOCK" and fields[5].rpartition(":")[2] == str(inode)
    ]
    return tuple(sorted(pid for pid in found if pid > 0))


def _read_command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "unknown command"
    return _printable(words.strip()) or "unknown command"


def _printable(text: str) -> str:
    cleaned = "".join(character for character in text if character.isprintable())
    return cleaned if len(cleaned) <= 120 else cleaned[:119] + "…"
