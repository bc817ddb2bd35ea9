"""Taking samples: block by block, under watch, and again what was disturbed, for so long and no longer.

Others' activity and what holds the clock down are looked at in windows of a quarter of a second, not only before and
after: whoever comes and goes in between costs the blocks of a window, not the measurement. Whether blocks are taken
again never depends on what one arm's times are beside another's.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

import msgspec

from pytest_kernelperf.measure.activity import Activity
from pytest_kernelperf.measure.limits import Limits
from pytest_kernelperf.measure.noise import Patience, find_noise, find_ramp, ramp_noise, retaken_noise
from pytest_kernelperf.measure.order import order_arms
from pytest_kernelperf.measure.policy import SampleCheck
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.tools import GateTimedOut, Progress, Told, Tools, Unusable, describe
from pytest_kernelperf.measure.warming import warm_up
from pytest_kernelperf.model import Noise, NoiseKind, Sample
from pytest_kernelperf.units import format_counted

WINDOW_US = 250_000.0
"""Reading what every process on a machine has used takes a few milliseconds."""

_MAX_DISCARDED = 20
_MOST_RAMPS = 2
_MOST_DWELL_BATCHES = 100_000


@dataclass
class _Disturbance:
    """One kind of disturbance so far: who or what, and the samples taken again for it."""

    what: str = ""
    retaken: int = 0
    stays: bool = False


@dataclass
class _Watch:
    """What the windows have shown, and how often one may still be taken again."""

    patience: Patience
    seen: dict[NoiseKind, _Disturbance] = field(default_factory=dict)
    power_limited_by: str = ""

    def note(self, kind: NoiseKind, what: str, retaken: int, *, stays: bool) -> None:
        """Remember a disturbed window."""
        known = self.seen.setdefault(kind, _Disturbance())
        known.what, known.retaken, known.stays = what, known.retaken + retaken, stays

    def noise(self) -> tuple[Noise, ...]:
        """All of it as records."""
        found = []
        for kind, one in self.seen.items():
            sentence = f"{one.what} {'was active in between' if kind == 'contention' else 'held the clock down'}"
            if one.retaken:
                sentence = retaken_noise(sentence, one.retaken)
            found.append(Noise(kind, sentence, one.retaken, settled=not one.stays))
        if self.power_limited_by:
            found.append(Noise("power_limited", f"{self.power_limited_by} held the clock down"))
        return tuple(found)


def take_all(
    request: MeasureRequest, tools: Tools, progress: Progress, written: frozenset[str], expected_us: float
) -> frozenset[str]:
    """Take all blocks; return the buffers that are written after all.

    Starts over with half the rounds when the gate timed out, with more buffers to restore when one was written that
    the first round left alone, and after another warm-up when times were still rising or falling.
    """
    check = SampleCheck(expected_us, _MAX_DISCARDED)
    watch = _Watch(Patience(request.blocks))
    ramp: Noise | None = None
    ramps = retaken = 0
    while True:
        try:
            samples = take_blocks(request, tools, progress, written, check, watch)
        except GateTimedOut:
            progress.discarded += 1
            if progress.rounds == 1:
                sentence = "the gate timed out with a single round: the device is too slow or busy"
                raise Unusable("gate", sentence) from None
            progress.rounds = tools.size.even(progress.rounds // 2)
            continue
        finally:
            progress.discarded += check.discarded
            check.discarded = 0
        late = tools.buffers.find_changed(tools.buffers.names - written)
        if late:
            progress.discarded += len(samples)
            written |= late
        elif find_ramp(samples) is not None and ramps < _MOST_RAMPS and not progress.activity.contended_by:
            ramps, ramp = ramps + 1, ramp_noise(samples)
            retaken += len(samples)
            progress.discarded += len(samples)
            warm_up(request, tools, written, whole=True)
        else:
            progress.samples = samples
            progress.noise += [*watch.noise(), *_told(samples, ramp, retaken), *_timer_noise(check)]
            return written


def take_blocks(
    request: MeasureRequest,
    tools: Tools,
    progress: Progress,
    written: frozenset[str],
    check: SampleCheck,
    watch: _Watch,
) -> tuple[Sample, ...]:
    """Sample every arm once per block, in that block's order; blocks of a disturbed window again."""
    for arm in request.arms:
        tools.say(f"preparing {describe(arm)} in mode {progress.mode}")
        reason = tools.stopwatch.prepare(arm, progress.mode, progress.rounds)
        if reason:
            raise Unusable("mode", f"arm {arm.name} cannot be timed in mode {progress.mode}: {reason}")
        tools.stopwatch.time(arm, progress.mode, progress.rounds, -1)  # a first graph launch is slow
    taken: dict[int, list[Sample]] = {}
    waiting = deque(range(request.first_block, request.first_block + request.blocks))
    window: list[int] = []
    spent_us = 0.0
    while waiting:
        if not window:
            tools.probe.start()
            tools.limits.start()
        block = waiting.popleft()
        taken[block], took_us = take_block(block, request, tools, progress, written, check)
        window.append(block)
        spent_us += took_us
        if spent_us < WINDOW_US and waiting:
            continue
        again = judge_window(tools.probe.stop(), tools.limits.stop(), window, request, tools, progress, watch)
        if progress.activity.contended_by:
            break
        if again:
            waiting.extendleft(reversed(window))
        window, spent_us = [], 0.0
        if tools.tell is not None:
            tools.tell(how_far(request, taken, len(waiting)))
    return tuple(sample for block in sorted(taken) for sample in taken[block])


