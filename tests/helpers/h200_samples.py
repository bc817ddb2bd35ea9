"""The real samples of tests/data/h200 as groups of processes: identical code, and code that spins longer."""

from __future__ import annotations

import collections
import gzip
import itertools
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_kernelperf.model import Frozen

DATA = Path(__file__).parents[1] / "data" / "h200"

QUIET = ("twins", "orders", "layout", "slowdown_queued", "aa_loop_twins")

Row = dict[str, Any]
Pairs = tuple[list[float], list[float]]


class Group(Frozen, frozen=True):
    """One contrast of two arms: where it comes from, and each process's times in us of both, block by block."""

    file: str
    mode: str
    variant: str
    tokens: int
    order: str
    contrast: tuple[Any, ...]
    processes: tuple[Pairs, ...]


@lru_cache
def rows(name: str) -> list[Row]:
    """All rows of one file."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


@lru_cache
def identical(contended: bool = False) -> tuple[Group, ...]:
    """Every pair of identical code, interleaved on shared buffers; contended: beside a busy second process."""
    names = ("contended_queued", "contended_loop") if contended else QUIET
    return tuple(itertools.chain.from_iterable(_pairs_of(name) for name in names))


@lru_cache
def slowed() -> tuple[Group, ...]:
    """Spinning code against each copy of the code that does not spin; ``contrast`` is (cycles, copy)."""
    found = []
    for key, processes in _by_case(rows("slowdown_queued")).items():
        for cycles, copy in itertools.product((50, 100, 200, 400, 800), (0, 1)):
            pairs = []
            for _, of in sorted(processes.items()):
                still = [row["us"] for row in of if row["spin_cycles"] == 0]
                spinning = [row["us"] for row in of if row["spin_cycles"] == cycles]
                pairs.append((spinning[0], still[copy]))
            found.append(Group("slowdown_queued", *key[:4], (cycles, copy), tuple(pairs)))
    return tuple(found)


def _pairs_of(name: str) -> Iterator[Group]:
    same = [
        row
        for row in rows(name)
        if not row.get("spin_cycles") and row.get("build") != "at most 24 registers" and row.get("buffers") != "own"
    ]
    for key, processes in _by_case(same).items():
        arms = min(len(of) for of in processes.values())
        for first, second in itertools.combinations(range(arms), 2):
            pairs = tuple((of[second]["us"], of[first]["us"]) for _, of in sorted(processes.items()))
            yield Group(name, *key[:4], (first, second), pairs)


def _by_case(chosen: list[Row]) -> dict[tuple[Any, ...], dict[int, list[Row]]]:
    grouped: dict[tuple[Any, ...], dict[int, list[Row]]] = collections.defaultdict(
        lambda: collections.defaultdict(list)
    )
    for row in chosen:
        grouped[(row["mode"], row["variant"], row["tokens"], row.get("order", ""))][row["process"]].append(row)
    return grouped
