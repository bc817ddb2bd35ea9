"""Which cases of an export differ from what was accepted, or from another commit's export."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, Protocol

from pytest_kernelperf.baseline.exported import Export, PlannedCase, read_export
from pytest_kernelperf.baseline.rename import fingerprint
from pytest_kernelperf.baseline.store import BaselineStore, read_file
from pytest_kernelperf.errors import BaselineError, UsageError
from pytest_kernelperf.model import BufferSpec, CaseId, Frozen, Plan


class Runs(Protocol):
    """What is known of a case that ran: an accepted entry, or another commit's."""

    @property
    def plan(self) -> Plan:
        """Its steps."""

    @property
    def buffers(self) -> tuple[BufferSpec, ...]:
        """Its buffers."""

    @property
    def instruction_digests(self) -> dict[str, str]:
        """Its kernels' instructions."""


class Change(Frozen, frozen=True):
    """One case that is not as it was; ``renamed_from``: the case that it was."""

    case: CaseId
    what: Literal["changed", "new", "gone", "renamed"]
    renamed_from: CaseId | None = None


def read_against(path: Path, device_key: str) -> Mapping[CaseId, Runs]:
    """Read what is compared with: a folder of baselines, of which a device's count, or an export.

    Raises:
        BaselineError, ReplayError: a file cannot be used.
        UsageError: there is nothing of that name, or the export is another device's.
    """
    if path.is_dir():
        return _entries(path, device_key)
    if not path.exists():
        raise UsageError(f"--changed-against: there is no {path}: name a folder of baselines, or a file of plans")
    export = read_export(path)
    if export.device_key not in ("", device_key):
        raise UsageError(f"--changed-against: {path} was compiled for {export.device_key}, not for {device_key}")
    return {case.case: case for case in export.cases}


def find_changes(
    export: Export, before: Mapping[CaseId, Runs], former: Mapping[CaseId, CaseId] | None = None
) -> tuple[Change, ...]:
    """Compare an export with what was, case by case; equal are instructions, plan, and inputs' shapes and types.

    Args:
        export: what is.
        before: what was.
        former: what cases say that they were.
    """
    said = former or {}
    here = {case.case for case in export.cases} | {one.case for one in export.unexported}
    vanished = {case: _print(entry) for case, entry in sorted(before.items()) if case not in here}
    changes: list[Change] = []
    renamed: set[CaseId] = set()
    for case in export.cases:
        if case.case in before:
            if not _is_same(case, before[case.case]):
                changes.append(Change(case.case, "changed"))
            continue
        was = _former(case, said.get(case.case), vanished)
        renamed |= {was} if was is not None else set()
        changes.append(Change(case.case, "new" if was is None else "renamed", was))
    changes += [Change(one.case, "changed" if one.case in before else "new") for one in export.unexported]
    changes += [Change(case, "gone") for case in vanished if case not in renamed]
    return tuple(sorted(changes, key=lambda change: change.case))


def _former(case: PlannedCase, said: CaseId | None, vanished: Mapping[CaseId, str]) -> CaseId | None:
    if said is not None and said in vanished:
        return said
    same = (was for was, printed in vanished.items() if was.tokens == case.tokens and printed == _print(case))
    return next(same, None)


def _is_same(one: Runs, other: Runs) -> bool:
    return (
        one.instruction_digests == other.instruction_digests
        and one.plan.digest == other.plan.digest
        and one.buffers == other.buffers
    )


def _print(one: Runs) -> str:
    return fingerprint(one.plan, one.instruction_digests, one.buffers)


def _entries(folder: Path, device_key: str) -> dict[CaseId, Runs]:
    found: dict[CaseId, Runs] = {}
    files: Iterable[Path] = (file for file in BaselineStore(folder).files() if file.parent.name == device_key)
    for file in files:
        try:
            baseline = read_file(file)
        except FileNotFoundError:
            raise BaselineError(f"{file}: is gone while it was read: run again") from None
        for case in baseline.cases:
            found[CaseId(baseline.kernel, case.variant, case.tokens)] = case
    return found
