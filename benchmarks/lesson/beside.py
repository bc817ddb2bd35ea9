"""The guard and the hand-written code in one process: same context, same buffers, sample by sample in random order.

    python beside.py LIBRARY RUNTIME SAMPLES ROUNDS PROCESS [--own-stream] [TOKENS...]

What a process is like then falls on both alike, and their ratio says how true the guard's method is. The guard's
arm is timed by the very procedure that times it for ``pytest --kernelperf``; where that asks for the other arm's
time, the hand-written library answers, with kernels, launches, events, a gate and graphs of its own, on the same
stream (``--own-stream``: on another: how far apart two streams are).

Prints a line of JSON for each case and mode: ``{"variant", "tokens", "mode", "guard": [us...], "by hand": [us...]}``,
or ``"failed"`` with a sentence.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from lesson.cases import BUFFERS, Case, Lesson
from lesson.comparison import BY_HAND, BY_RUNTIME, GUARD, is_sharp
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.measure.activity import GpuActivity
from pytest_kernelperf.measure.buffers import SharedBuffers
from pytest_kernelperf.measure.clock import LoopStopwatch
from pytest_kernelperf.measure.policy import BatchSize
from pytest_kernelperf.measure.procedure import measure
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.stopwatch import Stopwatch, Timing
from pytest_kernelperf.measure.tools import Tools
from pytest_kernelperf.measure.untraced import find_profilers
from pytest_kernelperf.model import CodeObject, Mode, SourceBundle
from pytest_kernelperf.runtime import gate, nvml
from pytest_kernelperf.runtime.code import make_code
from pytest_kernelperf.runtime.hip import Buffer, Device, Module, Stream
from pytest_kernelperf.runtime.library import choose
from pytest_kernelperf.runtime.loop import Loop

MODES: tuple[Mode, ...] = ("queued", "loop", "graph")
LONGEST_US = 100_000.0
WARM_UP_US = 50_000.0
TRIES = 3
MOST_LOOKS = 8


class HandStopwatch:
    """The hand-written library as a stopwatch for one case; close it before the buffers."""

    def __init__(self, library: ctypes.CDLL, stream: Stream | None, case: Case, buffers: Mapping[str, Buffer]) -> None:
        self._library = library
        addresses = (ctypes.c_void_p(buffers[name].address) for name in BUFFERS)
        handle = ctypes.c_void_p(stream.handle if stream is not None else None)
        self._handle = library.by_hand_open(handle, case.variant.encode(), case.tokens, *addresses)
        self._must(self._handle)

    def run(self, arm: Arm, rounds: int) -> None:
        """Run rounds untimed."""
        self._must(self._library.by_hand_run(self._handle, rounds))

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        """Capture its own graph."""
        if mode == "graph":
            self._must(self._library.by_hand_capture(self._handle, rounds))
        return ""

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        """One sample, as it takes it."""
        name = "runtime" if arm.name == BY_RUNTIME else mode
        time_us = float(self._library.by_hand_time(self._handle, name.encode(), rounds))
        self._must(time_us > 0)
        return Timing(time_us, time_us, time_us * rounds)

    def close(self) -> None:
        """Give back its graph."""
        self._library.by_hand_close(self._handle)

    def _must(self, succeeded: object) -> None:
        if not succeeded:
            raise KernelperfError(f"by hand: {self._library.by_hand_error().decode()}")


class Either:
    """The stopwatch that each arm is timed with."""

    def __init__(self, guard: Stopwatch, by_hand: Stopwatch) -> None:
        self._guard, self._by_hand = guard, by_hand

    def run(self, arm: Arm, rounds: int) -> None:
        """Run by the arm's own."""
        self._of(arm).run(arm, rounds)

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        """Prepare by the arm's own."""
        return self._of(arm).prepare(arm, mode, rounds)

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        """Time by the arm's own."""
        return self._of(arm).time(arm, mode, rounds, block)

    def _of(self, arm: Arm) -> Stopwatch:
        return self._guard if arm.name == GUARD else self._by_hand


