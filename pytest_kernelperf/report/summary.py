"""The headline of a run: how many cases got which verdict, failing ones first, and what to do next."""

from __future__ import annotations

from collections import Counter

from pytest_kernelperf import units
from pytest_kernelperf.model import Drift, Run, Verdict
from pytest_kernelperf.report.text import guard_command, one_line

# Failing verdicts in the order in which they are worth reading, then the others.
_ORDER = (
    Verdict.CRASHED, Verdict.HUNG, Verdict.FAILED, Verdict.WRONG, Verdict.UNNOTICED, Verdict.STARVED,
    Verdict.REGRESSED, Verdict.SLOWER_THAN_REPLACED, Verdict.INVALID, Verdict.UNDECIDED,
    Verdict.ACCEPTED, Verdict.IMPROVED, Verdict.NEW, Verdict.UNCHANGED, Verdict.IDENTICAL, Verdict.SKIPPED,
    Verdict.CAUGHT,
)  # fmt: skip


def headline(run: Run) -> str:
    """Return one line: ``16 cases: 4 regressed, 12 identical; mutations: 2 caught; curves: 3 unchanged``."""
    cases = [record for record in run.records if not record.mutation_of]
    counts = Counter((record.decision.verdict, not record.decision.fails) for record in cases)
    parts = [
        f"{units.format_count(counts[verdict, passes])} {verdict.value}{' (warning)' if warns else ''}"
        for passes in (False, True)
        for verdict in _ORDER
        for warns in (passes and verdict in (Verdict.UNDECIDED, Verdict.INVALID),)
        if counts[verdict, passes]
    ]
    mutations = Counter(record.decision.verdict for record in run.records if record.mutation_of)
    caught = ", ".join(f"{units.format_count(mutations[v])} {v.value}" for v in _ORDER if mutations[v])
    line = f"{units.format_counted(len(cases), 'case')}{': ' + ', '.join(parts) if parts else ''}"
    if caught:
        line += f"; {'mutations' if mutations.total() > 1 else 'mutation'}: {caught}"
    curves = Counter(curve.decision.verdict for curve in run.curves)
    pooled = ", ".join(f"{units.format_count(curves[v])} {v.value}" for v in _ORDER if curves[v])
    return f"{line}; {'curves' if curves.total() > 1 else 'curve'}: {pooled}" if pooled else line


def drift_lines(run: Run) -> tuple[str, ...]:
    """Return what to know of the machine: that it moved since the baselines were stored, what changed, what to do."""
    if run.drift is None or not run.drift.moved:
        return ()
    advice = (
        "no verdict rests on it, since both sides of a comparison ran today; kernelperf doctor shows clocks, power and "
        f"who else is there; if the machine is to stay so, add today's times: {guard_command(run)} --extend-baselines"
    )
    return tuple(one_line(line) for line in (*_drift(run.drift), advice))


def _drift(found: Drift) -> tuple[str, ...]:
    """The machine moved: by how much, and what changed since. Never blamed on the change under test."""
    days = found.stored_from if found.stored_from == found.stored_to else f"{found.stored_from} to {found.stored_to}"
    lines = [
        f"the machine moved: the accepted binaries of {units.format_counted(found.cases, 'case')} are "
        f"{units.describe_change(found.change_ratio)} today than when they were stored (p = "
        f"{units.format_probability(found.p_value)}, {units.format_counted(found.processes, 'process', 'processes')} "
        f"against {found.stored_processes} stored on {days})"
    ]
    if found.changed:
        lines.append(f"changed since then: {'; '.join(found.changed)}")
    elif found.facts_known:
        lines.append("none of the recorded facts changed since then: look for heat, clocks and other users")
    return tuple(lines)


def next_commands(run: Run) -> tuple[str, ...]:
    """Return a line per thing to do next: store new baselines, store improved ones."""
    if "true" in (run.settings.get("updating"), run.settings.get("untimed")):
        return ()  # they have just been stored, or refused with a reason; or nothing was to be timed
    counts = Counter(record.decision.verdict for record in run.records)
    selection = one_line(run.settings.get("selection", ""))
    store = " ".join(filter(None, (guard_command(run), selection, "--update-baselines")))
    lines = []
    if new := counts[Verdict.NEW]:
        are = "case has" if new == 1 else "cases have"
        lines.append(
            f'{units.format_count(new)} {are} no baseline on {run.device.key} yet; store with: {store}="first"'
        )
    if improved := counts[Verdict.IMPROVED]:
        got = "case got" if improved == 1 else "cases got"
        lines.append(
            f'{units.format_count(improved)} {got} faster; store that, so that losing it is seen: {store}="faster"'
        )
    return tuple(lines)
