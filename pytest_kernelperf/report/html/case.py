"""One case as the page shows it: every text finished, so that the template only places it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pytest_kernelperf import units
from pytest_kernelperf.model import DeviceFacts, LaunchFill, LaunchStep, Record
from pytest_kernelperf.reason import RESOURCES
from pytest_kernelperf.report import change
from pytest_kernelperf.report.change import Group
from pytest_kernelperf.report.detail import commands_of, numbers_of, sentence_without_name
from pytest_kernelperf.report.html.markdown import with_letters
from pytest_kernelperf.report.launch import dimensions_text
from pytest_kernelperf.report.markdown import shortened
from pytest_kernelperf.report.text import one_line, printable
from pytest_kernelperf.report.timeline import render_timeline
from pytest_kernelperf.report.traced import COLUMNS as TRACED_COLUMNS
from pytest_kernelperf.report.traced import LEFT as TRACED_TEXT
from pytest_kernelperf.report.traced import facts_of, rows_of
from pytest_kernelperf.report.view import COLUMNS as CELLS
from pytest_kernelperf.report.view import cells_of, limit_text, shows_change

LAUNCH_COLUMNS = ("kernel", "grid", "threads", "workgroups / CUs", "waves")
FROM_CELLS = ("bytes moved", "GB/s", "% of peak")
MOST_LAUNCHES, MOST_GLANCE = 24, 240
SHOWN_BY_TABLE = frozenset({"note", "workgroups/CUs", "per process"})
"""Numbers of a case that stand elsewhere in its part of the page."""


@dataclass(frozen=True)
class Table:
    """A table's heads and rows; ``numbers`` are the places of columns that are numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class CaseView:
    """A case: ``place`` is its place among all of the page, ``address`` what stands behind ``#`` in a link to it."""

    place: int
    address: str
    group: str
    label: str
    fails: bool
    kernel: str
    variant: str
    tokens: str
    mutation_of: str
    cells: dict[str, str]
    found: str
    sure: str
    changed: tuple[str, ...]
    sentence: tuple[str, ...]
    commands: tuple[tuple[str, str], ...]
    numbers: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    processes: Table | None
    launches: Table | None
    traced: Table | None
    traced_facts: tuple[tuple[str, str], ...]
    timeline: Markup | None
    pictured: bool
    paired: bool

    @property
    def by(self) -> str:
        """The change alone: ``+2.3 %``."""
        return self.cells["change"].partition(" (")[0]

    @property
    def first(self) -> str:
        """The verdict's sentence in one line, where it is long its beginning."""
        return shortened(one_line(" ".join(self.sentence)), MOST_GLANCE)

    @property
    def title(self) -> str:
        """The case within its kernel: ``separate at 7 tokens``."""
        return f"{self.variant} at {self.tokens} {'token' if self.tokens == '1' else 'tokens'}"


def case_view(place: int, address: str, group: Group, record: Record, device: DeviceFacts, command: str) -> CaseView:
    """Return all that the page says of a case. ``command`` is what one types to guard."""
    cells = dict(zip(change.COLUMNS, change.cells(group, record), strict=True))
    classic = dict(zip(CELLS, cells_of(record, device), strict=True))
    bandwidth = [(name, classic[name]) for name in FROM_CELLS if classic[name] != units.MISSING]
    numbers = [(name, text) for name, text in numbers_of(record) if name not in SHOWN_BY_TABLE]
    timeline = render_timeline(record, f"t{place}-")
    return CaseView(
        place=place,
        address=address,
        group=group.name,
        label=with_letters(cells["verdict"]),
        fails=record.decision.fails,
        kernel=one_line(record.case.kernel),
        variant=one_line(record.case.variant),
        tokens=units.format_count(record.case.tokens),
        mutation_of=one_line(record.mutation_of),
        cells=cells,
        found=change.found_text(record),
        sure=sure_text(record),
        changed=changed_lines(record),
        sentence=tuple(printable(sentence_without_name(record)).splitlines()),
        commands=tuple(commands_of(record, command)),
        numbers=(*numbers, *bandwidth),
        notes=tuple(one_line(note) for note in record.notes),
        processes=_processes(record),
        launches=_launches(record),
        traced=_traced(record),
        traced_facts=tuple(facts_of(record, "")) if record.trace is not None else (),
        timeline=None if timeline is None else Markup(timeline),  # its texts are escaped where it is drawn
        pictured=any(one.samples for one in record.measurements),
        paired=_paired(record),
    )


