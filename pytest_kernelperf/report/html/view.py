"""A run as finished values of its page, from the top: what fails, what to know, cases, kernels, device."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from pytest_kernelperf import units
from pytest_kernelperf.model import Record, Run
from pytest_kernelperf.report import change
from pytest_kernelperf.report.aside import blame_lines, not_shown_lines
from pytest_kernelperf.report.curve import curve_note
from pytest_kernelperf.report.html.address import addresses_of
from pytest_kernelperf.report.html.case import CaseView, Table, case_view
from pytest_kernelperf.report.html.facts import Facts, facts_of
from pytest_kernelperf.report.html.markdown import to_items, to_markup, with_letters
from pytest_kernelperf.report.opening import render_opening, several_kernels
from pytest_kernelperf.report.summary import drift_lines, headline, next_commands
from pytest_kernelperf.report.text import guard_command, one_line
from pytest_kernelperf.report.view import COLUMNS as CELLS
from pytest_kernelperf.report.view import cells_of

MOST_GLANCES = 8
MOST_OPEN = 12
"""Failing cases that stand open when the page is opened; on paper all of them do."""

IN_NUMBERS = ("tokens", "variant", "us/launch", "bytes moved", "GB/s", "% of peak", "workgroups/CUs", "verdict")
_OPENING = re.compile(r"(?P<sign>\S+) \*\*(?P<lead>.+?)\*\*(?P<rest>.*)", re.DOTALL)

Item = tuple[Markup, list[Markup]]


@dataclass(frozen=True)
class KernelView:
    """A kernel's part: ``place`` among all, ``cases`` in order of the page, ``table`` its times in numbers."""

    place: int
    full_name: str
    name: str
    source: str
    counts: str
    notes: tuple[str, ...]
    cases: tuple[CaseView, ...]
    table: Table


@dataclass(frozen=True)
class PageView:
    """All that the page says. ``labels``: each verdict, with its sign, and how many cases have it."""

    title: str
    sign: str
    lead: Markup
    rest: Markup
    headline: str
    glances: tuple[CaseView, ...]
    more_glances: int
    several: bool
    told: tuple[Item, ...]
    next: tuple[str, ...]
    failing_curves: tuple[str, ...]
    labels: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    cases: tuple[CaseView, ...]
    kernels: tuple[KernelView, ...]
    open_places: frozenset[int]
    facts: Facts

    @property
    def fails(self) -> bool:
        """Whether any case does."""
        return any(case.fails for case in self.cases)


def in_page_order(run: Run) -> list[tuple[change.Group, Record]]:
    """Return cases as the comment has them, worst first; mutations that were caught come behind all others."""
    return sorted(change.in_order(run.records), key=lambda one: bool(one[1].mutation_of) and not one[1].decision.fails)


def page_view(run: Run, ordered: Sequence[tuple[change.Group, Record]]) -> PageView:
    """Return the page of a run; ``ordered`` are its cases in the page's order."""
    opening = _OPENING.match(render_opening(run))
    assert opening is not None  # whatever a run holds, its first line opens so
    command = guard_command(run)
    addresses = addresses_of(record.case for _, record in ordered)
    cases = tuple(
        case_view(place, address, group, record, run.device, command)
        for place, (address, (group, record)) in enumerate(zip(addresses, ordered, strict=True))
    )
    worth = [case for case, (group, _) in zip(cases, ordered, strict=True) if case.fails or group is change.OPEN]
    shown = [(group, record) for group, record in ordered if not group.folded]
    told = [*not_shown_lines(shown, several_kernels(run)), *blame_lines(run, "")]
    lead = to_markup(opening["lead"])
    return PageView(
        title=one_line(f"{with_letters(opening['sign'])} {lead.striptags()}"),
        sign=with_letters(opening["sign"]),
        lead=lead,
        rest=to_markup(opening["rest"].lstrip(":; ")),
        headline=headline(run),
        glances=tuple(worth[:MOST_GLANCES]),
        more_glances=max(0, len(worth) - MOST_GLANCES),
        several=several_kernels(run),
        told=(*to_items(told), *((Markup("{}").format(line), []) for line in drift_lines(run))),
        next=next_commands(run),
        failing_curves=tuple(
            one_line(f"{curve.kernel} {curve.variant} over all sizes: {curve.decision.reason}")
            for curve in run.curves
            if curve.decision.fails
        ),
        labels=tuple(Counter(case.label for case in cases).items()),
        columns=tuple(name for name in _columns(cases) if name != "kernel" or several_kernels(run)),
        cases=cases,
        kernels=_kernels(run, ordered, cases),
        open_places=frozenset([case.place for case in cases if case.fails][:MOST_OPEN]),
        facts=facts_of(run),
    )


def _columns(cases: Sequence[CaseView]) -> tuple[str, ...]:
    """The table's columns, verdict first; one that is empty throughout says nothing."""
    names = ("verdict", *(name for name in change.COLUMNS if name != "verdict"))
    return tuple(name for name in names if any(case.cells[name] for case in cases))


def _kernels(
    run: Run, ordered: Sequence[tuple[change.Group, Record]], cases: Sequence[CaseView]
) -> tuple[KernelView, ...]:
    """Kernels in the order of their worst cases."""
    of: dict[str, list[tuple[Record, CaseView]]] = {}
    for (_, record), case in zip(ordered, cases, strict=True):
        of.setdefault(record.case.kernel, []).append((record, case))
    return tuple(_kernel(place, name, members, run) for place, (name, members) in enumerate(of.items()))


def _kernel(place: int, name: str, members: Sequence[tuple[Record, CaseView]], run: Run) -> KernelView:
    by_size = sorted((record for record, _ in members if not record.mutation_of), key=lambda one: one.case.tokens)
    rows = []
    for record in by_size:
        cells = dict(zip(CELLS, cells_of(record, run.device), strict=True))
        rows.append(tuple(cells[column] for column in IN_NUMBERS))
    counts = Counter(case.label for _, case in members)
    return KernelView(
        place=place,
        full_name=name,
        name=one_line(name),
        source=next((one_line(record.source) for record, _ in members if record.source), ""),
        counts=", ".join(f"{label} {units.format_count(count)}" for label, count in counts.items()),
        notes=tuple(curve_note(curve) for curve in run.curves if curve.kernel == name),
        cases=tuple(case for _, case in members),
        table=Table(IN_NUMBERS, tuple(rows), frozenset({0, 2, 3, 4, 5, 6})),
    )
