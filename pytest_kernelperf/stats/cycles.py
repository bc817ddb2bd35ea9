"""Device cycles beside times: whether a time rose because the code takes longer or because the clock fell.

The clock is counted by the device right after each batch, so cycles are that clock times the batch's time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from pytest_kernelperf.model import Comparison, Measurement

CLOCK_SHARE = 0.5
"""Less than so much of a change of time must be left in cycles for it to be the clock's doing. A count of the clock is
good to 0.1 %, so a change near the tolerance must not hang on its last digit."""


def change_in_cycles(measurements: Iterable[Measurement], arm: str, against: str) -> float | None:
    """The ratio of two arms' cycles: the median over blocks, then the mean of its log over processes.

    None where any process has no block in which the clock of both is known.
    """
    logs: dict[int, list[float]] = {}
    for measurement in measurements:
        cycles: dict[str, dict[int, float]] = {arm: {}, against: {}}
        for sample in measurement.samples:
            if sample.arm in cycles and (counted := sample.cycles) is not None and 0 < counted < math.inf:
                cycles[sample.arm][sample.block] = counted
        own = logs.setdefault(measurement.process, [])
        both = cycles[arm].keys() & cycles[against].keys()
        own.extend(math.log(cycles[arm][block] / cycles[against][block]) for block in sorted(both))
    if not logs or not all(logs.values()):
        return None
    return math.exp(float(np.mean([np.median(own) for own in logs.values()])))


def is_clocks_doing(comparison: Comparison) -> bool:
    """Whether a change of time beyond the tolerance is hardly there in cycles, and within the tolerance."""
    if comparison.cycles_ratio is None:
        return False
    time, cycles = math.log(comparison.change_ratio), math.log(comparison.cycles_ratio)
    if time < 0:
        time, cycles = -time, -cycles
    return cycles < CLOCK_SHARE * time and cycles <= math.log(comparison.tolerance_ratio) < time
