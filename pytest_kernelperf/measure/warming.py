"""Warming up: all arms in turn, until their times are steady."""

from __future__ import annotations

import msgspec

from pytest_kernelperf.measure.policy import WarmUp
from pytest_kernelperf.measure.request import MeasureRequest
from pytest_kernelperf.measure.tools import Tools, describe

_WARM_BATCH_US = 2_000.0


def warm_up(request: MeasureRequest, tools: Tools, written: frozenset[str], *, whole: bool = False) -> WarmUp:
    """Run all arms in turn until their times are steady, or for long enough.

    ``whole``: for all of the time that it may take, since times that seemed steady once were not.
    """
    limit_us = tools.warm_up_us if request.warm_up_us is None else request.warm_up_us
    warm = WarmUp(limit_us, least_us=limit_us if whole else 0.0)
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
