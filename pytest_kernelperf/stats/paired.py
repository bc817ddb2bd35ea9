"""One process's word on a comparison: two arms, sampled side by side in the same blocks.

Only differences within a block are used. What the two samples of a block share (clocks, heat, where the buffers lie)
cancels there, which is what makes identical code 0.01 to 0.11 % apart instead of several percent.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from pytest_kernelperf.model import Frozen
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.signed_rank import DECIMALS, critical_sum, signed_rank_p

Array = np.ndarray[Any, np.dtype[np.float64]]


class Outcome(str, Enum):
    """What one process says: a change beyond the tolerance, none of that size, or neither proven."""

    SLOWER = "slower"
    FASTER = "faster"
    WITHIN = "within"
    NEITHER = "neither"


class ProcessResult(Frozen, frozen=True):
    """One process's test: median of the ratios arm / against over its pairs, p-values, and what they say.

    ``p_not_slower`` and ``p_not_faster`` test the opposite: that a change beyond the tolerance is ruled out.
    ``above`` and ``below`` are by how much the middle pair exceeds what is allowed, as log ratios, in the direction of
    slower and of faster; negative where it does not.
    """

    ratio: float
    pairs: int
    outcome: Outcome
    p_slower: float
    p_faster: float
    p_not_slower: float
    p_not_faster: float
    not_slower: bool
    above: float
    below: float


SHORTEST_US, LONGEST_US = 1e-12, 1e15
"""Nothing is timed that takes less than an attosecond, or more than thirty years."""


def usable_pairs(arm_us: Sequence[float], against_us: Sequence[float]) -> tuple[Array, Array]:
    """Both arms' times in us without the pairs in which either is no time that anything can take.

    Not only zero, negative and infinite ones: the ratio of a denormal number to any other is beyond a float.

    Raises:
        ValueError: the arms have different numbers of samples.
    """
    if len(arm_us) != len(against_us):
        raise ValueError(f"{len(arm_us)} samples cannot be paired with {len(against_us)}")
    arm, against = np.asarray(arm_us, dtype=np.float64), np.asarray(against_us, dtype=np.float64)
    good = (arm > SHORTEST_US) & (arm < LONGEST_US) & (against > SHORTEST_US) & (against < LONGEST_US)
    return arm[good], against[good]


def compare_process(
    arm_us: Sequence[float], against_us: Sequence[float], policy: Policy, alpha: float | None = None
) -> ProcessResult | None:
    """Test one process's pairs, in us, at ``alpha``; None where it has no usable pair.

    Slower means that the arm takes more than ``against`` by more than the tolerance *and* more than ``floor_us``.
    ``alpha``: the error allowed at this look; None: ``policy.alpha_per_look``.
    """
    arm, against = usable_pairs(arm_us, against_us)
    if not len(arm):
        return None
    change = np.log(arm / against)
    # The allowance of a pair is the larger of tolerance and floor, each side's own time below it.
    above, below = allowance(against, policy), allowance(arm, policy)
    p_slower, p_faster = signed_rank_p(change - above), signed_rank_p(-change - below)
    p_not_slower, p_not_faster = signed_rank_p(above - change), signed_rank_p(below + change)
    alpha = policy.alpha_per_look if alpha is None else alpha
    if p_slower <= alpha:
        outcome = Outcome.SLOWER
    elif p_faster <= alpha:
        outcome = Outcome.FASTER
    elif p_not_slower <= alpha and p_not_faster <= alpha:
        outcome = Outcome.WITHIN
    else:
        outcome = Outcome.NEITHER
    return ProcessResult(
        ratio=float(np.exp(np.median(change))),
        pairs=len(change),
        outcome=outcome,
        p_slower=p_slower,
        p_faster=p_faster,
        p_not_slower=p_not_slower,
        p_not_faster=p_not_faster,
        not_slower=p_not_slower <= alpha,
        above=float(np.median(change - above)),
        below=float(np.median(-change - below)),
    )


def allowance(time_us: Array, policy: Policy) -> Array:
    """Log ratio by which each pair may differ: the tolerance, or the floor where that is more of the time."""
    allowed: Array = np.maximum(policy.tolerance_log, np.log1p(policy.floor_us / time_us))
    return allowed


def smallest_shown(change: Array, above: Array, alpha: float) -> float | None:
    """The smallest log ratio that, added to every pair, makes the process say slower; None if none does.

    The signed-rank sum is the number of pairwise means, each pair with itself among them, that lie above 0
    (J. W. Tukey), so one of them is where the test begins to reject.
    """
    needed = critical_sum(len(change), alpha)
    if needed is None:
        return None
    margins = change - above
    first, second = np.triu_indices(len(margins))
    means = np.sort((margins[first] + margins[second]) / 2)
    return float(-means[len(means) - needed]) + 10.0**-DECIMALS
