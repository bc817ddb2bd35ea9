"""What two sides' samples say: medians of processes, their spread, and whether the sides agree."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tabulate import tabulate

from lesson.cases import Case

TOLERANCE = 0.01


@dataclass(frozen=True)
class Row:
    """A case in a mode: the median of each process in us per round, by side."""

    variant: str
    tokens: int
    place: int
    mode: str
    guard_us: tuple[float, ...]
    by_hand_us: tuple[float, ...]

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
    def verdict(self) -> str:
        """The last column."""
        if not self.by_hand_us:
            return "-"
        if not self.comparable:
            return f"by hand {spread(self.by_hand_us):.1%} apart, guard {spread(self.guard_us):.1%}"
        return f"off by {abs((self.ratio or 1.0) - 1.0):.1%}" if self.off else "within 1 %"

    def as_dict(self) -> dict[str, object]:
        """The row for JSON, with what is derived."""
        derived: dict[str, object] = {"ratio": self.ratio, "verdict": self.verdict}
        return dataclasses.asdict(self) | derived


def spread(times: Sequence[float]) -> float:
    """How far apart the processes are: the greatest by the least, less one."""
    return max(times) / min(times) - 1.0


def compare(case: Case, mode: str, samples: Mapping[str, Sequence[float]]) -> Row:
    """The row of a case: ``samples`` by process, whose name begins with its side's."""
    medians = {name: statistics.median(times) for name, times in samples.items()}

    def side(name: str) -> tuple[float, ...]:
        return tuple(time for process, time in medians.items() if process.startswith(name))

    return Row(case.variant, case.tokens, case.place, mode, side("guard"), side("by hand"))


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
    return lines
