"""What moved the samples without being the code, told from the samples alone: no clock, no device.

Comparisons are made within blocks, so that what all arms of a block share cancels. What is found here is said beside
the verdict, is a reason to measure once more, and explains why a case could not be decided.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pytest_kernelperf.model import Frozen, Noise, Sample
from pytest_kernelperf.units import format_counted, format_percent

Array = npt.NDArray[np.float64]

RAMP_RATIO = 1.03
"""A drift of so much from the first third of the blocks to the last is a ramp: what a warm-up calls steady."""

RAMP_BLOCKS = 6
RAMP_ORDER = 0.8
"""Rank correlation of time and block from which a drift is one, and not a few slow samples at one end."""

SPEED_RATIO = 1.02
"""Two speeds are at least so far apart; those seen on an H200 were 27 %."""

SPEED_GAP = 4.0
"""The gap between two speeds is so many times wider than either's own spread."""

SPEED_SHARE = 0.1
"""Each speed holds at least this share of the samples and three of them, else the few are stragglers."""

SPEED_SAMPLES = 12


class Speeds(Frozen, frozen=True):
    """Two speeds of one process: the slower's time by the faster's, and each arm's share of slower samples."""

    ratio: float
    slow_share: dict[str, float]


def find_noise(samples: Sequence[Sample]) -> tuple[Noise, ...]:
    """All that the samples of one process show of themselves."""
    found = (ramp_noise(samples), speeds_noise(samples))
    return tuple(noise for noise in found if noise is not None)


def ramp_noise(samples: Sequence[Sample]) -> Noise | None:
    """The drift over the blocks as a sentence, None where there is none worth saying."""
    ratio = find_ramp(samples)
    if ratio is None:
        return None
    way = "slower" if ratio > 1 else "faster"
    share = format_percent(100 * abs(ratio - 1))
    return Noise("clock_ramp", f"times still moved while they were taken: the last third was {share} {way}")


def find_ramp(samples: Sequence[Sample]) -> float | None:
    """How much slower (ratio) the last third of the blocks is than the first, if times rise or fall all along.

    Each arm's samples are taken by its own median, so that only what all arms share counts.
    """
    levels = block_levels(samples)
    if len(levels) < RAMP_BLOCKS:
        return None
    third = len(levels) // 3
    drift = float(np.exp(np.median(levels[-third:]) - np.median(levels[:third])))
    if max(drift, 1 / drift) < RAMP_RATIO or abs(rank_correlation(levels)) < RAMP_ORDER:
        return None
    return drift


def block_levels(samples: Sequence[Sample]) -> Array:
    """Log of each block's time by the arms' medians, in order of blocks, shape (blocks,)."""
    arms: dict[str, list[Sample]] = {}
    for sample in samples:
        arms.setdefault(sample.arm, []).append(sample)
    blocks: dict[int, list[float]] = {}
    for own in arms.values():
        logs = np.log([sample.time_us for sample in own])
        for sample, level in zip(own, logs - np.median(logs), strict=True):
            blocks.setdefault(sample.block, []).append(float(level))
    return np.array([np.mean(blocks[block]) for block in sorted(blocks)], dtype=np.float64)


def rank_correlation(values: Array) -> float:
    """Spearman's rank correlation of values with their order; ties by place, since times hardly tie."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    if len(values) < 2:
        return 0.0
    return float(np.corrcoef(ranks, np.arange(len(values)))[0, 1])


def speeds_noise(samples: Sequence[Sample]) -> Noise | None:
    """Two speeds as a sentence, None where the samples have one."""
    speeds = find_speeds(samples)
    if speeds is None:
        return None
    shares = ", ".join(f"{arm} {format_percent(100 * share)}" for arm, share in sorted(speeds.slow_share.items()))
    apart = format_percent(100 * (speeds.ratio - 1))
    return Noise("two_speeds", f"two speeds, {apart} apart, in one process; at the slower: {shares} of the samples")


def find_speeds(samples: Sequence[Sample]) -> Speeds | None:
    """Two groups of times with nothing between them, in any arm; the arms are split at their own gaps.

    The widest gap between neighbours in order of time is what splits, if both groups are far narrower than it and
    neither is but a few stragglers.
    """
    splits = {}
    for arm in dict.fromkeys(sample.arm for sample in samples):
        times = np.log([sample.time_us for sample in samples if sample.arm == arm])
        split = _split(times)
        if split is not None:
            splits[arm] = split
    if not splits:
        return None
    arm = max(splits, key=lambda name: splits[name][0])
    return Speeds(float(np.exp(splits[arm][0])), {name: share for name, (_, share) in splits.items()})


def _split(logs: Array) -> tuple[float, float] | None:
    """The distance of two groups' medians (log) and the slower's share; None where there is one group."""
    if len(logs) < SPEED_SAMPLES:
        return None
    ordered = np.sort(logs)
    place = int(np.argmax(np.diff(ordered))) + 1
    fast, slow = ordered[:place], ordered[place:]
    if min(len(fast), len(slow)) < max(3.0, SPEED_SHARE * len(ordered)):
        return None
    gap = float(slow[0] - fast[-1])
    widest = max(_spread(fast), _spread(slow))
    if gap < np.log(SPEED_RATIO) or gap < SPEED_GAP * widest:
        return None
    return float(np.median(slow) - np.median(fast)), len(slow) / len(ordered)


def _spread(logs: Array) -> float:
    """The middle half's width."""
    low, high = np.percentile(logs, [25, 75])
    return float(high - low)


def retaken_noise(kind_sentence: str, samples: int) -> str:
    """Say how many samples were thrown away for something and taken again."""
    return f"{kind_sentence}; {format_counted(samples, 'sample')} thrown away and taken again"


class Patience:
    """How often what was disturbed is taken again: at most ``most`` blocks in all, and ``waits_s`` pauses for heat."""

    def __init__(self, most_blocks: int, waits_s: Sequence[float] = (0.2, 0.5, 1.0)) -> None:
        self._left = most_blocks
        self._waits_s = list(waits_s)

    def allows(self, blocks: int) -> bool:
        """Whether so many blocks may be taken again; they count from then on."""
        if blocks > self._left:
            return False
        self._left -= blocks
        return True

    def wait_s(self) -> float | None:
        """The next pause in seconds, longer each time; None once there are none left."""
        return self._waits_s.pop(0) if self._waits_s else None
