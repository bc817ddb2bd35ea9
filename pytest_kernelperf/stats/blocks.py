"""How many blocks a process must take so that its test can say anything at all.

A one-sided Wilcoxon signed-rank test of n pairs has 2**n equally likely sign patterns, so its p-value is never
below 2**-n: 7 samples, the usual default, cannot reject at 1e-5 whatever they show.
"""

from __future__ import annotations

import functools

import numpy as np

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Frozen
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.signed_rank import METHOD, MOST_PAIRS, signed_rank_p
from pytest_kernelperf.units import format_counted, format_probability


class BlockPlan(Frozen, frozen=True):
    """Blocks per process and look, the method its p-value comes from, and the smallest p-value they can give."""

    blocks: int
    looks: int
    alpha_per_look: float
    method: str
    smallest_p: float


def plan_blocks(policy: Policy, fewest: int = 1) -> BlockPlan:
    """The fewest blocks, at least ``fewest``, at which a process can reject with ``policy.contrary`` blocks against it.

    At the default alpha of 1e-5 over two looks: 18 blocks when all must agree, 29 when one may be contrary.

    Raises:
        UsageError: no number of blocks that the exact test takes would do.
    """
    blocks = max(fewest, _fewest_blocks(policy.alpha_per_look, policy.contrary))
    check_blocks(policy, blocks)
    return BlockPlan(blocks, policy.looks, policy.alpha_per_look, METHOD, smallest_p(blocks))


def check_blocks(policy: Policy, blocks: int) -> None:
    """Refuse a number of blocks at which no process could ever reject.

    Raises:
        UsageError: the arithmetic, and the number of blocks to take.
    """
    most = MOST_PAIRS // policy.looks
    if blocks > most:
        raise UsageError(
            f"{blocks} blocks in each of {format_counted(policy.looks, 'look')} are more than the exact test takes: "
            f"ask for at most {most}"
        )
    if smallest_p(blocks) > policy.alpha_per_look:
        enough = _fewest_blocks(policy.alpha_per_look, 0)
        each = format_probability(policy.alpha_per_look)
        split = "" if policy.looks == 1 else f", and each of {policy.looks} looks needs {each}"
        raise UsageError(
            f"with so few no process could call anything slower, however slow it is: "
            f"{format_counted(blocks, 'block')} at alpha {format_probability(policy.alpha)} cannot reject: "
            f"the smallest p is {format_probability(smallest_p(blocks))}{split}; take at least {enough} blocks"
        )


def smallest_p(blocks: int) -> float:
    """The smallest p-value that so many pairs can give: all of one sign."""
    return 1.0 if blocks < 1 else 2.0**-blocks


@functools.lru_cache
def _fewest_blocks(alpha: float, contrary: int) -> int:
    """Pairs at which a test still rejects when the ``contrary`` largest differences have the wrong sign."""
    for blocks in range(contrary + 1, MOST_PAIRS + 1):
        if smallest_p(blocks) > alpha:
            continue
        ranks = np.arange(1.0, blocks + 1, dtype=np.float64)
        ranks[blocks - contrary :] *= -1
        if signed_rank_p(ranks) <= alpha:
            return blocks
    raise UsageError(
        f"no number of blocks up to {MOST_PAIRS} can reject at {format_probability(alpha)} a look: raise alpha"
    )
