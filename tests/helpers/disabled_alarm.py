"""A pytest plugin that takes one of the guard's own alarms out, as a mistake in it would: ``DISABLED_ALARM`` names it.

Loaded with ``-p`` into the pytests that ``kernelperf drill`` runs, which must then fail.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_kernelperf import judge
from pytest_kernelperf.model import Decision, Verdict
from pytest_kernelperf.plugin import baseline_item
from pytest_kernelperf.session import guard, recording

PASSES = Decision(Verdict.IDENTICAL, False, "identical", "as if nothing had been looked at")


def nothing_is_starved() -> None:
    """Workgroups are no longer counted."""
    judge.fills_of = lambda *arguments: ()


def nothing_is_wrong() -> None:
    """Results are no longer compared."""
    guard.find_mismatch = lambda *arguments: None


def nothing_is_slower() -> None:
    """No comparison says slower any more."""
    decide = judge.decide

    def blind(evidence: Any) -> Decision:
        decision = decide(evidence)
        return PASSES if decision.verdict is Verdict.REGRESSED else decision

    judge.decide = blind


def everything_is_slower() -> None:
    """Every comparison says slower."""
    decide = judge.decide

    def suspicious(evidence: Any) -> Decision:
        decision = decide(evidence)
        blamed = decision.verdict is Verdict.UNCHANGED
        return Decision(Verdict.REGRESSED, True, "slower", "slower, as ever") if blamed else decision

    judge.decide = suspicious


def files_are_not_looked_at() -> None:
    """Baseline files are items that pass."""
    baseline_item.problems = lambda *arguments: []


def a_damaged_baseline_is_none() -> None:
    """A file that cannot be read is taken for a missing one, so that its cases are new."""
    read = guard.BaselineStore.read

    def lenient(self: Any, *arguments: Any) -> Any:
        try:
            return read(self, *arguments)
        except guard.BaselineError:
            return None

    guard.BaselineStore.read = lenient


def a_dead_worker_passes() -> None:
    """A crash is taken for nothing."""
    decide = judge.decide

    def calm(evidence: Any) -> Decision:
        return PASSES if evidence.failure is not None else decide(evidence)

    recording.judge.decide = calm


def the_exit_code_is_lost() -> None:
    """Everything is told, and nobody who looks at the exit code hears it."""


DISABLED = {
    function.__name__: function
    for function in (
        nothing_is_starved,
        nothing_is_wrong,
        nothing_is_slower,
        everything_is_slower,
        files_are_not_looked_at,
        a_damaged_baseline_is_none,
        a_dead_worker_passes,
        the_exit_code_is_lost,
    )
}

name = os.environ.get("DISABLED_ALARM", "")
if name:
    DISABLED[name]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Exit 0 whatever happened, where that is the mistake."""
    if name == "the_exit_code_is_lost":
        session.exitstatus = pytest.ExitCode.OK
