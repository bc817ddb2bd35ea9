"""A run as finished values: every cell of the table is text here, and renderers only place it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pytest_kernelperf import units
from pytest_kernelperf.model import Comparison, CurveRecord, DeviceFacts, Frozen, LaunchFill, Record, Run, Verdict
from pytest_kernelperf.report.curve import curve_note
from pytest_kernelperf.report.text import one_line

COLUMNS = (
    "tokens", "variant", "us/launch", "bytes moved", "GB/s", "% of peak", "workgroups/CUs", "change",
    "would catch", "verdict",
)  # fmt: skip
"""``us/launch``: time per round of the variant's plan, all its launches together, as the lesson prints it. ``would
catch``: the smallest slowdown that the case's samples would have shown 95 times of 100, by their own spreads; only
where they show no change."""

RATE = "Gop/s"
"""1e9 arithmetic operations a second: a further column where a variant of the kernel states its operations."""

SHOWN_LAUNCHES = 3
UNTIMED = "not timed, since"
NO_DATA = units.MISSING


class Row(Frozen, frozen=True):
    """One case, cell by cell, in the order of its table's columns; ``fails`` marks what fails the run."""

    cells: tuple[str, ...]
    fails: bool


class KernelTable(Frozen, frozen=True):
    """One kernel's cases in order of tokens and variant, and what to know beside them, one line each."""

    kernel: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]


class TableView(Frozen, frozen=True):
    """A run's tables and the line that says what they were measured on."""

    device: str
    tables: tuple[KernelTable, ...]


def view_of(run: Run) -> TableView:
    """Return a run's tables; mutations, which are not timed, are left to the headline and the details."""
    kernels: dict[str, list[Record]] = {}
    for record in run.records:
        if not record.mutation_of:
            kernels.setdefault(record.case.kernel, []).append(record)
    tables = tuple(_table(kernel, records, run.device, run.curves) for kernel, records in sorted(kernels.items()))
    return TableView(_device(run), tables)


def _table(kernel: str, records: Iterable[Record], device: DeviceFacts, curves: Iterable[CurveRecord]) -> KernelTable:
    ordered = sorted(records, key=lambda record: record.case.tokens)  # variants as the run has them
    rated = any(record.operations is not None for record in ordered)
    skipped = [one_line(r.decision.reason) for r in ordered if r.decision.verdict is Verdict.SKIPPED]
    return KernelTable(
        kernel=one_line(kernel),
        columns=_with_rate(COLUMNS, RATE) if rated else COLUMNS,
        rows=tuple(Row(_row(record, device, rated=rated), record.decision.fails) for record in ordered),
        notes=(
            *(f"skipped: {reason}" for reason in dict.fromkeys(skipped)),
            *(
                f"{case_text(record)}: {one_line(note)}"
                for record in ordered
                for note in record.notes
                if not note.startswith(UNTIMED)
            ),
            *_untimed(ordered),
            *(curve_note(curve) for curve in curves if curve.kernel == kernel),
        ),
    )


def _untimed(records: Iterable[Record]) -> tuple[str, ...]:
    """One line for all cases that were not timed beside somebody else, instead of one for each."""
    notes = [note for record in records for note in record.notes if note.startswith(UNTIMED)]
    if not notes:
        return ()
    who = one_line(Counter(notes).most_common(1)[0][0])
    return (f"{units.format_counted(len(notes), 'case')} {who}; stop that, or run again when it has ended",)


def _row(record: Record, device: DeviceFacts, *, rated: bool) -> tuple[str, ...]:
    """The cells of a case; with its rate of operations where the kernel's table has that column."""
    cells = cells_of(record, device)
    rate = units.format_number(units.rate_gop_per_s(record.operations, record.time_us))
    return _with_rate(cells, rate) if rated else cells


def _with_rate(cells: tuple[str, ...], rate: str) -> tuple[str, ...]:
    """The rate stands behind bandwidth and its share."""
    place = COLUMNS.index("% of peak") + 1
    return (*cells[:place], rate, *cells[place:])


def cells_of(record: Record, device: DeviceFacts) -> tuple[str, ...]:
    """Return the cells of a case, in the order of ``COLUMNS``."""
    bandwidth = units.bandwidth_gb_per_s(record.moved_bytes, record.time_us)
    return (
        units.format_count(record.case.tokens),
        one_line(record.case.variant),
        time_text(record),
        units.format_bytes(record.moved_bytes),
        units.format_gb_per_s(bandwidth),
        _peak(bandwidth, device.peak_gb_per_s),
        fills_text(record.fills),
        change_text(deciding_comparison(record)),
        limit_text(deciding_comparison(record)),
        verdict_text(record),
    )


