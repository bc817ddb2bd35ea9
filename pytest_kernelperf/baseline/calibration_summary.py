"""What a calibration comes to: how often identical code is blamed, how sharp the guard is, which mode suits.

All of it is derived from what the processes saw, so that an old file answers new questions. A false alarm of the guard
is a verdict on a group of processes, so groups are what is counted; copies in one group are not independent of each
other (k copies give k - 1 contrasts with the first), hence the bounds are over groups, and over processes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import numpy as np

from pytest_kernelperf.baseline.calibration import Calibration, SeenCase
from pytest_kernelperf.model import Frozen, Mode
from pytest_kernelperf.stats.rate import Rate

PREFERRED: tuple[Mode, ...] = ("graph", "queued", "loop")
"""Of modes that are equally sharp: without launch gaps before with them, the device's clock before the host's."""

AS_SHARP_RATIO = 1.2
"""Modes whose smallest detectable slowdowns are this close are equally sharp: each is one estimate from few groups."""

LEAST_US = 1e-6
"""No clock shows less, whatever a tolerance of 0 and samples without any spread come to."""

LAUNCH_BOUND_SHARE = 0.9
"""From here on a round's time is the host's time to enqueue it."""


class CaseSummary(Frozen, frozen=True):
    """One case in one mode.

    ``within_share``: spread from block to block between two copies in one process, the median over processes;
    ``between_share``: spread of that comparison's result from process to process; ``time_share``: spread of the time
    itself from process to process, which is what a stored number has to live with. All one standard deviation, as a
    share of the time (0.01 is 1 %); None from a single process. ``detectable_ratio``: the smallest slowdown that would
    have been shown, the median over groups; None where most would have shown none.
    """

    kernel: str
    variant: str
    tokens: int
    mode: Mode
    gate: bool
    time_us: float
    tolerance: float
    groups: int
    false_alarms: int
    false_gains: int
    undecided: int
    within_share: float
    between_share: float | None
    time_share: float | None
    detectable_ratio: float | None
    launch_bound: bool

    @property
    def detectable_us(self) -> float | None:
        """The smallest slowdown shown, in us a round; None where the host hides what the device does."""
        if self.detectable_ratio is None or self.launch_bound:
            return None
        return max(LEAST_US, (self.detectable_ratio - 1) * self.time_us)


class ModeSummary(Frozen, frozen=True):
    """All cases in one mode; spreads and the detectable slowdown are medians over its cases.

    ``bluntness_ratio``: see ``bluntness``; None where it was not compared with other modes, or shows nothing.
    ``groups`` counts verdicts on groups of processes, ``processes`` what each process said alone at its own alpha.
    """

    mode: Mode
    cases: int
    groups: Rate
    processes: Rate
    gains: Rate
    undecided: Rate
    within_share: float
    between_share: float | None
    time_share: float | None
    detectable_ratio: float | None
    worst_detectable_ratio: float | None
    bluntness_ratio: float | None
    launch_bound: int


class Summary(Frozen, frozen=True):
    """What a calibration comes to. ``gate`` sums up the cases in the modes that they are gated in.

    ``suits``: the mode to gate in on this device; ``gated_in``: the modes that the project's settings say.
    """

    gate: ModeSummary | None
    modes: tuple[ModeSummary, ...]
    cases: tuple[CaseSummary, ...]
    suits: Mode
    gated_in: tuple[Mode, ...]


def summarise(calibration: Calibration) -> Summary:
    """Derive everything from what was seen."""
    cases = tuple(map(summarise_case, calibration.cases))
    by_mode = {mode: [case for case in calibration.cases if case.mode == mode] for mode in PREFERRED}
    blunt = bluntness(cases)
    modes = tuple(summarise_mode(mode, of, blunt.get(mode)) for mode, of in by_mode.items() if of)
    gated = [case for case in calibration.cases if case.gate]
    gated_in = tuple(mode for mode in PREFERRED if any(case.mode == mode for case in gated))
    gate = summarise_mode(gated_in[0], gated) if gated else None
    return Summary(gate, modes, cases, suiting_mode(modes), gated_in)


def summarise_case(case: SeenCase) -> CaseSummary:
    """Derive one case's figures."""
    processes = [process for group in case.groups for process in group.processes]
    verdicts = [verdict for group in case.groups for verdict in group.verdicts]
    time_us = statistics.median(process.time_us for process in processes)
    changes = list(zip(*(process.change_ratios for process in processes), strict=True))
    host_us = statistics.median(process.host_us for process in processes)
    return CaseSummary(
        kernel=case.kernel,
        variant=case.variant,
        tokens=case.tokens,
        mode=case.mode,
        gate=case.gate,
        time_us=time_us,
        tolerance=case.tolerance,
        groups=len(case.groups),
        false_alarms=verdicts.count("regressed"),
        false_gains=verdicts.count("improved"),
        undecided=verdicts.count("undecided"),
        within_share=statistics.median(process.spread_share for process in processes),
        between_share=_pooled(changes),
        time_share=_pooled([[process.time_us for process in processes]]),
        detectable_ratio=_middle([group.detectable_ratio for group in case.groups]),
        launch_bound=case.mode == "loop" and host_us >= LAUNCH_BOUND_SHARE * time_us,
    )


