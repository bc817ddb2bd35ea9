"""Each variant with several sizes is an item of its own beside its cases: it fails when they are slower together.

It stands behind all cases, and takes their records as it finds them, so only what this run timed counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from pytest_kernelperf.model import CurveRecord
from pytest_kernelperf.plugin.collection import spec_of
from pytest_kernelperf.plugin.office import Office
from pytest_kernelperf.report.curve import curve_text
from pytest_kernelperf.stats.curve import FEWEST_SIZES

CURVE = pytest.StashKey[CurveRecord]()

# What a case's item carries only because it is parametrised.
_CASES_OWN = ("parametrize", "usefixtures")


class CurveItem(pytest.Item):
    """One variant of one marked test, over all its sizes."""

    def __init__(self, *, cases: list[pytest.Function], office: Office, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.cases = cases
        self._office = office
        marks = [mark for mark in cases[0].own_markers if mark.name not in _CASES_OWN]
        self.own_markers.extend(marks)
        self.keywords.update((mark.name, mark) for mark in marks)

    @classmethod
    def all_of(cls, items: Iterable[pytest.Item], office: Office) -> Iterator[CurveItem]:
        """Yield an item for every variant that has enough sizes among ``items``."""
        groups: dict[tuple[pytest.Collector, str, str], list[pytest.Function]] = {}
        for item in items:
            spec = spec_of(item)
            if isinstance(item, pytest.Function) and item.parent and spec is not None and not spec.mutation_of:
                groups.setdefault((item.parent, item.originalname, spec.doing.name), []).append(item)
        for (parent, test, variant), cases in groups.items():
            if len(sizes(cases)) >= FEWEST_SIZES:
                yield cls.from_parent(parent, name=f"{test}[{variant}-curve]", cases=cases, office=office)

    def runtest(self) -> None:
        """Judge what the cases measured."""
        __tracebackhide__ = True
        record = self._office.check_curve(self.cases)
        self.stash[CURVE] = record
        if record.decision.fails:
            pytest.fail(curve_text(record, self._office.settings.command), pytrace=False)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Stand where the test stands."""
        path, line, _ = self.cases[0].reportinfo()
        return path, line, self.name


def arrange(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Put the curves behind everything else that was selected, without those whose sizes are not all there any more.

    ``--lf`` selects a failed curve alone, so its cases are brought back.
    """
    curves = [item for item in items if isinstance(item, CurveItem)]
    others = [item for item in items if not isinstance(item, CurveItem)]
    selected = set(others)
    if session.config.getoption("lf", False):
        lost = [case for curve in curves for case in curve.cases if case not in selected]
        others, selected = [*lost, *others], selected | set(lost)
    for curve in curves:
        curve.cases = [case for case in curve.cases if case in selected]
    dropped = [curve for curve in curves if len(sizes(curve.cases)) < FEWEST_SIZES]
    items[:] = [*others, *(curve for curve in curves if curve not in dropped)]
    session.config.hook.pytest_deselected(items=dropped)


def cases_of_curves(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases that the curves among ``items`` pool."""
    for item in items:
        if isinstance(item, CurveItem):
            yield from item.cases


def sizes(cases: Iterable[pytest.Item]) -> set[int]:
    """Return the sizes of these cases."""
    return {spec.tokens for spec in map(spec_of, cases) if spec is not None}
