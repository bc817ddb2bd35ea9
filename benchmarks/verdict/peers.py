"""The rules of other tools, restated: when each calls new samples slower than old ones.

Each is given what it is given in real use: the samples of one process a side, or of as many as the tool asks for, the
old ones stored. `tests/unit/test_benchmark_verdicts_peers.py` checks the restatements against the packages themselves.

    pytest-benchmark   --benchmark-compare-fail=median:5% and so on: the statistic grew by more than that (utils.py)
    asv                compare, continuous: Mann-Whitney at 0.002, and the median grew by the factor 1.1; samples of
                       two processes (commands/compare.py, _stats.py, `processes`)
    google benchmark   compare.py: U test at 0.05 (tools/gbench/report.py), and the median grew
    criterion          bootstrapped t test at 0.05, and the mean's interval beyond the noise threshold of 1 %
    benchmatrix        BCa bootstrap of the ratio of medians of process means, Bonferroni over the cases of a run,
                       threshold 5 %, at least five processes a side (bench_compare.py, bench_statistics.py)
    nvbench            nvbench_compare_robust.py, default thresholds: intervals from minimum to third quartile apart by
                       0.5 %. It also asks for the gap in cycles; at a constant clock that says the same
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import special, stats

Array = np.ndarray[Any, np.dtype[np.float64]]

RESAMPLES = 2000
"""criterion takes 100,000, benchmatrix 50,000: the borders of what they call slower are a little less sharp here."""


class Rule(Protocol):
    """Whether the new samples are called slower; each side has one array a process."""

    def __call__(self, old: Sequence[Array], new: Sequence[Array], cases: int) -> bool:
        """``cases``: how many cases the run has."""


class Peer(NamedTuple):
    """A tool's rule and how many processes a side it is given."""

    name: str
    rule: Rule
    processes: int = 1


def grew_by(statistic: Any, percent: float) -> Rule:
    """pytest-benchmark: a statistic grew by more than so many percent."""

    def rule(old: Sequence[Array], new: Sequence[Array], cases: int) -> bool:
        return bool(statistic(new[0]) / statistic(old[0]) * 100 - 100 > percent)

    return rule


def asv(old: Sequence[Array], new: Sequence[Array], cases: int) -> bool:
    """``asv compare`` at its default factor: ``_is_result_better`` with new and old exchanged."""
    first, second = np.concatenate(old), np.concatenate(new)
    return asv_is_different(first, second) and bool(np.median(first) < np.median(second) / 1.1)


def asv_is_different(first: Array, second: Array, threshold: float = 0.002) -> bool:
    """Mann-Whitney, ties broken conservatively; exact up to 20 samples, normal beyond. Fewer than can reject: never.

    asv then looks whether 99 % intervals of the medians overlap; samples here are never so few.
    """
    m, n = len(first), len(second)
    if 1 / math.comb(m + n, min(m, n)) >= threshold:
        return False
    greater = int(np.sum(first[:, None] > second[None, :]))
    ties = int(np.sum(first[:, None] == second[None, :]))
    middle = m * n // 2
    if greater <= middle <= greater + ties:
        ties = middle - greater
    u = max(min(greater, m * n - greater), min(greater + ties, m * n - greater - ties))
    if max(m, n) > 20:
        z = (u - m * n / 2) / math.sqrt(m * n * (m + n + 1) / 12)
        return bool(2 * special.ndtr(z) < threshold)
    return _exact_p(m, n, u) < threshold


