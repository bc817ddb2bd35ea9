"""What a case's samples say before all of them are taken: for the line of progress, which decides nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Comparison, Measurement, Verdict
from pytest_kernelperf.report.progress import Estimate, Timing
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import middle_time_us

SoFar = Callable[[], Comparison | None]

_VERDICTS = {
    Finding.SLOWER: Verdict.REGRESSED,
    Finding.FASTER: Verdict.IMPROVED,
    Finding.UNCHANGED: Verdict.UNCHANGED,
    Finding.OPEN: Verdict.UNDECIDED,
}


@dataclass(frozen=True)
class HowFar:
    """What a look asks of each process, in ``blocks``, and of all at ``most``; what the samples say ``so_far``."""

    blocks: int
    most: int
    so_far: SoFar | None

    def timing(self, measurements: list[Measurement], begun: int) -> Timing:
        """Where a case's timing is after these measurements; ``begun``: blocks that the next process has given."""
        given = sum(len({sample.block for sample in measurement.samples}) for measurement in measurements)
        estimate = _estimate(measurements, self.so_far) if measurements else None
        return Timing(begun, self.blocks, given, self.most, estimate)


def _estimate(measurements: list[Measurement], so_far: SoFar | None) -> Estimate:
    comparison = None
    if so_far is not None:
        with contextlib.suppress(KernelperfError, ValueError):  # said, with its reason, when all samples are there
            comparison = so_far()
    if comparison is None:
        return Estimate(middle_time_us(measurements, "head"))
    return Estimate(
        comparison.time_us,
        comparison.against,
        comparison.change_ratio,
        comparison.low_ratio,
        comparison.high_ratio,
        _VERDICTS[find(comparison)].value,
    )
