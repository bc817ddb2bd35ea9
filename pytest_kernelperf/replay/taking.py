"""Taking a case's traces: each arm is replayed under a recorder, and what comes out is read. No failure leaves here.

    is the recorder there, does it fit? -> for each arm: a fresh folder -> the replay, guarded -> its file -> read, keep

A sentence stands for whatever goes wrong, and the next arm is tried, unless the recorder overran its time: the same
would happen again, so it is not asked again in this run.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pytest_kernelperf.errors import KernelperfError, ReplayError, TraceError
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CaseTrace, DeviceFacts
from pytest_kernelperf.replay import rocprofv3
from pytest_kernelperf.replay.command import RECEIPT, ROUNDS, find_receipt, replay_command
from pytest_kernelperf.replay.guarded import Ended, Limits, run_guarded
from pytest_kernelperf.strict_json import one_line
from pytest_kernelperf.trace.arm import ArmTrace, Replayed, find_arm_file, read_arm
from pytest_kernelperf.trace.origin import PROFILER, sidecar

MOST_TRACE_BYTES = 64 * 1024 * 1024
VERSION_LIMIT_S = 30.0
SHOWN = 3


class Recorder(Protocol):
    """What records a replay."""

    origin: str
    name: str

    def prepare(self, scratch: Path) -> None:
        """Look whether it can be used. Raises ``ReplayError``."""

    def command(self, case_file: Path, arm: str, folder: Path) -> list[str]:
        """Return the command that replays an arm and leaves its ``.db`` somewhere below ``folder``."""


class OwnRecorder:
    """The cpu and cuda runtimes record themselves."""

    name = "the replay"

    def __init__(self, origin: str) -> None:
        self.origin = origin

    def prepare(self, scratch: Path) -> None:
        """There is nothing to look for: the replay says what is missing."""

    def command(self, case_file: Path, arm: str, folder: Path) -> list[str]:
        """Return the replay alone."""
        return replay_command(case_file, arm, ROUNDS, folder / "replay.db")


class Rocprofv3:
    """AMD's profiler: looked for and asked for its version once."""

    origin = PROFILER
    name = rocprofv3.NAME

    def __init__(self, library: Path, stated: Path | None, environment: Mapping[str, str]) -> None:
        """``library``: the HIP library of the runtime; ``stated``: the user's setting."""
        self._library = library
        self._stated = stated
        self._environment = environment
        self._path: Path | None = None
        self._version = ""
        self._problem = ""

    def __str__(self) -> str:
        return f"{self.name} of ROCm {self._version}"

    @property
    def path(self) -> Path:
        """The program, once ``prepare`` has found it."""
        assert self._path is not None
        return self._path

    def prepare(self, scratch: Path) -> None:
        """Find it and check its version, the first time. Raises ``ReplayError``, each time the same."""
        if self._problem:
            raise ReplayError(self._problem)
        if self._path is None:
            limits = Limits(VERSION_LIMIT_S, MOST_TRACE_BYTES)

            def run(command: Sequence[str]) -> Ended:
                return run_guarded(command, scratch, environment, limits)

            environment = rocprofv3.trace_environment(self._environment, scratch)
            try:
                path = rocprofv3.find_rocprofv3(self._library, self._stated, self._environment)
                self._version = rocprofv3.check_version(path, self._library, run)
            except ReplayError as problem:
                self._problem = str(problem)
                raise
            self._path = path

    def command(self, case_file: Path, arm: str, folder: Path) -> list[str]:
        """Return the profiler with the replay behind it."""
        return rocprofv3.trace_command(self.path, folder, replay_command(case_file, arm, ROUNDS, None))


def recorder_for(device: DeviceFacts, stated: Path | None, environment: Mapping[str, str]) -> Recorder:
    """Return what records on a device; ``stated`` is the user's rocprofv3."""
    if device.runtime == "rocm":
        return Rocprofv3(Path(device.library), stated, environment)
    if device.runtime == "cuda":
        return OwnRecorder("cupti")
    return OwnRecorder("cpu")


@dataclass(frozen=True)
class Wanted:
    """What is traced: the case's file and arms, and how the records name the folder that the ``.db`` files go to."""

    case_file: Path
    arms: tuple[Arm, ...]
    shown_folder: str


