"""Looking more than once: what follows from each look at a case.

A case starts with three processes. Whoever is clear stops there; whoever is not goes on, with more processes where
processes disagree and with more blocks where their own samples do not suffice. Who is open after all of that, and looks
slower, goes on to many more blocks if those are likely to show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Comparison, Frozen
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import Contrast, Pairs, compare_pairs
from pytest_kernelperf.stats.further import further_look
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.schedule import Look, Schedule, plan

__all__ = ["Action", "Look", "Schedule", "Step", "follow", "next_step", "plan"]


class Action(str, Enum):
    """What to do after a look."""

    SLOWER = "slower"
    FASTER = "faster"
    UNCHANGED = "unchanged"
    MORE_PROCESSES = "more_processes"
    MORE_BLOCKS = "more_blocks"
    UNDECIDED = "undecided"


class Step(Frozen, frozen=True):
    """What to do next; ``look`` is the one to take, None where the case is clear or no look is left."""

    action: Action
    look: Look | None = None


def next_step(comparison: Comparison, look: Look, schedule: Schedule) -> Step:
    """Say what follows from a look: the case is clear, or what to take next, or that nothing is left to take.

    Args:
        comparison: of the samples so far, made with ``look.agreement_alpha``.
        look: the one just taken.
        schedule: all looks planned.
    """
    finding = find(comparison)
    more_processes, more_blocks = schedule.with_more_processes(look), schedule.with_more_blocks(look)
    if finding is Finding.SLOWER or finding is Finding.FASTER:
        return Step(Action(finding.value))
    # A gain is worth as many processes as a slowdown, although it is no slowdown already.
    gains = comparison.faster > 0 and more_processes is not None
    if finding is Finding.UNCHANGED and not gains:
        return Step(Action.UNCHANGED)
    if more_blocks is not None and (more_processes is None or _wants_blocks(comparison)):
        return Step(Action.MORE_BLOCKS, more_blocks)
    if more_processes is not None:
        return Step(Action.MORE_PROCESSES, more_processes)
    if finding is Finding.UNCHANGED:
        return Step(Action.UNCHANGED)
    further = further_look(comparison, look, schedule)
    return Step(Action.UNDECIDED) if further is None else Step(Action.MORE_BLOCKS, further)


def follow(
    pairs: Sequence[Pairs],
    policy: Policy,
    schedule: Schedule,
    names: Contrast = Contrast(),  # noqa: B008 - frozen
) -> Comparison:
    """Decide a group of processes from samples that are there already, look by look as the guard takes them.

    Args:
        pairs: for each process, in the order in which they are asked, the times in us of the arm asked about and of
            the one it is compared with, block by block; at least as many of both as the schedule's looks take.
        policy: what ``schedule`` was planned with.
        schedule: the looks.
        names: what the arms are called, and their mode.

    Returns:
        The comparison at the look where the guard would have stopped.

    Raises:
        UsageError: fewer processes or blocks than a look takes.
        KernelperfError: no usable pair of samples.
    """
    look = schedule.first
    while True:
        _check_enough(pairs, look)
        taken = [(arm[: look.blocks], against[: look.blocks]) for arm, against in pairs[: look.processes]]
        comparison = compare_pairs(dict(enumerate(taken)), policy, look.agreement_alpha, names, schedule, look.alpha)
        step = next_step(comparison, look, schedule)
        if step.look is None:
            return comparison
        look = step.look


def _wants_blocks(comparison: Comparison) -> bool:
    """Whether the processes that have spoken agree, so that those which could not tell are what keeps it open."""
    unsure = comparison.processes - comparison.slower - comparison.not_slower
    unlike = 0 < comparison.slower < comparison.processes - unsure or 0 < comparison.faster < comparison.not_slower
    return unsure > 0 and not unlike


def _check_enough(pairs: Sequence[Pairs], look: Look) -> None:
    if len(pairs) < look.processes:
        raise UsageError(f"the look at {look.processes} processes cannot be taken: there are {len(pairs)}")
    fewest = min(min(len(arm), len(against)) for arm, against in pairs[: look.processes])
    if fewest < look.blocks:
        raise UsageError(f"the look at {look.blocks} blocks cannot be taken: a process has {fewest}")
