"""The measurement, phase by phase.

    untraced? -> warm up, while nobody else is active -> size the batch -> blocks of arms in random balanced order,
    every written buffer restored before each sample -> did somebody come? -> are the outputs still sound?

All hardware is behind the tools handed in, so the whole of it is tested without any.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from pytest_kernelperf.measure.changed import ChangedStopwatch, fit_changes
from pytest_kernelperf.measure.outputs import Outputs, explain_change, explain_non_finite, observe
from pytest_kernelperf.measure.policy import WarmUp
from pytest_kernelperf.measure.request import Arm, MeasureRequest
from pytest_kernelperf.measure.sampling import take_all
from pytest_kernelperf.measure.tools import Progress, Tools, Unusable, describe
from pytest_kernelperf.measure.warming import warm_up
from pytest_kernelperf.model import InvalidCode, Measurement, Mode
from pytest_kernelperf.units import format_count


def measure(request: MeasureRequest, tools: Tools) -> Measurement:
    """Take the request's samples. Raises ``DeviceError`` if a HIP call fails."""
    progress = Progress(request.mode)
    tools = replace(tools, stopwatch=ChangedStopwatch(tools.stopwatch, tools.size.queue_depth))
    invalid = ""
    code: InvalidCode = ""
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
            written = take_all(request, tools, progress, written, warm.time_us())
            check_untraced(tools)
            verify_outputs(request, tools, progress.rounds, written, outputs)
    except Unusable as reason:
        invalid, code = str(reason), reason.code
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
        invalid_code=code,
        noise=tuple(progress.noise),
        dwell_us=request.dwell_us,
    )


def check_untraced(tools: Tools) -> None:
    """Refuse to time beside a profiler or another preloaded library."""
    found = tools.find_profilers()
    if found:
        raise Unusable("traced", f"not untraced: {', '.join(found)}; unset it and run without a profiler")


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


def choose_mode(request: MeasureRequest, tools: Tools, progress: Progress) -> None:
    """Fall back for all arms where the mode cannot be had, and say so: from ``graph`` to ``queued``, to ``loop``."""
    for arm in request.arms if request.mode == "graph" else ():
        tools.say(f"capturing {describe(arm)}")
        reason = tools.stopwatch.prepare(arm, "graph", 1)
        if reason:
            progress.mode = "queued"
            progress.fallback = f"arm {arm.name} cannot be captured as a graph ({reason}), so it is queued"
            break
    for arm in request.arms if progress.mode == "queued" else ():
        steps, most = len(arm.plan.steps), tools.size.queue_depth
        if steps > most:
            progress.mode = "loop"
            progress.fallback = (
                f"a round of arm {arm.name} has {format_count(steps)} steps, and {format_count(most)} fit the queue "
                "behind the gate, so it is timed in loop mode"
            )
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
            raise Unusable("outputs", f"arm {arm.name} {reason}")