def sure_text(record: Record) -> str:
    """How sure a time's verdict is: who agrees and the interval, or what would have been seen; else nothing."""
    comparison = change.deciding(record)
    if comparison is None:
        return ""
    interval = units.format_interval(comparison.low_ratio, comparison.high_ratio)
    if shows_change(comparison):
        votes = max(comparison.slower, comparison.faster)
        agree = f"{votes} of {units.format_counted(comparison.processes, 'process', 'processes')} agree"
        return f"{agree}; {units.format_percent(100 * comparison.confidence)} interval {interval}"
    limit = limit_text(comparison)
    caught = "no slowdown would have been seen for certain" if limit == "none" else f"{limit} would have been seen"
    return f"{caught}; interval {interval}"


def _paired(record: Record) -> bool:
    """Whether the samples hold pairs of the comparison that the verdict rests on."""
    comparison = change.deciding(record)
    if comparison is None:
        return False
    arms = [{sample.arm for sample in one.samples} for one in record.measurements if one.mode == comparison.mode]
    return any({comparison.arm, comparison.against} <= of for of in arms)


def changed_lines(record: Record) -> tuple[str, ...]:
    """What is known to have changed beside the time: what kernels use, how they are launched."""
    return tuple(map(one_line, (*record.resources_changed, *record.launches_changed)))


def _processes(record: Record) -> Table | None:
    comparison = change.deciding(record)
    if comparison is None or not comparison.per_process_ratio:
        return None
    numbers = comparison.process_numbers or tuple(range(1, len(comparison.per_process_ratio) + 1))
    shown = [units.format_count(number) for number in numbers]
    return Table(
        ("process", *shown),
        (("change", *map(units.format_change, comparison.per_process_ratio)),),
        frozenset(range(1, len(shown) + 1)),
    )


def _launches(record: Record) -> Table | None:
    """Each different launch once, with how often it is made in a row: its size, how full it makes the device, and what
    its kernel uses."""
    steps = record.plan.launches if record.plan is not None else ()
    pairs: list[tuple[LaunchStep | None, LaunchFill | None]] = (
        list(zip(steps, record.fills, strict=True))
        if len(steps) == len(record.fills)
        else [(step, None) for step in steps] + [(None, fill) for fill in record.fills]
    )
    if not pairs:
        return None
    used = [name for name in RESOURCES if any(name in one for one in record.resources.values())]
    merged: list[tuple[tuple[str, ...], int]] = []
    for step, fill in pairs:
        row = (*_launch(step, fill), *_amounts(used, record, step))
        if merged and merged[-1][0] == row:
            merged[-1] = (row, merged[-1][1] + 1)
        else:
            merged.append((row, 1))
    rows = [(row[0] if count == 1 else f"{row[0]} × {count}", *row[1:]) for row, count in merged[:MOST_LAUNCHES]]
    if len(merged) > MOST_LAUNCHES:
        rows.append((f"{units.format_count(len(merged) - MOST_LAUNCHES)} more", *[""] * (len(rows[0]) - 1)))
    heads = (f"{RESOURCES[name]}{' bytes' if name.endswith('_bytes') else ''}" for name in used)
    columns = (*LAUNCH_COLUMNS, *heads)
    return Table(columns, tuple(rows), frozenset(range(1, len(columns))))


def _launch(step: LaunchStep | None, fill: LaunchFill | None) -> tuple[str, ...]:
    name = one_line(step.kernel if step is not None else fill.kernel if fill is not None else "")
    grid, block = ("", "") if step is None else (dimensions_text(step.grid), dimensions_text(step.block))
    count = waves = ""
    if fill is not None:
        count = f"{units.format_count(fill.workgroups)} / {units.format_count(fill.compute_units)}"
        count += " starved" if fill.starved else ""
        count += f" (floor {units.format_count(fill.floor.workgroups)})" if fill.floor is not None else ""
        waves = units.format_count(fill.waves)
    elif step is not None:
        count = units.format_count(step.workgroups)
    return (name, grid, block, count, waves)


def _amounts(used: Sequence[str], record: Record, step: LaunchStep | None) -> Iterator[str]:
    """What a launch's kernel uses; the launch says how much more LDS it asks for."""
    of = record.resources.get(step.kernel, {}) if step is not None else {}
    for name in used:
        if name not in of:
            yield units.MISSING
        elif name == "wgp_mode":
            yield "on" if of[name] else "off"
        else:
            more = step.shared_bytes if name == "lds_bytes" and step is not None else 0
            yield units.format_count(of[name]) + (f" + {units.format_count(more)}" if more else "")


def _traced(record: Record) -> Table | None:
    rows = tuple(rows_of(record.trace)) if record.trace is not None else ()
    numbers = frozenset(place for place, name in enumerate(TRACED_COLUMNS) if name not in TRACED_TEXT)
    return Table(TRACED_COLUMNS, rows, numbers) if rows else None
