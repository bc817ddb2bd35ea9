"""A kernel's time against tokens: all its variants, head beside what it is held against, and what memory allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen, Record, Run
from pytest_kernelperf.report.change import slowdown
from pytest_kernelperf.report.figure.crossover import Crossover, crossovers_of
from pytest_kernelperf.report.figure.figure import CONFIDENCE, MOST_NAME, ROWS, Figure, plain
from pytest_kernelperf.report.figure.naming import names_of
from pytest_kernelperf.report.text import one_line, shorten
from pytest_kernelperf.stats.comparison import process_medians_us
from pytest_kernelperf.stats.interval import interval_over_processes
from pytest_kernelperf.stats.paired import LONGEST_US, SHORTEST_US

ARMS = ("head", "baseline", "parent")
"""Arms with a line; a replaced variant has its own line as a variant."""

MOST_NAMED = 3


class CurveRow(Frozen, frozen=True):
    """One arm of one case. Times are us per round, None where there is none.

    ``low_us`` and ``high_us``: the interval over processes. ``roofline_us``: what moving the case's bytes takes at the
    memory's peak. ``mode``: how it was timed, and that caches were cold; only points of one mode are joined.
    ``stored``: the time is the baseline's own, since nothing changed. ``starved``: a launch has fewer workgroups than
    it must, or than the device has compute units where that is declared.
    """

    variant: str
    arm: str
    tokens: int
    time_us: float | None
    low_us: float | None
    high_us: float | None
    verdict: str
    fails: bool
    starved: bool
    stored: bool
    mode: str
    roofline_us: float | None


def kernel_curve(run: Run, kernel: str) -> Figure | None:
    """Return the figure of a kernel, None where it has nothing to show: neither a time nor a failing case."""
    records = [record for record in run.records if record.case.kernel == kernel and not record.mutation_of]
    rows = curve_rows(records, run.device.peak_gb_per_s)
    if not any(row.time_us is not None or row.fails for row in rows):
        return None
    crossings = crossovers_of(rows)
    name = one_line(kernel)
    title = f"{shorten(name, MOST_NAME)}: {_fastest(rows)}"
    subtitle = _how(rows, crossings)
    words = [title, *_slower(records), *(f"{each.text}." for each in crossings), subtitle]
    return Figure(
        kind="kernel_curve",
        name=name,
        title=title,
        subtitle=subtitle,
        description=". ".join(word.rstrip(".") for word in words if word) + ".",
        datasets={ROWS: plain(rows), "crossovers": plain(crossings), "names": plain(names_of(rows))},
    )


def curve_rows(records: Iterable[Record], peak_gb_per_s: float | None) -> tuple[CurveRow, ...]:
    """Return the rows of one kernel's records: one for head, and one for each other arm that has a time."""
    return tuple(row for record in records for row in _rows(record, peak_gb_per_s))


def _rows(record: Record, peak_gb_per_s: float | None) -> Iterator[CurveRow]:
    """Samples of another mode than the case's own are no part of its curve."""
    measured = [measurement for measurement in record.measurements if measurement.mode == record.mode]
    sampled = {sample.arm for measurement in measured for sample in measurement.samples}
    compared = {one.against: one.against_us for one in record.comparisons if one.mode == record.mode}
    for arm in ARMS:
        medians = process_medians_us(measured, arm) if arm in sampled else ()
        time_us = record.time_us if arm == "head" else compared.get(arm)
        interval = interval_over_processes(medians, CONFIDENCE) if medians else None
        if time_us is None and interval is not None:
            time_us = interval.change_ratio
        if arm != "head" and _time(time_us) is None:
            continue
        yield CurveRow(
            variant=one_line(record.case.variant),
            arm=arm,
            tokens=record.case.tokens,
            time_us=_time(time_us),
            low_us=_time(interval.low_ratio) if interval is not None else None,
            high_us=_time(interval.high_ratio) if interval is not None else None,
            verdict=record.decision.verdict.value,
            fails=record.decision.fails,
            starved=any(fill.starved or fill.workgroups < fill.compute_units for fill in record.fills),
            stored=record.time_is_stored,
            mode=f"{record.mode}{', cold caches' if record.cache == 'cold' else ''}",
            roofline_us=_roofline_us(record.moved_bytes, peak_gb_per_s),
        )


def _time(time_us: float | None) -> float | None:
    """A time that a log axis can show."""
    return time_us if time_us is not None and SHORTEST_US < time_us < LONGEST_US else None


def _roofline_us(moved_bytes: int | None, peak_gb_per_s: float | None) -> float | None:
    if not moved_bytes or peak_gb_per_s is None or not peak_gb_per_s > 0:
        return None
    return _time(moved_bytes / (peak_gb_per_s * 1e3))


def _fastest(rows: Sequence[CurveRow]) -> str:
    """Who is the fastest at how many sizes; a lone variant has only its time."""
    times: dict[int, dict[str, float]] = {}
    for row in rows:
        if row.arm == "head" and row.time_us is not None:
            times.setdefault(row.tokens, {})[row.variant] = row.time_us
    variants = {variant for of in times.values() for variant in of}
    if len(variants) < 2:
        return "time against tokens" if times else "no case was timed"
    winners = [min(of, key=of.__getitem__) for of in times.values()]
    best = max(dict.fromkeys(winners), key=winners.count)
    if winners.count(best) == len(winners):
        return f"{shorten(best, MOST_NAME)} is the fastest at {'both sizes' if len(winners) == 2 else 'every size'}"
    if winners.count(best) * 2 <= len(winners):
        return "which variant is the fastest depends on the size"
    sizes = units.format_counted(len(winners), "size")
    return f"{shorten(best, MOST_NAME)} is the fastest at {winners.count(best)} of {sizes}"


def _slower(records: Iterable[Record]) -> Iterator[str]:
    """The failing cases, worst first, by name and change."""
    failing = sorted((record for record in records if record.decision.fails), key=lambda one: -slowdown(one))
    for record in failing[:MOST_NAMED]:
        change = f" ({units.format_change(slowdown(record))})" if slowdown(record) != 1.0 else ""
        yield one_line(f"{record.case.variant} at {units.format_counted(record.case.tokens, 'token')} "
                       f"{record.decision.verdict.value}{change}")  # fmt: skip
    if len(failing) > MOST_NAMED:
        yield f"{units.format_counted(len(failing) - MOST_NAMED, 'more case fails', 'more cases fail')}"


def _how(rows: Sequence[CurveRow], crossings: Sequence[Crossover]) -> str:
    """How the times were taken, and what lines and marks are, of those that are there."""
    timed = [row for row in rows if row.time_us is not None]
    modes = sorted({row.mode for row in timed})
    arms = [arm for arm in ARMS if any(row.arm == arm for row in timed)]
    parts = (
        f"{' and '.join(modes)} mode" if modes else "",
        "only points of one mode are joined" if len(modes) > 1 else "",
        f"solid: head, dashed: {' and '.join(arms[1:])}" if len(arms) > 1 else "",
        "dotted: bytes at the memory's peak" if any(row.roofline_us is not None for row in rows) else "",
        "triangle: starved" if any(row.starved for row in timed) else "",
        "square: fails" if any(row.fails for row in timed) else "",
        "cross: fails without a time" if any(row.fails and row.time_us is None for row in rows) else "",
        "diamond: curves cross" if crossings else "",
    )
    return "; ".join(filter(None, parts))
