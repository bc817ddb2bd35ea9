"""Did the machine move since the baselines were stored? One question for a whole run, and what changed meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from pytest_kernelperf.baseline.entry import Baseline, BaselineCase, ProcessSamples
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.environment import differing_environment
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import DeviceFacts, Drift, Record
from pytest_kernelperf.settings import DEFAULT_TOLERANCE
from pytest_kernelperf.stats.comparison import process_medians_us
from pytest_kernelperf.stats.drift import CaseTimes, find_drift


@dataclass(frozen=True)
class _Pair:
    """A record of today with the entry whose accepted binary it timed, and the entry's file."""

    record: Record
    entry: BaselineCase
    baseline: Baseline


def drift_since_stored(
    records: Iterable[Record], device: DeviceFacts, environment: Mapping[str, str], store: BaselineStore
) -> Drift | None:
    """Compare all accepted binaries that this run timed with their stored times; None where it timed none.

    Asked before anything is stored. A baseline that cannot be read says nothing here; its own item fails.

    Args:
        records: the run's records.
        device: the device's facts.
        environment: what else decides speed today, as runs record it.
        store: the baselines as they were when the records were taken.
    """
    pairs = tuple(_pairs(records, device.key, store))
    times = [CaseTimes(_today_us(pair.record), _stored_us(pair.entry)) for pair in pairs]
    drift = find_drift(times, DEFAULT_TOLERANCE[device.runtime])
    if drift is None:
        return None
    days = sorted({process.day for pair in pairs for process in pair.entry.processes})
    known, changed = _changed_facts(pairs, environment)
    return msgspec.structs.replace(
        drift, stored_from=days[0], stored_to=days[-1], facts_known=known, changed=tuple(changed)
    )


def _pairs(records: Iterable[Record], key: str, store: BaselineStore) -> Iterator[_Pair]:
    """Records whose accepted binary was timed cleanly, in the mode that its stored times have."""
    baselines: dict[str, Baseline | None] = {}
    for record in records:
        if record.stored is None:
            continue
        kernel = record.case.kernel
        if kernel not in baselines:
            try:
                baselines[kernel] = store.read(key, kernel)
            except KernelperfError:
                baselines[kernel] = None
        baseline = baselines[kernel]
        entry = baseline.case(record.case.variant, record.case.tokens) if baseline is not None else None
        if baseline is not None and entry is not None and entry.mode == record.mode:
            yield _Pair(record, entry, baseline)


def _today_us(record: Record) -> dict[str, float]:
    """The accepted binary's median in each process of today."""
    processes = sorted({m.process for m in record.measurements})
    medians = {
        process: process_medians_us([m for m in record.measurements if m.process == process], "baseline")
        for process in processes
    }
    return {f"process {process}": found[0] for process, found in medians.items() if found}


def _stored_us(entry: BaselineCase) -> dict[str, float]:
    """Each stored process's median. The n-th of a day measured other cases of that day too."""
    seen: Counter[str] = Counter()
    medians = {}
    for process in entry.processes:
        seen[process.day] += 1
        medians[f"{process.day}, process {seen[process.day]}"] = process.median_us
    return medians


def _changed_facts(pairs: Iterable[_Pair], environment: Mapping[str, str]) -> tuple[bool, list[str]]:
    """What differs today from the facts of each case's newest stored processes, the most frequent first."""
    changes: Counter[str] = Counter()
    known = 0
    for pair in pairs:
        facts = _facts(pair, max(pair.entry.processes, key=lambda process: process.day))
        known += bool(facts)
        changes.update(differing_environment(facts, environment) if facts else [])
    said = [
        change if count == known else f"{change} ({count} of {known} cases)" for change, count in changes.most_common()
    ]
    return known > 0, said


def _facts(pair: _Pair, process: ProcessSamples) -> dict[str, str]:
    """A process's facts; entries of older releases say the compiler, the driver and HIP's version."""
    if facts := pair.baseline.facts_of(process):
        return facts
    entry = pair.entry
    older = {"compiler": entry.compiler, "driver": entry.driver, "hip_version": entry.hip_version}
    return {name: text for name, text in older.items() if text}
