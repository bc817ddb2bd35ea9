"""The machine as the supervisor acts on it: folders, the runner's unit, the GPU's clock policy."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path

from kernelperf_runner.document import Refusal
from kernelperf_runner.machine import set_performance_level
from kernelperf_runner.process import UNIT
from kernelperf_runner.rules import Limits

PRISTINE = Path("/opt/actions-runner")
"""The runner as GitHub publishes it: root's, read-only, copied anew for each job."""

JOB = Path("/var/lib/kernelperf-job")
CONFIGURATION = Path("/run/kernelperf-runner/jitconfig")
USER = "kernelperf-job"


class SystemdBox:
    """A machine with systemd and one AMD GPU."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def prepare(self, configuration: str) -> None:
        """Copy the pristine runner into the job's empty folder, leave its configuration, set the clocks."""
        self.clear()
        runner, home = JOB / "runner", JOB / "home"
        shutil.copytree(PRISTINE, runner, symlinks=True)
        home.mkdir(mode=0o700)
        account = pwd.getpwnam(USER)
        for folder, _, files in os.walk(JOB):
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
        """Empty the job's folder, forget the configuration, give the clocks back."""
        CONFIGURATION.unlink(missing_ok=True)
        for entry in JOB.iterdir() if JOB.is_dir() else ():
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        set_performance_level(Path("/"), "auto")


def _systemctl(*arguments: str, check: bool = True) -> int:
    try:
        return subprocess.run(["systemctl", *arguments], check=check, timeout=120).returncode
    except (OSError, subprocess.SubprocessError) as problem:
        raise Refusal(f"systemctl {' '.join(arguments)} failed: {problem}") from None
