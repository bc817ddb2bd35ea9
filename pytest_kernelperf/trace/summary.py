"""A trace summed up: the lesson's table for each process, and for each device its gaps and how busy it was."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.trace.dispatch import Dispatches, Group, read_dispatches
from pytest_kernelperf.trace.file import find_files, shown
from pytest_kernelperf.trace.interval import sound
from pytest_kernelperf.trace.origin import CUPTI, read_origin
from pytest_kernelperf.trace.record import Device, Gap, KernelSummary, ProcessSummary, Timeline, TraceSummary

Rows = NDArray[np.int32]
"""Places of dispatches, rising; two thousand million are more than a file holds."""

MOST_GAPS = 10
MOST_WORKGROUPS = 10


def summarise_trace(path: Path) -> TraceSummary:
    """Read a trace (a file, or a folder of one file for each process) and sum it up.

    Raises:
        TraceError: it cannot be used.
    """
    return summarise(read_trace(path), path, read_origin(path))


def read_trace(path: Path) -> Dispatches:
    """Return a trace's sound dispatches, sorted by start.

    Raises:
        TraceError: it cannot be used.
    """
    return sound(read_dispatches(find_files(path)))


def summarise(dispatches: Dispatches, path: Path, origin: str) -> TraceSummary:
    """Sum up sound dispatches, sorted by start."""
    first, set_up = _first_calls(dispatches), _after_set_up(dispatches, origin)
    return TraceSummary(
        shown(path),
        origin,
        len(dispatches.group),
        dispatches.left_out,
        tuple(_process(dispatches, rows, one) for one, rows in _split(dispatches, [_process_of(g) for g in
                                                                                   dispatches.groups])),
        tuple(_timeline(dispatches, rows, first, set_up) for _, rows in _split(dispatches, [g.device for g in
                                                                                    dispatches.groups])),
    )  # fmt: skip


def _process_of(group: Group) -> tuple[object, ...]:
    return group.file, group.guid, group.pid, group.device


def _split(dispatches: Dispatches, keys: list[Hashable], among: Rows | None = None) -> Iterator[tuple[Group, Rows]]:
    """Yield the rows that have a key in common, rising, with one of their groups; keys as they first appear."""
    numbers: dict[Hashable, int] = {}
    number_of_group = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int32)
    number_of_group = _narrow(number_of_group, len(numbers))
    rows = np.arange(len(dispatches.group), dtype=np.int32) if among is None else among
    if not len(rows):
        return
    number = number_of_group[dispatches.group[rows]]
    order = np.argsort(number, kind="stable")
    edges = np.flatnonzero(np.diff(number[order])) + 1
    for part in np.split(rows[order], edges):
        yield dispatches.groups[int(dispatches.group[part[0]])], part


def _narrow(numbers: NDArray[Any], below: int) -> NDArray[Any]:
    """Return numbers as int16 where they fit: numpy's stable sort takes a tenth of the time for those."""
    return numbers.astype(np.int16) if below <= np.iinfo(np.int16).max else numbers


def _first_calls(dispatches: Dispatches) -> NDArray[np.bool_]:
    first = np.zeros(len(dispatches.group), bool)
    for _, rows in _split(dispatches, [(*_process_of(one), one.kernel) for one in dispatches.groups]):
        first[rows[0]] = True
    return first


def _after_set_up(dispatches: Dispatches, origin: str) -> NDArray[np.bool_]:
    """The second dispatch of each process that CUPTI recorded: before it CUPTI sets itself up."""
    second = np.zeros(len(dispatches.group), bool)
    if origin == CUPTI:
        for _, rows in _split(dispatches, [(one.file, one.guid, one.pid) for one in dispatches.groups]):
            second[rows[1:2]] = True
    return second


def _process(dispatches: Dispatches, rows: Rows, one: Group) -> ProcessSummary:
    kernels = [
        _kernel(dispatches, part, group.kernel, one.device)
        for group, part in _split(dispatches, [group.kernel for group in dispatches.groups], rows)
    ]
    kernels.sort(key=lambda kernel: (-kernel.total_us, kernel.name))
    return ProcessSummary(one.pid, one.command, one.device, tuple(kernels))