def how_far(request: MeasureRequest, taken: dict[int, list[Sample]], waiting: int) -> Told:
    """Say how many blocks are taken, and each arm's median so far."""
    samples = [sample for block in taken.values() for sample in block]
    medians = {arm.name: median(sample.time_us for sample in samples if sample.arm == arm.name) for arm in request.arms}
    return Told(request.blocks - waiting, request.blocks, medians)


def judge_window(
    activity: Activity,
    limits: Limits,
    window: list[int],
    request: MeasureRequest,
    tools: Tools,
    progress: Progress,
    watch: _Watch,
) -> bool:
    """Whether a window's blocks are to be taken again; what was seen goes into ``progress`` and ``watch``.

    Somebody else's work ends the measurement once patience has; a device that stays hot is measured as it is.
    """
    samples = len(window) * len(request.arms)
    watch.power_limited_by = limits.power_limited_by or watch.power_limited_by
    if activity.contended_by:
        if not watch.patience.allows(len(window)):
            progress.activity = activity
            watch.note("contention", activity.contended_by, 0, stays=True)
            return False
        progress.discarded += samples
        watch.note("contention", activity.contended_by, samples, stays=False)
        return True
    if activity.foreign_cores >= progress.activity.foreign_cores:
        progress.activity = activity
    if limits.throttled_by:
        wait_s = watch.patience.wait_s()
        again = wait_s is not None and watch.patience.allows(len(window))
        watch.note("throttled", limits.throttled_by, samples if again else 0, stays=not again)
        if again and wait_s is not None:
            progress.discarded += samples
            tools.say(f"waiting for {limits.throttled_by} to end")
            tools.rest(wait_s)
        return again
    return False


def take_block(
    block: int, request: MeasureRequest, tools: Tools, progress: Progress, written: frozenset[str], check: SampleCheck
) -> tuple[list[Sample], float]:
    """Sample every arm once; return the samples and the us that their batches took."""
    arms = {arm.name: arm for arm in request.arms}
    samples, spent_us = [], 0.0
    for place, name in enumerate(order_arms(tuple(arms), block, request.seed, tools.process)):
        tools.say(f"timing {describe(arms[name])} in mode {progress.mode}")
        spent_us += dwell(arms[name], request.dwell_us, tools, progress, written)
        sample, took_us = take_sample(arms[name], block, place, tools, progress, written, check)
        samples.append(sample)
        spent_us += took_us
    return samples, spent_us


def dwell(arm: Arm, dwell_us: float, tools: Tools, progress: Progress, written: frozenset[str]) -> float:
    """Run the arm's own batches, untimed, until the device's power and clock are that arm's; return the us it took."""
    spent_us = 0.0
    for _ in range(_MOST_DWELL_BATCHES):
        if spent_us >= dwell_us:
            break
        tools.buffers.restore(written)
        spent_us += max(0.0, tools.stopwatch.time(arm, progress.mode, progress.rounds, -1).spent_us)
    return spent_us


def take_sample(
    arm: Arm,
    block: int,
    place: int,
    tools: Tools,
    progress: Progress,
    written: frozenset[str],
    check: SampleCheck,
) -> tuple[Sample, float]:
    """Restore what is written, outside the events, and time one batch; again where the clock talks nonsense."""
    while True:
        tools.buffers.restore(written)
        timing = tools.stopwatch.time(arm, progress.mode, progress.rounds, block)
        if timing.timed_out:
            raise GateTimedOut
        if check.accepts(timing.time_us):
            clock = msgspec.UNSET if timing.clock_mhz is None else timing.clock_mhz
            return Sample(arm.name, block, place, timing.time_us, timing.host_us, clock), timing.spent_us
        if check.exhausted:
            raise Unusable(
                "timer",
                f"the clock cannot be trusted: {check.discarded} times were impossible, the last {timing.time_us:g} us",
            )


def _told(samples: tuple[Sample, ...], ramp: Noise | None, retaken: int) -> tuple[Noise, ...]:
    """What the samples show; a ramp that taking them again ended is said as such."""
    found = find_noise(samples)
    stays = any(noise.kind == "clock_ramp" for noise in found)
    found = tuple(
        msgspec.structs.replace(noise, retaken=retaken) if noise.kind == "clock_ramp" else noise for noise in found
    )
    if ramp is None or stays:
        return found
    sentence = retaken_noise(ramp.sentence, retaken)
    return (*found, msgspec.structs.replace(ramp, sentence=sentence, retaken=retaken, settled=True))


def _timer_noise(check: SampleCheck) -> tuple[Noise, ...]:
    if not check.impossible:
        return ()
    times = format_counted(check.impossible, "time")
    sentence = f"the timer gave {times} that no clock gives, the last {check.last_us:g} us; taken again"
    return (Noise("timer", sentence, check.impossible, settled=True),)
