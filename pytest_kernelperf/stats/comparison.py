"""The interleaved test: several processes' measurements of two arms become one comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Comparison, Measurement
from pytest_kernelperf.stats.interval import interval_over_processes
from pytest_kernelperf.stats.paired import Outcome, allowance, compare_process, smallest_shown, usable_pairs
from pytest_kernelperf.stats.policy import Policy, needed_processes

Pairs = tuple[list[float], list[float]]


def compare(measurements: Sequence[Measurement], arm: str, against: str, policy: Policy) -> Comparison:
    """Compare two arms over all processes.

    Several measurements of one process (a rerun) are pooled: pair by pair within each measurement's own blocks.
    A process without a usable pair counts among ``processes`` and agrees with nothing.

    Args:
        measurements: one or more per process, all of one mode.
        arm: the arm asked about, such as ``head``.
        against: the arm it is compared with, such as ``baseline``.
        policy: tolerance, floor, alpha and looks.

    Raises:
        KernelperfError: no process has a usable pair of samples.
        ValueError: the measurements are of different modes.
    """
    modes = {measurement.mode for measurement in measurements}
    if len(modes) > 1:
        raise ValueError(f"modes are never compared with each other: {', '.join(sorted(modes))}")
    pairs = {process: pair_samples(of, arm, against) for process, of in _by_process(measurements).items()}
    tested = {process: compare_process(*both, policy) for process, both in pairs.items()}
    results = [result for result in tested.values() if result is not None]
    if not results:
        raise KernelperfError(
            f"no process has a usable pair of samples of {arm} and {against}: expected positive times in the same "
            f"block, got {sum(len(both[0]) for both in pairs.values())} pairs; run again and look at the worker's log"
        )
    interval = interval_over_processes([result.ratio for result in results], policy.confidence)
    needed = needed_processes(len(pairs))
    return Comparison(
        arm=arm,
        against=against,
        mode=measurements[0].mode,
        change_ratio=interval.change_ratio,
        low_ratio=interval.low_ratio,
        high_ratio=interval.high_ratio,
        confidence=policy.confidence,
        processes=len(pairs),
        slower=sum(result.outcome is Outcome.SLOWER for result in results),
        faster=sum(result.outcome is Outcome.FASTER for result in results),
        blocks=min(len(both[0]) for both in pairs.values()),
        alpha=policy.alpha,
        tolerance_ratio=1 + policy.tolerance,
        floor_us=policy.floor_us,
        time_us=middle_time_us(measurements, arm) or math.nan,
        against_us=middle_time_us(measurements, against) or math.nan,
        per_process_ratio=tuple(result.ratio for result in results),
        not_slower=sum(result.not_slower for result in results),
        needed=needed,
        detectable_ratio=_detectable_ratio(pairs.values(), math.log(interval.change_ratio), needed, policy),
    )


def pair_samples(measurements: Iterable[Measurement], arm: str, against: str) -> Pairs:
    """Times in us of two arms, pair by pair: each measurement's blocks that hold both."""
    pairs: Pairs = ([], [])
    for measurement in measurements:
        times: dict[str, dict[int, float]] = {arm: {}, against: {}}
        for sample in measurement.samples:
            if sample.arm in times:
                times[sample.arm][sample.block] = sample.time_us
        for block in sorted(times[arm].keys() & times[against].keys()):
            pairs[0].append(times[arm][block])
            pairs[1].append(times[against][block])
    return pairs


def middle_time_us(measurements: Iterable[Measurement], arm: str) -> float | None:
    """The median over processes of an arm's median time in us; None where it has no positive, finite sample."""
    medians = process_medians_us(measurements, arm)
    return float(np.median(medians)) if medians else None


def process_medians_us(measurements: Iterable[Measurement], arm: str) -> tuple[float, ...]:
    """An arm's median time in us in each process that has a positive, finite sample of it, in order of processes."""
    medians = []
    for _, of in sorted(_by_process(measurements).items()):
        times = [time for measurement in of for time in measurement.times_us(arm) if 0 < time < math.inf]
        if times:
            medians.append(float(np.median(times)))
    return tuple(medians)


def _by_process(measurements: Iterable[Measurement]) -> dict[int, list[Measurement]]:
    grouped: dict[int, list[Measurement]] = {}
    for measurement in measurements:
        grouped.setdefault(measurement.process, []).append(measurement)
    return grouped


def _detectable_ratio(pairs: Iterable[Pairs], change: float, needed: int, policy: Policy) -> float | None:
    """The smallest slowdown at which ``needed`` processes would have said slower, from these very samples.

    Each process is moved by the change of all, not by its own, so that the spread between processes counts.
    """
    shown = []
    for both in pairs:
        arm, against = usable_pairs(*both)
        if len(arm):
            centred = np.log(arm / against) - change
            shift = smallest_shown(centred, allowance(against, policy), policy.alpha_per_look)
            shown.extend([] if shift is None else [shift])
    return math.exp(sorted(shown)[needed - 1]) if len(shown) >= needed else None