def _kernel(dispatches: Dispatches, rows: Rows, name: str, device: Device) -> KernelSummary:
    duration_us = (dispatches.end_ns[rows] - dispatches.start_ns[rows]) / 1e3
    later_us = duration_us[1:] if len(duration_us) > 1 else duration_us
    counts = {dispatches.groups[int(group)].workgroups for group in np.unique(dispatches.group[rows])}
    known = sorted(count for count in counts if count is not None)
    starved = known[0] < device.compute_units if known and device.compute_units is not None else None
    return KernelSummary(
        name,
        len(rows),
        float(duration_us.mean()),
        float(duration_us.sum()),
        float(np.median(later_us)),
        float(later_us.min()),
        tuple(known if len(known) <= MOST_WORKGROUPS else [*known[: MOST_WORKGROUPS - 1], known[-1]]),
        starved,
    )


def _timeline(dispatches: Dispatches, rows: Rows, first: NDArray[np.bool_], set_up: NDArray[np.bool_]) -> Timeline:
    """Sum up a device's rows; what is as long as they are is given back as soon as it has been used."""
    start_ns, end_ns = _among(dispatches.start_ns, rows), _among(dispatches.end_ns, rows)
    later = ~first[rows]
    duration_ns = end_ns - start_ns
    median_kernel_us = float(np.median(duration_ns[later] if later.any() else duration_ns)) / 1e3
    del duration_ns
    until_ns = np.maximum.accumulate(end_ns)
    last = np.where(end_ns == until_ns, np.arange(len(rows), dtype=np.int32), np.int32(0))
    np.maximum.accumulate(last, out=last)
    gap_ns = start_ns[1:] - until_ns[:-1]
    np.maximum(gap_ns, 0, out=gap_ns)
    window_us = float(until_ns[-1] - start_ns[0]) / 1e3
    del until_ns, start_ns, end_ns
    busy_us = window_us - float(gap_ns.sum()) / 1e3
    of_set_up = set_up[rows[1:]]
    set_up_us = float(gap_ns[of_set_up].sum()) / 1e3
    window_us -= set_up_us
    counted = later[1:] & ~of_set_up
    counted_ns = gap_ns[counted]
    median_gap_us = float(np.median(counted_ns)) / 1e3 if len(counted_ns) else None
    del counted_ns
    gap_ns[~counted] = 0
    return Timeline(
        dispatches.groups[int(dispatches.group[rows[0]])].device,
        len(rows),
        window_us,
        busy_us,
        busy_us / window_us,
        _gaps(dispatches, rows[last[:-1]], rows[1:], gap_ns),
        median_kernel_us,
        median_gap_us,
        median_gap_us is not None and median_gap_us > median_kernel_us,
        set_up_us,
    )


def _among(column: NDArray[np.int64], rows: Rows) -> NDArray[np.int64]:
    """Return a column's rows; where these are all, the column itself."""
    return column if len(rows) == len(column) else column[rows]


def _gaps(dispatches: Dispatches, before: Rows, after: Rows, gap_ns: NDArray[np.int64]) -> tuple[Gap, ...]:
    names = list(dict.fromkeys(group.kernel for group in dispatches.groups))
    number_of = {name: number for number, name in enumerate(names)}
    kernel = np.array([number_of[group.kernel] for group in dispatches.groups], np.int64)
    if len(names) ** 2 <= np.iinfo(np.int32).max:
        kernel = kernel.astype(np.int32)
    real = np.flatnonzero(gap_ns).astype(np.int32)
    if not len(real):
        return ()
    pair = kernel[dispatches.group[before[real]]] * len(names) + kernel[dispatches.group[after[real]]]
    pair = _narrow(pair, len(names) ** 2)
    order = np.argsort(pair, kind="stable")
    gaps = []
    for part in np.split(order, np.flatnonzero(np.diff(pair[order])) + 1):
        a, b = divmod(int(pair[part[0]]), len(names))
        times_us = gap_ns[real[part]] / 1e3
        gaps.append(Gap(names[a], names[b], len(part), float(np.median(times_us)), float(times_us.max()),
                        float(times_us.sum())))  # fmt: skip
    gaps.sort(key=lambda gap: (-gap.total_us, gap.before, gap.after))
    return tuple(gaps[:MOST_GAPS])
