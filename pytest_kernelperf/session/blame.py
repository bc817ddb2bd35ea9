"""What a run was held against beside the project's own baselines, and what came of it for the run as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from pytest_kernelperf.baseline.check import KnownCases, stale_cases
from pytest_kernelperf.baseline.exported import Export
from pytest_kernelperf.baseline.store import BaselineStore, read_file
from pytest_kernelperf.errors import BaselineError
from pytest_kernelperf.model import BaselineEdit, Blame, CaseId, Proposal, Record, Verdict
from pytest_kernelperf.session.yardstick import Yardstick
from pytest_kernelperf.settings import Settings


def blame_of(
    settings: Settings,
    records: Iterable[Record],
    store: BaselineStore,
    device_key: str,
    known_cases: KnownCases,
    commit: str,
    parent: Export | None = None,
) -> Blame | None:
    """Return a run's blame; None where no commit is known and none is held against another.

    Args:
        settings: the run's settings.
        records: all of its records.
        store: the baselines that count.
        device_key: the device's.
        known_cases: the cases that tests have today.
        commit: what is measured, as CI names it; empty where it does not.
        parent: the code of the commit that the change is merged into.
    """
    acceptance = settings.acceptance
    if not commit and acceptance is None and settings.own_baselines is None and parent is None:
        return None
    found = tuple(records)
    renamed = {record.renamed_from for record in found if record.renamed_from is not None}
    vanished = {*_vanished(store, device_key, known_cases, settings), *_gone_from(parent, known_cases)}
    return Blame(
        commit=commit,
        parent_commit=parent.commit if parent is not None else "",
        parent_problems=parent.sentences if parent is not None else (),
        baselines=str(settings.baselines) if settings.own_baselines is not None else "",
        edits=tuple(_judged(edit, found) for edit in Yardstick(settings, store).edits()),
        vanished=tuple(sorted(vanished - renamed)),
        acceptance=acceptance.use if acceptance is not None else None,
        proposals=tuple(proposal for record in found if (proposal := proposal_of(record)) is not None),
    )


def proposal_of(record: Record) -> Proposal | None:
    """Return why a case's baseline should move, so that what it is now can be lost only with notice; None: it stays."""
    decision = record.decision
    if record.mutation_of or decision.fails or record.time_us is None:
        return None
    if decision.verdict is Verdict.NEW and not record.time_is_stored:
        return Proposal(record.case, "new", None, record.time_us)
    against = next((c.against_us for c in record.comparisons if (c.arm, c.against) == ("head", "baseline")), None)
    if decision.verdict is Verdict.IMPROVED:
        return Proposal(record.case, "improved", against, record.time_us)
    if decision.verdict is Verdict.ACCEPTED:
        return Proposal(record.case, "accepted", against, record.time_us)
    return None if record.renamed_from is None else Proposal(record.case, "renamed", against, record.time_us)


def _judged(edit: BaselineEdit, records: tuple[Record, ...]) -> BaselineEdit:
    """Add what the case's own record found of an entry, where it is this device's and the case was run."""
    for record in records:
        if record.baseline_edit is not None and (record.baseline_edit.file, record.case) == (edit.file, edit.case):
            return msgspec.structs.replace(edit, same_code=record.baseline_edit.same_code)
    return edit


def _gone_from(parent: Export | None, known_cases: KnownCases) -> Iterator[CaseId]:
    """Cases of the parent that no test has any more, as far as their modules were collected whole."""
    for case in parent.cases if parent is not None else ():
        known = known_cases(case.kernel, case.test_module)
        if known is not None and (case.variant, case.tokens) not in known:
            yield case.case


def _vanished(store: BaselineStore, device_key: str, known_cases: KnownCases, settings: Settings) -> list[CaseId]:
    """Cases that the baselines of this device have and no test has any more."""
    gone: list[CaseId] = []
    for file in store.files():
        if file.parent.name != device_key:
            continue
        try:
            baseline = read_file(file)
        except (BaselineError, FileNotFoundError):
            continue
        stale = stale_cases(baseline, known_cases, settings.root)
        gone += [CaseId(baseline.kernel, case.variant, case.tokens) for case in stale]
    return gone