def time_text(record: Record) -> str:
    """A case's time with its mode and, where they were cold, its caches: ``2.21 graph cold``.

    ``2.21 graph (stored)`` where nothing was timed today.
    """
    if record.time_us is None:
        return NO_DATA
    cold = " cold" if record.cache == "cold" else ""
    return f"{units.format_us(record.time_us)} {record.mode}{cold}{' (stored)' if record.time_is_stored else ''}"


def _peak(bandwidth: float | None, peak_gb_per_s: float | None) -> str:
    """Bandwidth beside the memory's peak; more than memory can give came from a cache."""
    share = units.format_share(bandwidth, peak_gb_per_s)
    above = bandwidth is not None and peak_gb_per_s is not None and bandwidth > peak_gb_per_s
    return f"{share} (from cache)" if above else share


def fills_text(fills: Iterable[LaunchFill]) -> str:
    """Workgroups by compute units of each launch, the smallest first: ``10/40 (floor 10), 40/40``."""
    ordered = sorted(fills, key=lambda fill: (fill.workgroups, fill.threshold))
    texts = list(dict.fromkeys(_fill(fill) for fill in ordered))
    more = [f"{len(texts) - SHOWN_LAUNCHES} more"] if len(texts) > SHOWN_LAUNCHES else []
    return ", ".join(texts[:SHOWN_LAUNCHES] + more) or NO_DATA


def _fill(fill: LaunchFill) -> str:
    count = f"{units.format_count(fill.workgroups)}/{units.format_count(fill.compute_units)}"
    floor = f" (floor {units.format_count(fill.floor.workgroups)})" if fill.floor is not None else ""
    return f"{count}{' starved' if fill.starved else ''}{floor}"


def deciding_comparison(record: Record) -> Comparison | None:
    """The comparison that the verdict rests on: what the decision names, else the baseline's, else the parent's."""
    found = {c.against: c for c in record.comparisons if c.arm == "head"}
    wanted = "replaced" if record.decision.verdict is Verdict.SLOWER_THAN_REPLACED else "baseline"
    if record.decision.code in ("slower_than_parent", "open_beside_parent"):
        wanted = "parent"
    return found.get(wanted) or (found.get("parent") if wanted == "baseline" else None)


def change_text(comparison: Comparison | None) -> str:
    """A change with its interval: ``+33.1 % (+32.8 to +33.4 %)``; against what, where not the baseline."""
    if comparison is None:
        return NO_DATA
    interval = units.format_interval(comparison.low_ratio, comparison.high_ratio)
    against = "" if comparison.against == "baseline" else f" vs {one_line(comparison.against)}"
    return f"{units.format_change(comparison.change_ratio)} ({interval}){against}"


def limit_text(comparison: Comparison | None) -> str:
    """The smallest slowdown that would have been caught: ``1.2 %``; ``none`` where none would have been.

    Nothing where a change was found: its own spread over processes is in the figure, and the question is answered.
    """
    if comparison is None or shows_change(comparison):
        return NO_DATA
    return "none" if comparison.detectable_ratio is None else units.format_tolerance(comparison.detectable_ratio)


def shows_change(comparison: Comparison) -> bool:
    """Whether enough processes agree on a change."""
    return max(comparison.slower, comparison.faster) >= max(1, comparison.needed)


def verdict_text(record: Record) -> str:
    """The verdict, and that an expected starvation is one."""
    expected = record.decision.verdict is not Verdict.STARVED and any(fill.starved for fill in record.fills)
    if expected and not record.decision.fails:
        return f"{record.decision.verdict.value}, starved as expected"
    return record.decision.verdict.value


def case_text(record: Record) -> str:
    """A case within its kernel's table: ``separate at 7 tokens``."""
    return f"{one_line(record.case.variant)} at {units.format_counted(record.case.tokens, 'token')}"


def _device(run: Run) -> str:
    """The device in one line: name, key, runtime, compute units and what HIP calls them, memory's peak."""
    device = run.device
    if not device.key:
        return one_line(f"no device: no runtime can be used here (asked for: {run.settings.get('runtime', 'auto')})")
    reported = f" (HIP reports {device.hip_compute_units})" if device.hip_compute_units != device.compute_units else ""
    peak = f", {units.format_gb_per_s(device.peak_gb_per_s)} GB/s peak" if device.peak_gb_per_s is not None else ""
    scripted = "; times come from a clock script, not from this device" if run.scripted_clock else ""
    return one_line(
        f"{device.name} ({device.key}), {device.runtime} runtime, "
        f"{units.format_counted(device.compute_units, 'compute unit')}{reported}{peak}{scripted}"
    )
