"""The whole curve: small slowdowns in the same direction at several sizes, each below its own case's tolerance.

A change that costs 0.6 % at each of eight sizes passes eight tests at 1 %. Together they are one number per process,
the mean over sizes of its log ratios, and the process stays the unit. Three things make a slowdown of the curve, and
one size that is far slower, or one process, is none of them: the mean is beyond the curve's own tolerance; it lies
above no change by a test over processes; and so do the sizes, by a test over sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from pytest_kernelperf.model import Comparison, Frozen
from pytest_kernelperf.stats.agreement import FEWEST_PROCESSES, Finding, p_over_processes
from pytest_kernelperf.stats.interval import interval_over_processes

FEWEST_SIZES = 3
"""Two sizes are two cases, not a curve."""

TOLERANCE_SHARE = 0.5
"""The curve's tolerance as a share of its cases': 0.5 % where each case may lose 1 %."""

ALPHA = 0.01
"""Error of the test over processes. Identical code also has to be beyond the tolerance, which it is not by far."""

ALPHA_SIZES = 0.05
"""Error of the test over sizes, which is asked beside the other one."""


class Curve(Frozen, frozen=True):
    """What several sizes show together; ratios have 1.0 for no change, the interval is over processes.

    ``finding`` is ``OPEN`` where they prove nothing, and ``sizes`` or ``processes`` too few where ``decidable`` is
    false. ``sizes_slower`` counts those whose mean lies above no change.
    """

    sizes: int
    processes: int
    change_ratio: float
    low_ratio: float | None
    high_ratio: float | None
    tolerance_ratio: float
    sizes_slower: int
    p_slower: float
    p_faster: float
    p_sizes_slower: float
    p_sizes_faster: float
    finding: Finding

    @property
    def decidable(self) -> bool:
        """Whether there are enough sizes and processes to say anything."""
        return self.sizes >= FEWEST_SIZES and self.processes >= FEWEST_PROCESSES


def find_curve(comparisons: Sequence[Comparison], tolerance: float | None = None, alpha: float = ALPHA) -> Curve | None:
    """Pool the comparisons of one variant (or of a whole kernel) over its sizes; None where no process took them all.

    Only processes that measured every size count, since another process at another size is another comparison.

    Args:
        comparisons: of the same two arms, one per size, each with ``process_numbers``.
        tolerance: mean slowdown that counts, as a share (0.005 = 0.5 %); None: half of what the cases may lose,
            tolerance or floor, on average over the sizes.
        alpha: error of the test over processes.

    Raises:
        ValueError: the comparisons are of different arms or modes, or one names its processes incompletely.
    """
    logs = _logs(comparisons)
    if not logs.size:
        return None
    allowed = _allowed_log(comparisons) if tolerance is None else math.log1p(tolerance)
    of_process, of_size = logs.mean(axis=0), logs.mean(axis=1)
    interval = interval_over_processes(np.exp(of_process).tolist(), 0.95)
    tests = {
        "p_slower": p_over_processes(of_process.tolist()),
        "p_faster": p_over_processes((-of_process).tolist()),
        "p_sizes_slower": p_over_processes(of_size.tolist()),
        "p_sizes_faster": p_over_processes((-of_size).tolist()),
    }
    mean = float(of_process.mean())
    finding = Finding.OPEN
    if logs.shape[0] >= FEWEST_SIZES and logs.shape[1] >= FEWEST_PROCESSES:
        if mean > allowed and tests["p_slower"] <= alpha and tests["p_sizes_slower"] <= ALPHA_SIZES:
            finding = Finding.SLOWER
        elif mean < -allowed and tests["p_faster"] <= alpha and tests["p_sizes_faster"] <= ALPHA_SIZES:
            finding = Finding.FASTER
        elif p_over_processes((allowed - of_process).tolist()) <= alpha:
            finding = Finding.UNCHANGED
    return Curve(
        sizes=logs.shape[0],
        processes=logs.shape[1],
        change_ratio=interval.change_ratio,
        low_ratio=interval.low_ratio,
        high_ratio=interval.high_ratio,
        tolerance_ratio=math.exp(allowed),
        sizes_slower=int(np.sum(of_size > 0)),
        finding=finding,
        **tests,
    )


def _logs(comparisons: Sequence[Comparison]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Log ratios of the processes that took every size, shape (sizes, processes)."""
    kinds = {(comparison.arm, comparison.against, comparison.mode) for comparison in comparisons}
    if len(kinds) > 1:
        raise ValueError(f"only one pair of arms in one mode makes a curve, not {sorted(kinds)}")
    if any(len(comparison.process_numbers) != len(comparison.per_process_ratio) for comparison in comparisons):
        raise ValueError("a comparison does not say which processes its ratios are of")
    numbered = [dict(zip(c.process_numbers, c.per_process_ratio, strict=True)) for c in comparisons]
    common = sorted(set.intersection(*(set(ratios) for ratios in numbered))) if numbered else []
    ratios = np.array([[ratios[process] for process in common] for ratios in numbered], dtype=np.float64)
    return np.log(ratios).reshape(len(numbered), len(common))


def _allowed_log(comparisons: Sequence[Comparison]) -> float:
    """Half of what the cases may lose, on average over sizes, as a log ratio."""
    shares = [max(c.tolerance_ratio - 1, c.floor_us / c.against_us) for c in comparisons]
    return float(np.mean([math.log1p(TOLERANCE_SHARE * share) for share in shares]))
