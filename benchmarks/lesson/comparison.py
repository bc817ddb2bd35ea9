"""What two sides' samples say: medians of processes, their spread, and whether the sides agree."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scipy import stats
from tabulate import tabulate

TOLERANCE = 0.01
GUARD, BY_HAND, BY_RUNTIME = "guard", "by hand", "by hand, <<<>>>"
# Of a mean that leaves out a quarter at either end.
TRIMMED = 0.25
SHARP = 0.002


@dataclass(frozen=True)
class Row:
    """A case in a mode, apart: every sample in us per round, by process.

    A process is named by its side, the layout of its buffers, and which of the two of that layout it is:
    ``guard 0a``, ``by hand 3b``.
    """

    variant: str
    tokens: int
    place: int
    mode: str
    samples: Mapping[str, Sequence[float]]

    @property
    def processes_us(self) -> dict[str, float]:
        """The median of each process."""
        return {name: statistics.median(times) for name, times in self.samples.items()}

    @property
    def guard_us(self) -> tuple[float, ...]:
        """The guard's processes."""
        return tuple(time for name, time in self.processes_us.items() if name.startswith(GUARD))

    @property
    def by_hand_us(self) -> tuple[float, ...]:
        """The hand-written program's processes."""
        return tuple(time for name, time in self.processes_us.items() if name.startswith(BY_HAND))

    def layouts_us(self, side: str) -> dict[str, tuple[float, ...]]:
        """The processes of a side by layout."""
        found: dict[str, tuple[float, ...]] = {}
        for name, time in self.processes_us.items():
            if name.startswith(side):
                layout = name[len(side) + 1 : -1]
                found[layout] = (*found.get(layout, ()), time)
        return found

    @property
    def ratio(self) -> float | None:
        """The guard's time by the hand-written program's, layout by layout, of these the median."""
        guard, by_hand = self.layouts_us(GUARD), self.layouts_us(BY_HAND)
        both = [
            statistics.mean(guard[layout]) / statistics.mean(by_hand[layout]) for layout in guard if layout in by_hand
        ]
        return statistics.median(both) if both else None

    @property
    def comparable(self) -> bool:
        """Whether all of the hand-written program's own processes agree, which takes at least two."""
        return len(self.by_hand_us) > 1 and spread(self.by_hand_us) <= TOLERANCE

    @property
    def off(self) -> bool:
        """Whether the sides differ although the hand-written processes agree."""
        return self.comparable and self.ratio is not None and abs(self.ratio - 1.0) > TOLERANCE

    @property
    def verdict(self) -> str:
        """The last column."""
        if self.ratio is None:
            return "-"
        if not self.comparable:
            return f"by hand {spread(self.by_hand_us):.1%} apart, guard {spread(self.guard_us):.1%}"
        return f"off by {abs(self.ratio - 1.0):.1%}" if self.off else "within 1 %"

    def as_dict(self) -> dict[str, object]:
        """The row for JSON, with what is derived."""
        derived: dict[str, object] = {
            "processes_us": self.processes_us,
            "ratio": self.ratio,
            "verdict": self.verdict,
        }
        return dataclasses.asdict(self) | derived


@dataclass(frozen=True)
class Beside:
    """A case in a mode, both sides in one process: for each process the samples of both, in us per round by block.

    ``against``: ``by hand``, or what else the guard was timed beside.
    """

    variant: str
    tokens: int
    mode: str
    against: str
    samples: list[tuple[list[float], list[float]]]

    @property
    def ratios(self) -> list[float]:
        """The guard's time by the other's in each process."""
        return [math.exp(float(stats.trim_mean(log_ratios(*both), TRIMMED))) for both in self.samples]

    @property
    def ratio(self) -> float:
        """The median of the processes."""
        return statistics.median(self.ratios)

    @property
    def off(self) -> bool:
        """Whether the guard is not within 1 % of the hand-written code."""
        return self.against == BY_HAND and abs(self.ratio - 1.0) > TOLERANCE

    @property
    def text(self) -> str:
        """``1.0003 (0.9998 to 1.0011)``."""
        ratios = self.ratios
        return f"{self.ratio:.4f} ({min(ratios):.4f} to {max(ratios):.4f}){' off' if self.off else ''}"

    def as_dict(self) -> dict[str, object]:
        """For JSON, with what is derived."""
        return dataclasses.asdict(self) | {"ratios": self.ratios, "ratio": self.ratio, "off": self.off}


def log_ratios(guard: Sequence[float], other: Sequence[float]) -> list[float]:
    """Of each block's two samples.

    Their mean is looked at, but for a quarter at either end: successive batches alternate by up to 1 %, which a median
    of ratios takes from one end or the other, while random balanced order takes it out of the mean.
    """
    return [math.log(one / two) for one, two in zip(guard, other, strict=True)]


