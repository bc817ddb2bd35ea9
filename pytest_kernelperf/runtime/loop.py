"""The timed launch loop: plans prepared once, rounds of them timed by native code without Python in between.

    with Loop(device) as loop, loop.prepare(plan, functions, buffers) as rounds:
        loop.run(rounds)                     # untimed
        timing = loop.time_graph(rounds, 200)

Modes: ``time_loop`` (wall clock), ``time_queued`` (device events, queue filled behind the gate) and
``time_graph`` (device events round one launch of a graph that holds all rounds).
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_kernelperf.errors import CaptureRefused, DeviceError, UsageError
from pytest_kernelperf.model import Plan
from pytest_kernelperf.runtime import gate
from pytest_kernelperf.runtime.argument import POINTER_BYTES
from pytest_kernelperf.runtime.compile import compile_bundle
from pytest_kernelperf.runtime.hip import Buffer, Device, Function, Graph, Owner, Stream
from pytest_kernelperf.runtime.loop_native import HIP_CALLS, LAUNCH, Calls, Result, Step, open_library
from pytest_kernelperf.runtime.rounds import Rounds, pack_rounds

MOST_GRAPHS = 4


@dataclass(frozen=True)
class Timing:
    """One timed batch: ``total_us`` for all its rounds, ``host_us`` to enqueue them.

    ``total_us`` is what the device's events say, which may be no time at all (zero, negative, absurd): whoever takes
    it for a sample looks first.
    ``timed_out``: the gate was not opened in time, so the figures mean nothing: throw them away and halve the batch.
    ``gated``: whether a gate held the queue back (never in ``loop``; not where launches block).
    """

    rounds: int
    total_us: float
    host_us: float
    timed_out: bool = False
    gated: bool = False

    @property
    def round_us(self) -> float:
        """Microseconds per round."""
        return self.total_us / self.rounds

    @property
    def host_round_us(self) -> float:
        """Microseconds per round to enqueue."""
        return self.host_us / self.rounds


class Loop(Owner):
    """The native loop bound to one device: its own stream, two events and, where launches do not block, a gate.

    ``gate_graphs``: whether graphs are held back by the gate too, where they fit the queue. On a GPU, since a runtime
    that queues a graph node by node would otherwise let the device wait for the host; not on the cpu runtime, where
    a waiting gate takes a core from what is measured. ``gated``: whether there is a gate at all; whoever only runs
    rounds needs none, and a profiler would record its kernel.

    Raises:
        RuntimeUnavailable: the native library is missing, or another file answers for a HIP function.
        DeviceError, CompileError: the gate cannot be set up.
    """

    def __init__(
        self, device: Device, stream: Stream | None = None, gate_graphs: bool | None = None, *, gated: bool = True
    ) -> None:
        self.device = device
        self._gate_graphs = device.chosen.name != "cpu" if gate_graphs is None else gate_graphs
        self._library = open_library()
        self._calls = Calls(*(device.selected.function_address(name) for _, name in HIP_CALLS))
        self._owned: list[Owner] = []
        super().__init__(self._close_owned)
        try:
            self.stream = stream if stream is not None else self._own(device.stream())
            self._start, self._stop = self._own(device.event()), self._own(device.event())
            self.no_gate_because = gate.blocking_variable() if gated else "this loop is asked to have none"
            self._gate = None if self.no_gate_because else self._own(Gate(self))
        except BaseException:
            self._close_owned()
            raise

    @property
    def gate(self) -> Gate | None:
        """The gate, or None where launches block (``no_gate_because``)."""
        return self._gate

    def prepare(
        self, plan: Plan, functions: Mapping[str, Function], buffers: Mapping[str, Buffer], *more: Mapping[str, Buffer]
    ) -> Rounds:
        """Pack a plan's arguments and addresses, once.

        ``functions`` and ``buffers`` are by the names that the plan uses. With ``more`` copies of the buffers each
        round of a batch takes the next copy, starting from ``buffers``.

        Raises:
            UsageError: a step reaches outside its buffer, or names one that is not there.
        """
        return pack_rounds(plan, functions, (buffers, *more))

    def most_rounds(self, rounds: Rounds) -> int:
        """The most rounds that fit the queue behind the gate (``time_queued``); at least 1."""
        return max((gate.QUEUE_DEPTH - gate.QUEUE_MARGIN) // max(rounds.steps_per_round, 1), 1)

    def run(self, rounds: Rounds, count: int = 1, wait: bool = True) -> None:
        """Run rounds untimed, and wait for them unless told otherwise.

        Raises:
            DeviceError: a call failed, or a kernel did while it ran.
        """
        self._enqueue(rounds, count)
        if wait:
            self.stream.synchronise()
        rounds.launched = True

    def time_loop(self, rounds: Rounds, count: int) -> Timing:
        """Wall clock round ``count`` back-to-back rounds and one wait."""
        self._launch_first(rounds)
        result = self._native("kernelperf_time_loop", rounds, *rounds.batch(count))
        return Timing(count, result.total_ns / 1000, result.enqueue_ns / 1000)

    def time_queued(self, rounds: Rounds, count: int) -> Timing:
        """Device events round ``count`` rounds that were queued behind the gate (at most ``most_rounds``)."""
        if count > self.most_rounds(rounds):
            raise UsageError(
                f"{count} rounds of {rounds.steps_per_round} steps do not fit the queue behind the gate: "
                f"at most {self.most_rounds(rounds)} do"
            )
        self._launch_first(rounds)
        events, gate_handle = (self._start.handle, self._stop.handle), self._gate_for(rounds, count)
        result = self._native("kernelperf_time_queued", rounds, *events, *rounds.batch(count), gate_handle)
        return self._device_timing(count, result, gated=gate_handle is not None)

    def time_graph(self, rounds: Rounds, count: int) -> Timing:
        """Device events round one launch of a graph of ``count`` rounds, captured at the first call (``capture``).

        Raises:
            CaptureRefused: this plan or runtime cannot be captured; measure ``queued``.
        """
        graph = self.capture(rounds, count)
        events, gate_handle = (self._start.handle, self._stop.handle), None
        if self._gate_graphs:
            gate_handle = self._gate_for(rounds, count)
        result = self._native("kernelperf_time_graph", rounds, *events, graph.handle, gate_handle)
        if result.timed_out:  # this runtime waits for the stream before it queues a graph: from now on without a gate
            self._gate_graphs = False
        return self._device_timing(count, result, gated=gate_handle is not None)

    def capture(self, rounds: Rounds, count: int) -> Graph:
        """The graph of ``count`` rounds; at its first call it is captured and launched once untimed.

        Raises:
            CaptureRefused: this plan or runtime cannot be captured.
        """
        self._launch_first(rounds)
        if count not in rounds.graphs:
            if len(rounds.graphs) >= MOST_GRAPHS:  # sizing a batch tries several counts; the last few are kept
                rounds.graphs.pop(next(iter(rounds.graphs))).close()
            try:
                graph = self.stream.capture(lambda: self._enqueue(rounds, count))
            except DeviceError as error:
                raise CaptureRefused(f"the plan cannot be captured as a graph: {error}") from error
            rounds.graphs[count] = graph
            # A first launch uploads the graph, which is not what is measured.
            self.device.check("hipGraphLaunch", self._launch_graph(graph))
            self.stream.synchronise()
        return rounds.graphs[count]

    def _gate_for(self, rounds: Rounds, count: int) -> int | None:
        """The gate, if there is one and the rounds fit the queue behind it."""
        fits = count * rounds.steps_per_round <= gate.QUEUE_DEPTH - gate.QUEUE_MARGIN
        return self._gate.handle if self._gate is not None and fits else None

    def _launch_graph(self, graph: Graph) -> int:
        launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(self._calls.launch_graph)
        return int(launch(graph.handle, self.stream.handle))

    def _launch_first(self, rounds: Rounds) -> None:
        """A first launch may load code, which must not happen behind a closed gate, nor in a sample."""
        if not rounds.launched:
            self.run(rounds)

    def _enqueue(self, rounds: Rounds, count: int) -> None:
        self._native("kernelperf_enqueue", rounds, *rounds.batch(count))

    def _native(self, name: str, rounds: Rounds, *arguments: object) -> Result:
        result = Result()
        getattr(self._library, name)(ctypes.byref(self._calls), self.stream.handle, *arguments, ctypes.byref(result))
        if result.error:
            call = HIP_CALLS[result.failed_call - 1][1]
            step = rounds.name_of(result.failed_step)
            self.device.check(f"{call} ({step})" if step else call, result.error)
        return result

    def _device_timing(self, count: int, result: Result, gated: bool) -> Timing:
        total_us = float(result.device_ms) * 1000
        return Timing(count, total_us, result.enqueue_ns / 1000, bool(result.timed_out), gated)

    def _own(self, owner: Any) -> Any:
        self._owned.append(owner)
        return owner

    def _close_owned(self) -> None:
        while self._owned:
            self._owned.pop().close()


class Gate(Owner):
    """The gate kernel (``rounds`` launches it once), its door in mapped memory, and the native second releaser.

    ``handle`` is what the loop library's ``kernelperf_gate_…`` functions take.
    """

    def __init__(self, loop: Loop) -> None:
        device = loop.device
        self._door = door = loop._own(device.mapped(64))
        module = loop._own(device.load(compile_bundle(device, gate.gate_bundle()).data))
        ticks = gate.limit_ticks(device)
        packed = b"".join(value.to_bytes(POINTER_BYTES, "little") for value in (door.address, door.address + 4, ticks))
        self._arguments = ctypes.create_string_buffer(packed, len(packed))
        self._step = Step(kind=LAUNCH, function=module.function(gate.KERNEL).handle)
        self._step.grid[:] = self._step.block[:] = (1, 1, 1)
        self._step.arguments, self._step.argument_bytes = ctypes.addressof(self._arguments), len(packed)
        self._library = loop._library
        self.handle = self._library.kernelperf_gate_create(
            door.host_address, ctypes.byref(self._step), gate.HOST_LIMIT_NS
        )
        if not self.handle:
            raise DeviceError("the gate's second thread cannot be started: free threads for this user (ulimit -u)")
        super().__init__(lambda: self._library.kernelperf_gate_destroy(self.handle))
        self._library.kernelperf_gate_open(self.handle)
        self.rounds = Rounds((Step * 1)(self._step), (), (gate.KERNEL,))
        loop.run(self.rounds)  # loads its code while the door is open

    @property
    def left_by_itself(self) -> bool:
        """Whether the kernel's own time was up since the gate was last closed."""
        return ctypes.c_uint32.from_address(self._door.host_address + 4).value != 0
