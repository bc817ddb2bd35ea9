"""A program that runs another and leaves nothing of it behind; a stand-alone script of the standard library.

``python -I -S warden.py LIFE OUTCOME FOLDER SECONDS BYTES COMMAND...`` runs the command until it ends, overruns its
time, fills its folder, or the pipe LIFE closes, because whoever started this has died or lost patience. Then all that
the command started is killed. A process group would not do: profilers and what they load may leave it. So this process
takes over every orphan below it (``PR_SET_CHILD_SUBREAPER``) and ends when there is nobody left. What happened is
written to the descriptor OUTCOME as one line of JSON:

    {"reason": "ended" | "overran" | "filled" | "cluttered" | "abandoned" | "unstartable", "status": waitpid's,
     "left": [names], "problem": text}
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_S = 0.05
MOST_FILES = 1000
FILE_LIMIT_RATIO = 16
"""No file of the command's may outgrow so many times its folder's limit, wherever it lies. Runtimes keep shared memory
in files too, so it is no tighter; the folder itself is looked at all the time."""
PATIENCE_S = 10.0
"""How long killed processes may take to go: one that its driver holds cannot be waited for."""


def main(arguments: list[str]) -> int:
    """Run the command, write the outcome; the status is 0 unless nobody can be told."""
    life, outcome = int(arguments[0]), int(arguments[1])
    folder, limit_s, limit_bytes = arguments[2], float(arguments[3]), int(arguments[4])
    for fd in (life, outcome):
        os.set_inheritable(fd, False)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    result: dict[str, object] = {"reason": "unstartable", "status": 0, "left": [], "problem": ""}
    try:
        child = start(arguments[5:], folder, limit_bytes)
    except OSError as error:
        result["problem"] = error.strerror or str(error)
    else:
        result["reason"], status = wait(child, life, folder, limit_s, limit_bytes)
        result["left"] = clear(child if status is None else 0)
        result["status"] = status or 0
    os.write(outcome, json.dumps(result).encode() + b"\n")
    return 0


def start(command: list[str], folder: str, limit_bytes: int) -> int:
    """Start the command in the folder, as a group of its own."""
    reading, writing = os.pipe2(os.O_CLOEXEC)
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            os.chdir(folder)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes * FILE_LIMIT_RATIO,) * 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.execv(command[0], command)
        except OSError as error:
            os.write(writing, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        failed = pipe.read()
    if failed:
        os.waitpid(child, 0)
        raise OSError(int(failed), os.strerror(int(failed)))
    return child


def wait(child: int, life: int, folder: str, limit_s: float, limit_bytes: int) -> tuple[str, int | None]:
    """Wait for the command; return why the waiting ended, and its status where it has ended by itself."""
    deadline = time.monotonic() + limit_s
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        full = what_is_full(folder, limit_bytes)
        if ended:
            return full or "ended", status
        if full or time.monotonic() >= deadline:
            return full or "overran", None
        if select.select([life], [], [], LOOK_EVERY_S)[0]:
            return "abandoned", None


def what_is_full(folder: str, limit_bytes: int) -> str:
    """``filled`` where the folder holds more bytes than it may, ``cluttered`` with too many files, else nothing."""
    total = files = 0
    for place, _, names in os.walk(folder):
        for name in names:
            files += 1
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
            if total >= limit_bytes:
                return "filled"
            if files > MOST_FILES:
                return "cluttered"
    return ""


def clear(child: int) -> list[str]:
    """Kill all that the command has left; return the names of those that were there, the command itself left out.

    Children alone are killed: whoever they leave behind is this process's child next. Only this process can reap them,
    so that no number can become somebody else's meanwhile.
    """
    left: dict[int, str] = {}
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            break
        for pid, name in find_children().items():
            left.setdefault(pid, name)
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)
    return [name for pid, name in left.items() if pid != child]


def find_children() -> dict[int, str]:
    """Return this process's children by number, with their names."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
                before, _, after = file.read().decode(errors="replace").rpartition(")")
                if after.split()[1] == str(os.getpid()):
                    found[int(entry)] = before.partition("(")[2]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
