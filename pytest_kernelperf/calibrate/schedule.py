"""How a time budget is shared out between cases: a policy fed with seconds, without a clock."""

from __future__ import annotations

PASSES = 2
"""Every case is visited so often, with all others in between: what changes within minutes reaches each of them."""


class Schedule:
    """Gives each visit its share of what is left: a case that takes longer costs all that follow a little."""

    def __init__(self, budget_s: float, cases: int, passes: int = PASSES) -> None:
        self._budget_s = budget_s
        self.visits = cases * passes

    def share_s(self, elapsed_s: float, visits_done: int) -> float:
        """Seconds for the next visit; 0 when the time is up or all visits are done."""
        left = self.visits - visits_done
        return max(0.0, self._budget_s - elapsed_s) / left if left > 0 else 0.0

    def over(self, elapsed_s: float, visits_done: int) -> bool:
        """Whether to begin no further visit."""
        return self.share_s(elapsed_s, visits_done) <= 0.0

    @staticmethod
    def again(share_s: float, spent_s: float, last_s: float) -> bool:
        """Whether another group fits a visit's share better than none, if it takes as long as the last one."""
        return spent_s + last_s / 2 <= share_s
