"""Which processes are tested together: all groups where these are few, else random ones that use each equally often."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T", int, tuple[int, int])


def choose_groups(processes: Sequence[T], size: int, count: int, seed: int) -> list[tuple[T, ...]]:
    """At most ``count`` groups of ``size`` processes, each group in order and none twice.

    Shuffled decks of all processes are dealt in hands of ``size``, so that the first groups share no process.
    """
    if size > len(processes) or size < 1:
        return []
    if math.comb(len(processes), size) <= count:
        return list(itertools.combinations(sorted(processes), size))
    found: dict[tuple[T, ...], None] = {}
    for hand in _deal(processes, size, random.Random(seed)):
        found.setdefault(tuple(sorted(hand)))
        if len(found) == count:
            return list(found)
    return list(found)


def choose_sides(processes: Sequence[T], size: int, count: int, seed: int) -> list[tuple[tuple[T, ...], tuple[T, ...]]]:
    """At most ``count`` pairs of sides, old and new, of ``size`` processes each; no process is on both."""
    if 2 * size > len(processes) or size < 1:
        return []
    found: dict[tuple[tuple[T, ...], tuple[T, ...]], None] = {}
    for hand in _deal(processes, 2 * size, random.Random(seed)):
        found.setdefault((tuple(sorted(hand[:size])), tuple(sorted(hand[size:]))))
        if len(found) == count:
            break
    return list(found)


def _deal(processes: Sequence[T], size: int, generator: random.Random) -> Iterator[list[T]]:
    """Hands of shuffled decks, for a while: what is asked for may be more than there is."""
    deck = list(processes)
    for _ in range(2000):
        generator.shuffle(deck)
        for start in range(0, len(deck) - size + 1, size):
            yield deck[start : start + size]
