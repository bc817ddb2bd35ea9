"""A case's raw samples in the order in which they were taken: drift, two speeds and somebody else's work show here."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen, Measurement, Mode, Record
from pytest_kernelperf.report.change import deciding
from pytest_kernelperf.report.figure.edge import FAR_SAMPLE, edges
from pytest_kernelperf.report.figure.figure import ROWS, Figure, plain, shortened
from pytest_kernelperf.report.text import one_line
from pytest_kernelperf.stats.paired import LONGEST_US, SHORTEST_US

MOST_ROWS = 4_000
"""More points than a picture has room for are thinned out, whole blocks at a time."""


class SampleRow(Frozen, frozen=True):
    """One sample: ``order`` counts from 1 in order of time, ``time_us`` is per round.

    ``contended``: somebody else was active while its process measured.
    """

    order: int
    process: int
    arm: str
    time_us: float
    contended: bool


def samples_in_time(record: Record, most: int = MOST_ROWS) -> Figure | None:
    """Return the figure of a case's samples in the mode that it was decided in; None where it has none."""
    comparison = deciding(record)
    mode = comparison.mode if comparison is not None else record.mode
    everything = sample_rows(record.measurements, mode)
    rows = thinned(everything, most)
    if not rows:
        return None
    name = one_line(str(record.case))
    arms = list(dict.fromkeys(row.arm for row in rows))
    processes = len({row.process for row in rows})
    title = f"{shortened(record.case)}: {units.format_counted(len(everything), 'sample')} in order of time"
    thin = f"; {units.format_count(len(rows))} of them drawn" if len(rows) < len(everything) else ""
    shaded = "; shaded: somebody else was active" if any(row.contended for row in rows) else ""
    subtitle = f"{mode} mode, {units.format_counted(processes, 'process', 'processes')} in turn{thin}{shaded}"
    subtitle += "; arrow: beyond the edge" if _far(rows) else ""
    times = [row.time_us for row in everything]
    return Figure(
        kind="samples_in_time",
        name=name,
        title=title,
        subtitle=subtitle,
        description=(
            f"{title}. Arms: {', '.join(arms)}. From {units.format_time(min(times))} to "
            f"{units.format_time(max(times))} a round. {subtitle}."
        ),
        datasets={ROWS: plain(rows)},
    )


def _far(rows: tuple[SampleRow, ...]) -> bool:
    groups: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        groups.setdefault((row.process, row.arm), []).append(row.time_us)
    high = edges(list(groups.values()), FAR_SAMPLE)[1]
    return any(row.time_us > 1.001 * high for row in rows)


def sample_rows(measurements: Iterable[Measurement], mode: Mode) -> tuple[SampleRow, ...]:
    """Return a row for each sample of a mode: measurements as they were taken, within one by block and place."""
    rows: list[SampleRow] = []
    for measurement in measurements:
        if measurement.mode != mode:
            continue
        for sample in sorted(measurement.samples, key=lambda one: (one.block, one.place)):
            if SHORTEST_US < sample.time_us < LONGEST_US:
                arm, contended = one_line(sample.arm), bool(measurement.contended_by)
                rows.append(SampleRow(len(rows) + 1, measurement.process, arm, sample.time_us, contended))
    return tuple(rows)


def thinned(rows: tuple[SampleRow, ...], most: int) -> tuple[SampleRow, ...]:
    """Return at most ``most`` rows, runs of as many samples as there are arms kept together."""
    if len(rows) <= most:
        return rows
    arms = max(1, len({row.arm for row in rows}))
    step = math.ceil(math.ceil(len(rows) / arms) / max(1, most // arms))
    return tuple(row for place, row in enumerate(rows) if (place // arms) % step == 0)[:most]
