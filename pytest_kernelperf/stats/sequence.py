"""Looking more than once: which processes and blocks are taken, when to stop, and what each look may cost.

A case starts with three processes. Whoever is clear stops there; whoever is not goes on, with more processes where
processes disagree and with more blocks where their own samples do not suffice. Each look is one more chance to be
wrong, so both errors are split over all looks that are planned, taken or not (Bonferroni's bound holds however the
looks depend on each other): a process's own alpha evenly over the looks at its samples, and the error allowed over
processes by the cube of their share, so that nearly all of it is left for where it is needed, at the end
(K. Kim and D. L. DeMets, 1987: the power family).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Comparison, Frozen
from pytest_kernelperf.stats.agreement import FEWEST_PROCESSES, Finding, find
from pytest_kernelperf.stats.blocks import check_blocks, plan_blocks
from pytest_kernelperf.stats.comparison import Contrast, Pairs, compare_pairs
from pytest_kernelperf.stats.policy import Policy

USUAL_PROCESSES = 5
MOST_SHARE = 1.6
"""An open case may take 8 processes where 5 are usual."""


class Look(Frozen, frozen=True):
    """Processes, blocks in each of them, both in all, and the error over processes that this look may use."""

    processes: int
    blocks: int
    agreement_alpha: float


class Schedule(Frozen, frozen=True):
    """All looks that may be taken at one case, by number of processes and then of blocks."""

    looks: tuple[Look, ...]

    @property
    def first(self) -> Look:
        """Where every case starts."""
        return self.looks[0]

    @property
    def most(self) -> Look:
        """The last look there is."""
        return self.looks[-1]

    def with_more_processes(self, look: Look) -> Look | None:
        """The next look at more processes, of as many blocks each; None where all are taken."""
        return next(
            (next_ for next_ in self.looks if next_.processes > look.processes and next_.blocks == look.blocks), None
        )

    def with_more_blocks(self, look: Look) -> Look | None:
        """The next look at more blocks of the same processes; None where all are taken."""
        return next(
            (next_ for next_ in self.looks if next_.processes == look.processes and next_.blocks > look.blocks), None
        )


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


def plan(
    policy: Policy,
    processes: int = USUAL_PROCESSES,
    *,
    most_processes: int | None = None,
    blocks: int | None = None,
    fewest_blocks: int = 1,
    looks_at_blocks: int | None = None,
) -> Schedule:
    """Plan all looks: 3, ``processes`` and ``most_processes`` processes, each at one to several numbers of blocks.

    Args:
        policy: alpha, looks and the error over processes, which are split here.
        processes: how many a case takes as a rule.
        most_processes: how many it may take when it is open; None: 8 for 5.
        blocks: in each process at its first look; None: as many as the test needs.
        fewest_blocks: the least that ``blocks`` may be when it is None.
        looks_at_blocks: how often a process's samples may be looked at; None: ``policy.looks`` times.

    Raises:
        UsageError: no process could ever reject with so many blocks, or too few processes to agree.
    """
    policy.check()
    most = most_processes if most_processes is not None else math.ceil(MOST_SHARE * processes - 1e-9)
    levels = policy.looks if looks_at_blocks is None else looks_at_blocks
    if min(processes, most) < FEWEST_PROCESSES:
        raise UsageError(
            f"{min(processes, most)} processes cannot agree on anything: take at least {FEWEST_PROCESSES}, since two "
            "cannot tell which of them is the odd one"
        )
    if not 1 <= levels <= policy.looks:
        raise UsageError(
            f"{levels} looks at a process's samples are not planned for: alpha is split over {policy.looks}"
        )
    if blocks is None:
        blocks = plan_blocks(policy, fewest_blocks).blocks
    check_blocks(policy, blocks)
    counts = sorted({FEWEST_PROCESSES, min(processes, most), most})
    return Schedule(
        tuple(
            Look(count, level * blocks, (_spent(policy, count, most) - _spent(policy, before, most)) / levels)
            for before, count in zip([0, *counts], counts, strict=False)
            for level in range(1, levels + 1)
        )
    )


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
    gains = 2 * comparison.faster > comparison.processes and more_processes is not None
    if finding is Finding.UNCHANGED and not gains:
        return Step(Action.UNCHANGED)
    if more_blocks is not None and (more_processes is None or _wants_blocks(comparison)):
        return Step(Action.MORE_BLOCKS, more_blocks)
    if more_processes is not None:
        return Step(Action.MORE_PROCESSES, more_processes)
    return Step(Action(finding.value) if finding is Finding.UNCHANGED else Action.UNDECIDED)


def follow(
    pairs: Sequence[Pairs],
    policy: Policy,
    schedule: Schedule,
    names: Contrast = Contrast(),  # noqa: B008 - frozen
) -> Comparison:
    """Decide a group of processes from samples that are there already, look by look as the guard takes them.

    Args:
        pairs: for each process, in the order in which they are asked, the times in us of the arm asked about and of
            the one it is compared with, block by block; at least as many of both as the schedule's last look takes.
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
        comparison = compare_pairs(dict(enumerate(taken)), policy, look.agreement_alpha, names)
        step = next_step(comparison, look, schedule)
        if step.look is None:
            return comparison
        look = step.look


def _spent(policy: Policy, processes: int, most: int) -> float:
    """The error over processes that may have been used once so many have been looked at."""
    return float(policy.agreement * (processes / most) ** 3)


def _wants_blocks(comparison: Comparison) -> bool:
    """Whether the processes that have spoken agree, so that those which could not tell are what keeps it open."""
    open_ = comparison.processes - comparison.slower - comparison.not_slower
    return open_ > 0 and not (comparison.slower and comparison.not_slower)


def _check_enough(pairs: Sequence[Pairs], look: Look) -> None:
    if len(pairs) < look.processes:
        raise UsageError(f"the look at {look.processes} processes cannot be taken: there are {len(pairs)}")
    fewest = min(min(len(arm), len(against)) for arm, against in pairs[: look.processes])
    if fewest < look.blocks:
        raise UsageError(f"the look at {look.blocks} blocks cannot be taken: a process has {fewest}")
