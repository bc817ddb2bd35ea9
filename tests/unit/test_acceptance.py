"""A maintainer's acceptance: for one commit alone, and never for more than a slowdown."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from guard_bench import SOURCE, Bench, slower
from hypothesis import given
from hypothesis import strategies as st

from pytest_kernelperf.acceptance import Acceptance, read_acceptance
from pytest_kernelperf.commit import commit_at_hand
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import AcceptanceUse, Accepted, CaseId, Verdict

COMMIT = "a1" * 20
OTHER = "b2" * 20
PLAIN = CaseId("k", "plain", 8)
GIVEN: dict[str, Any] = {"version": 1, "commit": COMMIT, "by": "ada", "reason": "a fix of the sums", "cases": None}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench whose accepted kernel has become a third slower."""
    bench = Bench(tmp_path)
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(1.33)
    return bench


def written(folder: Path, **changes: Any) -> Path:
    """Write an acceptance, changed as asked."""
    path = folder / "acceptance.json"
    path.write_text(json.dumps({**GIVEN, **changes}))
    return path


def with_acceptance(bench: Bench, measured: str = COMMIT, **changes: Any) -> Bench:
    """Give a bench an acceptance."""
    acceptance = read_acceptance(written(bench.folder, **changes), measured)
    bench.settings = dataclasses.replace(bench.settings, acceptance=acceptance)
    return bench


def test_an_accepted_slowdown_passes_and_says_who_why_and_what(bench: Bench) -> None:
    """The figures stay said, so that nobody takes it for unchanged."""
    record = with_acceptance(bench).check()
    assert (record.decision.verdict, record.decision.fails, record.decision.code) == (Verdict.ACCEPTED, False, "slower")
    assert record.decision.reason.startswith(f"accepted by ada for commit {COMMIT[:12]}: a fix of the sums (33")
    assert record.accepted == Accepted("ada", "a fix of the sums", COMMIT)


@pytest.mark.parametrize("measured", [OTHER, ""])
def test_an_acceptance_of_another_commit_has_no_effect_and_says_so(bench: Bench, measured: str) -> None:
    """What was pushed after it was given is not accepted."""
    record = with_acceptance(bench, measured).check()
    assert record.decision.verdict is Verdict.REGRESSED
    assert record.accepted is None
    assert bench.settings.acceptance is not None
    assert COMMIT in bench.settings.acceptance.use.refused


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [([("k", "plain", 8)], Verdict.ACCEPTED), ([("k", "plain", 7)], Verdict.REGRESSED), ([], Verdict.REGRESSED)],
)
def test_only_the_cases_that_it_names_are_accepted(bench: Bench, cases: list[Any], verdict: Verdict) -> None:
    """A list of cases is the whole list."""
    named = [{"kernel": kernel, "variant": variant, "tokens": tokens} for kernel, variant, tokens in cases]
    assert with_acceptance(bench, cases=named).check().decision.verdict is verdict


def test_wrong_and_starved_code_is_never_accepted(bench: Bench) -> None:
    """A slowdown may be worth it; a wrong result is not a slowdown."""
    with_acceptance(bench)
    bench.workers.outputs = lambda plan, inputs: {"y": 3 * inputs["x"]}
    assert bench.check().decision.verdict is Verdict.WRONG
    bench.workers.outputs = Bench(bench.folder).workers.outputs
    bench.grid = 1
    assert bench.check().decision.verdict is Verdict.STARVED


def test_what_is_not_slower_stays_what_it_is(bench: Bench) -> None:
    """An acceptance makes nothing of a case that passes."""
    bench.workers.time_us = lambda arm, process: 10.0
    record = with_acceptance(bench).check()
    assert (record.decision.verdict, record.accepted) == (Verdict.UNCHANGED, None)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"version": 2}, "version 2"),
        ({"commit": "abc"}, "no full SHA"),
        ({"commit": COMMIT.upper()}, "no full SHA"),
        ({"by": " "}, "who gives it"),
        ({"reason": ""}, "a reason"),
        ({"all": True}, "unknown field"),
        ({"cases": "all"}, "cases"),
    ],
)
def test_a_file_that_is_no_acceptance_ends_the_run(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    """A run that was to be lenient must not go on by chance, in either direction."""
    with pytest.raises(UsageError, match=sentence) as refusal:
        read_acceptance(written(tmp_path, **changes), COMMIT)
    assert str(refusal.value).count("\n") == 0


def test_a_missing_or_huge_file_ends_the_run(tmp_path: Path) -> None:
    """One sentence each."""
    with pytest.raises(UsageError, match="cannot be read"):
        read_acceptance(tmp_path / "none.json", COMMIT)
    with pytest.raises(UsageError, match="more than"):
        read_acceptance(written(tmp_path, reason="x" * 1_000_001), COMMIT)


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_a_file_holds_is_one_sentence(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Claim: no bytes raise anything else, and none accepts."""
    path = tmp_path_factory.mktemp("acceptance") / "a.json"
    path.write_bytes(data)
    with pytest.raises(UsageError) as refusal:
        read_acceptance(path, COMMIT)
    assert str(refusal.value).isprintable()


def test_names_in_it_cannot_paint_the_terminal(tmp_path: Path) -> None:
    """A reason is a label's description: a stranger's text on one line."""
    found = read_acceptance(written(tmp_path, reason="a\x1b[2Jb\nc"), COMMIT)
    assert found.use.reason == "a?[2Jb?c"


def test_all_of_a_commit_is_accepted_only_by_an_acceptance_of_all() -> None:
    """A curve has no case of its own, so single cases do not accept it."""
    use = AcceptanceUse("ada", "why", COMMIT)
    assert Acceptance(use).of_all == Accepted("ada", "why", COMMIT)
    assert Acceptance(use, (PLAIN,)).of_all is None
    assert Acceptance(AcceptanceUse("ada", "why", COMMIT, "refused")).of_all is None


def test_the_commit_is_cis_word_or_gits(tmp_path: Path) -> None:
    """A pull request is checked out as a merge commit, so CI's word comes first."""
    assert commit_at_hand(tmp_path, {"KERNELPERF_COMMIT": COMMIT}) == COMMIT
    assert commit_at_hand(tmp_path, {}) == ""
    run = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*run, "init", "-q"], check=True)
    subprocess.run([*run, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    head = subprocess.run([*run, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert commit_at_hand(tmp_path, {}) == head
    assert len(head) == 40
