"""The real stopwatch: plans prepared once per arm, run and timed by the native loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pytest_kernelperf.errors import CaptureRefused
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.measure.stopwatch import Timing
from pytest_kernelperf.model import CodeObject, Mode
from pytest_kernelperf.runtime.hip import Buffer, Module
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.runtime.rounds import Rounds


class LoopStopwatch:
    """Times with ``runtime.loop``; give it back with ``close``, before the buffers and modules that it uses."""

    def __init__(
        self,
        loop: Loop,
        load: Callable[[CodeObject], Module],
        copies: Sequence[Mapping[str, Buffer]],
        read_clock: Callable[[], float | None] = lambda: None,
    ) -> None:
        """Time with ``loop``.

        Args:
            loop: the device's.
            load: makes a module of a code object.
            copies: the buffers by name, once for warm caches; rounds take several in turn.
            read_clock: the device's clock in MHz, asked after each sample; None where it cannot be counted.
        """
        self._read_clock = read_clock
        self._loop = loop
        self._load = load
        self._copies = copies
        self._prepared: dict[str, Rounds] = {}

    def run(self, arm: Arm, rounds: int) -> None:
        """Run rounds without timing them, and wait for them."""
        self._loop.run(self._rounds(arm), rounds)

    def prepare(self, arm: Arm, mode: Mode, rounds: int) -> str:
        """Capture the batch if the mode is ``graph``; return why it cannot be, "" if it can."""
        if mode == "graph":
            try:
                self._loop.capture(self._rounds(arm), rounds)
            except CaptureRefused as error:
                return str(error)
        return ""

    def time(self, arm: Arm, mode: Mode, rounds: int, block: int) -> Timing:
        """Time one batch."""
        prepared = self._rounds(arm)
        if mode == "graph":
            timing = self._loop.time_graph(prepared, rounds)
        elif mode == "queued":
            timing = self._loop.time_queued(prepared, min(rounds, self._loop.most_rounds(prepared)))
        else:
            timing = self._loop.time_loop(prepared, rounds)
        clock_mhz = self._read_clock() if block >= 0 else None
        return Timing(timing.round_us, timing.host_round_us, timing.total_us, timing.timed_out, clock_mhz)

    def close(self) -> None:
        """Give back graphs and packed arguments."""
        while self._prepared:
            self._prepared.popitem()[1].close()

    def _rounds(self, arm: Arm) -> Rounds:
        if arm.name not in self._prepared:
            module = self._load(arm.code)
            kernels = {launch.kernel for launch in arm.plan.launches}
            functions = {name: module.function(name) for name in kernels}
            self._prepared[arm.name] = self._loop.prepare(arm.plan, functions, *self._copies)
        return self._prepared[arm.name]
