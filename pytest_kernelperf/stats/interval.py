"""The interval of a change over processes.

Each process is one number, so that the interval holds the spread between them: samples of one process are not
independent, and an interval over all of them would shrink with their number while the truth stays as uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_kernelperf.model import Frozen


class Interval(Frozen, frozen=True):
    """A change as a ratio and its interval; both ends None where one process cannot give one."""

    change_ratio: float
    low_ratio: float | None
    high_ratio: float | None


def interval_over_processes(ratios: Sequence[float], confidence: float) -> Interval:
    """Student's t interval of the mean log ratio, one ratio per process.

    Raises:
        ValueError: no ratio, or one that is not positive and finite.
    """
    logs = np.log(np.asarray(ratios, dtype=np.float64))
    if not len(logs) or not np.all(np.isfinite(logs)):
        raise ValueError(f"expected positive, finite ratios, got {list(ratios)!r}")
    mean = float(np.mean(logs))
    if len(logs) == 1:
        return Interval(float(np.exp(mean)), None, None)
    # Imported here: a run in which nothing changed needs none of it. scipy.stats.t.interval gives the same numbers
    # after a second of importing, and NaN for a spread of exactly zero, which a scripted clock does produce.
    from scipy import special

    error = float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    half = float(special.stdtrit(len(logs) - 1, (1 + confidence) / 2)) * error
    return Interval(float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half)))
