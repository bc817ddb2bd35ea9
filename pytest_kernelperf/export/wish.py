"""What the command asks of the pytest that it runs, and what comes back."""

from __future__ import annotations

from pytest_kernelperf.model import CaseId, Frozen


class Wish(Frozen, frozen=True):
    """Where the plans go, where word of them goes, and which commit they are of."""

    plans: str
    outcome: str
    commit: str


class Outcome(Frozen, frozen=True):
    """``problem``: why there is no file; empty where there is one. ``former``: what cases say that they were."""

    problem: str = ""
    former: tuple[tuple[CaseId, CaseId], ...] = ()
