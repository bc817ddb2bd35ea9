"""The native loop against HIP functions written here: what is called, in which order, and what a failure does."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import pytest

from pytest_kernelperf.runtime.loop_native import COPY, FILL, HIP_CALLS, LAUNCH, Calls, Result, Step, open_library

_P, _U, _I, _Z = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_size_t
SHAPES: dict[str, Any] = {
    "launch": ctypes.CFUNCTYPE(_I, _P, _U, _U, _U, _U, _U, _U, _U, _P, _P, ctypes.POINTER(_P)),
    "fill": ctypes.CFUNCTYPE(_I, _P, _I, _Z, _P),
    "copy": ctypes.CFUNCTYPE(_I, _P, _P, _Z, _I, _P),
    "synchronise": ctypes.CFUNCTYPE(_I, _P),
    "record": ctypes.CFUNCTYPE(_I, _P, _P),
    "elapsed": ctypes.CFUNCTYPE(_I, ctypes.POINTER(ctypes.c_float), _P, _P),
    "launch_graph": ctypes.CFUNCTYPE(_I, _P, _P),
}
STREAM, START, STOP, GRAPH, GATE_FUNCTION = 0x51, 0xA1, 0xA2, 0x61, 0x6A7E
SECOND_NS = 1_000_000_000


class RecordedHip:
    """HIP functions that write down their calls and return what ``answers`` says (0 where it says nothing)."""

    def __init__(self) -> None:
        self.log: list[tuple[object, ...]] = []
        self.answers: Callable[[str, int], int] = lambda name, place: 0
        self.on_synchronise: Callable[[], None] = lambda: None
        self.elapsed_ms = 1.5
        self.calls = Calls()
        self._kept = [SHAPES[name](getattr(self, f"_{name}")) for name, _ in HIP_CALLS]
        for (name, _), function in zip(HIP_CALLS, self._kept, strict=True):
            setattr(self.calls, name, ctypes.cast(function, ctypes.c_void_p))

    def names(self) -> list[str]:
        return [str(entry[0]) for entry in self.log]

    def _note(self, *entry: object) -> int:
        self.log.append(entry)
        return self.answers(str(entry[0]), len(self.log) - 1)

    def _launch(self, function: int, *rest: Any) -> int:
        *dimensions, shared, stream, parameters, extra = rest
        size = ctypes.cast(extra[3], ctypes.POINTER(_Z)).contents.value
        packed = ctypes.string_at(extra[1], size) if size else b""
        assert (extra[0], extra[2], extra[4], parameters) == (1, 2, 3, None)
        name = "gate" if function == GATE_FUNCTION else "launch"
        return self._note(name, function, tuple(dimensions), shared, stream, packed)

    def _fill(self, target: int, byte: int, size: int, stream: int) -> int:
        return self._note("fill", target, byte, size, stream)

    def _copy(self, target: int, source: int, size: int, kind: int, stream: int) -> int:
        return self._note("copy", target, source, size, kind, stream)

    def _synchronise(self, stream: int) -> int:
        self.on_synchronise()
        return self._note("synchronise", stream)

    def _record(self, event: int, stream: int) -> int:
        return self._note("start" if event == START else "stop", stream)

    def _elapsed(self, milliseconds: Any, start: int, stop: int) -> int:
        assert (start, stop) == (START, STOP)
        milliseconds[0] = self.elapsed_ms
        return self._note("elapsed")

    def _launch_graph(self, graph: int, stream: int) -> int:
        return self._note("graph", graph, stream)


ARGUMENTS = ctypes.create_string_buffer(b"twelve bytes", 12)


def steps() -> Any:
    array = (Step * 3)()
    array[0] = Step(kind=FILL, byte=7, target=0x1000, bytes=64)
    array[1] = Step(kind=LAUNCH, function=0xF00, shared_bytes=32, arguments=ctypes.addressof(ARGUMENTS))
    array[1].argument_bytes = 12
    array[1].grid[:], array[1].block[:] = (5, 6, 7), (64, 2, 1)
    array[2] = Step(kind=COPY, target=0x2000, source=0x1000, bytes=16)
    return array


ONE_ROUND = ["fill", "launch", "copy"]


@pytest.fixture
def library() -> ctypes.CDLL:
    return open_library()


@pytest.fixture
def hip() -> RecordedHip:
    return RecordedHip()


def call(library: ctypes.CDLL, hip: RecordedHip, name: str, *arguments: object) -> Result:
    result = Result()
    getattr(library, name)(ctypes.byref(hip.calls), STREAM, *arguments, ctypes.byref(result))
    return result


class Gate:
    """A native gate over a door in plain memory."""

    def __init__(self, library: ctypes.CDLL, limit_ns: int = 100 * SECOND_NS) -> None:
        self.library = library
        self.door = (ctypes.c_uint32 * 2)()
        self.step = Step(kind=LAUNCH, function=GATE_FUNCTION)
        self.step.grid[:] = self.step.block[:] = (1, 1, 1)
        self.handle = library.kernelperf_gate_create(ctypes.addressof(self.door), ctypes.byref(self.step), limit_ns)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, *_: object) -> None:
        self.library.kernelperf_gate_destroy(self.handle)


def test_steps_are_called_with_all_that_was_prepared(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """Dimensions, shared memory, stream, packed arguments, bytes and copy kind arrive as they were written."""
    call(library, hip, "kernelperf_enqueue", steps(), 3, 1)

    assert hip.log == [
        ("fill", 0x1000, 7, 64, STREAM),
        ("launch", 0xF00, (5, 6, 7, 64, 2, 1), 32, STREAM, b"twelve bytes"),
        ("copy", 0x2000, 0x1000, 16, 3, STREAM),
    ]


def test_a_loop_waits_before_and_after_its_rounds(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """Earlier work is not timed; the last kernel is. Enqueueing is part of the whole."""
    result = call(library, hip, "kernelperf_time_loop", steps(), 3, 4)

    assert hip.names() == ["synchronise", *ONE_ROUND * 4, "synchronise"]
    assert 0 < result.enqueue_ns <= result.total_ns


def test_queued_rounds_lie_between_events_behind_the_gate(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """Gate, start, rounds, stop; the door is shut while the queue is filled and open before the wait."""
    doors: dict[str, int] = {}
    with Gate(library) as gate:
        hip.answers = lambda name, place: doors.__setitem__(f"{name} {place}", gate.door[0]) or 0  # type: ignore[func-returns-value]
        result = call(library, hip, "kernelperf_time_queued", START, STOP, steps(), 3, 2, gate.handle)

    assert hip.names() == ["synchronise", "gate", "start", *ONE_ROUND * 2, "stop", "synchronise", "elapsed"]
    assert [doors[f"{name} {place}"] for place, name in enumerate(hip.names())][1:10] == [0] * 9
    assert doors["synchronise 10"] == 1
    assert (result.device_ms, result.timed_out, result.error) == (1.5, 0, 0)


def test_without_a_gate_nothing_is_held_back(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """Where launches block, the batch runs between its events alone."""
    call(library, hip, "kernelperf_time_queued", START, STOP, steps(), 3, 1, None)

    assert hip.names() == ["synchronise", "start", *ONE_ROUND, "stop", "synchronise", "elapsed"]


def test_a_graph_is_launched_once_between_its_events(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """The graph holds the rounds: one launch."""
    result = call(library, hip, "kernelperf_time_graph", START, STOP, GRAPH, None)

    assert hip.names() == ["synchronise", "start", "graph", "stop", "synchronise", "elapsed"]
    assert result.device_ms == 1.5


@pytest.mark.parametrize(("failing", "call_number", "step"), [("launch", 1, 1), ("fill", 2, 0), ("copy", 3, 2)])
def test_a_failed_step_is_named_and_ends_the_batch(
    library: ctypes.CDLL, hip: RecordedHip, failing: str, call_number: int, step: int
) -> None:
    """The first failure's call and step are kept; nothing is queued after it; the stream is waited for."""
    hip.answers = lambda name, place: 719 if name == failing else 0

    result = call(library, hip, "kernelperf_time_loop", steps(), 3, 5)

    assert (result.error, result.failed_call, result.failed_step) == (719, call_number, step)
    assert hip.names() == ["synchronise", *ONE_ROUND[: step + 1], "synchronise"]
    assert HIP_CALLS[call_number - 1][0] == failing


