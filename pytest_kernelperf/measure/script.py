"""The scripted clock: a double that ships, so that the guard itself can be tested exactly.

Everything stays real (compiling, loading, running, outputs) but the times, which a JSON file states::

    {"version": 1,
     "rules": [
       {"match": {"variant": "fused", "tokens": 512, "arm": "head"}, "us": 133.0, "noise_ratio": 0.001},
       {"match": {"kernel": "endless"}, "us": 1.0, "fault": "hang"},
       {"match": {}, "us": 100.0, "noise_ratio": 0.001, "process_ratio": 0.002}
     ]}

The first rule counts whose ``match`` fits; each of ``kernel``, ``variant``, ``tokens``, ``arm``, ``mode`` and
``process`` may be left out. What a rule says of times:

- ``us``: time per round in us; ``host_us``: time to enqueue it (half of ``us`` if left out).
- ``noise_ratio``: spread (standard deviation) from sample to sample.
- ``process_ratio``: spread from process to process that all arms of a process share; ``arm_ratio``: spread that each
  arm of each process has for itself, as identical code placed anew has.
- ``drift_ratio``: how much slower each block is than the one before.
- ``ramp_ratio``, ``ramp_batches``: how much slower the first batch is, which wears off evenly over so many batches of
  a measurement, as clocks that rise do.
- ``speeds``, ``speed_by``: factors of which one is drawn for each ``sample``, each ``block`` (all arms alike), or each
  ``process`` (all arms alike).

Of the device's clock:

- ``clock_mhz``, or ``cycles`` per round, which stay what they are whatever the time is; neither: no counter.
- ``throttled_by``: what holds the clock down, in the first ``throttled_times`` windows of the blocks, or in all.
- ``power_limited``: the power limit does.

Of others (the rule of the request's first arm):

- ``foreign_cores``, ``contended_by``: what the activity probe reports, in the first ``contended_times`` measurements of
  a process, or in all; with ``contended_windows`` in these windows of a measurement alone (0 is the warm-up, each
  quarter of a second of the blocks is one more).

And faults:

- ``fault``: ``crash`` (the worker dies of SIGSEGV while timing), ``hang`` (it never returns), ``zero`` (the clock
  stands still), ``negative`` (it runs backwards), ``absurd`` (it jumps), ``gate`` (the gate times out with more than
  8 rounds); ``fault_times``: only at the first so many samples of a measurement.

Times depend on nothing but the rule, the request's seed, case, arm, mode, block, the process's number and, where a
rule counts batches, samples or windows, how many there were before.
"""

from __future__ import annotations

import math
import os
import random
import signal
import time
from pathlib import Path
from typing import Literal

import msgspec

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.measure.activity import Activity
from pytest_kernelperf.measure.limits import POWER, Limits
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.stopwatch import Stopwatch, Timing
from pytest_kernelperf.model import CaseId, Frozen, Mode

_MAX_SCRIPT_BYTES = 1024 * 1024
_GATE_FAULT_ROUNDS = 8
_FAULTY_US = {"zero": 0.0, "negative": -5.0, "absurd": 1e15}


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
    fault: Literal["", "crash", "hang", "zero", "negative", "absurd", "gate"] = ""
    fault_times: int | None = None
    contended_windows: tuple[int, ...] | None = None
    ramp_ratio: float = 0.0
    ramp_batches: int = 0
    speeds: tuple[float, ...] = ()
    speed_by: Literal["sample", "block", "process"] = "sample"
    clock_mhz: float | None = None
    cycles: float | None = None
    throttled_by: str = ""
    throttled_times: int | None = None
    power_limited: bool = False


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
        self._batches: dict[str, int] = {}
        self._faults = 0

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
        time_us = rule.us * math.exp(self._noise(rule, arm, mode, block)) * (1 + rule.drift_ratio * max(0, block))
        time_us *= self._ramp(rule, arm) * self._speed(rule, arm, mode, block)
        clock_mhz = rule.clock_mhz if rule.cycles is None else rule.cycles / time_us
        if rule.fault in _FAULTY_US and block >= 0 and self._is_faulty(rule):
            time_us = _FAULTY_US[rule.fault]
        host_us = rule.us / 2 if rule.host_us is None else rule.host_us
        timed_out = rule.fault == "gate" and mode != "loop" and rounds > _GATE_FAULT_ROUNDS
        return Timing(time_us, host_us, time_us * rounds, timed_out, clock_mhz)

    def _noise(self, rule: Rule, arm: Arm, mode: Mode, block: int) -> float:
        return (
            rule.process_ratio * self._draw("process")
            + rule.arm_ratio * self._draw("arm", arm.name)
            + rule.noise_ratio * self._draw("sample", arm.name, mode, str(block))
        )

    def _ramp(self, rule: Rule, arm: Arm) -> float:
        """The factor of an arm's next batch: what is left of the ramp."""
        before = self._batches.get(arm.name, 0)
        self._batches[arm.name] = before + 1
        return 1 + rule.ramp_ratio * max(0.0, 1 - before / rule.ramp_batches) if rule.ramp_batches else 1.0

    def _speed(self, rule: Rule, arm: Arm, mode: Mode, block: int) -> float:
        if not rule.speeds:
            return 1.0
        what = {"sample": (arm.name, mode, str(block)), "block": (str(block),), "process": ()}[rule.speed_by]
        return self._generator("speed", *what).choice(rule.speeds)

    def _is_faulty(self, rule: Rule) -> bool:
        self._faults += 1
        return rule.fault_times is None or self._faults <= rule.fault_times

    def _draw(self, *what: str) -> float:
        return self._generator(*what).gauss(0.0, 1.0)

    def _generator(self, *what: str) -> random.Random:
        return random.Random("/".join((str(self._seed), str(self._case), str(self._process), *what)))


class ScriptedActivity:
    """Foreign activity as the script states it."""

    def __init__(self, script: ClockScript, request: MeasureRequest, process: int, earlier: int) -> None:
        """``earlier``: how many measurements this process has done before."""
        self._rule = script.rule(request.case, request.arms[0].name, request.mode, process)
        self._active = self._rule.contended_times is None or earlier < self._rule.contended_times
        self._windows = 0

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> Activity:
        """What the rule says."""
        window, self._windows = self._windows, self._windows + 1
        chosen = self._rule.contended_windows
        if not self._active or (chosen is not None and window not in chosen):
            return Activity(1.0)
        return Activity(1.0, self._rule.foreign_cores, contended_by=self._rule.contended_by)


class ScriptedLimits:
    """What holds the clock down, as the script states it."""

    def __init__(self, script: ClockScript, request: MeasureRequest, process: int) -> None:
        self._rule = script.rule(request.case, request.arms[0].name, request.mode, process)
        self._windows = 0

    def start(self) -> None:
        """Nothing to begin."""

    def stop(self) -> Limits:
        """What the rule says."""
        self._windows += 1
        hot = self._rule.throttled_times is None or self._windows <= self._rule.throttled_times
        return Limits(self._rule.throttled_by if hot else "", POWER if self._rule.power_limited else "")
