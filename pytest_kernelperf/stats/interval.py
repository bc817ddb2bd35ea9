"""The interval of a change over processes.

Each process is one number, so that the interval holds the spread between them: samples of one process are not
independent, and an interval over all of them would shrink with their number while the truth stays as uncertain.
"""

from __future__ import annotations

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
    # Imported here: it takes a second, and a run in which nothing changed needs none of it.
    from scipy import stats

    error = float(stats.sem(logs))
    # Not stats.t.interval, which gives NaN for a spread of exactly zero; a scripted clock does produce that.
    half = float(stats.t.ppf((1 + confidence) / 2, len(logs) - 1)) * error
    return Interval(float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half)))
