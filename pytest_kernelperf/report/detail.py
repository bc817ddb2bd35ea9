"""What stands under each failing case, and the failing test's own message: reason, numbers, next command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from pytest_kernelperf import reason, units
from pytest_kernelperf.model import Comparison, Record, Run, Verdict
from pytest_kernelperf.report.curve import curve_text
from pytest_kernelperf.report.text import GUARD, guard_command, one_line, printable
from pytest_kernelperf.report.traced import render_traced
from pytest_kernelperf.report.view import change_text, fills_text, shows_change

SHOWN_NAMES = 8

_STORED_BY_REASON = frozenset({Verdict.REGRESSED, Verdict.SLOWER_THAN_REPLACED, Verdict.UNDECIDED})
"""Failing verdicts that a reason turns into ``accepted``."""


def render_details(run: Run, *, warnings_only: bool = False, traced: bool = True, folder: str = "") -> str:
    """Return the details of all cases that fail or warn, in the run's order; empty when none does.

    ``warnings_only``: the failing cases' messages are shown elsewhere, as pytest shows them. ``traced``: their traces
    too; ``folder`` is the run file's, as one types it.
    """
    command = guard_command(run)
    shown = [
        record for record in run.records if needs_details(record) and not (warnings_only and record.decision.fails)
    ]
    curves = [curve for curve in run.curves if curve.decision.fails and not warnings_only]
    return "\n".join(
        [
            *(failure_text(record, command, folder, traced=traced) for record in shown),
            *(curve_text(curve, command) for curve in curves),
        ]
    )


def needs_details(record: Record) -> bool:
    """Whether a case's numbers are shown: it fails, or it could not be decided."""
    return record.decision.fails or record.decision.verdict in (Verdict.UNDECIDED, Verdict.INVALID)


def failure_text(record: Record, command: str = GUARD, folder: str = "", *, traced: bool = True) -> str:
    """Return the one message of a failing test; it stands alone in JUnit. ``command`` is what the user types to guard.

    Case and verdict, the sentence, the numbers it rests on, the next command to type, and why, where it was traced:
    ``folder`` is the run file's.
    """
    kind = f"{record.decision.verdict.value}: {record.case}"
    mutation = f" (a mutation of {record.mutation_of})" if record.mutation_of else ""
    lines = [one_line(kind + mutation), *_indented(sentence_without_name(record))]
    facts = [*numbers_of(record), *commands_of(record, command)]
    width = max((len(name) for name, _ in facts), default=0)
    lines += [f"  {name:<{width}}  {text}" for name, text in facts]
    return "\n".join(lines) + "\n" + (render_traced(record, folder=folder) if traced else "")


def sentence_without_name(record: Record) -> str:
    """Return the reason without the case's name in front, which stands in the line above it."""
    rest = record.decision.reason.removeprefix(str(record.case))
    return rest.lstrip(":, ") or record.decision.reason


def select_command(record: Record, command: str = GUARD) -> str:
    """Return the command that runs this case alone."""
    return f"{one_line(command)} {_selection(record)}"


def accept_command(record: Record, command: str = GUARD) -> str:
    """Return the command that stores this case alone; the reason is the user's to fill in."""
    return f'{select_command(record, command)} --update-baselines="why"'


def _selection(record: Record) -> str:
    """Say where the case is and which it is; the brackets keep ``tiles-1`` from matching ``tiles-128``."""
    case = record.case
    if record.test.endswith(".py"):
        return f"{shlex.quote(one_line(record.test))} -k {shlex.quote(one_line(f'[{case.variant}-{case.tokens}]'))}"
    return f"-k {shlex.quote(one_line(f'{case.kernel} and [{case.variant}-{case.tokens}]'))}"


def _indented(text: str) -> Iterator[str]:
    """A reason may have lines of its own: a compiler's log keeps them."""
    for line in printable(text).splitlines():
        yield f"  {line.rstrip()}"


