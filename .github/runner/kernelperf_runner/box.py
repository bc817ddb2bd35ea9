"""The machine as the supervisor acts on it: folders, the runner's unit, the GPU's clock policy."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from kernelperf_runner.document import Refusal
from kernelperf_runner.machine import set_performance_level
from kernelperf_runner.process import UNIT
from kernelperf_runner.rules import Limits

PRISTINE = Path("/opt/actions-runner")
"""The runner as GitHub publishes it: root's, read-only, copied anew for each job."""

REMOVE_S = 600
JOB = Path("/var/lib/kernelperf-job")
CONFIGURATION = Path("/run/kernelperf-runner/jitconfig")
REMOVE = ("/bin/rm", "--recursive", "--force", "--one-file-system", "--")
"""Not Python's own: a job can nest folders deeper than that goes, and would keep the box from ever being empty."""

USER = "kernelperf-job"
ROOT = 0
PROC = Path("/proc")


class SystemdBox:
    """A machine with systemd and one AMD GPU."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def prepare(self, configuration: str) -> None:
        """Copy the pristine runner into the job's empty folder, leave its configuration, set the clocks."""
        self.clear()
        _take_back(JOB)
        runner, home = JOB / "runner", JOB / "home"
        shutil.copytree(PRISTINE, runner, symlinks=True)
        home.mkdir()
        account = pwd.getpwnam(USER)
        for place in (runner, home):
            place.chmod(0o700)
            for folder, _, files in os.walk(place):
                for name in (".", *files):
                    os.chown(Path(folder) / name, account.pw_uid, account.pw_gid, follow_symlinks=False)
        CONFIGURATION.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        CONFIGURATION.touch(mode=0o600)
        CONFIGURATION.write_text(configuration, encoding="ascii")
        set_performance_level(Path("/"), self._limits.performance_level)

    def start(self) -> None:
        """Start the unit."""
        _systemctl("start", UNIT)

    def running(self) -> bool:
        """Whether the unit is there still."""
        return _systemctl("is-active", "--quiet", UNIT, check=False) == 0

    def kill(self) -> None:
        """SIGKILL for all of the unit's control group."""
        _systemctl("kill", "--signal=SIGKILL", UNIT, check=False)
        _systemctl("stop", UNIT, check=False)

    def clear(self) -> None:
        """End what left the unit, empty the job's folder, forget the configuration, give the clocks back."""
        CONFIGURATION.unlink(missing_ok=True)
        try:
            _end_strays()
            for entry in JOB.iterdir() if JOB.is_dir() else ():
                _remove(entry)
        finally:
            set_performance_level(Path("/"), "auto")


def _take_back(folder: Path) -> None:
    """Make the folder root's, which only what lies in it is not: its mode or its ACL would outlive the job.

    ``chmod 0`` by one job would keep every later runner from starting.
    """
    for name in ("system.posix_acl_access", "system.posix_acl_default"):
        with suppress(OSError):  # there is none, or the file system has none
            os.removexattr(folder, name)
    os.chown(folder, ROOT, ROOT)
    folder.chmod(0o711)


def _account() -> int:
    return pwd.getpwnam(USER).pw_uid


def _end_strays() -> None:
    """End what runs as the job's user once its unit is gone; that there was any is an error, and root's to look at."""
    try:
        user = str(_account())
    except KeyError:
        return
    strays = [folder.name for folder in sorted(PROC.glob("[0-9]*")) if _user(folder) == user]
    for process in strays:
        with suppress(OSError):
            os.kill(int(process), signal.SIGKILL)
    if strays:
        raise Refusal(f"a process of {USER} left its unit: {', '.join(strays)[:200]}; ended, but how did it?")


def _user(process: Path) -> str:
    """The real user of a process, as a number; nothing where it is gone, or ended and only not collected yet."""
    with suppress(OSError):
        text = (process / "status").read_text(encoding="utf-8", errors="replace")
        facts = dict(line.partition(":")[::2] for line in text.splitlines())
        if not facts.get("State", "").strip().startswith("Z"):
            return (facts.get("Uid", "").split() or [""])[0]
    return ""


def _remove(entry: Path) -> None:
    try:
        subprocess.run([*REMOVE, str(entry)], check=True, timeout=REMOVE_S)
    except (OSError, subprocess.SubprocessError) as problem:
        raise Refusal(f"what the last job left could not be deleted: {problem}") from None


def _systemctl(*arguments: str, check: bool = True) -> int:
    try:
        return subprocess.run(["systemctl", *arguments], check=check, timeout=120).returncode
    except (OSError, subprocess.SubprocessError) as problem:
        raise Refusal(f"systemctl {' '.join(arguments)} failed: {problem}") from None
