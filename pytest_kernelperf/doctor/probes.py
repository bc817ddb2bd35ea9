"""Findings of the live probes: compiling twice, gate, queue, timer, tracing."""

from __future__ import annotations

from pytest_kernelperf.doctor.device import why_left_out
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.finding import Finding, Topic, left_out, ok, problem, warning
from pytest_kernelperf.units import format_count, format_counted, format_number, format_time

COARSE_NS = 1000.0
"""A clock that steps by more is coarser than the kernels that are guarded."""

NEEDS_COMPILER = "it is probed with kernels, and none compiles here"


def find_repeatability(found: Examination) -> Finding:
    """Whether the same source gives the same instructions, which is what `identical` stands on."""
    if found.compiled is None:
        return _not_probed(found, "compiling twice")
    kernels = format_counted(found.compiled.kernels, "kernel")
    if found.compiled.differing:
        return warning(
            "compiling twice",
            f"in another folder the same source gave other instructions: {', '.join(found.compiled.differing)}",
            "every case will be timed instead of being called identical: look for a path or a time in what is compiled",
        )
    whole = "" if found.compiled.whole_equal else " (the files differ, in names and paths alone)"
    return ok("compiling twice", f"in two folders the same source gave the same instructions, {kernels}{whole}")


def find_gate(found: Examination) -> Finding:
    """Whether the gate holds the queue, opens, and ends by itself."""
    gate = found.gate
    if gate is None:
        return _not_probed(found, "gate")
    if gate.not_used_because:
        return warning(
            "gate",
            f"not used, since {gate.not_used_because} makes every launch wait: times hold launch gaps",
            f"unset {gate.not_used_because.partition('=')[0]}",
        )
    if not gate.opens:
        return problem(
            "gate",
            "what waits behind it does not run in time once it is opened: every gated sample would be thrown away",
            "free the device, or measure with -o kernelperf_mode=loop, which uses no gate",
        )
    if not gate.holds:
        return warning(
            "gate",
            "launches behind it run while it is closed: queued times may hold launch gaps",
            "measure in graph mode; report it with the versions above",
        )
    limits = [f"leaves by itself after {format_number(gate.left_after_ms)} ms"] if gate.left_after_ms else []
    limits += ["is opened by a second thread after 500 ms"] if gate.second_releaser else []
    if len(limits) == 2:
        return ok("gate", f"holds the queue, opens, {limits[0]}, {limits[1]}")
    if not limits:
        return problem(
            "gate", "nothing ends it if nobody opens it", "do not guard here: report it with the versions above"
        )
    return warning(
        "gate", f"holds the queue and opens; of its two time limits only one works: it {limits[0]}",
        "look again on an idle machine; if it stays, report it with the versions above",
    )  # fmt: skip


def find_queue(found: Examination) -> Finding:
    """How many launches can wait behind the gate."""
    queue = found.queue
    if queue is None:
        if found.gate is not None and found.gate.not_used_because:
            return left_out("queue", "there is no gate to fill it behind")
        return _not_probed(found, "queue")
    depth = f"{'' if queue.full else 'at least '}{format_count(queue.depth)} launches wait behind a closed gate"
    if queue.full and queue.depth < queue.needed:
        return warning(
            "queue",
            f"{depth}, fewer than the {format_count(queue.needed)} of the longest batch, which is halved until it fits",
            "keep plans short, or measure in graph mode",
        )
    return ok("queue", f"{depth}; the guard queues at most {format_count(queue.needed)}")


def find_timer(found: Examination) -> Finding:
    """How fine the clock of the device's events is."""
    timer = found.timer
    if timer is None:
        return _not_probed(found, "timer")
    if timer.step_ns is None or timer.least_ns is None:
        return problem(
            "timer",
            f"{timer.readings} events one after the other all have the same time",
            "measure with -o kernelperf_mode=loop, which takes the host's clock",
        )
    steps = f"steps of {_ns(timer.step_ns)}; two events with nothing in between are {_ns(timer.least_ns)} apart"
    if timer.step_ns > COARSE_NS:
        return warning("timer", steps, "take more rounds per sample: a batch must be long against one step")
    return ok("timer", steps)


def find_tracing(found: Examination) -> Finding:
    """Whether a profiler would distort times."""
    if found.facts is None:
        return left_out("tracing", why_left_out(found))
    if found.profilers:
        return problem(
            "tracing",
            f"{', '.join(found.profilers)}: every case would be invalid, as traced times are not times",
            "start the guard without the profiler; unset the variables that are named",
        )
    return ok("tracing", "no profiler and no preloaded library is in the worker")


def _not_probed(found: Examination, topic: Topic) -> Finding:
    name = {"compiling twice": "compile"}.get(topic, topic)
    if found.facts is None:
        return left_out(topic, why_left_out(found))
    if name != "compile" and name in found.problems:
        return problem(topic, found.problems[name], "free the device and look again; then see the kernel's log (dmesg)")
    return left_out(topic, NEEDS_COMPILER)


def _ns(time_ns: float) -> str:
    return format_time(time_ns / 1000)
