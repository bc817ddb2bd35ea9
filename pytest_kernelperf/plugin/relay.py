"""How the workers of an xdist run tell the process with the terminal where they are.

xdist passes on reports and little else, and a line of progress is no report. So the process with the terminal
listens on a socket: a worker sends where it is, and waits for a moment until that is drawn, since its own worker
waits for it (``worker.telling``). A worker that dies closes its end.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import socket
import struct
import threading
from collections.abc import Callable

import msgspec

from pytest_kernelperf.report.progress import Progress

PATIENCE_S = 0.05
_MAX_BYTES = 16 * 1024
_CREDENTIALS = struct.Struct("iII")
_DECODER = msgspec.msgpack.Decoder(Progress | None)


class Relay:
    """The listening end.

    ``show`` is called, in a thread of the relay's own, with where the run is and how many workers are at a case; with
    None once none of them is.
    """

    def __init__(self, show: Callable[[Progress | None], None]) -> None:
        self._show = show
        self._told: dict[int, Progress] = {}
        self._lock = threading.Lock()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # A name without a file: it is gone with this process, however that ends.
        self.address = f"kernelperf-{os.getpid()}-{secrets.token_hex(8)}"
        self._socket.bind(f"\0{self.address}")
        self._socket.listen()
        threading.Thread(target=self._accept, name="kernelperf-relay", daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._hear, args=(connection,), daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        """Take what one worker says until it is gone."""
        with contextlib.suppress(OSError, msgspec.DecodeError), connection:
            if _user_of(connection) != os.getuid():
                return
            while message := connection.recv(_MAX_BYTES):
                self._note(connection, _DECODER.decode(message))
                connection.send(b"shown")
        self._note(connection, None)

    def _note(self, connection: socket.socket, progress: Progress | None) -> None:
        with self._lock:
            self._told.pop(id(connection), None)
            if progress is not None:
                self._told[id(connection)] = progress
            self._show(choose(tuple(self._told.values())))


class Caller:
    """A worker's end; says nothing where nobody listens."""

    def __init__(self, address: str) -> None:
        self._socket: socket.socket | None = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._at_case = False
        try:
            self._socket.settimeout(PATIENCE_S)
            self._socket.connect(f"\0{address}")
        except OSError:  # xdist's workers may be on another machine
            self.close()

    @property
    def heard(self) -> bool:
        """Whether somebody listens."""
        return self._socket is not None

    def tell(self, progress: Progress | None) -> None:
        """Say where this worker is, None: at nothing; return when that is shown, or soon."""
        if self._socket is None or (progress is None and not self._at_case):
            return
        self._at_case = progress is not None
        try:
            while select.select([self._socket], [], [], 0)[0]:  # a late answer, or the end
                if not self._socket.recv(_MAX_BYTES):
                    raise ConnectionResetError
            self._socket.send(msgspec.msgpack.encode(progress))
            with contextlib.suppress(TimeoutError):
                self._socket.recv(_MAX_BYTES)
        except OSError:
            self.close()

    def close(self) -> None:
        """Say nothing any more."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def choose(told: tuple[Progress, ...]) -> Progress | None:
    """Which of the workers' lines is shown: of the one that times, since the others wait for it; else the last."""
    timing = [progress for progress in told if progress.timing is not None]
    candidates = timing or list(told)
    return candidates[-1] if candidates else None


def _user_of(connection: socket.socket) -> int:
    """The user who runs the process at the other end."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(packed)[1])