def is_sharp(guard: Sequence[float], other: Sequence[float]) -> bool:
    """Whether the standard error of the two sides' ratio is at most 0.2 %."""
    error = stats.mstats.trimmed_stde(log_ratios(guard, other), (TRIMMED, TRIMMED))
    return float(error) <= SHARP


def add_beside(found: list[Beside], row: Mapping[str, Any]) -> None:
    """Add one process's samples of a case and mode, as ``beside.py`` prints them."""
    place = (row["variant"], row["tokens"], row["mode"])
    for against in (name for name in (BY_HAND, BY_RUNTIME) if name in row):
        entry = next((e for e in found if (e.variant, e.tokens, e.mode, e.against) == (*place, against)), None)
        if entry is None:
            entry = Beside(*place, against, [])
            found.append(entry)
        entry.samples.append((row["guard"], row[against]))


def spread(times: Sequence[float]) -> float:
    """How far apart the processes are: the greatest by the least, less one."""
    return max(times) / min(times) - 1.0


def offsets(rows: Sequence[Row], mode: str) -> dict[str, float]:
    """How each process lies among all of them: the geometric mean of its ratio to them over a mode's cases.

    A process that is fast in one case is often fast in all: what is then compared is processes, not programs.
    """
    logs: dict[str, list[float]] = {}
    for row in rows:
        if row.mode == mode:
            own = {name: math.log(time) for name, time in row.processes_us.items()}
            centre = statistics.mean(own.values())
            for name, value in own.items():
                logs.setdefault(name, []).append(value - centre)
    return {name: math.exp(statistics.mean(values)) for name, values in logs.items()}


def table(
    rows: Sequence[Row], beside: Sequence[Beside], nvbench: Sequence[Mapping[str, float]], python: Sequence[float]
) -> str:
    """All rows; nvbench's batch figure stands beside ``queued``, the Python loop's beside ``loop``."""
    together = {(one.variant, one.tokens, one.mode): one.text for one in beside if one.against == BY_HAND}
    together |= {
        (one.variant, one.tokens, "loop, cuLaunchKernel"): one.text for one in beside if one.against != BY_HAND
    }
    lines: list[list[object]] = []
    for row in rows:
        peer: object = ""
        if row.mode == "queued" and row.place < len(nvbench):
            found = nvbench[row.place]
            peer = "nvbench " + " / ".join(f"{found[kind]:.2f}" for kind in ("batch", "cold") if kind in found)
        if row.mode == "loop" and row.place < len(python):
            peer = f"Python {python[row.place]:.2f}"
        one_process = together.get((row.variant, row.tokens, row.mode), "")
        sides = [_range(row.guard_us), _range(row.by_hand_us)]
        ratio = f"{row.ratio:.3f}" if row.ratio else ""
        lines.append([row.tokens, row.variant, row.mode, one_process, *sides, ratio, row.verdict, peer])
    headers = ["tokens", "variant", "mode", "in one process", "guard us", "by hand us", "apart", "", "others us"]
    return tabulate(lines, headers=headers, disable_numparse=True)


def _range(times: Sequence[float]) -> str:
    """The median of the processes, the least and the greatest."""
    return f"{statistics.median(times):.3f} ({min(times):.3f} to {max(times):.3f})" if times else ""


def summarise(rows: Sequence[Row], beside: Sequence[Beside]) -> list[str]:
    """For each mode: how far off the guard is in one process, how many comparable cases agree apart."""
    lines = []
    for mode in dict.fromkeys(one.mode for one in beside):
        of_mode = [one for one in beside if one.mode == mode and one.against == BY_HAND]
        worst = max(of_mode, key=lambda one: abs(math.log(one.ratio)))
        good = sum(not one.off for one in of_mode)
        lines.append(
            f"{mode}, in one process: {good} of {len(of_mode)} cases within 1 %, in all "
            f"{_geometric_mean([one.ratio for one in of_mode]) - 1.0:+.2%}, furthest {worst.ratio - 1.0:+.2%} "
            f"({worst.variant} at {worst.tokens})"
        )
    for mode in dict.fromkeys(row.mode for row in rows):
        rows_of_mode = [row for row in rows if row.mode == mode and row.ratio is not None]
        comparable = [row for row in rows_of_mode if row.comparable]
        if rows_of_mode:
            agree = sum(not row.off for row in comparable)
            lines.append(
                f"{mode}, apart: {agree} of {len(comparable)} cases within 1 %; in "
                f"{len(rows_of_mode) - len(comparable)} more the hand-written processes are themselves over 1 % apart"
            )
            each = ", ".join(f"{name} {ratio - 1.0:+.1%}" for name, ratio in offsets(rows, mode).items())
            lines.append(f"  processes over all cases: {each}")
    return lines


def _geometric_mean(values: Sequence[float]) -> float:
    return math.exp(statistics.mean(map(math.log, values)))
