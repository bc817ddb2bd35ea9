"""Further days: today's processes of an accepted binary join the ones that its entry holds. Accepts nothing.

The stored test and the drift test take a process as one number, and one day's processes share that day's heat and
clocks. So an entry may gain processes of other days; all else in it stays as it was accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from pytest_kernelperf import units
from pytest_kernelperf.baseline.entry import Baseline, BaselineCase, ProcessSamples
from pytest_kernelperf.baseline.facts import under, with_facts
from pytest_kernelperf.baseline.update import clean_processes
from pytest_kernelperf.model import Frozen, Record

MOST_DAYS = 6
"""Days kept of an entry: the one it was accepted on, and the newest others."""

MOST_PER_DAY = 10
"""Processes taken of one further day: as many as the stored test needs against ten others."""


class Extension(Frozen, frozen=True):
    """The baseline to store (None: nothing changes), a line per extended case, a line per case left as it was."""

    baseline: Baseline | None
    extended: tuple[str, ...]
    left: tuple[str, ...]


def extend(old: Baseline | None, records: Iterable[Record], day: str, facts: Mapping[str, str]) -> Extension:
    """Return a kernel's baseline with today's processes of its accepted binaries.

    Args:
        old: the baseline as it is.
        records: this run's records of the kernel.
        day: today (UTC), ``2026-03-01``.
        facts: what the processes ran under.
    """
    if old is None:
        return Extension(None, (), ())
    cases = {(case.variant, case.tokens): case for case in old.cases}
    extended: list[str] = []
    left: list[str] = []
    for record in sorted(records, key=lambda record: record.case):
        key = (record.case.variant, record.case.tokens)
        entry = cases.get(key)
        if record.mutation_of or entry is None:
            continue
        taken = clean_processes(record, day, arm="baseline")[:MOST_PER_DAY]
        if why := _obstacle(entry, record, day, taken):
            left.append(f"{record.case}: {why}")
            continue
        longer = msgspec.structs.replace(entry, processes=_kept((*entry.processes, *under(taken, facts))))
        extended.append(f"{record.case}: {_describe(entry, longer, record)}")
        cases[key] = longer
    if not extended:
        return Extension(None, (), tuple(left))
    baseline = msgspec.structs.replace(old, cases=tuple(cases[key] for key in sorted(cases)))
    return Extension(with_facts(baseline, old, facts), tuple(extended), tuple(left))


def _obstacle(entry: BaselineCase, record: Record, day: str, taken: tuple[ProcessSamples, ...]) -> str:
    """Say why a case gains nothing today; empty where it does."""
    if any(process.day == day for process in entry.processes):
        return f"has processes of {day} already"
    if record.decision.fails:
        return f"{record.decision.verdict.value}: gains processes once that is settled"
    if not taken or record.mode != entry.mode or record.cache != entry.cache_state:
        return f"{record.decision.verdict.value}: its accepted binary was not timed today"
    return ""


def _kept(processes: tuple[ProcessSamples, ...]) -> tuple[ProcessSamples, ...]:
    """The first day's processes, which the figure was accepted with, and the newest days'."""
    days = sorted({process.day for process in processes})
    kept = {days[0], *days[-(MOST_DAYS - 1) :]}
    return tuple(sorted((process for process in processes if process.day in kept), key=lambda process: process.day))


def _describe(old: BaselineCase, new: BaselineCase, record: Record) -> str:
    """``5 -> 10 processes, 1 -> 2 days; the accepted binary took 55.10 us, today +0.3 %``."""
    moved = f", today {units.format_change(record.stored.change_ratio)}" if record.stored is not None else ""
    return (
        f"{len(old.processes)} -> {units.format_counted(len(new.processes), 'process', 'processes')}, "
        f"{old.days} -> {units.format_counted(new.days, 'day')}; "
        f"the accepted binary took {units.format_time(old.time_us)}{moved}"
    )
