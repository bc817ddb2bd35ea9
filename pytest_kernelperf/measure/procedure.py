"""The measurement, phase by phase.

    untraced? -> warm up, while nobody else is active -> size the batch -> blocks of arms in random balanced order,
    every written buffer restored before each sample -> did somebody come? -> are the outputs still sound?

All hardware is behind the tools handed in, so the whole of it is tested without any.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import msgspec
import numpy.typing as npt

from pytest_kernelperf.measure.activity import Activity, ActivityProbe
from pytest_kernelperf.measure.changed import ChangedStopwatch, fit_changes
from pytest_kernelperf.measure.order import order_arms
from pytest_kernelperf.measure.outputs import Outputs, explain_change, explain_non_finite, observe
from pytest_kernelperf.measure.policy import BatchSize, SampleCheck, WarmUp
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.stopwatch import Stopwatch
from pytest_kernelperf.model import Measurement, Mode, Sample

Array = npt.NDArray[Any]

_WARM_BATCH_US = 2_000.0
_MAX_DISCARDED = 20


class MeasuredBuffers(Protocol):
    """The shared buffers, as the procedure needs them."""

    @property
    def names(self) -> frozenset[str]:
        """All buffers."""

    def restore(self, names: frozenset[str]) -> None:
        """Put buffers back to their input."""

    def find_changed(self, names: frozenset[str]) -> frozenset[str]:
        """Which of them no longer hold their input."""

    def download(self, name: str) -> Array:
        """A copy of a buffer."""


@dataclass(frozen=True)
class Tools:
    """What a measurement works with.

    ``find_profilers`` names what distorts times; ``say`` is told what is being done, for the sentence should this
    process die of it.
    """

    process: int
    stopwatch: Stopwatch
    buffers: MeasuredBuffers
    probe: ActivityProbe
    find_profilers: Callable[[], tuple[str, ...]]
    say: Callable[[str], None]
    size: BatchSize
    warm_up_us: float


class _Unusable(Exception):
    """The samples cannot be used; the text is the sentence."""


class _GateTimedOut(Exception):
    """The gate opened by itself: the batch is too long for the queue."""


@dataclass
class _Progress:
    """What is known so far, so that an abandoned measurement can still say it."""

    mode: Mode
    rounds: int = 0
    fallback: str = ""
    discarded: int = 0
    activity: Activity = field(default_factory=lambda: Activity(0.0))
    samples: tuple[Sample, ...] = ()


def measure(request: MeasureRequest, tools: Tools) -> Measurement:
    """Take the request's samples. Raises ``DeviceError`` if a HIP call fails."""
    progress = _Progress(request.mode)
    tools = replace(tools, stopwatch=ChangedStopwatch(tools.stopwatch, tools.size.queue_depth))
    invalid = ""
    try:
        check_untraced(tools)
        written, outputs = run_first(request, tools)
        tools.probe.start()
        warm = warm_up(request, tools, written)
        progress.activity = tools.probe.stop()
        if not progress.activity.contended_by:
            choose_mode(request, tools, progress)
            progress.rounds = size_batch(request, tools, warm, progress.mode)
            progress.rounds = fit_outputs(request, tools, progress.rounds, written, outputs)
            tools.probe.start()
            written = take_all(request, tools, progress, written, warm.time_us())
            progress.activity = tools.probe.stop()
            check_untraced(tools)
            verify_outputs(request, tools, progress.rounds, written, outputs)
    except _Unusable as reason:
        invalid = str(reason)
    tools.say("")
    return Measurement(
        process=tools.process,
        mode=progress.mode,
        rounds=progress.rounds,
        seed=request.seed,
        samples=progress.samples,
        foreign_cores=progress.activity.foreign_cores,
        contended_by=progress.activity.contended_by,
        discarded=progress.discarded,
        fallback=progress.fallback,
        invalid=invalid,
        copies=tools.size.copies,
    )


def check_untraced(tools: Tools) -> None:
    """Refuse to time beside a profiler or another preloaded library."""
    found = tools.find_profilers()
    if found:
        raise _Unusable(f"not untraced: {', '.join(found)}; unset it and run without a profiler")


def run_first(request: MeasureRequest, tools: Tools) -> tuple[frozenset[str], dict[str, Outputs]]:
    """Run every arm once, never gated: first launches load code and allocate.

    Returns the buffers that some arm writes, and each arm's outputs.
    """
    names = tools.buffers.names
    written: frozenset[str] = frozenset()
    outputs = {}
    for arm in request.arms:
        tools.say(f"running {describe(arm)} for the first time")
        outputs[arm.name] = run_restored(arm, 1, request, tools, written)
        written |= tools.buffers.find_changed(names - written)
    return written, outputs


def run_restored(arm: Arm, rounds: int, request: MeasureRequest, tools: Tools, written: frozenset[str]) -> Outputs:
    """Run rounds on restored buffers, and look at the outputs."""
    tools.buffers.restore(written)
    tools.stopwatch.run(arm, rounds)
    return observe(tools.buffers.download, request.check_outputs)


def warm_up(request: MeasureRequest, tools: Tools, written: frozenset[str]) -> WarmUp:
    """Run all arms in turn until their times are steady, or for long enough."""
    warm = WarmUp(tools.warm_up_us if request.warm_up_us is None else request.warm_up_us)
    rounds = dict.fromkeys((arm.name for arm in request.arms), 1)
    batch = 0
    while not warm.over:
        batch += 1
        for arm in request.arms:
            tools.say(f"warming up {describe(arm)}")
            tools.buffers.restore(written)
            timing = tools.stopwatch.time(arm, "loop", rounds[arm.name], -batch)
            warm.add(arm.name, timing.time_us, timing.spent_us)
            wanted = msgspec.structs.replace(tools.size, target_us=_WARM_BATCH_US)
            rounds[arm.name] = wanted.rounds(timing.time_us, len(arm.plan.steps), queued=True)
    return warm