def summarise_mode(mode: Mode, cases: Sequence[SeenCase], bluntness_ratio: float | None = None) -> ModeSummary:
    """Sum up cases, which are of one mode, or those that the project gates."""
    summaries = [summarise_case(case) for case in cases]
    groups = [group for case in cases for group in case.groups]
    processes = [process for group in groups for process in group.processes]
    contrasts = sum(len(group.verdicts) for group in groups)
    shown = [summary.detectable_ratio for summary in summaries]
    return ModeSummary(
        mode=mode,
        cases=len(cases),
        groups=_rate((group.verdicts.count("regressed") for group in groups), contrasts),
        processes=_rate((each.slower for each in processes), sum(len(each.change_ratios) for each in processes)),
        gains=_rate((group.verdicts.count("improved") for group in groups), contrasts),
        undecided=_rate((group.verdicts.count("undecided") for group in groups), contrasts),
        within_share=statistics.median(summary.within_share for summary in summaries),
        between_share=_middle([summary.between_share for summary in summaries]),
        time_share=_middle([summary.time_share for summary in summaries]),
        detectable_ratio=_middle(shown),
        worst_detectable_ratio=None if None in shown else max(ratio for ratio in shown if ratio is not None),
        bluntness_ratio=bluntness_ratio,
        launch_bound=sum(summary.launch_bound for summary in summaries),
    )


def suiting_mode(modes: Sequence[ModeSummary]) -> Mode:
    """The mode to gate in: the sharpest of those without a false alarm; a tie goes to the first in ``PREFERRED``.

    Where every mode has false alarms, the one with the fewest a comparison.
    """
    quiet = [mode for mode in modes if not mode.groups.events]
    if not quiet:
        return min(modes, key=lambda mode: mode.groups.share or 0.0).mode
    shown = [mode.bluntness_ratio for mode in quiet if mode.bluntness_ratio is not None]
    sharp = [mode for mode in quiet if shown and (mode.bluntness_ratio or math.inf) <= AS_SHARP_RATIO * min(shown)]
    return (sharp or quiet)[0].mode


def bluntness(cases: Sequence[CaseSummary]) -> dict[Mode, float | None]:
    """How much larger the smallest slowdown is that a mode shows than what the sharpest one shows of the same case.

    In time, not as a share of it: what a change adds to a kernel is the same in every mode, while launch gaps make the
    time it is a share of longer. The median over the cases that were measured in every mode; None where a mode shows
    nothing of most.
    """
    modes = [mode for mode in PREFERRED if any(case.mode == mode for case in cases)]
    shown = {(case.kernel, case.variant, case.tokens, case.mode): case.detectable_us for case in cases}
    names = sorted({key[:3] for key in shown})
    common = [name for name in names if all((*name, mode) in shown for mode in modes)]
    found: dict[Mode, list[float | None]] = {mode: [] for mode in modes}
    for name in common:
        of = {mode: shown[(*name, mode)] for mode in modes}
        known = [time_us for time_us in of.values() if time_us is not None]
        for mode, time_us in of.items():
            found[mode].append(None if time_us is None else time_us / min(known))
    return {mode: _middle(ratios) if ratios else None for mode, ratios in found.items()}


def _pooled(columns: Sequence[Sequence[float]]) -> float | None:
    """The standard deviation of logarithms about each column's own mean, all columns together; None from one row."""
    rows = len(columns[0])
    if rows < 2:
        return None
    logs = [np.log(np.asarray(column, dtype=np.float64)) for column in columns]
    squares = sum(float(np.sum((column - np.mean(column)) ** 2)) for column in logs)
    return math.sqrt(squares / (len(columns) * (rows - 1)))


def _middle(values: Sequence[float | None]) -> float | None:
    """The median where None stands for a value above all others."""
    middle = statistics.median(math.inf if value is None else value for value in values)
    return middle if math.isfinite(middle) else None


def _rate(events: Iterable[int], checks: int) -> Rate:
    """A rate from the events of each cluster."""
    counts = tuple(events)
    return Rate(sum(counts), checks, sum(count > 0 for count in counts), len(counts))
