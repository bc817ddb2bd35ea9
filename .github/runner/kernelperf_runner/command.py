"""``started`` and ``completed`` (the hooks), ``supervise`` (root's service), ``check`` (is this box set up?)."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from kernelperf_runner.api import Api, Unreachable
from kernelperf_runner.box import SystemdBox
from kernelperf_runner.document import Refusal
from kernelperf_runner.hook import LOG_S, SETTINGS, completed, started
from kernelperf_runner.machine import unfit
from kernelperf_runner.rules import read_rules
from kernelperf_runner.supervisor import Supervisor, waiting


def main(arguments: Sequence[str]) -> int:
    """Run one of the programs and return its exit code."""
    parser = argparse.ArgumentParser(prog="kernelperf-runner", description=__doc__)
    parser.add_argument("program", choices=("started", "completed", "supervise", "check"))
    parser.add_argument("--settings", type=Path, default=SETTINGS, help="the box's settings")
    parser.add_argument("--root", type=Path, default=Path("/"), help="where sys/ and proc/ lie; elsewhere in tests")
    parser.add_argument("--log-s", type=float, default=LOG_S, help="seconds between a refusal and the worker's end")
    parser.add_argument("--api", default="https://api.github.com", help="GitHub's REST API")
    chosen = parser.parse_args(arguments)
    if chosen.program == "started":
        return started(os.environ, chosen.settings, chosen.root, chosen.log_s)
    if chosen.program == "completed":
        return completed(os.environ)
    try:
        return _check(chosen) if chosen.program == "check" else _supervise(chosen)
    except (Refusal, Unreachable) as problem:
        print(f"kernelperf-runner: {problem}", flush=True)
        return 1


def _supervise(chosen: argparse.Namespace) -> int:
    rules = read_rules(chosen.settings)
    github = Api(rules.repository, _token(), chosen.api)
    # Stopped in the middle of a job: end it, clear the box, give the clocks back, and only then go.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    Supervisor(github, SystemdBox(rules.machine), rules).serve()
    return 0


def _check(chosen: argparse.Namespace) -> int:
    """Read the settings, look at the machine, ask GitHub what waits. Changes nothing."""
    rules = read_rules(chosen.settings)
    approvers = ", ".join(rules.approvers) or "none"
    print(f"settings   {rules.repository}, {len(rules.workflows)} workflows, approvers: {approvers}")
    problem = unfit(chosen.root, rules.machine)
    print(f"machine    {problem or 'idle, cool and set for measuring'}")
    found = waiting(Api(rules.repository, _token(), chosen.api), rules)
    print(f"GitHub     answers; {len(found)} runs wait for this box")
    for each in found:
        print(f"           run {each.run} {'may' if each.allowed else 'may NOT'} have it: {each.sentence}")
    return 1 if problem else 0


def _token() -> str:
    """Read the credential that systemd hands to the supervisor alone."""
    folder = os.environ.get("CREDENTIALS_DIRECTORY")
    file = Path(folder or "/etc/kernelperf-runner") / "token"
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as problem:
        raise Refusal(f"the token {file} cannot be read: {problem}") from None