@pytest.mark.parametrize("failing", ["gate", "start", "fill", "stop"])
def test_a_failure_behind_the_gate_still_opens_it(library: ctypes.CDLL, hip: RecordedHip, failing: str) -> None:
    """Whatever fails while the gate is shut, the door is open before anything waits."""
    hip.answers = lambda name, place: 1 if name == failing else 0
    doors = []
    with Gate(library) as gate:
        hip.on_synchronise = lambda: doors.append(gate.door[0])
        result = call(library, hip, "kernelperf_time_queued", START, STOP, steps(), 3, 2, gate.handle)

    assert doors[-1] == 1
    assert result.error == 1
    assert result.device_ms == 0


def test_an_error_that_surfaces_at_the_wait_is_reported(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """A kernel that fails while it runs shows at the synchronisation."""
    hip.answers = lambda name, place: 700 if name == "synchronise" and place > 0 else 0

    result = call(library, hip, "kernelperf_time_loop", steps(), 3, 1)

    assert (result.error, HIP_CALLS[result.failed_call - 1][1]) == (700, "hipStreamSynchronize")


def test_a_gate_that_left_by_itself_says_so(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """The kernel's own flag makes the batch timed out; the next batch starts afresh."""
    with Gate(library) as gate:
        hip.answers = lambda name, place: gate.door.__setitem__(1, 1) or 0 if name == "fill" else 0  # type: ignore[func-returns-value]
        first = call(library, hip, "kernelperf_time_queued", START, STOP, steps(), 3, 1, gate.handle)
        hip.answers = lambda name, place: 0
        second = call(library, hip, "kernelperf_time_queued", START, STOP, steps(), 3, 1, gate.handle)

    assert (first.timed_out, second.timed_out) == (1, 0)


def test_the_second_releaser_opens_a_gate_whose_thread_is_stuck(library: ctypes.CDLL, hip: RecordedHip) -> None:
    """A launch that blocks until the gate opens ends all the same, and the batch is timed out."""
    opened = threading.Event()
    with Gate(library, limit_ns=20_000_000) as gate:

        def block(name: str, place: int) -> int:
            while name == "launch" and gate.door[0] == 0:
                opened.wait(0.001)
            return 0

        hip.answers = block
        result = call(library, hip, "kernelperf_time_queued", START, STOP, steps(), 3, 1, gate.handle)

    assert result.timed_out == 1
    assert hip.names()[-1] == "elapsed"


def test_a_gate_ends_while_it_is_shut(library: ctypes.CDLL) -> None:
    """Taking a gate down opens its door and ends its thread."""
    gate = Gate(library)
    library.kernelperf_gate_close(gate.handle)
    library.kernelperf_gate_destroy(gate.handle)

    assert gate.door[0] == 1
