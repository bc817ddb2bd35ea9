"""Which intervals of a trace can be believed: profilers write zero, negative, overlapping and absurdly long ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.trace.dispatch import Dispatches

ABSURD_NS = 10_000_000_000
DOUBTFUL_NS = 1_000_000_000
DOUBTFUL_RATIO = 1000
STEPS_NS = 64
"""GPUs' clocks step: an H200's by 32 ns, so that kernels of a graph which follow at once seem to overlap by 33."""


def sound(dispatches: Dispatches) -> Dispatches:
    """Return the dispatches that can be believed, sorted by start, and count those left out by what is wrong."""
    start_ns, end_ns = dispatches.start_ns, dispatches.end_ns
    timeless = (start_ns <= 0) | (end_ns <= 0)
    empty = ~timeless & (start_ns == end_ns)
    negative = ~timeless & (end_ns < start_ns)
    kept = ~(timeless | empty | negative)
    absurd = kept & (end_ns - start_ns > ABSURD_NS)
    kept &= ~absurd
    doubtful = kept & _doubtful(dispatches, kept)
    result = _taken(dispatches, np.flatnonzero(kept & ~doubtful))
    result = _taken(result, np.argsort(result.start_ns, kind="stable"))
    overlapping = _overlapping(result)
    counted = replace(
        dispatches.left_out,
        timeless=dispatches.left_out.timeless + int(timeless.sum()),
        empty=int(empty.sum()),
        negative=int(negative.sum()),
        absurd=int(absurd.sum() + doubtful.sum()),
        overlapping=int(overlapping.sum()),
    )
    return replace(_taken(result, np.flatnonzero(~overlapping)), left_out=counted)


def _taken(dispatches: Dispatches, rows: NDArray[np.intp]) -> Dispatches:
    if len(rows) == len(dispatches.group) and bool(np.all(rows[1:] > rows[:-1])):
        return dispatches
    return replace(
        dispatches,
        start_ns=dispatches.start_ns[rows],
        end_ns=dispatches.end_ns[rows],
        group=dispatches.group[rows],
    )


def _doubtful(dispatches: Dispatches, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Longer than a second, and than a thousand medians of the kernel."""
    duration_ns = dispatches.end_ns - dispatches.start_ns
    long = kept & (duration_ns > DOUBTFUL_NS)
    if long.any():
        kernel = np.array(kernel_numbers(dispatches), np.int32)[dispatches.group]
        for number in np.unique(kernel[long]):
            here = kept & (kernel == number)
            long &= ~here | (duration_ns > DOUBTFUL_RATIO * float(np.median(duration_ns[here])))
    return long


def kernel_numbers(dispatches: Dispatches) -> list[int]:
    """Return for each group the number of its kernel's name."""
    numbers: dict[str, int] = {}
    return [numbers.setdefault(group.kernel, len(numbers)) for group in dispatches.groups]


def _overlapping(dispatches: Dispatches) -> NDArray[np.bool_]:
    """Neighbours in one queue and stream of one process of which the second starts before the first has ended.

    By more than the clock's steps.
    """
    lanes: dict[object, int] = {}
    lane_of_group = [
        lanes.setdefault((one.file, one.guid, one.pid, one.device, one.queue, one.stream), len(lanes))
        for one in dispatches.groups
    ]
    bad = np.zeros(len(dispatches.group), bool)
    lane = np.array(lane_of_group, np.int32)[dispatches.group] if lanes else dispatches.group
    for number in range(len(lanes)):
        rows = np.arange(len(lane)) if len(lanes) == 1 else np.flatnonzero(lane == number)
        clash = dispatches.start_ns[rows[1:]] < dispatches.end_ns[rows[:-1]] - STEPS_NS
        bad[rows[1:][clash]] = True
        bad[rows[:-1][clash]] = True
    return bad
