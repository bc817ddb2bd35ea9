"""Accept what a run measured: the new baseline of a kernel, and what changes in it, line by line.

Only clean measurements are accepted. A case that is refused, or that was not run, keeps its entry; an
entry that is kept is kept to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from pytest_kernelperf import units
from pytest_kernelperf.baseline.entry import Baseline, BaselineCase, DeviceSummary, ProcessSamples, case_name
from pytest_kernelperf.baseline.facts import under, with_facts
from pytest_kernelperf.baseline.format import VERSION
from pytest_kernelperf.baseline.history import accepted_ratio, with_history
from pytest_kernelperf.model import CaseId, DeviceFacts, Frozen, LaunchStep, Plan, Record, Verdict

STORED = frozenset({Verdict.NEW, Verdict.IMPROVED, Verdict.ACCEPTED})
"""Verdicts that are stored: a slower case becomes ``accepted`` by the reason given with the update."""

KEPT = frozenset({Verdict.IDENTICAL, Verdict.UNCHANGED})
"""Verdicts whose old entry stays: replacing it by each change within the tolerance would let time creep up."""


class Acceptance(Frozen, frozen=True):
    """Who accepts, what and when: what is the same for all cases of a kernel in one run.

    ``day`` is the UTC day, ``2026-03-01``; ``test_module`` posix, relative to the project's root; ``environment`` the
    facts that the run was measured under. ``curves`` are variants accepted as slower over their sizes, whose sizes that
    were timed and found unchanged are therefore stored too.
    """

    kernel: str
    test_module: str
    device: DeviceFacts
    reason: str
    day: str
    tool_version: str
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    curves: frozenset[str] = frozenset()


class Update(Frozen, frozen=True):
    """The baseline to store (None: nothing changes), a line per accepted case, a line per refused one."""

    baseline: Baseline | None
    accepted: tuple[str, ...]
    refused: tuple[str, ...]


def update(
    old: Baseline | None,
    records: Iterable[Record],
    acceptance: Acceptance,
    renamed: Mapping[CaseId, BaselineCase] = MappingProxyType({}),
) -> Update:
    """Return the kernel's next baseline from its old one and this run's records of it.

    ``renamed``: the entries that cases had under former names, which they keep under the new ones.
    """
    cases = {(case.variant, case.tokens): case for case in old.cases} if old else {}
    came = {(case.variant, case.tokens): entry for case, entry in renamed.items()}
    came = {key: entry for key, entry in came.items() if key not in cases}
    cases |= came
    accepted = [f"{acceptance.kernel} {case_name(*key)}: moved from its former name" for key in sorted(came)]
    refused: list[str] = []
    for record in sorted(records, key=lambda record: record.case):
        key = (record.case.variant, record.case.tokens)
        of_curve = record.decision.verdict is Verdict.UNCHANGED and record.case.variant in acceptance.curves
        if record.mutation_of or (record.decision.verdict in KEPT and key in cases and not of_curve):
            continue
        plan, processes = record.plan, clean_processes(record, acceptance.day)
        if plan is None or not processes or not (of_curve or _is_stored(record)):
            refused.append(
                f"{record.case}: {_refusal(record)}; {'its old baseline stays' if key in cases else 'not stored'}"
            )
            continue
        case = with_history(_accept(record, plan, processes, acceptance), cases.get(key), record)
        accepted.append(f"{record.case}: {describe(cases.get(key), case, accepted_ratio(record))}")
        cases[key] = case
    baseline = _next(old, cases, acceptance, any_accepted=bool(accepted))
    return Update(baseline, tuple(accepted), tuple(refused))


def describe(old: BaselineCase | None, new: BaselineCase, ratio: float | None = None) -> str:
    """Return ``old -> new`` in words: times with their modes, and the change where it may be compared.

    ``ratio``: new / old timed side by side, which is what the code did; without it the change is that of the times.
    """
    after = f"{units.format_time(new.time_us)} {_how(new)}"
    if old is None:
        return f"new -> {after}"
    before = f"{units.format_time(old.time_us)} {_how(old)}"
    if old.mode != new.mode:
        return f"{before} -> {after} (modes are not compared)"
    if old.cache != new.cache:
        return f"{before} -> {after} (cache states are not compared)"
    return f"{before} -> {after} ({units.format_change(ratio or new.time_us / old.time_us)})"


def _how(case: BaselineCase) -> str:
    return f"{case.mode} cold" if case.cache_state == "cold" else case.mode


def clean_processes(record: Record, day: str, arm: str = "head") -> tuple[ProcessSamples, ...]:
    """Take an arm's samples in the record's mode, process by process, without what was contended or invalid."""
    times: dict[int, list[float]] = {}
    rounds: dict[int, int] = {}
    for measurement in sorted(record.measurements, key=lambda measurement: measurement.process):
        if measurement.mode != record.mode or measurement.contended_by or measurement.invalid:
            continue
        times.setdefault(measurement.process, []).extend(map(rounded_us, measurement.times_us(arm)))
        rounds.setdefault(measurement.process, measurement.rounds)
    return tuple(ProcessSamples(day, rounds[process], tuple(taken)) for process, taken in times.items() if taken)


def _is_stored(record: Record) -> bool:
    return record.decision.verdict in STORED and not record.decision.fails


def _refusal(record: Record) -> str:
    """Say why a record cannot be stored."""
    if not _is_stored(record):
        decision = record.decision
        return f"{decision.verdict.value}, {decision.reason}" if decision.reason else decision.verdict.value
    if record.plan is None:
        return "it has no launch plan"
    problems = [m.contended_by or m.invalid for m in record.measurements if m.contended_by or m.invalid]
    return f"no clean measurement in {record.mode} mode" + (f" ({problems[0]})" if problems else "")


def _accept(record: Record, plan: Plan, processes: tuple[ProcessSamples, ...], acceptance: Acceptance) -> BaselineCase:
    kernels = {launch.kernel for launch in plan.launches}
    return BaselineCase(
        variant=record.case.variant,
        tokens=record.case.tokens,
        mode=record.mode,
        plan=_without_floors(plan),
        buffers=record.buffers,
        inputs_digest=record.inputs_digest,
        source_digest=record.source_digest,
        object_digest=record.object_digest,
        instruction_digests={name: digest for name, digest in record.instruction_digests.items() if name in kernels},
        resources={name: values for name, values in record.resources.items() if name in kernels},
        processes=under(processes, acceptance.environment),
        moved_bytes=record.moved_bytes,
        reason=acceptance.reason,
        accepted_at=acceptance.day,
        tool_version=acceptance.tool_version,
        compiler=acceptance.device.compiler,
        driver=acceptance.device.driver,
        hip_version=acceptance.device.hip_version,
        cache="cold" if record.cache == "cold" else msgspec.UNSET,
        operations=msgspec.UNSET if record.operations is None else record.operations,
    )


def _next(
    old: Baseline | None, cases: dict[tuple[str, int], BaselineCase], acceptance: Acceptance, *, any_accepted: bool
) -> Baseline | None:
    """Put cases back into a file; the device's facts are those of the last acceptance."""
    if not cases:
        return None
    if old is not None and not any_accepted and old.test_module == acceptance.test_module:
        return None
    device = DeviceSummary.of(acceptance.device) if any_accepted or old is None else old.device
    ordered = tuple(cases[key] for key in sorted(cases))
    baseline = Baseline(VERSION, acceptance.kernel, acceptance.device.key, device, acceptance.test_module, ordered)
    return with_facts(baseline, old, acceptance.environment)


def _without_floors(plan: Plan) -> Plan:
    return Plan(
        tuple(
            LaunchStep(step.kernel, step.grid, step.block, step.arguments, step.shared_bytes)
            if isinstance(step, LaunchStep)
            else step
            for step in plan.steps
        )
    )


def rounded_us(time_us: float) -> float:
    """Round a sample to 0.0001 us, which no timer resolves, but never to zero."""
    return round(time_us, 4) if time_us >= 0.01 else float(f"{time_us:.3g}")
