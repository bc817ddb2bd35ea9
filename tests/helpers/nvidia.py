"""Whether there is an NVIDIA GPU to test on; asked in processes that may open it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest_kernelperf


def reason_to_skip() -> str:
    """The cuda runtime's own sentence, asked for in a process that may open it."""
    program = (
        "from pytest_kernelperf.runtime.library import choose\n"
        "try:\n    choose('cuda')\nexcept Exception as error:\n    print(error)\n"
    )
    return child(program)


def child(program: str) -> str:
    """What a child process prints."""
    search = [str(Path(path).parent) for path in pytest_kernelperf.__path__] + [path for path in sys.path if path]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(search)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
