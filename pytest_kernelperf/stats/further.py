"""Going on with a case that is open after all usual looks: only where many more blocks are likely to show a slowdown.

Where code is slower than the tolerance by little, and its samples scatter by more, blocks decide: what a process's
middle is uncertain by falls with their root. On an H200 the blocks of one case scattered by 0.43 %, and twelve arms
that were 0.25 % beyond the tolerance stayed open at 58 blocks. Such a case may take twice as many, and then 300. All
others end where they are, so that only these cost the time. Whether to go on may hang on the samples: the error of
each further look has been set aside, taken or not (``stats.schedule``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pytest_kernelperf.model import Comparison
from pytest_kernelperf.stats.advice import Remedy, allowed_log, find_two_speeds, would_decide
from pytest_kernelperf.stats.agreement import may_oppose, p_over_processes
from pytest_kernelperf.stats.schedule import Look, Schedule

Array = np.ndarray[Any, np.dtype[np.float64]]


def further_look(comparison: Comparison, look: Look, schedule: Schedule) -> Look | None:
    """The first further look that has as many blocks as would decide the case; None where none is worth it.

    So many let half of the processes show a change as large as it looks, a little less than half since a further look
    may use less error; what a look in vain has cost is not lost to the next one.

    Args:
        comparison: of the samples at ``look``, open.
        look: the last of the usual ones, or a further one.
        schedule: all looks planned.
    """
    left = [further for further in schedule.further if further.blocks > look.blocks]
    if not left:
        return None
    allowed = allowed_log(comparison)
    above = np.log(np.asarray(comparison.per_process_ratio, dtype=np.float64)) - allowed
    # Kernels of two speeds look slower by chance, and half of their processes never will show it.
    if not _looks_slower(comparison, above) or find_two_speeds(above, allowed) is not None:
        return None
    advice = would_decide(comparison)
    if advice.remedy is not Remedy.MORE_BLOCKS:
        return None
    likely = (further for further in left if further.blocks >= advice.count)
    return next((further for further in likely if _may_agree(comparison, above, further)), None)


def _looks_slower(comparison: Comparison, above: Array) -> bool:
    """Whether as many processes as must agree are slower than allowed, and may still say so unopposed."""
    could = comparison.processes - comparison.not_slower
    if comparison.faster > may_oppose(comparison.processes) or could < comparison.needed:
        return False
    return int(np.sum(above > 0)) >= comparison.needed


def _may_agree(comparison: Comparison, above: Array, further: Look) -> bool:
    """Whether the mean over processes would stand out if what lies between them were all noise of their own blocks.

    More blocks make less of that, and nothing of what differs between processes.
    """
    mean, shrunk = float(np.mean(above)), math.sqrt(comparison.blocks / further.blocks)
    at_best = mean + shrunk * (above - mean)
    return p_over_processes(at_best.tolist()) <= further.agreement_alpha
