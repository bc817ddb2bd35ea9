"""What a run says of itself as a whole: edits of its yardstick, what vanished, acceptances, what should move."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import msgspec
import pytest
from guard_bench import SOURCE, Bench, slower

from pytest_kernelperf.acceptance import Acceptance
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.model import AcceptanceUse, Blame, CaseId, Proposal, Record
from pytest_kernelperf.session.blame import blame_of, proposal_of

COMMIT = "a1" * 20
KEY = "cpu-test"
BOTH = frozenset({("plain", 8), ("fused", 8)})


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench with two accepted cases, and a copy of its baselines as another commit has them."""
    bench = Bench(tmp_path)
    bench.accept("plain", "fused")
    shutil.copytree(bench.settings.baselines, tmp_path / "theirs")
    own = bench.settings.baselines
    bench.settings = dataclasses.replace(bench.settings, baselines=tmp_path / "theirs", own_baselines=own)
    return bench


def blame(bench: Bench, *records: Record, known: frozenset[tuple[str, int]] = BOTH, commit: str = COMMIT) -> Blame:
    """Return the blame of a run of these records."""
    store = BaselineStore(bench.settings.baselines)
    found = blame_of(bench.settings, records, store, KEY, lambda kernel, module: known, commit)
    assert found is not None
    return found


def test_a_run_that_is_held_against_nothing_else_says_nothing(tmp_path: Path) -> None:
    """A run file at home stays as it was."""
    bench = Bench(tmp_path)
    store = BaselineStore(bench.settings.baselines)
    assert blame_of(bench.settings, [], store, KEY, lambda kernel, module: BOTH, "") is None


def test_edits_are_listed_even_of_cases_that_were_not_run(bench: Bench) -> None:
    """Changed, removed, and of other devices: a change that edits baselines is shown as doing so."""
    own = bench.settings.own_baselines
    assert own is not None
    file = own / KEY / "k.json"
    file.write_text(file.read_text().replace('"reason": "first"', '"reason": "mine"', 1))
    other = bench.folder / "theirs" / "gfx1151-40cu"
    shutil.copytree(bench.folder / "theirs" / KEY, other)
    (other / "k.json").write_text((other / "k.json").read_text().replace(KEY, "gfx1151-40cu"))
    edits = blame(bench, bench.check("plain")).edits
    assert [(edit.kind, edit.file, edit.case.variant, edit.same_code) for edit in edits] == [
        ("changed", f"{KEY}/k.json", "fused", None),
        ("removed", "gfx1151-40cu/k.json", "fused", None),
        ("removed", "gfx1151-40cu/k.json", "plain", None),
    ]
    assert blame(bench, bench.check("fused")).edits[0].same_code is True


def test_a_file_that_cannot_be_read_hides_no_other_edit(bench: Bench) -> None:
    """It fails as an item of its own."""
    own = bench.settings.own_baselines
    assert own is not None
    (own / KEY / "a.json").write_text("{")
    assert blame(bench).edits == ()


def test_what_the_baselines_have_and_no_test_has_any_more_is_named(bench: Bench) -> None:
    """A change that takes a case and its baseline away is shown as doing so, for this device."""
    assert blame(bench).vanished == ()
    assert blame(bench, known=frozenset({("plain", 8)})).vanished == (CaseId("k", "fused", 8),)


def test_a_renamed_case_and_another_devices_have_not_vanished(bench: Bench) -> None:
    """The one goes on under another name, of the other this device knows nothing."""
    other = bench.folder / "theirs" / "gfx1151-40cu"
    shutil.copytree(bench.folder / "theirs" / KEY, other)
    (other / "k.json").write_text((other / "k.json").read_text().replace(KEY, "gfx1151-40cu"))
    record = msgspec.structs.replace(bench.check("plain"), renamed_from=CaseId("k", "fused", 8))
    assert blame(bench, record, known=frozenset({("plain", 8)})).vanished == ()
    assert blame(bench, known=frozenset({("plain", 8)})).vanished == (CaseId("k", "fused", 8),)


def test_the_acceptance_that_was_given_is_said_whether_it_counts_or_not(bench: Bench) -> None:
    """A refused one is the first thing that its giver looks for."""
    use = AcceptanceUse("ada", "why", "b2" * 20, "it accepts another commit")
    bench.settings = dataclasses.replace(bench.settings, acceptance=Acceptance(use))
    assert blame(bench).acceptance == use


def test_improved_accepted_and_new_cases_are_proposed_and_others_are_not(bench: Bench) -> None:
    """What got better is lost only with notice; what fails is nobody's baseline."""
    assert proposal_of(bench.check()) is None  # identical
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(1.33)
    assert proposal_of(bench.check()) is None  # regressed
    use = AcceptanceUse("ada", "why", COMMIT)
    bench.settings = dataclasses.replace(bench.settings, acceptance=Acceptance(use))
    assert _rounded(proposal_of(bench.check())) == Proposal(CaseId("k", "plain", 8), "accepted", 10, 13)
    bench.workers.time_us = slower(0.5)
    assert _rounded(proposal_of(bench.check())) == Proposal(CaseId("k", "plain", 8), "improved", 10, 5)
    bench.settings = dataclasses.replace(bench.settings, baselines=bench.folder / "none", own_baselines=None)
    assert _rounded(proposal_of(bench.check())) == Proposal(CaseId("k", "plain", 8), "new", None, 5)
    assert proposal_of(bench.check("broken")) is None  # a mutation


def _rounded(proposal: Proposal | None) -> Proposal:
    assert proposal is not None
    old = None if proposal.old_us is None else round(proposal.old_us)
    return Proposal(proposal.case, proposal.why, old, round(proposal.new_us or 0))