def numbers_of(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the numbers that a verdict rests on, each with its name."""
    if record.time_us is not None:
        stored = ", stored with the baseline" if record.time_is_stored else ""
        cold = " with cold caches" if record.cache == "cold" else ""
        yield "time", f"{units.format_time(record.time_us)} in {record.mode} mode{cold}{stored}"
    for comparison in (*record.comparisons, *([record.toolchain] if record.toolchain else ())):
        yield from _comparison(comparison)
    if record.parent is not None:
        yield "parent", one_line(record.parent.sentence)
    if any(fill.starved for fill in record.fills):
        yield "workgroups/CUs", fills_text(record.fills)
    yield from _samples(record)
    if record.stored is not None:
        yield "stored", one_line(reason.stored(record.stored))
    yield from (("note", one_line(note)) for note in record.notes)


def _comparison(comparison: Comparison) -> Iterator[tuple[str, str]]:
    arms = f"{one_line(comparison.arm)} / {one_line(comparison.against)}"
    times = f"{units.format_time(comparison.time_us)} / {units.format_time(comparison.against_us)}"
    yield arms, f"{times} in {comparison.mode} mode, {change_text(comparison)}"
    votes = f"{comparison.slower} slower, {comparison.faster} faster, {comparison.not_slower} not slower"
    yield "processes", f"{votes} of {comparison.processes}, {comparison.needed} must agree"
    blocks = units.format_counted(comparison.blocks, "block")
    alpha = units.format_probability(comparison.alpha)
    allowed = f"{units.format_tolerance(comparison.tolerance_ratio)} and {units.format_floor(comparison.floor_us)}"
    yield "test", f"{blocks} in each process, alpha {alpha}, tolerance {allowed}"
    if comparison.per_process_ratio:
        yield "per process", ", ".join(units.format_change(ratio) for ratio in comparison.per_process_ratio)
    if comparison.cycles_ratio is not None:
        yield "device cycles", units.format_change(comparison.cycles_ratio)
    if not shows_change(comparison):
        yield "would catch", _limit(comparison)


def _limit(comparison: Comparison) -> str:
    """The smallest slowdown that these samples would have shown."""
    if comparison.detectable_ratio is None:
        return "no slowdown for certain, however large: too few processes or blocks"
    return f"a slowdown of {units.format_tolerance(comparison.detectable_ratio)} or more, 95 times of 100"


def _samples(record: Record) -> Iterator[tuple[str, str]]:
    """How many samples of how many rounds, and the seeds that put the arms in order."""
    if not record.measurements:
        return
    taken = sum(len(measurement.samples) for measurement in record.measurements)
    rounds = sorted({measurement.rounds for measurement in record.measurements})
    seeds = [str(measurement.seed) for measurement in record.measurements[:SHOWN_NAMES]]
    discarded = sum(measurement.discarded for measurement in record.measurements)
    processes = len({measurement.process for measurement in record.measurements})
    yield (
        "samples",
        (
            f"{units.format_count(taken)} in {units.format_counted(processes, 'process', 'processes')}, "
            f"{' or '.join(units.format_count(count) for count in rounds)} rounds each"
            f"{f', {units.format_count(discarded)} discarded' if discarded else ''}; seeds {', '.join(seeds)}"
        ),
    )
    for noise in dict.fromkeys((one.kind, one.sentence) for m in record.measurements for one in m.noise):
        if any(noise[1] in said for said in (record.decision.reason, *record.notes)):
            continue  # it stands there already
        yield noise[0].replace("_", " "), one_line(noise[1])
    for why in dict.fromkeys(measurement.fallback for measurement in record.measurements if measurement.fallback):
        yield "mode", one_line(why)


def commands_of(record: Record, command: str = GUARD) -> Iterator[tuple[str, str]]:
    """Yield what to type next, and what it does."""
    yield "see it again", select_command(record, command)
    if record.decision.verdict in _STORED_BY_REASON and not record.mutation_of:
        yield "accept it", accept_command(record, command)
