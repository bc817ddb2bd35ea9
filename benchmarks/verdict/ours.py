"""The guard's own rule: interleaved pairs of several processes, through the functions that the guard calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_kernelperf.errors import KernelperfError, UsageError
from pytest_kernelperf.judge import verdict_of
from pytest_kernelperf.model import Mode, Verdict
from pytest_kernelperf.stats.comparison import Contrast, compare_pairs
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.sequence import Look, Schedule, next_step, plan
from verdict.contrasts import Pair

NAME = "kernelperf"
MOST_PAIRS = 150


class Followed(NamedTuple):
    """What the guard says, and the look that it would take next if there were the samples for it."""

    verdict: Verdict
    wanted: Look | None


def schedule_for(policy: Policy, processes: int) -> Schedule:
    """The looks of a guard that takes so many processes as a rule: 3 first, then these, then more where it is open."""
    return plan(policy, processes)


def schedule_for_stored(policy: Policy, processes: int, blocks: int) -> Schedule | None:
    """The looks at samples that are there: 3 processes, then all; None where so few blocks can never reject."""
    try:
        return plan(policy, processes, most_processes=processes, blocks=min(blocks, MOST_PAIRS), looks_at_blocks=1)
    except UsageError:
        return None


def follow(pairs: Sequence[Pair], mode: Mode, policy: Policy, schedule: Schedule) -> Followed:
    """Take look after look, as the guard does, as long as there are processes and blocks for it.

    Args:
        pairs: one a process, in the order in which the guard asks them.
    """
    look, verdict = schedule.first, Verdict.UNDECIDED
    while len(pairs) >= look.processes and min(len(pair.new) for pair in pairs[: look.processes]) >= look.blocks:
        taken = {
            process: (pair.new[: look.blocks].tolist(), pair.old[: look.blocks].tolist())
            for process, pair in enumerate(pairs[: look.processes])
        }
        try:
            comparison = compare_pairs(taken, policy, look.agreement_alpha, Contrast(mode=mode), None, look.alpha)
        except KernelperfError:
            return Followed(Verdict.INVALID, None)  # no process has a usable pair
        verdict = verdict_of(comparison)
        step = next_step(comparison, look, schedule)
        if step.look is None:
            return Followed(verdict, None)
        look = step.look
    return Followed(verdict, look)
