"""The runner's two hooks: before a job the gate and the machine's state, after it the job's processes and files.

A hook's exit code alone stops nothing that says ``if: always()`` (actions/runner, issue 2811), so a refusal ends the
runner's worker: without it no step of any kind is started, and the listener reports the job as failed.
"""

from __future__ import annotations

import shutil
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from kernelperf_runner.document import Refusal, read
from kernelperf_runner.gate import decide
from kernelperf_runner.machine import wait_until_fit
from kernelperf_runner.process import HERE, Processes
from kernelperf_runner.rules import read_rules

SETTINGS = Path("/etc/kernelperf-runner/gate.json")
WORKER = "Runner.Worker"

LOG_S = 3.0
"""The worker sends its log in pieces; what is said just before its end should arrive."""

LEFT_IN_WORK = ("_actions", "_tool")
LEFT_AT_HOME = (".cache", ".config", ".local", ".triton", ".miopen", ".comgr", ".nv", ".bashrc", ".profile", ".ssh")


def started(
    variables: Mapping[str, str],
    settings: Path = SETTINGS,
    root: Path = Path("/"),
    log_s: float = LOG_S,
    processes: Processes = HERE,
) -> int:
    """Let the job run, or end it; the exit code is 0 only where it may run."""
    # A job that is cancelled now must not outlive the refusal: the runner sends these before it kills.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    allowed = False
    try:
        rules = read_rules(settings)
        why = decide(variables, read(Path(variables.get("GITHUB_EVENT_PATH", "")), "the event's payload"), rules)
        _say(f"kernelperf runner: this job may run: {why}")
        wait_until_fit(root, rules.machine)
        _say("kernelperf runner: the machine is idle, cool and set for measuring")
        allowed = True
    except Refusal as refusal:
        _say(f"::error title=kernelperf runner::this job does not run here: {refusal}")
    except Exception as problem:
        _say(f"::error title=kernelperf runner::this job does not run here: the gate failed: {problem!r:.300}")
    finally:
        if not allowed:
            time.sleep(log_s)
            end_worker(processes)
    return 0 if allowed else 1


def end_worker(processes: Processes = HERE) -> None:
    """Kill the worker above this process, or, where there is none, all else of the runner's unit."""
    workers = [process for process in processes.above() if processes.name(process) == WORKER]
    for process in workers or processes.of_the_unit():
        processes.kill(process)


def completed(variables: Mapping[str, str], processes: Processes = HERE) -> int:
    """End what the job left running and delete what it left lying. The supervisor throws the rest away."""
    for process in processes.of_the_unit():
        if process not in processes.above():
            _say(f"kernelperf runner: ending {processes.name(process)} ({process}), which the job left running")
            processes.kill(process)
    folders = [Path(variables["GITHUB_WORKSPACE"])] if variables.get("GITHUB_WORKSPACE") else []
    if variables.get("RUNNER_TEMP"):
        folders += [Path(variables["RUNNER_TEMP"]).parent / name for name in LEFT_IN_WORK]
    if variables.get("HOME"):
        folders += [Path(variables["HOME"]) / name for name in LEFT_AT_HOME]
    for folder in folders:
        # Nested deeper than Python recurses, or shut by the job: the supervisor's to delete.
        with suppress(RecursionError, OSError):
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder, ignore_errors=True)
            else:
                folder.unlink(missing_ok=True)
    return 0


def _say(text: str) -> None:
    # A log that nobody takes any more must not keep a refusal from being carried out.
    with suppress(OSError):
        print(text, flush=True)
