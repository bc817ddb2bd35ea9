"""A page of shared memory in which a worker keeps what it is at, for its parent to read once it is dead or overdue.

A reply cannot say which launch crashed: nobody is left to send it. The page outlives the worker.
"""

from __future__ import annotations

import mmap
import os
import struct

_SIZE_BYTES = 4096
_LENGTH = struct.Struct("<I")


class StatusBoard:
    """One line of text that one process writes and another reads."""

    def __init__(self, fd: int) -> None:
        """Map the page behind ``fd``, which stays the caller's."""
        self._memory = mmap.mmap(fd, _SIZE_BYTES)

    @staticmethod
    def create_fd() -> int:
        """Return the descriptor of a fresh, empty page."""
        fd = os.memfd_create("kernelperf-board", os.MFD_CLOEXEC)
        os.ftruncate(fd, _SIZE_BYTES)
        return fd

    def write(self, text: str) -> None:
        """Replace the line; text beyond the page is cut off."""
        data = text.encode()[: _SIZE_BYTES - _LENGTH.size]
        self._memory[: _LENGTH.size] = _LENGTH.pack(0)  # a reader in between sees nothing rather than a mixture
        self._memory[_LENGTH.size : _LENGTH.size + len(data)] = data
        self._memory[: _LENGTH.size] = _LENGTH.pack(len(data))

    def read(self) -> str:
        """Return the line, "" if there is none."""
        (length,) = _LENGTH.unpack(self._memory[: _LENGTH.size])
        if length > _SIZE_BYTES - _LENGTH.size:  # a dying process may have written anything
            return ""
        return self._memory[_LENGTH.size : _LENGTH.size + length].decode(errors="replace")

    def close(self) -> None:
        """Unmap the page."""
        self._memory.close()