def open_library(path: str) -> ctypes.CDLL:
    """The hand-written library with its functions' types."""
    library = ctypes.CDLL(path)
    library.by_hand_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, *[ctypes.c_void_p] * len(BUFFERS)]
    library.by_hand_open.restype = ctypes.c_void_p
    library.by_hand_error.restype = ctypes.c_char_p
    for name in ("by_hand_run", "by_hand_capture"):
        getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_long]
        getattr(library, name).restype = ctypes.c_bool
    library.by_hand_time.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_long]
    library.by_hand_time.restype = ctypes.c_double
    library.by_hand_close.argtypes = [ctypes.c_void_p]
    library.by_hand_close.restype = None
    return library


def compare(
    device: Device, lesson: Lesson, library: ctypes.CDLL, own_stream: bool, samples: int, process: int
) -> Iterator[dict[str, Any]]:
    """Each case in each mode, as it is measured."""
    users = nvml.open_users(device.text("hipDeviceGetPCIBusId"))
    with Loop(device) as loop, device.load(lesson.code.data, lesson.code.lowered_names) as module:
        for case in lesson.cases:
            buffers = SharedBuffers(device, loop.stream, lesson.inputs[case.tokens], process)
            guard = _guard_stopwatch(loop, module, buffers)
            by_hand = HandStopwatch(library, None if own_stream else loop.stream, case, buffers.buffers)
            tools = Tools(
                process=process,
                stopwatch=Either(guard, by_hand),
                buffers=buffers,
                probe=GpuActivity(os.getpid(), users),
                find_profilers=find_profilers,
                say=lambda step: None,
                size=BatchSize(LONGEST_US, lesson.rounds, gate.QUEUE_DEPTH - gate.QUEUE_MARGIN),
                warm_up_us=WARM_UP_US,
            )
            for mode in MODES:
                place = {"variant": case.variant, "tokens": case.tokens, "mode": mode}
                yield place | take_times(lesson, case, mode, samples, tools)
            guard.close()
            by_hand.close()
            buffers.close()


def _guard_stopwatch(loop: Loop, module: Module, buffers: SharedBuffers) -> LoopStopwatch:
    return LoopStopwatch(loop, lambda code: module, buffers.copies)


def take_times(lesson: Lesson, case: Case, mode: Mode, samples: int, tools: Tools) -> dict[str, Any]:
    """The samples of each arm in us per round, ``loop`` also by ``<<<>>>``; more of them where the ratio is not sharp.

    How many are taken depends on how sharp the ratio is, not on what it is.
    """
    names = (GUARD, BY_HAND, BY_RUNTIME) if mode == "loop" else (GUARD, BY_HAND)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for look in range(MOST_LOOKS):
        request = MeasureRequest(
            case=case.id,
            mode=mode,
            arms=tuple(Arm(name, lesson.code, case.plan) for name in names),
            blocks=samples,
            first_block=look * samples,
            seed=tools.process + case.place,
            rounds=lesson.rounds,
            check_outputs=("x",),
        )
        for _ in range(TRIES):
            tools.buffers.restore(frozenset(BUFFERS))
            measured = measure(request, tools)
            reason = measured.contended_by or measured.invalid or measured.fallback
            if not reason:
                break
        else:
            return {"failed": f"{case.id} in {mode} mode cannot be measured: {reason}"}
        for name in names:
            taken[name] += measured.times_us(name)
        if is_sharp(taken[GUARD], taken[BY_HAND]):
            break
    return dict(taken)


def main(path: str, runtime: str, samples: str, rounds: str, process: str, *rest: str) -> int:
    """Print what each case gave."""
    own_stream, tokens = "--own-stream" in rest, [word for word in rest if word.isdecimal()]
    with Device(choose(runtime)) as device:

        def compile_(bundle: SourceBundle, kernels: tuple[str, ...]) -> CodeObject:
            return make_code(device, bundle, kernels)

        sizes = [int(size) for size in tokens] or None
        lesson = Lesson.open(compile_, device.facts(), int(rounds), sizes)
        for row in compare(device, lesson, open_library(path), own_stream, int(samples), int(process)):
            print(json.dumps(row), flush=True)
        lesson.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
