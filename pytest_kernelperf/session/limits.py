"""By whose limits a case is judged: the parent's, since a change that states its own could allow itself anything."""

from __future__ import annotations

import dataclasses

import msgspec

from pytest_kernelperf.baseline.exported import Export, PlannedLimits
from pytest_kernelperf.kernel import Kernel
from pytest_kernelperf.model import CaseId, LimitEdit
from pytest_kernelperf.settings import CaseSettings

RESULTS = "results"
DEFAULT = "default"
EXACT = "bit for bit"


class ParentsLimits:
    """The limits of another commit's cases.

    Args:
        export: its plans, None where there are none.
        judge: cases are judged by them, as by another commit's baselines; else by their own, which have been reviewed.
    """

    def __init__(self, export: Export | None, *, judge: bool) -> None:
        self._limits = {case.case: case.limits for case in export.cases} if export is not None else {}
        self.judge = judge

    def curve_tolerance(self, settings: CaseSettings, *names: CaseId | None) -> float | None:
        """Return the tolerance that a variant is judged by over all its sizes."""
        limits = self.of(*names) if self.judge else None
        return settings.curve_tolerance if limits is None else limits.curve_tolerance

    def take(
        self, settings: CaseSettings, kernel: Kernel, *names: CaseId
    ) -> tuple[CaseSettings, tuple[LimitEdit, ...]]:
        """Return the settings that a case of these names is judged by, and which limits the parent has otherwise."""
        limits = self.of(*names)
        if limits is None:
            return settings, ()
        judged, edits = take_limits(settings, kernel, limits)
        if self.judge:
            return judged, edits
        return settings, tuple(msgspec.structs.replace(edit, judged_by="here") for edit in edits)

    def of(self, *names: CaseId | None) -> PlannedLimits | None:
        """Return the limits of a case under the first of its names that is known."""
        return next((self._limits[name] for name in names if name is not None and name in self._limits), None)


def limits_of(settings: CaseSettings, kernel: Kernel) -> PlannedLimits:
    """Return what a case is judged by."""
    return PlannedLimits(
        tolerance=settings.tolerance,
        floor_us=settings.floor_us,
        curve_tolerance=settings.curve_tolerance,
        creep=settings.creep,
        results=_results(kernel),
    )


def take_limits(
    settings: CaseSettings, kernel: Kernel, parent: PlannedLimits
) -> tuple[CaseSettings, tuple[LimitEdit, ...]]:
    """Return the settings with the parent's limits in place of the change's own, and what differs.

    How far results may lie from the reference stays the change's: it may have another reference. It is only said.
    """
    here = limits_of(settings, kernel)
    edits = [
        LimitEdit(name, _shown(name, theirs), _shown(name, ours))
        for name in ("tolerance", "floor_us", "curve_tolerance", "creep")
        if (theirs := getattr(parent, name)) != (ours := getattr(here, name))
    ]
    if parent.results != here.results:
        edits.append(LimitEdit(RESULTS, parent.results, here.results, "here"))
    judged = dataclasses.replace(
        settings,
        tolerance=parent.tolerance,
        floor_us=parent.floor_us,
        curve_tolerance=parent.curve_tolerance,
        creep=parent.creep,
    )
    return judged, tuple(edits)


def limits_note(edits: tuple[LimitEdit, ...]) -> tuple[str, ...]:
    """What a reader should know of a case whose change states other limits than its parent."""
    judged = [f"{one.name} {one.parent}, not {one.here}" for one in edits if one.judged_by == "parent"]
    own = [f"{one.name}: {one.here}, where the parent has {one.parent}" for one in edits if one.judged_by == "here"]
    return (
        *([f"judged by the parent's limits, not by this change's own: {'; '.join(judged)}"] if judged else ()),
        *([f"judged by limits that this change states: {'; '.join(own)}"] if own else ()),
    )


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return DEFAULT
    return f"{value:g} us" if name == "floor_us" else f"{value * 100:g} %"


def _results(kernel: Kernel) -> str:
    tolerance = kernel.tolerance
    return EXACT if tolerance is None else f"within {tolerance.absolute:g} + {tolerance.relative:g} of the reference"
