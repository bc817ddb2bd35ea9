"""One line that says where a run is; when to print it is a policy fed with facts, not with a clock of its own."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen
from pytest_kernelperf.report.text import one_line

QUIET_STEP_S = 0.1
"""A terminal is redrawn at most ten times a second."""

_CI = ("CI", "GITHUB_ACTIONS", "BUILD_NUMBER", "TF_BUILD")


class Progress(Frozen, frozen=True):
    """Where a run is: cases done of all, the case being worked on, its phase, seconds since the start."""

    done: int
    total: int
    case: str
    phase: str
    elapsed_s: float


def render_progress(progress: Progress, width: int = 100) -> str:
    """Return one line of at most ``width`` characters.

    ``[3/16] separate at 7 tokens: blocks, 12 s, about 50 s left``
    """
    times = units.format_duration(progress.elapsed_s)
    remaining_s = estimate_remaining_s(progress)
    if remaining_s is not None:
        times += f", about {units.format_duration(remaining_s)} left"
    count = f"[{progress.done}/{progress.total}] "
    what = one_line(f"{progress.case}: {progress.phase}" if progress.phase else progress.case)
    room = max(0, width - len(count) - len(times) - 2)
    if len(what) > room:
        what = what[: max(0, room - 1)] + "…" if room else ""
    return f"{count}{what}, {times}"[:width]


def estimate_remaining_s(progress: Progress) -> float | None:
    """Return the time left if the rest goes as the cases so far went; None before the first is done."""
    if progress.done <= 0 or progress.total <= progress.done:
        return None
    return progress.elapsed_s / progress.done * (progress.total - progress.done)


class ProgressPolicy:
    """When a progress line is shown: only on a terminal, not under CI, not more often than eyes can follow."""

    def __init__(self, is_terminal: bool, environment: Mapping[str, str]) -> None:
        """``environment``: the process's variables."""
        self.quiet = not is_terminal or any(environment.get(name) for name in _CI) or environment.get("TERM") == "dumb"
        self._shown: tuple[float, str, int] | None = None

    def shows(self, progress: Progress) -> bool:
        """Whether to draw now: always when the case or the count changes, else after a step of time."""
        if self.quiet:
            return False
        if self._shown is not None:
            shown_s, case, done = self._shown
            same = (case, done) == (progress.case, progress.done)
            if same and progress.elapsed_s - shown_s < QUIET_STEP_S:
                return False
        self._shown = (progress.elapsed_s, progress.case, progress.done)
        return True
