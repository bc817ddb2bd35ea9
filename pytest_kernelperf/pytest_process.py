"""A pytest of the user's project in a process of its own: the user's configuration, conftest and folder, our plugin.

Nothing here imports pytest: who calls this is a command, not a plugin.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Frozen

NO_AUTOLOAD = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
"""pytest's own variable: no plugin is loaded but those that are named with -p."""

AS_INSTALLED = (
    "-c",
    "import sys; sys.path[:] = [folder for folder in sys.path if folder]; import pytest; sys.exit(pytest.main())",
)
"""pytest as its console script is: without the current folder on the path, so that a tree which holds this very
package (ours does) is not imported instead of the installed one."""

_MAX_OUTPUT_BYTES = 4 * 1024 * 1024
_INTERRUPT_GRACE_S = 30.0
_DRAIN_S = 0.2


class Finished(Frozen, frozen=True):
    """A pytest that ended: its exit code (negative: the signal it died of), what it printed, seconds it took."""

    code: int
    output: str
    seconds: float

    @property
    def last_lines(self) -> str:
        """The end of what it printed, for the sentence that says that it failed."""
        return "\n".join(self.output.splitlines()[-40:])


def plugin_arguments() -> tuple[str, ...]:
    """Return what makes a pytest load the plugin: nothing where it loads it by itself, since twice is an error."""
    installed = {entry.name for entry in importlib.metadata.entry_points(group="pytest11")}
    by_itself = "kernelperf" in installed and not os.environ.get(NO_AUTOLOAD)
    return () if by_itself else ("-p", "pytest_kernelperf.plugin")


def serial_arguments() -> tuple[str, ...]:
    """Return what keeps pytest-xdist from spreading the tests over processes, whatever the project's settings say."""
    return ("-n0",) if importlib.util.find_spec("xdist") and not os.environ.get(NO_AUTOLOAD) else ()


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Let SIGTERM, which a CI that ran out of time sends, end a command as Ctrl-C does: runs, folders and all.

    For the main thread. A second one changes nothing: what is being cleared up is on its way.
    """

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run_pytest(
    arguments: Sequence[str],
    *,
    scratch: Path,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    on_line: Callable[[str], None] | None = None,
    timeout_s: float | None = None,
    program: Sequence[str] = ("-m", "pytest"),
) -> Finished:
    """Run pytest with our plugin, serially, and wait for its end.

    Args:
        arguments: pytest's arguments.
        scratch: a folder for what it prints and caches, so that the project's own stays as it is.
        folder: where it runs; the current folder when left out.
        environment: variables laid over this process's.
        on_line: called with each line that the run writes to the descriptor that ``KERNELPERF_SAY`` names.
        timeout_s: after so many seconds it is stopped.
        program: what makes Python pytest.

    Raises:
        KernelperfError: it did not end in time.
        KeyboardInterrupt, SystemExit: as they come; the run was given time to clear up, and is gone.
    """
    command = [
        *(sys.executable, *program),
        *plugin_arguments(),
        *arguments,
        *serial_arguments(),
        *("-o", f"cache_dir={scratch / 'cache'}", "--color=no"),
    ]
    started = time.monotonic()
    said_read, said_write = os.pipe()
    ours = {"PYTHONDONTWRITEBYTECODE": "1", "KERNELPERF_SAY": str(said_write)}
    with (scratch / "output").open("w+b") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(said_write,),
            env={**os.environ, **(environment or {}), **ours},
        )
        os.close(said_write)
        try:
            with os.fdopen(said_read, "rb") as said:
                _listen(process, said, on_line or (lambda line: None), timeout_s)
        except BaseException:
            _end(process)
            raise
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _MAX_OUTPUT_BYTES))
        text = output.read().decode(errors="replace")
    return Finished(process.returncode, text, time.monotonic() - started)


def _listen(
    process: subprocess.Popen[bytes], said: IO[bytes], on_line: Callable[[str], None], timeout_s: float | None
) -> None:
    """Pass lines on until the process has ended."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    os.set_blocking(said.fileno(), False)
    rest = b""
    while True:
        ended = process.poll() is not None
        data = said.read() or b""  # none yet, or the end
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            on_line(line.decode(errors="replace"))
        if ended:
            return
        if deadline is not None and time.monotonic() >= deadline:
            raise KernelperfError(f"a pytest did not end within {timeout_s:g} s and was stopped")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_DRAIN_S)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a run as Ctrl-C does, so that it lets go of the device, and by force if that does not help."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(_INTERRUPT_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    except KeyboardInterrupt:  # asked again: no more patience
        process.kill()
        process.wait()
        raise
