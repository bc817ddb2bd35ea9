"""Probes of an open device: does the gate work, how deep is the queue, how fine is the clock, does compiling repeat.

Each ends by itself: the gate's three limits end what waits behind it, and a worker's time limit ends the rest.
What is read while the machine is busy may be late, so a probe that found fault is tried again.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from pytest_kernelperf.machine import Answering, GateReading, QueueReading, RecorderReading, TimerReading
from pytest_kernelperf.model import BufferArgument, LaunchStep, Plan, ScalarArgument
from pytest_kernelperf.runtime import gate
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.compile_probe import probe_bundle
from pytest_kernelperf.runtime.hip import Buffer, Device
from pytest_kernelperf.runtime.library import file_of
from pytest_kernelperf.runtime.loop import Gate, Loop
from pytest_kernelperf.runtime.loop_native import open_library
from pytest_kernelperf.runtime.recorder import Recorder
from pytest_kernelperf.runtime.rounds import Rounds

TRIES = 3

_HELD_S = 0.02  # how long a mark must stay unset behind the closed gate
_MOST_LAUNCHES = 4096
_FILLING_S = 0.15  # well below the gate's own 250 ms
_STUCK_S = 0.05  # a launch that takes so long waits for the queue
_EVENTS = 64
_MOST_US = 1000.0  # beyond it, HIP's float of milliseconds is coarser than the clocks
_LEAST_STEP_NS = 0.3


def read_answering(device: Device) -> Answering:
    """The files that answer, as the dynamic linker says it, and the device's PCI address."""
    bindings = device.selected.bindings
    hip, hiprtc = file_of(bindings.answer_address()), file_of(bindings.compile_answer_address())
    place = "" if device.chosen.name == "cpu" else device.text("hipDeviceGetPCIBusId").lower()
    return Answering(str(hip or ""), str(hiprtc or ""), place)


def read_gate(loop: Loop) -> GateReading:
    """Close the gate, look whether it holds, opens, leaves by itself, and is opened by the second releaser."""
    if loop.gate is None:
        return GateReading(not_used_because=loop.no_gate_because)
    holds = opens = False
    with _Mark.made(loop) as mark:
        for _ in range(TRIES):
            holds, opens = _try_gate(loop, loop.gate, mark)
            if holds and opens:
                break
    return GateReading("", holds, opens, _leave(loop, loop.gate), _wait_for_releaser(loop.gate))


def read_queue(loop: Loop) -> QueueReading | None:
    """Queue launches behind the closed gate until one waits, or there are 4,096, or 150 ms are over; None: no gate.

    The most of three tries: a machine that was busy elsewhere looks like a full queue.
    """
    if loop.gate is None:
        return None
    best = (0, True)
    with _Mark.made(loop) as mark:
        for _ in range(TRIES):
            best = max(best, _fill(loop, loop.gate, mark.rounds), key=lambda found: found[0])
            if not best[1]:
                break
    return QueueReading(best[0], best[1], gate.QUEUE_DEPTH)


def read_timer(device: Device) -> TimerReading:
    """The steps of the clock that events read: 64 of them, one after the other, on an idle stream."""
    with contextlib.ExitStack() as owners:
        stream = owners.enter_context(device.stream())
        events = [owners.enter_context(device.event()) for _ in range(_EVENTS)]
        for _ in range(2):  # the first pass loads what records events
            for event in events:
                event.record(stream)
            stream.synchronise()
        return measure_steps([late.elapsed_us(early) for early, late in itertools.pairwise(events)])


def measure_steps(times_us: list[float]) -> TimerReading:
    """From times between neighbouring events: the smallest difference between two of them (or of one from zero),
    and the shortest that is not zero, in ns.
    """
    real = sorted({time_us for time_us in times_us if 0 < time_us <= _MOST_US})
    steps_ns = [1000 * (late - early) for early, late in itertools.pairwise([0.0, *real])]
    return TimerReading(
        step_ns=min((step_ns for step_ns in steps_ns if step_ns >= _LEAST_STEP_NS), default=None),
        least_ns=1000 * real[0] if real else None,
        readings=len(times_us),
    )


