"""What a change makes of the project's own baselines, beside those of the commit that it is measured against."""

from __future__ import annotations

from pathlib import Path

from pytest_kernelperf.baseline.entry import Baseline, BaselineCase
from pytest_kernelperf.baseline.store import BaselineStore, read_file
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import BaselineEdit, CaseId


def find_edits(own: BaselineStore, yardstick: BaselineStore) -> tuple[BaselineEdit, ...]:
    """Compare two folders of baselines, entry by entry, for all devices.

    A file that cannot be read counts for nothing here: as an item of its own it fails.
    """
    names = sorted({file.relative_to(store.root) for store in (own, yardstick) for file in store.files()})
    edits: list[BaselineEdit] = []
    for name in names:
        new, old = _entries(own.root / name), _entries(yardstick.root / name)
        for case in sorted({*new, *old}):
            edit = edit_of(case, name.as_posix(), new.get(case), old.get(case))
            if edit is not None:
                edits.append(edit)
    return tuple(edits)


def edit_of(case: CaseId, file: str, own: BaselineCase | None, old: BaselineCase | None) -> BaselineEdit | None:
    """Return how an entry was edited; None where it was not.

    Args:
        case: whose entry.
        file: the file, below the folder of baselines.
        own: the entry as the change has it.
        old: the entry as the commit has it that is measured against.
    """
    if own == old:
        return None
    return BaselineEdit(
        case=case,
        kind="removed" if own is None else "added" if old is None else "changed",
        file=file,
        old_us=old.time_us if old is not None else None,
        new_us=own.time_us if own is not None else None,
        reason=own.reason if own is not None else "",
    )


def _entries(file: Path) -> dict[CaseId, BaselineCase]:
    try:
        baseline: Baseline = read_file(file)
    except (BaselineError, FileNotFoundError):
        return {}
    return {CaseId(baseline.kernel, case.variant, case.tokens): case for case in baseline.cases}
