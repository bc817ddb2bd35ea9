"""Where the files built from ``native/`` are: launch loop, HIP-on-CPU libraries, device headers."""

from __future__ import annotations

from pathlib import Path

import pytest_kernelperf
from pytest_kernelperf.errors import RuntimeUnavailable


def native_path(name: str) -> Path:
    """Return the absolute path of a built file or folder, ``name`` relative to ``_native``.

    An editable install keeps Python files and built files in two folders, so all of the package's are searched.

    Raises:
        RuntimeUnavailable: the file was not built or not installed.
    """
    for folder in pytest_kernelperf.__path__:
        candidate = Path(folder) / "_native" / name
        if candidate.exists():
            return candidate.resolve()
    raise RuntimeUnavailable(
        f"the built file {name!r} is missing from this installation of pytest-kernelperf: "
        "install it again from a wheel, or from source with a C++ compiler (scripts/guard does)"
    )