def choose_mode(request: MeasureRequest, tools: Tools, progress: _Progress) -> None:
    """Fall back to ``queued`` for all arms where one cannot be captured, and say so."""
    if request.mode != "graph":
        return
    for arm in request.arms:
        tools.say(f"capturing {describe(arm)}")
        reason = tools.stopwatch.prepare(arm, "graph", 1)
        if reason:
            progress.mode = "queued"
            progress.fallback = f"arm {arm.name} cannot be captured as a graph ({reason}), so it is queued"
            return


def size_batch(request: MeasureRequest, tools: Tools, warm: WarmUp, mode: Mode) -> int:
    """Rounds per sample: the same for all arms, so that the slowest and the longest plan decide."""
    if request.rounds is not None:
        return request.rounds
    target_us = tools.size.target_us if request.target_us is None else request.target_us
    max_rounds = request.max_rounds or tools.size.max_rounds
    size = msgspec.structs.replace(tools.size, target_us=target_us, max_rounds=max_rounds)
    steps = max(len(arm.plan.steps) for arm in request.arms)
    return fit_changes(request.arms, size.rounds(warm.time_us(), steps, queued=mode == "queued"), mode, size)


def fit_outputs(
    request: MeasureRequest, tools: Tools, rounds: int, written: frozenset[str], outputs: dict[str, Outputs]
) -> int:
    """Halve the rounds until what one round leaves finite stays finite: a kernel that doubles its buffer in place
    reaches infinity after 128, and infinities and denormals take other times."""
    for arm in request.arms if request.check_outputs and request.rounds is None else ():
        tools.say(f"repeating {describe(arm)}")
        first = outputs[arm.name]
        while rounds > 1 and explain_non_finite(first, run_restored(arm, rounds, request, tools, written), rounds):
            rounds = tools.size.even(rounds // 2)
    return rounds


def take_all(
    request: MeasureRequest, tools: Tools, progress: _Progress, written: frozenset[str], expected_us: float
) -> frozenset[str]:
    """Take all blocks; return the buffers that are written after all.

    Starts over with half the rounds when the gate timed out, and with more buffers to restore when one was written
    that the first round left alone.
    """
    check = SampleCheck(expected_us, _MAX_DISCARDED)
    while True:
        try:
            samples = take_blocks(request, tools, progress, written, check)
        except _GateTimedOut:
            progress.discarded += 1
            if progress.rounds == 1:
                raise _Unusable("the gate timed out with a single round: the device is too slow or busy") from None
            progress.rounds = tools.size.even(progress.rounds // 2)
            continue
        finally:
            progress.discarded += check.discarded
            check.discarded = 0
        late = tools.buffers.find_changed(tools.buffers.names - written)
        if not late:
            progress.samples = samples
            return written
        progress.discarded += len(samples)
        written |= late


def take_blocks(
    request: MeasureRequest, tools: Tools, progress: _Progress, written: frozenset[str], check: SampleCheck
) -> tuple[Sample, ...]:
    """Sample every arm once per block, in that block's order."""
    arms = {arm.name: arm for arm in request.arms}
    for arm in request.arms:
        tools.say(f"preparing {describe(arm)} in mode {progress.mode}")
        reason = tools.stopwatch.prepare(arm, progress.mode, progress.rounds)
        if reason:
            raise _Unusable(f"arm {arm.name} cannot be timed in mode {progress.mode}: {reason}")
        tools.stopwatch.time(arm, progress.mode, progress.rounds, -1)  # a first graph launch is slow
    samples = []
    for block in range(request.first_block, request.first_block + request.blocks):
        for place, name in enumerate(order_arms(tuple(arms), block, request.seed, tools.process)):
            tools.say(f"timing {describe(arms[name])} in mode {progress.mode}")
            samples.append(take_sample(arms[name], block, place, tools, progress, written, check))
    return tuple(samples)


def take_sample(
    arm: Arm,
    block: int,
    place: int,
    tools: Tools,
    progress: _Progress,
    written: frozenset[str],
    check: SampleCheck,
) -> Sample:
    """Restore what is written, outside the events, and time one batch; again where the clock talks nonsense."""
    while True:
        tools.buffers.restore(written)
        timing = tools.stopwatch.time(arm, progress.mode, progress.rounds, block)
        if timing.timed_out:
            raise _GateTimedOut
        if check.accepts(timing.time_us):
            return Sample(arm.name, block, place, timing.time_us, timing.host_us)
        if check.exhausted:
            raise _Unusable(
                f"the clock cannot be trusted: {check.discarded} times were impossible, the last {timing.time_us:g} us"
            )


def verify_outputs(
    request: MeasureRequest, tools: Tools, rounds: int, written: frozenset[str], outputs: dict[str, Outputs]
) -> None:
    """What one round leaves finite must be finite after a whole sample, and one round must do what it did before."""
    for arm in request.arms if request.check_outputs else ():
        tools.say(f"verifying {describe(arm)}")
        first = outputs[arm.name]
        reason = explain_non_finite(first, run_restored(arm, rounds, request, tools, written), rounds)

        def run_once(arm: Arm = arm) -> Outputs:
            return run_restored(arm, 1, request, tools, written)

        reason = reason or explain_change(first, run_once(), run_once)
        if reason:
            raise _Unusable(f"arm {arm.name} {reason}")


def describe(arm: Arm) -> str:
    """Name an arm and its kernels: ``head (add_kernel, inject_kernel)``."""
    kernels = dict.fromkeys(launch.kernel for launch in arm.plan.launches)
    return f"{arm.name} ({', '.join(kernels) or 'no launches'})"