def _exact_p(m: int, n: int, u: int) -> float:
    """Two-sided: as asv adds up both tails of the exact distribution."""
    counts = rank_sum_counts(m, n)
    total = math.comb(m + n, m)
    below = sum(counts[: u + 1])
    upper = max(m * n // 2, m * n - u - 1)
    return below / total + 1 - sum(counts[: upper + 1]) / total


def rank_sum_counts(m: int, n: int) -> list[int]:
    """How many orders of m and n values have each U (coefficients of the Gaussian binomial)."""
    counts = [1] + [0] * (m * n)
    for part in range(1, m + 1):
        for u in range(m * n, n + part - 1, -1):
            counts[u] -= counts[u - n - part]
        for u in range(part, m * n + 1):
            counts[u] += counts[u - part]
    return counts


def google_benchmark(old: Sequence[Array], new: Sequence[Array], cases: int) -> bool:
    """``compare.py``'s U test of the repetitions, and the median grew."""
    p = stats.mannwhitneyu(old[0], new[0], alternative="two-sided").pvalue
    return bool(p < 0.05 and np.median(new[0]) > np.median(old[0]))


def criterion(old: Sequence[Array], new: Sequence[Array], cases: int) -> bool:
    """``Regressed`` at the defaults: significance 0.05, noise threshold 1 %, confidence 95 %."""
    before, after = old[0], new[0]
    generator = np.random.default_rng(0)
    observed = float(welch(after[None, :], before[None, :])[0])
    pooled = generator.choice(np.concatenate([after, before]), (RESAMPLES, len(after) + len(before)))
    null = welch(pooled[:, : len(after)], pooled[:, len(after) :])
    lower = int(np.sum(null < observed))
    if 2 * min(lower, RESAMPLES - lower) / RESAMPLES >= 0.05:
        return False
    means = (generator.choice(side, (RESAMPLES, len(side))).mean(axis=1) for side in (after, before))
    change = next(means) / next(means) - 1
    return bool(np.quantile(change, 0.025) > 0.01)


def welch(first: Array, second: Array) -> Array:
    """Welch's t of each row."""
    error = first.var(axis=1, ddof=1) / first.shape[1] + second.var(axis=1, ddof=1) / second.shape[1]
    difference = first.mean(axis=1) - second.mean(axis=1)
    statistic: Array = np.divide(difference, np.sqrt(error), out=np.zeros_like(difference), where=error > 0)
    return statistic


def benchmatrix(old: Sequence[Array], new: Sequence[Array], cases: int) -> bool:
    """``regressed``: the interval of the change lies wholly beyond the threshold."""
    before, after = (np.array([float(np.mean(process)) for process in side]) for side in (old, new))
    low, _ = benchmatrix_interval(before, after, 1 - 0.05 / max(cases, 1), RESAMPLES * 10, 0)
    return low > 0.05


def benchmatrix_interval(
    before: Array, after: Array, confidence: float, resamples: int, seed: int
) -> tuple[float, float]:
    """BCa interval of the change of the median, as a share, from one figure a process."""
    generator = np.random.default_rng(seed)
    medians = [np.median(generator.choice(side, (resamples, len(side))), axis=1) for side in (after, before)]
    drawn = np.sort(medians[0] / medians[1] - 1)
    estimate = float(np.median(after) / np.median(before) - 1)
    share = (np.sum(drawn < estimate) + 0.5 * np.sum(drawn == estimate)) / resamples
    bias = special.ndtri(min(max(share, 0.5 / resamples), 1 - 0.5 / resamples))
    third = second = 0.0
    for side, other, invert in ((before, after, True), (after, before, False)):
        left = np.array([np.median(np.delete(side, place)) for place in range(len(side))])
        changes = np.median(other) / left if invert else left / np.median(other)
        pseudo = (len(side) - 1) * (changes.mean() - changes)
        third += float(np.sum(pseudo**3)) / len(side) ** 3
        second += float(np.sum(pseudo**2)) / len(side) ** 2
    tail = (1 - confidence) / 2
    places = [tail, 1 - tail]
    if second > 0:
        acceleration = third / (6 * second**1.5)
        shifted = [bias + special.ndtri(place) for place in places]
        places = [float(special.ndtr(bias + value / (1 - acceleration * value))) for value in shifted]
    low, high = np.quantile(drawn, np.clip(places, 0, 1))
    return float(min(low, high)), float(max(low, high))


def nvbench(old: Sequence[Array], new: Sequence[Array], cases: int) -> bool:
    """``SLOW``: the new minimum lies above the old third quartile by at least 0.5 % of it."""
    ordered = np.sort(old[0])
    upper = float(ordered[(75 * (len(ordered) - 1) + 50) // 100])
    lower = float(np.min(new[0]))
    return lower > upper and (lower - upper) / upper >= 0.005


PEERS = (
    Peer("pytest-benchmark median 5%", grew_by(np.median, 5)),
    Peer("pytest-benchmark mean 5%", grew_by(np.mean, 5)),
    Peer("pytest-benchmark median 10%", grew_by(np.median, 10)),
    Peer("pytest-benchmark mean 10%", grew_by(np.mean, 10)),
    Peer("asv", asv, processes=2),
    Peer("google benchmark", google_benchmark),
    Peer("criterion", criterion),
    Peer("benchmatrix", benchmatrix, processes=5),
    Peer("nvbench robust", nvbench),
)
