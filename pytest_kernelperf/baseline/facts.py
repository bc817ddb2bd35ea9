"""The facts that processes ran under (driver, firmware, clock policy, …), kept once in a file and named by each."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from pytest_kernelperf.baseline.entry import Baseline, ProcessSamples
from pytest_kernelperf.model import digest_of

_MOST_CHARACTERS = 400
_MOST_FACTS = 200


def key_of(facts: Mapping[str, str]) -> str:
    """Return the key by which processes name these facts."""
    return digest_of(_cut(facts))[:12]


def under(processes: tuple[ProcessSamples, ...], facts: Mapping[str, str]) -> tuple[ProcessSamples, ...]:
    """Return the processes, naming the facts that they ran under where there are any."""
    if not facts:
        return processes
    return tuple(msgspec.structs.replace(process, environment=key_of(facts)) for process in processes)


def with_facts(baseline: Baseline, older: Baseline | None, facts: Mapping[str, str]) -> Baseline:
    """Return the baseline with the facts that its processes name, out of an older one's and today's."""
    known = dict(older.environments) if older is not None and older.environments is not msgspec.UNSET else {}
    if facts:
        known[key_of(facts)] = _cut(facts)
    named = {process.environment for case in baseline.cases for process in case.processes}
    kept = {key: value for key, value in known.items() if key in named}
    return msgspec.structs.replace(baseline, environments=kept or msgspec.UNSET)


def _cut(facts: Mapping[str, str]) -> dict[str, str]:
    ordered = sorted(facts.items())[:_MOST_FACTS]
    return {name[:_MOST_CHARACTERS]: text[:_MOST_CHARACTERS] for name, text in ordered}
