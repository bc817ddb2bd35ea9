"""Where the fastest variant changes: the size at which its curve is crossed by the next one's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Protocol

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen

LEAST_RATIO = 1.01
"""Sizes at which two curves are nearer than this do not say which one is faster."""

MOST_CURVES = 12
"""Of more variants, who is the fastest where is a question for the table."""


class Timed(Protocol):
    """What of a row is looked at."""

    @property
    def variant(self) -> str: ...
    @property
    def arm(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def time_us(self) -> float | None: ...
    @property
    def mode(self) -> str: ...
    @property
    def roofline_us(self) -> float | None: ...


class Crossover(Frozen, frozen=True):
    """Two variants take the same time at about ``tokens``, which lies between two sizes: straight lines on log axes."""

    tokens: float
    time_us: float
    below: str
    above: str
    text: str


def crossovers_of(rows: Sequence[Timed]) -> tuple[Crossover, ...]:
    """Return where head's fastest curve changes, of variants timed in one mode; nothing of too many variants."""
    curves: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:
        if row.arm == "head" and row.time_us is not None and row.tokens > 0:
            curves.setdefault((row.variant, row.mode), {})[row.tokens] = row.time_us
    if len(curves) > MOST_CURVES:
        return ()
    found = [
        crossing
        for (one, of), (other, against) in combinations(curves.items(), 2)
        if one[1] == other[1]
        for crossing in _between(one[0], of, other[0], against)
        if all(crossing.time_us <= LEAST_RATIO * _at(crossing.tokens, third) for third in curves.values())
    ]
    return tuple(sorted(found, key=lambda each: (each.tokens, each.below, each.above)))


def _at(tokens: float, curve: dict[int, float]) -> float:
    """A curve's time at a size between two of its own, infinite elsewhere."""
    for first, last in pairwise(sorted(curve)):
        if first <= tokens <= last:
            part = math.log(tokens / first) / math.log(last / first)
            return math.exp(math.log(curve[first]) + part * math.log(curve[last] / curve[first]))
    return math.inf


def _between(one: str, of: dict[int, float], other: str, against: dict[int, float]) -> Iterator[Crossover]:
    sizes = sorted(of.keys() & against.keys())
    gaps = {tokens: math.log(of[tokens] / against[tokens]) for tokens in sizes}
    clear = [tokens for tokens in sizes if abs(gaps[tokens]) >= math.log(LEAST_RATIO)]
    for start, end in pairwise(clear):
        if gaps[start] * gaps[end] > 0:
            continue
        between = [tokens for tokens in sizes if start <= tokens <= end]
        first, last = next((a, b) for a, b in pairwise(between) if gaps[a] * gaps[b] <= 0 and gaps[a] != 0)
        part = gaps[first] / (gaps[first] - gaps[last])
        tokens = math.exp(math.log(first) + part * math.log(last / first))
        time_us = math.exp(math.log(of[first]) + part * math.log(of[last] / of[first]))
        below, above = (one, other) if gaps[start] < 0 else (other, one)
        about = units.format_counted(round(tokens), "token")
        sizes_text = f"{units.format_count(start)} and {units.format_count(end)}"
        text = f"{above} is faster than {below} from about {about} (measured at {sizes_text})"
        yield Crossover(tokens, time_us, below, above, text)
