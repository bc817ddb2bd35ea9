"""The project's own baselines where those of another commit count: what a change edits, and whether it holds.

A change cannot move its own yardstick: it is judged by the baselines of the commit that it is measured against. An
entry that it edits must be what its own code does, or the next change would be measured by what nobody reached.
"""

from __future__ import annotations

from pytest_kernelperf.baseline.edit import edit_of, find_edits
from pytest_kernelperf.baseline.entry import BaselineCase
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.case import CaseSpec
from pytest_kernelperf.model import BaselineEdit, CaseId
from pytest_kernelperf.settings import Settings


class Yardstick:
    """Both folders of baselines: those that count, and the project's own.

    Args:
        settings: the run's settings.
        store: the baselines that count.
    """

    def __init__(self, settings: Settings, store: BaselineStore) -> None:
        self.store = store
        self.own = BaselineStore(settings.own_baselines) if settings.own_baselines is not None else None

    def edited(
        self, device_key: str, spec: CaseSpec, old: BaselineCase | None
    ) -> tuple[BaselineCase, BaselineEdit] | None:
        """Return the project's own entry of a case and how it was edited; None where it was not, or is gone.

        Raises:
            BaselineError: the project's own file cannot be used.
        """
        if self.own is None:
            return None
        case = CaseId(spec.kernel.name, spec.doing.name, spec.tokens)
        baseline = self.own.read(device_key, case.kernel)
        own = baseline.case(case.variant, case.tokens) if baseline is not None else None
        file = self.own.path(device_key, case.kernel).relative_to(self.own.root).as_posix()
        edit = edit_of(case, file, own, old)
        return None if own is None or edit is None else (own, edit)

    def edits(self) -> tuple[BaselineEdit, ...]:
        """Return all edits, of all devices."""
        return () if self.own is None else find_edits(self.own, self.store)
