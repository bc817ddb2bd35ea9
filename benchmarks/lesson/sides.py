"""The two sides that take turns: the guard's device workers, and the program written by hand."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from elftools.elf.elffile import ELFFile

from lesson.cases import BUFFERS, Case, Lesson
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.measure.buffers import PADDING_STEP_BYTES, choose_padding
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.worker.pool import WorkerPool

SOURCE = Path(__file__).with_name("by_hand.cu")
WARM_UP_US = 20_000.0
TRIES = 5
USUAL_COMPILERS = ("/usr/local/cuda/bin/nvcc",)


class HandError(Exception):
    """The hand-written program cannot be built or run; the text is the sentence."""


class Side(Protocol):
    """One process of a side."""

    name: str
    seconds: float

    def sample(self, case: Case, mode: str, samples: int) -> list[float]:
        """Microseconds per round, one a sample; ``seconds`` grows by what it took."""


class Guard:
    """A device worker of the guard, measuring as it does for ``pytest --kernelperf``."""

    def __init__(self, pool: WorkerPool, layout: int, copy: str, lesson: Lesson) -> None:
        """``layout``: how its buffers lie beside each other, which a worker draws by its number."""
        self.name, self.seconds = f"guard {layout}{copy}", 0.0
        self._pool, self._process, self._lesson = pool, layout, lesson
        begin = time.perf_counter()
        pool.compile(lesson.bundle, (), process=layout)  # as every guard must, and it starts the worker
        self.seconds += time.perf_counter() - begin

    def sample(self, case: Case, mode: Any, samples: int) -> list[float]:
        """Take the samples; a disturbed measurement is taken again. Raises ``KernelperfError``."""
        request = MeasureRequest(
            case=case.id,
            mode=mode,
            arms=(Arm("head", self._lesson.code, case.plan),),
            blocks=samples,
            rounds=self._lesson.rounds,
        )
        begin = time.perf_counter()
        try:
            for _ in range(TRIES):
                measurement = self._pool.measure(self._process, request, self._lesson.inputs[case.tokens])
                reason = measurement.contended_by or measurement.invalid or measurement.fallback
                if not reason:
                    return list(measurement.times_us("head"))
            raise KernelperfError(f"{case.id} in {mode} mode cannot be measured: {reason}")
        finally:
            self.seconds += time.perf_counter() - begin


class ByHand:
    """A process of the hand-written program, asked a line at a time."""

    def __init__(self, program: Path, layout: int, copy: str, lesson: Lesson) -> None:
        """``layout``: the guard's worker of this number lays the same buffers out alike."""
        self.name, self.seconds = f"by hand {layout}{copy}", 0.0
        self._lesson = lesson
        begin = time.perf_counter()
        self._process = subprocess.Popen(
            [program, *map(str, padding_bytes(layout))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.greeting = self._read()
        self.seconds += time.perf_counter() - begin

    def sample(self, case: Case, mode: str, samples: int) -> list[float]:
        """Take the samples. Raises ``HandError``."""
        begin = time.perf_counter()
        answer = self._ask(f"{mode} {case.variant} {case.tokens} {self._lesson.rounds} {samples} {WARM_UP_US:g}")
        self.seconds += time.perf_counter() - begin
        times = [float(word) for word in answer.split()]
        if len(times) != samples:
            raise HandError(f"{self.name} took {len(times)} samples of {case.id} where {samples} were asked for")
        return times

    def check(self, folder: Path) -> None:
        """Refuse a program that does not compute what the guard's kernels compute. Raises ``HandError``."""
        for case in self._lesson.cases:
            file = folder / "x"
            self._ask(f"check {case.variant} {case.tokens} {file}")
            if not np.array_equal(np.fromfile(file, np.float32), self._lesson.reference(case.tokens).reshape(-1)):
                raise HandError(f"the hand-written {case.variant} is wrong at {case.tokens}")

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        try:
            print(line, file=self._process.stdin, flush=True)
        except OSError as error:
            raise HandError(f"{self.name} has ended") from error
        return self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        answer = self._process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise HandError(f"{self.name} says: {answer or 'nothing, and has ended'}")
        return answer

    def __enter__(self) -> ByHand:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()


def padding_bytes(layout: int) -> list[int]:
    """What a worker of the guard leaves free before each of the lesson's buffers."""
    return [choose_padding(layout, name) * PADDING_STEP_BYTES for name in BUFFERS]


@dataclass(frozen=True)
class Built:
    """The hand-written code: as a program, as a library (None: not to be had), and its device code alone."""

    program: Path
    library: Path | None
    cubin: Path | None


def build_by_hand(folder: Path, architecture: str) -> Built:
    """Compile it in all three ways at once. Raises ``HandError``."""
    compiler = shutil.which("nvcc") or next((path for path in USUAL_COMPILERS if os.access(path, os.X_OK)), None)
    if compiler is None:
        raise HandError("nvcc is needed for the hand-written side: install the CUDA toolkit and put its bin on PATH")
    ways = {"by_hand": (), "by_hand.so": ("-shared", "-Xcompiler", "-fPIC"), "by_hand.cubin": ("-cubin",)}
    common = [compiler, "-O3", "-std=c++17", f"-arch={architecture}", str(SOURCE)]
    builds = [
        subprocess.Popen(
            [*common, *options, "-o", str(folder / name)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for name, options in ways.items()
    ]
    said = [build.communicate()[0] for build in builds]
    for build, text in zip(builds, said, strict=True):
        if build.returncode != 0:
            raise HandError(f"nvcc cannot compile {SOURCE.name}: {text.strip()[-500:]}")
    return Built(*(folder / name for name in ways))


def same_instructions(one: bytes, other: bytes) -> dict[str, bool]:
    """For each kernel of one cubin, whether another holds the same instructions for it."""
    ours, theirs = _texts(one), _texts(other)
    return {name: text == theirs.get(name) for name, text in sorted(ours.items())}


def _texts(cubin: bytes) -> dict[str, bytes]:
    sections = ELFFile(io.BytesIO(cubin)).iter_sections()
    return {s.name.removeprefix(".text."): bytes(s.data()) for s in sections if s.name.startswith(".text.")}
