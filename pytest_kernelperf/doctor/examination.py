"""All that is looked at, in one record, and the one procedure that fills it. Nothing is judged here."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from pytest_kernelperf import __version__
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.machine import (
    ActivityReading,
    Answering,
    CompileReading,
    GateReading,
    Gpu,
    Machine,
    QueueReading,
    Reading,
    RecorderReading,
    TimerReading,
)
from pytest_kernelperf.model import DeviceFacts, Frozen
from pytest_kernelperf.worker.examiner import Opened
from pytest_kernelperf.worker.message import ProbeName

HERE = Path("/")

_R = TypeVar("_R")


class Patient(Protocol):
    """What is examined: ``worker.examiner.Examiner``, or a test's double."""

    def look(self, root: Path) -> Machine:
        """Describe a machine by its files."""

    def open(self) -> Opened:
        """Open the runtime's device."""

    def probe(self, name: ProbeName) -> Reading | None:
        """Do one probe of the device."""


class Examination(Frozen, frozen=True):
    """What was found. None where nothing was looked at, or where ``problems`` holds the sentence, by name.

    ``requested`` is the runtime asked for; "": a written-out tree alone was read and no device opened.
    """

    package: str
    python: str
    requested: str
    machine: Machine | None = None
    facts: DeviceFacts | None = None
    profilers: tuple[str, ...] = ()
    answering: Answering | None = None
    compiled: CompileReading | None = None
    gate: GateReading | None = None
    queue: QueueReading | None = None
    timer: TimerReading | None = None
    activity: ActivityReading | None = None
    recorder: RecorderReading | None = None
    problems: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def written_out(self) -> bool:
        """Whether the machine's files are another machine's."""
        return self.machine is not None and Path(self.machine.root) != HERE

    @property
    def gpu(self) -> Gpu | None:
        """The GPU that the files describe and the guard would use: the open device's, else the first that computes."""
        gpus = self.machine.gpus if self.machine else ()
        if self.facts is not None and not self.written_out:
            place = self.answering.place if self.answering else ""
            vendor = {"rocm": "AMD", "cuda": "NVIDIA"}.get(self.facts.runtime)
            gpus = tuple(gpu for gpu in gpus if gpu.vendor == vendor)
            return next((gpu for gpu in gpus if gpu.place == place), gpus[0] if len(gpus) == 1 else None)
        return next((gpu for gpu in gpus if gpu.compute_units), gpus[0] if gpus else None)


def examine(
    patient: Patient, requested: str, root: Path = HERE, profiler: Callable[[str], RecorderReading] | None = None
) -> Examination:
    """Look at everything; what fails becomes a sentence in ``problems``.

    ``requested``: the runtime to open, or "" to read files alone. ``profiler`` looks for what takes traces where the
    runtime, whose HIP library it is given, does not do so itself.
    """
    problems: dict[str, str] = {}
    found = Examination(__version__, platform.python_version(), requested)

    def ask(name: ProbeName, kind: type[_R]) -> _R | None:
        try:
            reading = patient.probe(name)
        except KernelperfError as error:
            problems[name] = str(error)
            return None
        return reading if isinstance(reading, kind) else None

    machine, opened = None, None
    try:
        machine = patient.look(root)  # first: an open device would look busy with us
    except KernelperfError as error:
        problems["machine"] = str(error)
    if requested:
        try:
            opened = patient.open()
        except KernelperfError as error:
            problems["runtime"] = str(error)
    if opened is None:
        return _with(found, machine=machine, problems=problems)
    found = _with(found, machine=machine, facts=opened.facts, profilers=opened.profilers)
    found = _with(
        found,
        answering=ask("answering", Answering),
        activity=ask("activity", ActivityReading),  # before the probes, which warm the device
        timer=ask("timer", TimerReading),
        compiled=ask("compile", CompileReading),
    )
    if "compile" not in problems:  # gate and queue are probed with kernels
        found = _with(found, gate=ask("gate", GateReading), queue=ask("queue", QueueReading))
    recorder = ask("recorder", RecorderReading)  # last: a process that recorded counts as traced
    if recorder is None and "recorder" not in problems and profiler is not None:
        try:
            recorder = profiler(opened.facts.library)
        except KernelperfError as error:
            problems["recorder"] = str(error)
    return _with(found, recorder=recorder, problems=problems)


def _with(found: Examination, **changes: object) -> Examination:
    return msgspec.structs.replace(found, **changes)
