"""What a finding is, and the closed list of topics, in the order in which they are shown."""

from __future__ import annotations

from typing import Literal, get_args

from pytest_kernelperf.model import Frozen

State = Literal["ok", "warning", "problem", "left out"]
"""A problem: the guard could not run. A warning: it can, but something distorts, slows or weakens what it says."""

Topic = Literal[
    "runtime",
    "versions",
    "device",
    "compute units",
    "bandwidth",
    "caches",
    "compiler",
    "compiling twice",
    "gate",
    "queue",
    "timer",
    "tracing",
    "recorder",
    "others",
    "clocks",
    "settings",
    "missing",
]

TOPICS: tuple[Topic, ...] = get_args(Topic)


class Finding(Frozen, frozen=True):
    """One topic's finding: its state, what was found, and what to do next (never empty for warning and problem)."""

    topic: Topic
    state: State
    says: str
    next_step: str = ""


def ok(topic: Topic, says: str) -> Finding:
    """Nothing to do."""
    return Finding(topic, "ok", says)


def left_out(topic: Topic, says: str) -> Finding:
    """It was not looked at, or there is nothing to look at; ``says`` tells why."""
    return Finding(topic, "left out", says)


def warning(topic: Topic, says: str, next_step: str) -> Finding:
    """The guard runs, with less to rely on."""
    return Finding(topic, "warning", says, next_step)


def problem(topic: Topic, says: str, next_step: str) -> Finding:
    """The guard could not run."""
    return Finding(topic, "problem", says, next_step)