class Taker:
    """Takes traces for one run."""

    def __init__(self, recorder: Recorder, environment: Mapping[str, str], limit_s: float) -> None:
        """``environment`` is what replays run in; ``limit_s``: seconds that one of them may take."""
        self._recorder = recorder
        self._environment = environment
        self._limits = Limits(limit_s, MOST_TRACE_BYTES)
        self._given_up = ""

    def take(self, wanted: Wanted) -> CaseTrace:
        """Trace all arms of a case; notes say what went wrong."""
        notes: list[str] = []
        traces: list[ArmTrace] = []
        folder = wanted.case_file.parent
        try:
            self._prepare(folder)
        except (KernelperfError, OSError) as problem:
            return CaseTrace(self._recorder.origin, notes=(_note("not traced", problem),))
        for arm in wanted.arms:
            if self._given_up:
                notes.append(f"{arm.name}: not traced: {self._given_up}")
                continue
            try:
                with _scratch(folder) as scratch:
                    trace = self._take_arm(wanted, arm, scratch, notes)
                traces.append(trace)
                notes += [f"{arm.name}: {note}" for note in trace.notes]
            except (KernelperfError, OSError) as problem:
                notes.append(_note(arm.name, problem))
        units = {trace.compute_units for trace in traces}
        return CaseTrace(
            self._recorder.origin,
            tuple(trace.arm for trace in traces),
            tuple(notes),
            units.pop() if len(units) == 1 else None,
        )

    def _prepare(self, folder: Path) -> None:
        if self._given_up:
            raise ReplayError(self._given_up)
        with _scratch(folder) as scratch:
            self._recorder.prepare(scratch)

    def _take_arm(self, wanted: Wanted, arm: Arm, scratch: Path, notes: list[str]) -> ArmTrace:
        output, temporary = scratch / "output", scratch / "tmp"
        output.mkdir()
        temporary.mkdir()
        command = self._recorder.command(wanted.case_file, arm.name, output)
        environment = rocprofv3.trace_environment(self._environment, temporary)
        ended = run_guarded(command, scratch, environment, self._limits, RECEIPT)
        if ended.left:
            shown = ", ".join(ended.left[:SHOWN])
            notes.append(f"{arm.name}: {self._recorder.name} left processes running, which were ended ({shown})")
        if ended.overran:
            self._given_up = f"{self._recorder.name} did not come to an end before in this run"
        if ended.problem:
            raise ReplayError(f"{self._recorder.name} {ended.problem}")
        receipt = find_receipt(ended.sign)
        if receipt is None or (receipt.arm, receipt.rounds) != (arm.name, ROUNDS):
            raise ReplayError(f"{self._recorder.name} ended without having run the replay to its end")
        launches = tuple(launch.kernel for launch in arm.plan.launches)
        source = find_arm_file(_databases(scratch), receipt.pid)
        name = f"{arm.name}.db"
        trace = read_arm(source, arm.name, Replayed(receipt.pid, ROUNDS, launches), f"{wanted.shown_folder}/{name}")
        if trace.origin != self._recorder.origin:
            raise TraceError(f"it was recorded by {one_line(trace.origin)}, not by {self._recorder.origin}")
        target = wanted.case_file.with_name(name)
        source.replace(target)
        sidecar(target).unlink(missing_ok=True)
        if sidecar(source).exists():
            sidecar(source).replace(sidecar(target))
        return trace


def _databases(folder: Path) -> list[Path]:
    """All ``.db`` files that were written, wherever; links and what is no file are none.

    Raises:
        TraceError: there is none; says what was written instead.
    """
    found: list[Path] = []
    others: list[Path] = []
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(place) / name
            is_file = stat.S_ISREG(path.lstat().st_mode)
            (found if is_file and name.endswith(".db") else others).append(path)
    if not found:
        instead = f" (but {', '.join(one_line(path.name)[:80] for path in others[:SHOWN])})" if others else ""
        raise TraceError(f"no .db was written{instead}, as happens where no kernel was recorded")
    return found


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """Yield a fresh folder that is gone afterwards."""
    scratch = Path(tempfile.mkdtemp(prefix=".replay-", dir=folder))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _note(subject: str, problem: Exception) -> str:
    return one_line(f"{subject}: {problem}")[:1000]
