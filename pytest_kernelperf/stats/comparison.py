"""The interleaved test: several processes' measurements of two arms become one comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Comparison, Frozen, Measurement, Mode
from pytest_kernelperf.stats.agreement import majority, p_over_processes
from pytest_kernelperf.stats.interval import interval_over_processes
from pytest_kernelperf.stats.paired import Outcome, allowance, compare_process, smallest_shown, usable_pairs
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.power import Sharpness, smallest_caught
from pytest_kernelperf.stats.schedule import Look, Schedule

Pairs = tuple[Sequence[float], Sequence[float]]
"""Times in us of two arms in the same blocks of one process."""


class Contrast(Frozen, frozen=True):
    """Which arm is asked about, which one it is compared with, and the mode they were timed in."""

    arm: str = "head"
    against: str = "baseline"
    mode: Mode = "graph"


def compare(
    measurements: Sequence[Measurement],
    arm: str,
    against: str,
    policy: Policy,
    agreement_alpha: float | None = None,
    schedule: Schedule | None = None,
    look_alpha: float | None = None,
) -> Comparison:
    """Compare two arms over all processes.

    Several measurements of one process (a rerun) are pooled: pair by pair within each measurement's own blocks.
    A process without a usable pair counts among ``processes`` and agrees with nothing.

    Args:
        measurements: one or more per process, all of one mode.
        arm: the arm asked about, such as ``head``.
        against: the arm it is compared with, such as ``baseline``.
        policy: tolerance, floor, alpha and looks.
        agreement_alpha: as ``compare_pairs`` has it.
        schedule: as ``compare_pairs`` has it.
        look_alpha: as ``compare_pairs`` has it.

    Raises:
        KernelperfError: no process has a usable pair of samples.
        ValueError: the measurements are of different modes.
    """
    modes = {measurement.mode for measurement in measurements}
    if len(modes) > 1:
        raise ValueError(f"modes are never compared with each other: {', '.join(sorted(modes))}")
    pairs = {process: pair_samples(of, arm, against) for process, of in _by_process(measurements).items()}
    names = Contrast(arm, against, next(iter(modes), "graph"))
    return compare_pairs(pairs, policy, agreement_alpha, names, schedule, look_alpha)


def compare_pairs(
    pairs: Mapping[int, Pairs],
    policy: Policy,
    agreement_alpha: float | None = None,
    names: Contrast = Contrast(),  # noqa: B008 - frozen
    schedule: Schedule | None = None,
    look_alpha: float | None = None,
) -> Comparison:
    """Compare two arms whose times in us are paired already.

    Args:
        pairs: by process, the times of the arm asked about and of the one it is compared with, block by block.
        policy: tolerance, floor, alpha and looks.
        agreement_alpha: the error allowed over processes at this look; None: all of ``policy.agreement``.
        names: what the arms are called, and their mode.
        schedule: the looks that this is one of, for the smallest slowdown that they would have caught; None: this
            look is the only one.
        look_alpha: the error allowed to each process at this look; None: ``policy.alpha_per_look``. Where it is given
            the look counts as the only one for that smallest slowdown.

    Raises:
        KernelperfError: no process has a usable pair of samples.
        ValueError: the arms of a process have different numbers of samples.
    """
    alpha_here = policy.alpha_per_look if look_alpha is None else look_alpha
    tested = {process: compare_process(*both, policy, alpha_here) for process, both in sorted(pairs.items())}
    results = {process: result for process, result in tested.items() if result is not None}
    if not results:
        raise KernelperfError(
            f"no process has a usable pair of samples of {names.arm} and {names.against}: expected positive times in "
            f"the same block, got {sum(len(both[0]) for both in pairs.values())} pairs; run again and look at the "
            "worker's log"
        )
    ratios = [result.ratio for result in results.values()]
    interval = interval_over_processes(ratios, policy.confidence)
    alpha = policy.agreement if agreement_alpha is None else agreement_alpha
    # What looks at fewer processes would have said of so many blocks is not asked at a further one.
    looks = _looks_at(pairs, alpha) if schedule is None or look_alpha is not None else schedule.by_processes
    sharp = [found for _, both in sorted(pairs.items()) if (found := _sharpness(both, policy, alpha_here)) is not None]
    caught = smallest_caught(sharp, looks)
    return Comparison(
        arm=names.arm,
        against=names.against,
        mode=names.mode,
        change_ratio=interval.change_ratio,
        low_ratio=interval.low_ratio,
        high_ratio=interval.high_ratio,
        confidence=policy.confidence,
        processes=len(pairs),
        slower=sum(result.outcome is Outcome.SLOWER for result in results.values()),
        faster=sum(result.outcome is Outcome.FASTER for result in results.values()),
        blocks=min(len(both[0]) for both in pairs.values()),
        alpha=policy.alpha,
        tolerance_ratio=1 + policy.tolerance,
        floor_us=policy.floor_us,
        time_us=_middle_us(both[0] for both in pairs.values()),
        against_us=_middle_us(both[1] for both in pairs.values()),
        per_process_ratio=tuple(ratios),
        process_numbers=tuple(results),
        not_slower=sum(result.not_slower for result in results.values()),
        needed=majority(len(pairs)),
        per_process_shown_ratio=tuple(math.exp(process.shown) for process in sharp),
        detectable_ratio=None if caught is None else math.exp(caught),
        p_slower=p_over_processes([result.above for result in results.values()]),
        p_faster=p_over_processes([result.below for result in results.values()]),
        p_not_slower=p_over_processes([-result.above for result in results.values()]),
        agreement_alpha=alpha,
        look_alpha=alpha_here,
    )


def pair_samples(measurements: Iterable[Measurement], arm: str, against: str) -> Pairs:
    """Times in us of two arms, pair by pair: each measurement's blocks that hold both."""
    arm_us: list[float] = []
    against_us: list[float] = []
    for measurement in measurements:
        times: dict[str, dict[int, float]] = {arm: {}, against: {}}
        for sample in measurement.samples:
            if sample.arm in times:
                times[sample.arm][sample.block] = sample.time_us
        for block in sorted(times[arm].keys() & times[against].keys()):
            arm_us.append(times[arm][block])
            against_us.append(times[against][block])
    return arm_us, against_us


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


def _middle_us(times_us: Iterable[Sequence[float]]) -> float:
    """The median over processes of the median time in us, without what is no time; NaN where nothing is left."""
    usable = [[time for time in times if 0 < time < math.inf] for times in times_us]
    medians = [float(np.median(times)) for times in usable if times]
    return float(np.median(medians)) if medians else math.nan


def _by_process(measurements: Iterable[Measurement]) -> dict[int, list[Measurement]]:
    grouped: dict[int, list[Measurement]] = {}
    for measurement in measurements:
        grouped.setdefault(measurement.process, []).append(measurement)
    return grouped


def _looks_at(pairs: Mapping[int, Pairs], agreement_alpha: float) -> tuple[Look, ...]:
    """The only look: at the processes that are there."""
    return (Look(len(pairs), min(len(both[0]) for both in pairs.values()), agreement_alpha),)


def _sharpness(pairs: Pairs, policy: Policy, alpha: float) -> Sharpness | None:
    """How sharply a process sees, from its own samples; None where it has none or could not show any slowdown."""
    arm, against = usable_pairs(*pairs)
    if not len(arm):
        return None
    change, above = np.log(arm / against), allowance(against, policy)
    middle = float(np.median(change))
    shown = smallest_shown(change - middle, above, alpha)
    return None if shown is None else Sharpness(middle, shown, float(np.median(above)))
