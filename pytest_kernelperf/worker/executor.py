"""What a worker does for its requests: all that needs a device, and what it keeps from one request to the next.

Kept are loaded modules (by digest, bounded) and the buffers of the last inputs (by digest), so that a case that is
measured after it was run is not uploaded again from scratch, while earlier cases' device memory is free.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_kernelperf.errors import DeviceError, KernelperfError, UsageError
from pytest_kernelperf.machine import GpuState
from pytest_kernelperf.measure.activity import ActivityProbe, CpuActivity, GpuActivity
from pytest_kernelperf.measure.buffers import SharedBuffers
from pytest_kernelperf.measure.clock import LoopStopwatch
from pytest_kernelperf.measure.cold import ColdBuffers, plan_rotation
from pytest_kernelperf.measure.limits import LimitProbe, NoLimits, StateLimits
from pytest_kernelperf.measure.policy import BatchSize
from pytest_kernelperf.measure.procedure import measure
from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.measure.script import ScriptedActivity, ScriptedLimits, ScriptedStopwatch, read_script
from pytest_kernelperf.measure.stopwatch import Stopwatch
from pytest_kernelperf.measure.tools import Told, Tools
from pytest_kernelperf.measure.untraced import find_profilers
from pytest_kernelperf.model import CodeObject, FillStep, LaunchStep, Plan, RuntimeName, Step
from pytest_kernelperf.runtime import gate, kfd, nvml
from pytest_kernelperf.runtime.code import make_code
from pytest_kernelperf.runtime.hip import Device, Module
from pytest_kernelperf.runtime.loop import Loop
from pytest_kernelperf.runtime.pulse import Pulse, open_pulse
from pytest_kernelperf.runtime.state import open_state
from pytest_kernelperf.worker.array import Array, lay_out, map_arrays, write_sealed
from pytest_kernelperf.worker.examine import Examinable, examine
from pytest_kernelperf.worker.message import (
    Compile,
    Compiled,
    Examine,
    Examined,
    Hello,
    Measure,
    Measured,
    Outputs,
    Ready,
    RunOnce,
    SharedInputs,
)

MOST_MODULES = 32

# Longest batch and longest warm-up in us, and most rounds. On a GPU a sample is 200 rounds, as in the lesson; only
# kernels beyond 500 us meet the limit. A CPU is disturbed by the scheduler for a millisecond at a time, so that small
# kernels need more rounds, while 15 ms are plenty.
_DEFAULTS: dict[RuntimeName, tuple[float, float, int]] = {
    "cpu": (15_000.0, 100_000.0, 2000),
    "rocm": (100_000.0, 300_000.0, 200),
    "cuda": (100_000.0, 300_000.0, 200),
}


class CodeMissing(Exception):
    """The request left out the bytes of this code object (its digest), and the worker does not hold it."""


class Executor:
    """Answers the requests of one worker on one device. All methods raise ``DeviceError`` if a HIP call fails."""

    def __init__(
        self, device: Device, hello: Hello, say: Callable[[str], None], tell: Callable[[Told], None] | None = None
    ) -> None:
        """``say`` is told each step, for the sentence should the process die of it; ``tell`` as tools have it."""
        self._device = device
        self._process = hello.process
        # Code is loaded in another order in each process, where the driver gives all of them the same addresses.
        self._placing = random.Random(f"{hello.process}/{os.getpid()}")
        self._script = read_script(Path(hello.clock_script)) if hello.clock_script else None
        self._say = say
        self._tell = tell
        self._modules: dict[str, Module] = {}
        self._loop: Loop | None = None
        self._inputs_digest = ""
        self._shared: SharedBuffers | None = None
        self._measurements = 0
        self._users: Callable[[], tuple[int, ...]] | None = None
        self._pulse: tuple[Pulse | None] | None = None
        self._state: Callable[[], GpuState | None] | None = None

    def greet(self) -> Ready:
        """The device's facts and what may distort its times."""
        return Ready(self._device.facts(), find_profilers())

    def set_up(self) -> None:
        """Set up the launch loop ahead of the first measurement, which says what is wrong with it if anything is."""
        with contextlib.suppress(KernelperfError):
            self._open_loop()

    def compile(self, request: Compile) -> Compiled:
        """Compile a bundle, or take a ready code object. Raises ``CompileError``."""
        self._say(f"compiling {request.bundle.main}")
        code = make_code(self._device, request.bundle, request.kernels, request.data, request.target)
        return Compiled(code)

    def run(self, request: RunOnce, fd: int) -> tuple[Outputs, int]:
        """Run the plan once, each step awaited, so that one that fails can be named; return outputs in a memory file.

        Raises ``CodeMissing``, or ``UsageError`` if an output is no buffer.
        """
        module = self._load(request.code)
        shared = self._share(request.inputs, fd)
        unknown = sorted(set(request.outputs) - shared.names)
        if unknown:
            raise UsageError(f"the output {unknown[0]!r} is none of the buffers {', '.join(sorted(shared.names))}")
        shared.upload()
        loop = self._open_loop()
        functions = {launch.kernel: module.function(launch.kernel) for launch in request.plan.launches}
        for number, step in enumerate(request.plan.steps, 1):
            name = f"step {number} of {len(request.plan.steps)}, {_describe(step)}"
            self._say(f"running {name}")
            try:
                with loop.prepare(Plan((step,)), functions, shared.buffers) as rounds:
                    loop.run(rounds)
            except DeviceError as error:
                raise DeviceError(f"{name}: {error}") from error
        self._say("downloading outputs")
        arrays: dict[str, Array] = {name: shared.download(name) for name in request.outputs}
        layout = lay_out({name: (array.dtype, array.shape) for name, array in arrays.items()})
        return Outputs(layout, find_profilers()), write_sealed(layout, arrays)

    def measure(self, message: Measure, fd: int) -> Measured:
        """Take samples. Raises ``CodeMissing``."""
        request = message.request
        for arm in self._placing.sample(request.arms, len(request.arms)):
            self._load(arm.code)
        self._say("uploading inputs")
        shared = self._share(message.inputs, fd)
        shared.upload()
        target_us, warm_up_us, max_rounds = _DEFAULTS[self._device.chosen.name]
        buffers = self._rotate(request, shared, max_rounds) if request.cold_bytes else shared
        clock = LoopStopwatch(
            self._open_loop(), self._load, buffers.copies, self._read_clock if request.reads_clock else lambda: None
        )
        try:
            measurement = measure(
                request,
                Tools(
                    process=self._process,
                    stopwatch=self._script_times(clock, request),
                    buffers=buffers,
                    probe=self._probe(request),
                    find_profilers=find_profilers,
                    say=self._say,
                    size=BatchSize(
                        target_us, max_rounds, gate.QUEUE_DEPTH - gate.QUEUE_MARGIN, copies=len(buffers.copies)
                    ),
                    warm_up_us=warm_up_us,
                    limits=self._limits(request),
                    tell=self._tell if message.tell else None,
                ),
            )
        finally:
            clock.close()
            if isinstance(buffers, ColdBuffers):
                buffers.close()  # other workers need the memory
        self._measurements += 1
        return Measured(measurement, find_profilers())

    def examine(self, request: Examine) -> Examined:
        """Probe the device. Raises as the calls that the probe makes."""
        self._say(f"probing the device ({request.probe})")
        probe = self._watch(request.root_pid)
        return Examined(examine(request, Examinable(self._device, self._open_loop, probe, self._list_users)))

    def _load(self, code: CodeObject) -> Module:
        module = self._modules.pop(code.digest, None)
        if module is None:
            if not code.data:
                raise CodeMissing(code.digest)
            self._say("loading the code object")
            module = self._device.load(code.data, code.lowered_names)
        self._modules[code.digest] = module  # last in the order: used most recently
        while len(self._modules) > MOST_MODULES:
            self._modules.pop(next(iter(self._modules))).close()
        return module

    def _share(self, inputs: SharedInputs, fd: int) -> SharedBuffers:
        if self._shared is None or self._inputs_digest != inputs.digest:
            if self._shared is not None:
                self._shared.close()
                self._shared = None
            arrays: Mapping[str, Array] = map_arrays(inputs.layout, fd)
            seed = None if self._device.chosen.name == "cpu" else self._process
            self._shared = SharedBuffers(self._device, self._open_loop().stream, arrays, seed)
            self._inputs_digest = inputs.digest
        return self._shared

    def _rotate(self, request: MeasureRequest, shared: SharedBuffers, max_rounds: int) -> ColdBuffers:
        self._say("copying inputs, so that caches are cold")
        rotation = plan_rotation(
            [arm.plan for arm in request.arms],
            {name: buffer.size_bytes for name, buffer in shared.buffers.items()},
            request.cold_bytes,
            request.max_rounds or max_rounds,
            self._device.free_memory_bytes(),
        )
        return ColdBuffers(self._device, self._open_loop().stream, shared, rotation)

    def _open_loop(self) -> Loop:
        if self._loop is None:
            self._say("setting up the launch loop")
            self._loop = Loop(self._device)
        return self._loop

    def _read_clock(self) -> float | None:
        if self._pulse is None:
            self._pulse = (open_pulse(self._open_loop()),)
        return self._pulse[0].clock_mhz() if self._pulse[0] is not None else None

    def _script_times(self, clock: LoopStopwatch, request: MeasureRequest) -> Stopwatch:
        if self._script is None:
            return clock
        return ScriptedStopwatch(clock, self._script, request, self._process)

    def _probe(self, request: MeasureRequest) -> ActivityProbe:
        root_pid = request.root_pid or os.getpid()
        if self._script is not None:
            return ScriptedActivity(self._script, request, self._process, self._measurements)
        return self._watch(root_pid)

    def _limits(self, request: MeasureRequest) -> LimitProbe:
        if self._script is not None:
            return ScriptedLimits(self._script, request, self._process)
        if self._device.chosen.name == "cpu":
            return NoLimits()
        if self._state is None:
            self._state = open_state(self._device)
        return StateLimits(self._state)

    def _watch(self, root_pid: int) -> ActivityProbe:
        if self._device.chosen.name == "cpu":
            return CpuActivity(root_pid)
        return GpuActivity(root_pid, self._list_users)

    def _list_users(self) -> tuple[int, ...]:
        """Processes that have the GPU open; on the cpu runtime there are none."""
        if self._users is None:
            if self._device.chosen.name == "cuda":
                self._users = nvml.open_users(self._device.text("hipDeviceGetPCIBusId"))
            else:
                self._users = kfd.processes if self._device.chosen.name == "rocm" else tuple
        return self._users()


def _describe(step: Step) -> str:
    if isinstance(step, LaunchStep):
        return step.kernel
    return f"fill of {step.buffer}" if isinstance(step, FillStep) else f"copy to {step.target}"
