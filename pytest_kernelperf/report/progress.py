"""One line that says where a run is; when to print it is a policy fed with facts, not with a clock of its own."""

from __future__ import annotations

import unicodedata
from collections import deque
from collections.abc import Mapping

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen
from pytest_kernelperf.report.text import one_line

MOST_A_SECOND = 10
"""Eyes follow no more, and a run of a hundred unchanged cases a second has better things to do than to draw."""

_CI = ("CI", "GITHUB_ACTIONS", "BUILD_NUMBER", "TF_BUILD")
_CANNOT_MOVE = ("", "dumb", "unknown")
_SHORTEST_CASE = 16


class Estimate(Frozen, frozen=True):
    """What a case's samples say so far.

    Head's time in us, the arm it is ``against`` (empty: none), the change as a ratio (1.0 for none), its interval
    (None while one process alone has spoken), and the verdict that this would be.
    """

    time_us: float | None = None
    against: str = ""
    change_ratio: float | None = None
    low_ratio: float | None = None
    high_ratio: float | None = None
    verdict: str = ""


class Timing(Frozen, frozen=True):
    """Where a case's timing is: ``taken`` of a process's ``blocks``.

    ``given``: blocks of all processes so far; ``most``: the most that they may give.
    """

    taken: int = 0
    blocks: int = 0
    given: int = 0
    most: int = 0
    estimate: Estimate | None = None


class Progress(Frozen, frozen=True):
    """Where a run is: cases done of all, the case being worked on, its phase, seconds since the start.

    ``at_most_s``: seconds that this case still takes if it needs all the blocks that it may have.
    """

    done: int
    total: int
    case: str
    phase: str
    elapsed_s: float
    timing: Timing | None = None
    at_most_s: float | None = None


def render_progress(progress: Progress, width: int = 100) -> str:
    """Return one line of at most ``width`` cells; what does not fit is left out, the least telling first.

    ``[4/16] separate at 7 tokens: timing, process 2 of 3, block 12 of 29, +1.4 % against baseline (+0.9 to +2 %),
    regressed so far, 12 s, at most 9 s for this case, about 50 s left``
    """
    count = f"[{min(progress.done + 1, progress.total)}/{progress.total}] "
    case = one_line(progress.case)
    for most in (*range(9, -1, -1), -1):
        rest = ", ".join(text for rank, text in _parts(progress, most) if text and rank <= most)
        between = "" if not rest else ": " if progress.phase else ", "
        room = width - len(count) - _cells(between + rest)
        if room >= min(_cells(case), max(_SHORTEST_CASE, width // 4)):
            return f"{count}{_cut(case, room)}{between}{rest}"
    return _cut(f"{count}{case}", width)


def estimate_remaining_s(progress: Progress) -> float | None:
    """Return the time left if the rest goes as the cases so far went; None before the first is done."""
    if progress.done <= 0 or progress.total <= progress.done:
        return None
    return progress.elapsed_s / progress.done * (progress.total - progress.done)


class ProgressPolicy:
    """When a progress line is shown: only on a terminal that can move its cursor, to somebody who asked for words."""

    def __init__(self, is_terminal: bool, environment: Mapping[str, str], verbosity: int = 0) -> None:
        """``environment``: the process's variables; ``verbosity``: pytest's, below 0 with ``-q``."""
        self.quiet = (
            not is_terminal
            or verbosity < 0
            or any(environment.get(name) for name in _CI)
            or environment.get("TERM", "") in _CANNOT_MOVE
        )
        self._drawn_s: deque[float] = deque(maxlen=MOST_A_SECOND)

    def shows(self, elapsed_s: float) -> bool:
        """Whether to draw at this time: at once, unless the last second has seen ten already."""
        drawn = self._drawn_s
        if self.quiet or (len(drawn) == MOST_A_SECOND and elapsed_s - drawn[0] < 1.0):
            return False
        drawn.append(elapsed_s)
        return True


def _parts(progress: Progress, most: int) -> list[tuple[int, str]]:
    """The line's parts in their order, each with its rank: those above ``most`` are left out."""
    timing = progress.timing or Timing()
    estimate = timing.estimate or Estimate()
    remaining_s = estimate_remaining_s(progress)
    return [
        (0, one_line(progress.phase)),
        (6, f"block {timing.taken} of {timing.blocks}" if timing.taken else ""),
        (8 if estimate.against else 1, "" if estimate.time_us is None else units.format_time(estimate.time_us)),
        (1, _change(estimate, most)),
        (2, f"{estimate.verdict} so far" if estimate.verdict else ""),
        (7, units.format_duration(progress.elapsed_s)),
        (9, f"at most {units.format_duration(progress.at_most_s)} for this case" if progress.at_most_s else ""),
        (3, f"about {units.format_duration(remaining_s)} left" if remaining_s is not None else ""),
    ]


def _change(estimate: Estimate, most: int) -> str:
    """``+1.4 % against baseline (+0.9 to +2 %)``, the less of it the lower ``most``."""
    if estimate.change_ratio is None:
        return ""
    against = f" against {one_line(estimate.against)}" if most >= 5 else ""
    known = most >= 4 and estimate.low_ratio is not None
    interval = f" ({units.format_interval(estimate.low_ratio, estimate.high_ratio)})" if known else ""
    return f"{units.format_change(estimate.change_ratio)}{against}{interval}"


def _cut(text: str, width: int) -> str:
    """Take the middle out of what is too long: a case's beginning and its tokens tell it from others."""
    if _cells(text) <= width:
        return text
    if width < 1:
        return ""
    head, tail = "", ""
    for left, right in zip(text, reversed(text), strict=True):
        if _cells(head + left + tail) < width:
            head += left
        if _cells(head + right + tail) < width and _cells(right + tail) <= width // 3:
            tail = right + tail
    return f"{head}…{tail}"


def _cells(text: str) -> int:
    """How many columns a terminal needs at most: two for East Asian wide characters."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
