"""A change cannot move its own yardstick, and what it brings as a baseline must be what its code does."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest
from guard_bench import SOURCE, Bench, slower

from pytest_kernelperf.acceptance import Acceptance
from pytest_kernelperf.model import AcceptanceUse, Verdict

SLOW = SOURCE.replace("double_kernel v1", "double_kernel v2")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench with an accepted kernel, held against a copy of its baselines as the other commit has them."""
    bench = Bench(tmp_path)
    bench.accept("plain")
    shutil.copytree(bench.settings.baselines, tmp_path / "theirs")
    return bench


def bring_slower(bench: Bench) -> None:
    """Edit the project's own baseline to hold slower code than its source makes."""
    bench.source.write_text(SLOW)
    bench.workers.time_us = slower(1.33)
    bench.accept("plain")
    bench.source.write_text(SOURCE)
    bench.workers.time_us = lambda arm, process: 10.0


def against_theirs(bench: Bench) -> Bench:
    """Let the other commit's baselines count."""
    own = bench.settings.baselines
    bench.settings = dataclasses.replace(bench.settings, baselines=bench.folder / "theirs", own_baselines=own)
    return bench


def test_a_change_that_hides_its_slowdown_in_its_baseline_is_regressed_all_the_same(bench: Bench) -> None:
    """The slower code is the project's own baseline now, and not the one that counts."""
    bench.source.write_text(SLOW)
    bench.workers.time_us = slower(1.33)
    assert any("accepted" in line or "stored" in line for line in bench.accept("plain"))
    assert bench.check().decision.verdict is Verdict.IDENTICAL  # by its own baseline
    record = against_theirs(bench).check()
    assert record.decision.verdict is Verdict.REGRESSED
    edit = record.baseline_edit
    assert edit is not None
    assert (edit.kind, edit.same_code, edit.reason) == ("changed", True, "first")


def test_an_edited_entry_of_slower_code_than_heads_is_no_baseline_of_it(bench: Bench) -> None:
    """It would let the next change be slower unseen."""
    bring_slower(bench)
    bench.workers.time_us = lambda arm, process: 13.0 if arm == "own" else 10.0
    record = against_theirs(bench).check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.FAILED, "own_baseline")
    assert "this change edits the case's baseline" in record.decision.reason
    assert [comparison.against for comparison in record.comparisons] == ["baseline", "own"]


def test_head_slower_than_the_entry_that_it_brings_fails_even_if_slowdowns_are_accepted(bench: Bench) -> None:
    """A slowdown may be accepted, a baseline that the code does not reach may not."""
    bring_slower(bench)
    bench.workers.time_us = lambda arm, process: 7.0 if arm == "own" else 10.0
    acceptance = Acceptance(AcceptanceUse("ada", "why", "a" * 40))
    bench.settings = dataclasses.replace(bench.settings, acceptance=acceptance)
    record = against_theirs(bench).check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.REGRESSED, "slower_than_own_baseline")


def test_an_edited_entry_of_other_instructions_that_are_as_fast_is_fine(bench: Bench) -> None:
    """Another compiler makes others of the same source."""
    bring_slower(bench)
    record = against_theirs(bench).check()
    assert record.decision.verdict is Verdict.UNCHANGED
    assert record.baseline_edit is not None
    assert record.baseline_edit.same_code is False


def test_an_edited_entry_that_cannot_be_run_fails(bench: Bench) -> None:
    """Its object is not there: nothing is held against it, so nothing stands for it."""
    bring_slower(bench)
    for file in bench.settings.baselines.glob("*/objects/*.gz"):
        file.unlink()
    record = against_theirs(bench).check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.FAILED, "own_baseline")
    assert "cannot be run" in record.decision.reason


def test_baselines_as_the_other_commit_has_them_cost_and_say_nothing(bench: Bench) -> None:
    """The usual change edits none."""
    bench.workers.requests.clear()
    record = against_theirs(bench).check()
    assert (record.decision.verdict, record.baseline_edit) == (Verdict.IDENTICAL, None)
    assert not bench.workers.requests


def test_a_case_that_only_the_change_has_a_baseline_of_is_new(bench: Bench) -> None:
    """Its own entry is no yardstick, but is shown."""
    bench.accept("plain", "fused")
    record = against_theirs(bench).check("fused")
    assert record.decision.verdict is Verdict.NEW
    assert record.baseline_edit is not None
    assert (record.baseline_edit.kind, record.baseline_edit.old_us) == ("added", None)
