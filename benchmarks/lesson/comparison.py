"""What two sides' samples say: medians of processes, their spread, and whether the sides agree."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy import stats
from tabulate import tabulate

TOLERANCE = 0.01
FEWEST_TO_TELL = 4  # of four against four the least p is 0.03


@dataclass(frozen=True)
class Row:
    """A case in a mode: every sample in us per round, by process; names begin with the side's."""

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
        return tuple(time for name, time in self.processes_us.items() if name.startswith("guard"))

    @property
    def by_hand_us(self) -> tuple[float, ...]:
        """The hand-written program's processes."""
        return tuple(time for name, time in self.processes_us.items() if name.startswith("by hand"))

    @property
    def ratio(self) -> float | None:
        """The guard's figure by the hand-written program's: each the median of its processes."""
        if not self.by_hand_us:
            return None
        return statistics.median(self.guard_us) / statistics.median(self.by_hand_us)

    @property
    def comparable(self) -> bool:
        """Whether the hand-written program's own processes agree."""
        return bool(self.by_hand_us) and spread(self.by_hand_us) <= TOLERANCE

    @property
    def off(self) -> bool:
        """Whether the sides differ although the hand-written processes agree."""
        return self.comparable and abs((self.ratio or 1.0) - 1.0) > TOLERANCE

    @property
    def p_value(self) -> float | None:
        """How likely such ranks of processes are if the sides do not differ; None with too few to tell."""
        if min(len(self.guard_us), len(self.by_hand_us)) < FEWEST_TO_TELL:
            return None
        return float(stats.mannwhitneyu(self.guard_us, self.by_hand_us, method="exact").pvalue)

    @property
    def verdict(self) -> str:
        """The last column."""
        if not self.by_hand_us:
            return "-"
        if not self.comparable:
            return f"by hand {spread(self.by_hand_us):.1%} apart, guard {spread(self.guard_us):.1%}"
        if not self.off:
            return "within 1 %"
        told = "" if self.p_value is None else f", p = {self.p_value:.2g}"
        return f"off by {abs((self.ratio or 1.0) - 1.0):.1%}{told}"

    def as_dict(self) -> dict[str, object]:
        """The row for JSON, with what is derived."""
        derived: dict[str, object] = {
            "processes_us": self.processes_us,
            "ratio": self.ratio,
            "p_value": self.p_value,
            "verdict": self.verdict,
        }
        return dataclasses.asdict(self) | derived


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


def table(rows: Sequence[Row], nvbench: Sequence[Mapping[str, float]], python: Sequence[float]) -> str:
    """All rows; nvbench's batch figure stands beside ``queued``, the Python loop's beside ``loop``."""
    lines: list[list[object]] = []
    for row in rows:
        peer: object = ""
        if row.mode == "queued" and row.place < len(nvbench):
            found = nvbench[row.place]
            peer = "nvbench " + " / ".join(f"{found[kind]:.2f}" for kind in ("batch", "cold") if kind in found)
        if row.mode == "loop" and row.place < len(python):
            peer = f"Python {python[row.place]:.2f}"
        hand = statistics.median(row.by_hand_us) if row.by_hand_us else None
        own = [f"{spread(times):.2%}" if times else "" for times in (row.guard_us, row.by_hand_us)]
        ratio = f"{row.ratio:.4f}" if row.ratio else ""
        guard = f"{statistics.median(row.guard_us):.3f}"
        by_hand = "" if hand is None else f"{hand:.3f}"
        lines.append([row.tokens, row.variant, row.mode, guard, own[0], by_hand, own[1], ratio, row.verdict, peer])
    headers = ["tokens", "variant", "mode", "guard us", "apart", "by hand us", "apart", "ratio", "", "others us"]
    return tabulate(lines, headers=headers, disable_numparse=True)


def summarise(rows: Sequence[Row]) -> list[str]:
    """One line a mode: how many comparable cases agree."""
    lines = []
    for mode in dict.fromkeys(row.mode for row in rows):
        of_mode = [row for row in rows if row.mode == mode and row.by_hand_us]
        comparable = [row for row in of_mode if row.comparable]
        if of_mode:
            agree = sum(not row.off for row in comparable)
            lines.append(
                f"{mode}: {agree} of {len(comparable)} cases within 1 %; in {len(of_mode) - len(comparable)} more the "
                "hand-written processes are themselves over 1 % apart"
            )
            each = ", ".join(f"{name} {ratio - 1.0:+.1%}" for name, ratio in offsets(rows, mode).items())
            lines.append(f"  processes over all cases: {each}")
    return lines
