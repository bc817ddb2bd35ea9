"""Write a file so that a reader, or the next run after a crash, sees the old one or the new one, never a part."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from pathlib import Path

TEMPORARY = ".tmp"


def write_atomically(path: Path, data: bytes, step: Callable[[str], None] = lambda name: None) -> None:
    """Write ``data`` to a temporary file beside ``path``, flush it to disk, and rename it to ``path``.

    The folder must exist. ``step`` is called with the name of each step just done, so that tests can
    stop the process there. A temporary file of a killed process begins with a dot and ends in ``.tmp``.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY}")
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
        temporary.unlink(missing_ok=True)
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
