"""From a record of the guard to what a calibration keeps of it. Decided by the guard's own functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from pytest_kernelperf.baseline.calibration import ContrastVerdict, SeenGroup, SeenProcess
from pytest_kernelperf.baseline.update import rounded_us
from pytest_kernelperf.calibrate.copies import COPY, REFERENCE
from pytest_kernelperf.judge import verdict_of
from pytest_kernelperf.model import Comparison, Measurement, Record
from pytest_kernelperf.stats.comparison import compare, pair_samples
from pytest_kernelperf.stats.policy import Policy

HEAD = "head"
JUDGED = ("regressed", "improved", "unchanged", "undecided")


def observe(record: Record, policy: Policy) -> SeenGroup | None:
    """What a group of processes saw; None where the guard has not judged by an interleaved comparison.

    The head's verdict is the record's own. The other copies were sampled for as long as the head was, and go through
    the same comparison and the same decision.
    """
    comparison = next((c for c in record.comparisons if c.against == REFERENCE), None)
    if comparison is None or record.decision.verdict.value not in JUDGED:
        return None
    measurements = [m for m in record.measurements if m.mode == comparison.mode]
    copies = _copies(measurements)
    # At the look that the head's comparison has reached, so that each copy is asked exactly what the head is.
    others = [
        compare(measurements, arm, REFERENCE, policy, comparison.agreement_alpha, None, comparison.look_alpha)
        for arm in copies
    ]
    verdicts = [record.decision.verdict, *map(verdict_of, others)]
    processes = sorted({m.process for m in measurements})
    return SeenGroup(
        verdicts=tuple(cast(ContrastVerdict, verdict.value) for verdict in verdicts),
        detectable_ratio=None if comparison.detectable_ratio is None else _rounded(comparison.detectable_ratio),
        processes=tuple(
            _process([m for m in measurements if m.process == process], (HEAD, *copies), policy, comparison.look_alpha)
            for process in processes
        ),
    )


def _copies(measurements: Sequence[Measurement]) -> tuple[str, ...]:
    """The further copies' names, in order."""
    names = {sample.arm for m in measurements for sample in m.samples if sample.arm.startswith(COPY)}
    return tuple(sorted(names, key=lambda name: (len(name), name)))


def _process(
    measurements: Sequence[Measurement], arms: Sequence[str], policy: Policy, alpha: float | None
) -> SeenProcess:
    alone: list[Comparison] = [compare(measurements, arm, REFERENCE, policy, look_alpha=alpha) for arm in arms]
    hosts = [s.host_us for m in measurements for s in m.samples if s.arm == REFERENCE]
    return SeenProcess(
        time_us=rounded_us(alone[0].against_us),
        host_us=rounded_us(float(np.median(hosts))),
        spread_share=_rounded(float(np.median([_spread(measurements, arm) for arm in arms]))),
        change_ratios=tuple(_rounded(each.change_ratio) for each in alone),
        slower=sum(each.slower for each in alone),
    )


def _rounded(share: float) -> float:
    """A share or ratio to a millionth, which no clock resolves; the file stays short."""
    return round(share, 6)


def _spread(measurements: Sequence[Measurement], arm: str) -> float:
    """Half of the range that the middle 68 % of the blocks' log ratios lie in: one standard deviation of normal ones.

    A plain standard deviation would say how the worst block was: a millisecond of the scheduler in one of thirty.
    """
    times, against = pair_samples(measurements, arm, REFERENCE)
    changes = np.log(np.asarray(times) / np.asarray(against))
    low, high = np.percentile(changes, (16, 84))
    return float(high - low) / 2
