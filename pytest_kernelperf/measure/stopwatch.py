"""How a batch of rounds is run and timed: the protocol, and a scripted double that ships.

The scripted clock exists so that the guard itself can be tested exactly: everything stays real (compiling,
loading, running, outputs) but the times, which a JSON file states::

    {"version": 1,
     "rules": [
       {"match": {"variant": "fused", "tokens": 512, "arm": "head"}, "us": 133.0, "noise_ratio": 0.001},
       {"match": {"kernel": "endless"}, "us": 1.0, "fault": "hang"},
       {"match": {}, "us": 100.0, "noise_ratio": 0.001, "process_ratio": 0.002}
     ]}

The first rule counts whose ``match`` fits; each of ``kernel``, ``variant``, ``tokens``, ``arm``, ``mode`` and
``process`` may be left out. What a rule says:

- ``us``: time per round in us; ``host_us``: time to enqueue it (half of ``us`` if left out).
- ``noise_ratio``: spread (standard deviation) from sample to sample.
- ``process_ratio``: spread from process to process that all arms of a process share; ``arm_ratio``: spread that each
  arm of each process has for itself, as identical code placed anew has.
- ``drift_ratio``: how much slower each block is than the one before.
- ``foreign_cores``, ``contended_by``: what the activity probe reports (the rule of the request's first arm), in the
  first ``contended_times`` measurements of a process, or in all.
- ``fault``: ``crash`` (the worker dies of SIGSEGV while timing), ``hang`` (it never returns), ``zero`` (the clock
  stands still), ``gate`` (the gate times out with more than 8 rounds).

Times depend on nothing but the rule, the request's seed, case, arm, mode, block and the process's number.
"""

from __future__ import annotations

import math
import os
import random
import signal
import time
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.measure.activity import Activity
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.model import CaseId, Frozen, Mode

_MAX_SCRIPT_BYTES = 1024 * 1024
_GATE_FAULT_ROUNDS = 8


class Timing(Frozen, frozen=True):
    """One timed batch: us per round, us per round to enqueue it, and us that it took altogether.

    ``timed_out``: the gate opened by itself, so that the host may have been waited for; not a sample.
    """

    time_us: float
    host_us: float
    spent_us: float
    timed_out: bool = False


class Stopwatch(Protocol):
    """Runs and times rounds of the arms' plans on the shared buffers."""

    def run(self, arm: Arm, rounds: int) -> None:
        """Run rounds without timing them, and wait for them. Raises ``DeviceError``."""

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        """Get ready to time; return why the mode cannot be used for this plan, "" if it can."""

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        """Time one batch; ``block`` is negative while warming up. Raises ``DeviceError``."""


class Match(Frozen, frozen=True):
    """Which samples a rule is for; None: any."""

    kernel: str | None = None
    variant: str | None = None
    tokens: int | None = None
    arm: str | None = None
    mode: Mode | None = None
    process: int | None = None

    def fits(self, case: CaseId, arm: str, mode: Mode, process: int) -> bool:
        """Whether everything that is stated agrees."""
        stated = (self.kernel, self.variant, self.tokens, self.arm, self.mode, self.process)
        actual = (case.kernel, case.variant, case.tokens, arm, mode, process)
        return all(want is None or want == have for want, have in zip(stated, actual, strict=True))


class Rule(Frozen, frozen=True):
    """What the scripted clock says (see the module's text)."""

    match: Match
    us: float
    host_us: float | None = None
    noise_ratio: float = 0.0
    process_ratio: float = 0.0
    arm_ratio: float = 0.0
    drift_ratio: float = 0.0
    foreign_cores: float = 0.0
    contended_by: str = ""
    contended_times: int | None = None
    fault: Literal["", "crash", "hang", "zero", "gate"] = ""


class ClockScript(Frozen, frozen=True):
    """The whole file."""

    version: Literal[1]
    rules: tuple[Rule, ...]

    def rule(self, case: CaseId, arm: str, mode: Mode, process: int) -> Rule:
        """Return the first rule that fits.

        Raises:
            UsageError: none does.
        """
        for rule in self.rules:
            if rule.match.fits(case, arm, mode, process):
                return rule
        raise UsageError(f"the clock script has no rule for {case}, arm {arm}, mode {mode}, process {process}: add one")


def read_script(path: Path) -> ClockScript:
    """Read a clock script.

    Raises:
        UsageError: it cannot be read, or is not one; the sentence says where.
    """
    try:
        with path.open("rb") as file:
            return msgspec.json.decode(file.read(_MAX_SCRIPT_BYTES), type=ClockScript)
    except OSError as error:
        raise UsageError(f"the clock script {path} cannot be read: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise UsageError(f"the clock script {path} is not one: {error}") from error


class ScriptedStopwatch:
    """Times from a script; runs and captures with a real stopwatch."""

    def __init__(self, real: Stopwatch, script: ClockScript, request: MeasureRequest, process: int) -> None:
        self._real = real
        self._script = script
        self._case = request.case
        self._seed = request.seed
        self._process = process

    def run(self, arm: Arm, rounds: int) -> None:
        """Run for real."""
        self._real.run(arm, rounds)

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        """Capture for real."""
        return self._real.prepare(arm, mode, rounds)

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        """Return the time that the script states; nothing is run."""
        rule = self._script.rule(self._case, arm.name, mode, self._process)
        if rule.fault == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        while rule.fault == "hang":
            time.sleep(1.0)
        exponent = (
            rule.process_ratio * self._draw("process")
            + rule.arm_ratio * self._draw("arm", arm.name)
            + rule.noise_ratio * self._draw("sample", arm.name, mode, str(block))
        )
        time_us = rule.us * math.exp(exponent) * (1 + rule.drift_ratio * max(0, block))
        if rule.fault == "zero":
            time_us = 0.0
        host_us = rule.us / 2 if rule.host_us is None else rule.host_us
        timed_out = rule.fault == "gate" and mode != "loop" and rounds > _GATE_FAULT_ROUNDS
        return Timing(time_us, host_us, time_us * rounds, timed_out)

    def _draw(self, *what: str) -> float:
        return random.Random("/".join((str(self._seed), str(self._case), str(self._process), *what))).gauss(0.0, 1.0)


class ScriptedActivity:
    """Foreign activity as the script states it."""

    def __init__(self, script: ClockScript, request: MeasureRequest, process: int, earlier: int) -> None:
        """``earlier``: how many measurements this process has done before."""
        self._rule = script.rule(request.case, request.arms[0].name, request.mode, process)
        self._active = self._rule.contended_times is None or earlier < self._rule.contended_times

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> Activity:
        """What the rule says."""
        if not self._active:
            return Activity(1.0)
        return Activity(1.0, self._rule.foreign_cores, contended_by=self._rule.contended_by)
