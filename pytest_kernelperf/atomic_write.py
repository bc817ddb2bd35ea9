"""Write a file so that a reader, or the next run after a crash, sees the old one or the new one, never a part."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path

TEMPORARY = ".tmp"
KEPT_CHARACTERS = 50
"""How much of a file's name its temporary file has: a name may be nearly as long as a name can be."""


def temporary_beside(path: Path) -> Path:
    """Return a free name beside ``path``, for a file that is to replace it.

    Raises:
        OSError: a pipe, a device or a folder is there, which a rename would do away with; or nobody can look.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "a pipe, a device or a folder is there")
    return path.with_name(f".{path.name[:KEPT_CHARACTERS]}.{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY}")


def discard(temporary: Path) -> None:
    """Remove a temporary file, if it is there; that it cannot be is never worth more than why it was written."""
    with contextlib.suppress(OSError):
        temporary.unlink()


def followed(path: Path) -> Path:
    """Return where a link that a user named leads to, so that the link stays."""
    return Path(os.path.realpath(path))


def write_atomically(path: Path, data: bytes, step: Callable[[str], None] = lambda name: None) -> None:
    """Write ``data`` to a temporary file beside ``path``, flush it to disk, and rename it to ``path``.

    The folder must exist. ``step`` is called with the name of each step just done, so that tests can
    stop the process there. A temporary file of a killed process begins with a dot and ends in ``.tmp``.

    Raises:
        OSError: it cannot be written, or what is there is no file.
    """
    temporary = temporary_beside(path)
    try:
        with temporary.open("xb") as file:
            step("opened")
            file.write(data[: len(data) // 2])
            file.flush()
            step("half written")
            file.write(data[len(data) // 2 :])
            file.flush()
            os.fsync(file.fileno())
        step("written")
        temporary.replace(path)
        step("renamed")
    except BaseException:
        discard(temporary)
        raise
    flush_folder(path.parent)
    step("flushed")


def flush_folder(folder: Path) -> None:
    """Flush a folder's entries to disk: a rename is only safe against a power cut after that."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries(folder: Path) -> None:
    """Remove what killed writers left in a folder. Only for who holds the lock that all its writers take."""
    for leftover in folder.glob(f".*{TEMPORARY}"):
        leftover.unlink(missing_ok=True)
