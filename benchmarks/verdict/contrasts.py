"""Which samples may be compared with which: pairs of arms that one process took side by side.

Five copies of the same code give four contrasts, each copy against the first: there are twenty pairs, but only four
independent differences.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from pytest_kernelperf.stats.paired import usable_pairs
from verdict.rows import Row, by_arm

Array = np.ndarray[Any, np.dtype[np.float64]]
Kind = Literal["identical", "slowed", "other code", "alone"]
Key = tuple[str, int, int, int, int]
"""Build, spin cycles, added rounds, copy, and which of several lines that are alike in all of these."""


SAME_INSTRUCTIONS = "(same instructions)"
"""Ends the name of a build whose kernels have the same instructions, in a module of its own."""

Taker = tuple[int, int]
"""A process, and which of its turns at a case."""


class Suite(NamedTuple):
    """What one run of a guard would hold: the cases of one file in one mode under one condition."""

    file: str
    mode: str
    condition: str

    @property
    def guarded(self) -> bool:
        """Whether the samples were taken as the guard takes them: shared buffers, balanced order."""
        return self.condition in ("", "contended")


class Case(NamedTuple):
    """A variant at a size."""

    kernel: str
    variant: str
    tokens: int
    others: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, [self.kernel, self.variant, f"at {self.tokens}"]))


class Pair(NamedTuple):
    """Two arms of one process in us per round, sample beside sample."""

    new: Array
    old: Array

    @property
    def log_ratio(self) -> float:
        """The median of the log ratios new / old, NaN without a usable pair."""
        new, old = usable_pairs(self.new.tolist(), self.old.tolist())
        return float(np.median(np.log(new / old))) if len(new) else float("nan")


@dataclass(frozen=True)
class Contrast:
    """One arm against another, in every process that took both.

    ``injected_ratio``: the change that was put in on purpose, none where instructions are the same; None where only
    other processes can tell.
    ``generations``: the processes that were alive together, where the lines say so.
    """

    suite: Suite
    case: Case
    kind: Kind
    what: str
    pairs: dict[Taker, Pair]
    injected_ratio: float | None = None
    log_ratios: dict[Taker, float] = field(default_factory=dict)
    generations: tuple[tuple[Taker, ...], ...] = ()

    @property
    def takers(self) -> tuple[Taker, ...]:
        """All processes, in order."""
        return tuple(sorted(self.pairs))


def find_contrasts(rows: Iterable[Row]) -> list[Contrast]:
    """All contrasts of the rows; a case whose processes took one arm each is a contrast of it with itself, alone."""
    cases: dict[tuple[Suite, Case], dict[Taker, dict[Key, Row]]] = {}
    for row, ordinal in by_arm(rows):
        suite = Suite(row.file, row.mode, _condition(row))
        case = Case(row.kernel, row.variant, row.tokens, row.others)
        arms = cases.setdefault((suite, case), {}).setdefault((row.process, row.turn), {})
        arms.setdefault((*_code(row), row.copy or 0, ordinal), row)
    found = []
    for (suite, case), processes in cases.items():
        found += _contrasts_of(suite, case, processes)
    return found


def _condition(row: Row) -> str:
    """What the guard would have done otherwise, and who disturbed."""
    parts = []
    if row.contended:
        parts.append("contended")
    if row.buffers and row.buffers != "shared":
        parts.append(f"{row.buffers} buffers")
    if row.order == "abab":
        parts.append("strict order A B A B")
    elif row.order and row.order != "random":
        parts.append(f"order {row.order}")
    return ", ".join(parts)


def _code(row: Row) -> tuple[str, int, int]:
    """What makes the arm's time: equal for identical code; the plain one sorts first."""
    return ("" if row.build == "plain" else row.build, row.spin_cycles, row.extra_rounds)


def _contrasts_of(suite: Suite, case: Case, processes: dict[Taker, dict[Key, Row]]) -> list[Contrast]:
    """Every arm against the first of the plainest code."""
    keys = sorted({key for arms in processes.values() for key in arms})
    base = keys[0]
    if len(keys) == 1:
        alone = {process: _pair(arms[base], arms[base]) for process, arms in processes.items()}
        return [Contrast(suite, case, "alone", "", alone)]
    found = []
    for key in keys[1:]:
        both = {process: arms for process, arms in processes.items() if key in arms and base in arms}
        if both:
            pairs = {process: _pair(arms[key], arms[base]) for process, arms in both.items()}
            kind, what = _describe(key, base)
            injected = [1 + arms[key].extra_rounds / arms[key].rounds for arms in both.values() if arms[key].rounds]
            known = float(np.median(injected)) if kind == "slowed" and injected and key[1] == base[1] else None
            if kind == "other code" and key[0].endswith(SAME_INSTRUCTIONS):
                known = 1.0
            ratios = {process: pair.log_ratio for process, pair in pairs.items()}
            found.append(Contrast(suite, case, kind, what, pairs, known, ratios, _generations(both, base)))
    return found


def _generations(processes: dict[Taker, dict[Key, Row]], base: Key) -> tuple[tuple[Taker, ...], ...]:
    """Processes by generation and turn, in order; none where the lines do not say."""
    found: dict[tuple[int, int], list[Taker]] = {}
    for taker in sorted(processes):
        row = processes[taker][base]
        found.setdefault((row.generation, row.turn), []).append(taker)
    return tuple(tuple(of) for (generation, _), of in sorted(found.items()) if generation >= 0)


def _pair(new: Row, old: Row) -> Pair:
    """Samples of the same blocks; lines that do not say which are paired one by one, as far as both go."""
    if not (new.blocks and old.blocks):
        shortest = min(len(new.us), len(old.us))
        return Pair(np.array(new.us[:shortest]), np.array(old.us[:shortest]))
    first, second = dict(zip(new.blocks, new.us, strict=False)), dict(zip(old.blocks, old.us, strict=False))
    both = sorted(first.keys() & second.keys())
    return Pair(np.array([first[block] for block in both]), np.array([second[block] for block in both]))


def _describe(key: Key, base: Key) -> tuple[Kind, str]:
    """What one arm is to the base, in words."""
    build, spin, extra, copy, ordinal = key
    number = copy or ordinal
    if key[:3] == base[:3]:
        return "identical", f"copy {number}"
    if build != base[0]:
        return "other code", f"{build}, copy {number}" if number else build
    return "slowed", f"{extra} rounds added" if extra != base[2] else f"{spin} cycles"