class _Mark:
    """A kernel that sets a word of mapped memory, ready to be launched."""

    def __init__(self, word: ctypes.c_uint32, rounds: Rounds) -> None:
        self.word = word
        self.rounds = rounds

    @classmethod
    @contextlib.contextmanager
    def made(cls, loop: Loop) -> Iterator[_Mark]:
        """Compile, load and launch it once."""
        device = loop.device
        code = compile_bundle(device, probe_bundle("probe.hip"))
        arguments = (BufferArgument("word"), ScalarArgument("<u4", (1).to_bytes(4, "little"), 4))
        plan = Plan((LaunchStep("kernelperf_mark", (1, 1, 1), (1, 1, 1), arguments),))
        with device.load(code.data) as module, device.mapped(64) as memory:
            function = module.function("kernelperf_mark")
            buffers = {"word": cast(Buffer, memory)}  # alike in what a launch needs: address and size
            with loop.prepare(plan, {"kernelperf_mark": function}, buffers) as rounds:
                loop.run(rounds)
                yield cls(ctypes.c_uint32.from_address(memory.host_address), rounds)


def read_recorder(device: Device) -> RecorderReading | None:
    """Begin and end a recording; None where the runtime leaves that to a profiler.

    From then on this process counts as traced, and must time nothing.

    Raises:
        DeviceError, RuntimeUnavailable: it cannot record; the sentence says why, and what to install.
    """
    if device.chosen.name == "rocm":
        return None
    with Recorder(device):
        pass
    if device.chosen.name == "cpu":
        return RecorderReading("the cpu runtime", str(device.chosen.amdhip64))
    return RecorderReading("CUPTI", cupti_in(Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")))


def cupti_in(maps: str) -> str:
    """Return the CUPTI library among what a process has mapped (the text of its ``maps``)."""
    found = re.search(r"/.*/libcupti[^/\n]*$", maps, re.MULTILINE)
    return found[0] if found else "a file that is no longer there"


def _try_gate(loop: Loop, door: Gate, mark: _Mark) -> tuple[bool, bool]:
    native = open_library()
    mark.word.value = 0
    native.kernelperf_gate_close(door.handle)
    loop.run(door.rounds, wait=False)
    loop.run(mark.rounds, wait=False)
    time.sleep(_HELD_S)
    held = mark.word.value == 0
    native.kernelperf_gate_open(door.handle)
    loop.stream.synchronise()
    return held, mark.word.value == 1 and not native.kernelperf_gate_timed_out(door.handle)


def _leave(loop: Loop, door: Gate) -> float | None:
    """Milliseconds after which the gate left though nobody opened it; None if the second releaser was first."""
    native = open_library()
    for _ in range(TRIES):
        native.kernelperf_gate_close(door.handle)
        start = time.monotonic()
        loop.run(door.rounds, wait=False)
        loop.stream.synchronise()
        passed_ms = 1000 * (time.monotonic() - start)
        left = door.left_by_itself
        native.kernelperf_gate_open(door.handle)
        if left:
            return passed_ms
    return None


def _wait_for_releaser(door: Gate) -> bool:
    """Whether the native thread opens a closed gate, with nothing on the device behind it."""
    native = open_library()
    native.kernelperf_gate_close(door.handle)
    deadline = time.monotonic() + 4 * gate.HOST_LIMIT_NS / 1e9
    while time.monotonic() < deadline and not native.kernelperf_gate_timed_out(door.handle):
        time.sleep(0.01)
    released = bool(native.kernelperf_gate_timed_out(door.handle))
    native.kernelperf_gate_open(door.handle)
    return released


def _fill(loop: Loop, door: Gate, rounds: Rounds) -> tuple[int, bool]:
    """Launches that a closed gate let through to the queue, and whether the queue was full then.

    A second thread opens the gate, since a launch into a full queue does not return before.
    """
    native = open_library()
    launched, opened, full = 0, threading.Event(), False
    native.kernelperf_gate_close(door.handle)
    loop.run(door.rounds, wait=False)
    depth = 0

    def watch() -> None:
        nonlocal full, depth
        start = last = time.monotonic()
        seen = 0
        while not opened.wait(0.002):
            now = time.monotonic()
            if launched != seen:
                seen, last = launched, now
            full = now - last > _STUCK_S
            if full or now - start > _FILLING_S:
                break
        depth = launched
        native.kernelperf_gate_open(door.handle)
        opened.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        while launched < _MOST_LAUNCHES and not opened.is_set():
            loop.run(rounds, wait=False)
            launched += 1
    finally:
        opened.set()
        watcher.join()
        loop.stream.synchronise()
    return depth, full
