"""The looks that are planned at a case: how many processes and blocks, and what each look may cost.

Each look is one more chance to be wrong, so both errors are split over all looks that are planned, taken or not
(Bonferroni's bound holds however the looks depend on each other): a process's own alpha evenly over the looks at its
samples, and the error allowed over processes by the cube of their share, so that nearly all of it is left for where
it is needed, at the end (K. Kim and D. L. DeMets, 1987: the power family). A small share of both is kept for further
looks at many more blocks, so that the usual ones see nearly as sharply as if there were no others.
"""

from __future__ import annotations

import math
from itertools import pairwise

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Frozen
from pytest_kernelperf.stats.agreement import FEWEST_PROCESSES
from pytest_kernelperf.stats.blocks import check_blocks, plan_blocks
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.signed_rank import MOST_PAIRS

USUAL_PROCESSES = 5
MOST_SHARE = 1.6
"""An open case may take 8 processes where 5 are usual."""

FURTHER_AGREEMENT = 0.2
"""The share of the last number of processes' error over processes that is kept for the further looks."""

FURTHER_SHARES = (1 / 3, 2 / 3)
"""How both errors that are kept are split over the further looks."""


class Look(Frozen, frozen=True):
    """Processes, blocks in each of them, both in all, and the error over processes that this look may use.

    ``alpha`` is the error that each process may use at it; None: what the policy allows at one of the usual looks.
    """

    processes: int
    blocks: int
    agreement_alpha: float
    alpha: float | None = None


class Schedule(Frozen, frozen=True):
    """All looks that may be taken at one case, by number of processes and then of blocks.

    ``further``: those at most processes and many more blocks, for a case that is open after all others.
    """

    looks: tuple[Look, ...]
    further: tuple[Look, ...] = ()

    @property
    def first(self) -> Look:
        """Where every case starts."""
        return self.looks[0]

    @property
    def most(self) -> Look:
        """The last of the usual looks."""
        return self.looks[-1]

    @property
    def most_blocks(self) -> int:
        """Blocks in each process at the largest look of all."""
        return max(look.blocks for look in (*self.looks, *self.further))

    @property
    def by_processes(self) -> tuple[Look, ...]:
        """The looks at a process's first blocks, one for each number of processes."""
        return tuple(look for look in self.looks if look.blocks == self.first.blocks)

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

    Further looks are planned as well, as far as the exact test takes so many blocks.

    Args:
        policy: alpha, looks and the error over processes, which are split here.
        processes: how many a case takes as a rule.
        most_processes: how many it may take when it is open; None: 8 for 5.
        blocks: in each process at its first look; None: as many as the test needs.
        fewest_blocks: the least that ``blocks`` may be when it is None.
        looks_at_blocks: how often a process's samples may be looked at; None: ``policy.looks`` times, and at the
            further looks. Where it is given, the samples are all that there are, and no further look is planned.

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
    spent = [_spent(policy, count, most) - _spent(policy, before, most) for before, count in pairwise([0, *counts])]
    further = _further(policy, most, levels * blocks, spent[-1]) if looks_at_blocks is None else ()
    spent[-1] -= sum(look.agreement_alpha for look in further)
    return Schedule(
        tuple(
            Look(count, level * blocks, error / levels)
            for count, error in zip(counts, spent, strict=True)
            for level in range(1, levels + 1)
        ),
        further,
    )


def _further(policy: Policy, processes: int, blocks: int, agreement_alpha: float) -> tuple[Look, ...]:
    """Looks at twice the ``blocks`` of the last usual one, and at all that the test takes; the last costs most."""
    own, kept = policy.alpha * policy.further, agreement_alpha * FURTHER_AGREEMENT
    if not own or blocks >= MOST_PAIRS:
        return ()
    counts = sorted({min(2 * blocks, MOST_PAIRS), MOST_PAIRS})
    shares = FURTHER_SHARES if len(counts) == len(FURTHER_SHARES) else (1.0,)
    return tuple(Look(processes, count, kept * share, own * share) for count, share in zip(counts, shares, strict=True))


def _spent(policy: Policy, processes: int, most: int) -> float:
    """The error over processes that may have been used once so many have been looked at."""
    return float(policy.agreement * (processes / most) ** 3)
