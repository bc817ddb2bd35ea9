"""Since when a case without a baseline is declared, asked of git: on main it may not stay unguarded for long.

No state is kept: git knows when the variant's function and the sizes of its kernel came into the file, on this branch:
what was merged is as old as its merge.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path

from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.commit import ask_git
from pytest_kernelperf.errors import UsageError


class NewLimit:
    """How long a case may be new.

    Args:
        days: the limit; a case declared longer ago fails.
        today: the day (UTC) that is counted to; None: the present one.
    """

    def __init__(self, days: int, today: date | None = None) -> None:
        self.days = days
        self._today = today or datetime.now(timezone.utc).date()
        self._since: dict[tuple[Path, str], date] = {}

    def since(self, spec: CaseSpec) -> date:
        """Return the day (UTC) since when a case is declared as it is; today where it is not committed yet.

        Raises:
            UsageError: git cannot say: no checkout, or one without its history.
        """
        file, name = spec.kernel.module_path.resolve(), spec.doing.name
        if (file, name) not in self._since:
            folder = file.parent
            if ask_git(folder, "rev-parse", "--is-shallow-repository").strip() != "false":
                raise UsageError(
                    f"--kernelperf-new-limit-days asks git since when a case is declared, and {folder} is no checkout "
                    "with all of its history: check out with fetch-depth: 0"
                )
            days = (_last_brought(file, f"def {name}("), _sizes_changed(file))
            self._since[file, name] = max((day for day in days if day is not None), default=self._today)
        return self._since[file, name]

    def is_over(self, since: date) -> bool:
        """Return whether a case that is new since that day may be so no more."""
        return (self._today - since).days > self.days


def _last_brought(file: Path, text: str) -> date | None:
    """The day of the commit that last brought a text into a file, or took it out; None where none did."""
    lines = ask_git(file.parent, "log", "--first-parent", "-m", "--format=%ct", f"-S{text}", "--", file.name).split()
    return _day(lines[0]) if lines else None


def _sizes_changed(file: Path) -> date | None:
    """The day on which a line that states sizes was last changed; None where it is in no commit."""
    lines = ask_git(file.parent, "blame", "--first-parent", "--line-porcelain", "--", file.name).splitlines()
    found, seconds, committed = [], "", False
    for line in lines:
        if line.startswith("committer-time "):
            seconds = line.split()[1]
        elif line.startswith("committer "):
            committed = line != "committer Not Committed Yet"
        elif line.startswith("\t") and "tokens=" in line and committed:
            found.append(_day(seconds))
    return max(found, default=None)


def _day(seconds: str) -> date:
    return datetime.fromtimestamp(int(seconds), timezone.utc).date()
