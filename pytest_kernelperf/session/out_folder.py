"""The run's output folder, which git never sees: not even of a run that was killed before it had an end."""

from __future__ import annotations

from pathlib import Path

from pytest_kernelperf.atomic_write import write_atomically

_GITIGNORE = b"# written by pytest-kernelperf\n*\n"


def make_out_folder(out: Path) -> None:
    """Make the folder, and in it the ``.gitignore`` that hides it, if they are not there.

    Raises:
        OSError: it cannot be made or written to.
    """
    out.mkdir(parents=True, exist_ok=True)
    if not (out / ".gitignore").exists():
        write_atomically(out / ".gitignore", _GITIGNORE)
