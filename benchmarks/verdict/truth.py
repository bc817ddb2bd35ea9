"""How large a slowdown really is. Never from the samples under test.

Live, it is what was put in: rounds added to the batch. In files it is what *other* processes say: the median of their
ratios, each the median of its pairs. It is called sure where the 95 % interval over those processes (Student's t of the
mean log ratio) lies in one band.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from scipy import stats

from verdict.contrasts import Contrast, Taker

BANDS = (("<0.5", 0.005), ("0.5-1", 0.01), ("1-2", 0.02), ("2-5", 0.05), (">5", math.inf))
FASTEST, SLOWEST = 1e-9, 1e9
"""The interval of one process alone: it says nothing of others."""


class Truth(NamedTuple):
    """A slowdown as a ratio, its interval, and whether both ends lie in its band."""

    ratio: float
    low: float
    high: float

    @property
    def band(self) -> str:
        """The band that the ratio lies in."""
        return band_of(self.ratio)

    @property
    def known(self) -> bool:
        """Whether it was put in, not estimated."""
        return self.low == self.ratio == self.high

    @property
    def sure(self) -> bool:
        """Whether the whole interval lies in the band."""
        return band_of(self.low) == band_of(self.high) == self.band


def band_of(ratio: float) -> str:
    """The band of a slowdown: its name is in percent, its upper end belongs to the next."""
    return next(name for name, end in BANDS if ratio - 1 < end)


def truth_of(contrast: Contrast, tested: Collection[Taker]) -> Truth | None:
    """The truth for a check of the processes ``tested``; None where there is no other that could tell."""
    if contrast.injected_ratio is not None:
        return Truth(*[contrast.injected_ratio] * 3)
    under_test = {process for process, _ in tested}
    others = [
        ratio
        for (process, _), ratio in contrast.log_ratios.items()
        if process not in under_test and math.isfinite(ratio)
    ]
    if not others:
        return None
    if len(others) == 1:
        return Truth(math.exp(others[0]), FASTEST, SLOWEST)
    half = float(stats.t.ppf(0.975, len(others) - 1) * stats.sem(others))
    middle = float(np.mean(others))
    return Truth(*(math.exp(value) for value in (float(np.median(others)), middle - half, middle + half)))
