"""Which cases are traced, with which arms, where the files stay, and that no verdict hears of it."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
import stand_in_rocprofv3
from guard_bench import SOURCE, Bench, slower

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.measure.request import Arm
from pytest_kernelperf.model import CaseId, CodeObject, Plan, Record, Verdict
from pytest_kernelperf.replay import rocprofv3, taking
from pytest_kernelperf.replay.case_file import StoredCase
from pytest_kernelperf.replay.taking import Rocprofv3
from pytest_kernelperf.session import tracing
from pytest_kernelperf.session.tracing import compared_arms, folder_name, remove_stale
from pytest_kernelperf.settings import Trace


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench whose cases are recorded by the stand-in, in a process that only says what a replay says."""

    def command(case_file: Path, arm: str, rounds: int, trace: Path | None) -> list[str]:
        said = f"echo replayed {arm}: 5 rounds of 1 launch in process $$"
        return ["/bin/sh", "-c", said, str(case_file), arm, "5"]

    library = stand_in_rocprofv3.install(tmp_path / "rocm")
    monkeypatch.setattr(taking, "replay_command", command)
    monkeypatch.setattr(tracing, "recorder_for", lambda device, stated, all_: Rocprofv3(library, stated, os.environ))
    (tmp_path / "project").mkdir()
    return Bench(tmp_path / "project")


def traced(bench: Bench, trace: Trace, name: str = "plain") -> Record:
    """Judge a case with the setting for traces."""
    bench.settings = dataclasses.replace(bench.settings, trace=trace)
    bench.machine.asked.clear()
    return bench.check(name)


def slow_down(bench: Bench) -> None:
    """Accept both variants, then change one kernel so that it takes a third longer."""
    bench.accept("plain", "fused")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(1.33)


def test_a_regression_shows_its_two_arms_and_keeps_what_replays_it(bench: Bench) -> None:
    """Claim: head and baseline are traced while the machine is held; their plans and code lie beside the traces."""
    slow_down(bench)
    record = traced(bench, "regression")
    assert record.decision.verdict is Verdict.REGRESSED
    assert record.trace is not None
    assert [arm.arm for arm in record.trace.arms] == ["head", "baseline"]
    assert record.trace.notes == ()
    assert bench.machine.asked[-1] == "exclusive"
    folder = bench.settings.out / "traces" / "k-plain-8"
    names = ["baseline.db", "case.json", "case.json.data", "head.db"]
    assert sorted(path.name for path in folder.iterdir()) == names
    stored = msgspec.json.decode((folder / "case.json").read_bytes(), type=StoredCase)
    digests = {arm.name: arm.object_digest for arm in stored.arms}
    assert digests["head"] == record.object_digest != digests["baseline"]


@pytest.mark.parametrize("trace", ["never", "regression", "always"])
def test_a_case_that_is_as_it_was_is_only_traced_always(bench: Bench, trace: Trace) -> None:
    """Claim: nothing is replayed for a case that is well unless asked for, and what replays it does not stay."""
    bench.accept("plain")
    record = traced(bench, trace)
    assert record.decision.verdict is Verdict.IDENTICAL
    assert (record.trace is not None) == (trace == "always")
    if record.trace is not None:
        assert [arm.arm for arm in record.trace.arms] == ["head"], "the accepted code is the same"
        assert [path.name for path in (bench.settings.out / "traces" / "k-plain-8").iterdir()] == ["head.db"]


def test_what_replays_cases_does_not_fill_the_disk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: beyond a bound a failing case keeps its traces, and says that it cannot be replayed."""
    slow_down(bench)
    monkeypatch.setattr(tracing, "MOST_KEPT_BYTES", 10)
    record = traced(bench, "regression")
    assert record.trace is not None
    assert record.trace.notes[0].startswith("its case.json was not kept: those of this run would fill more than ")
    left = [path.name for path in (bench.settings.out / "traces" / "k-plain-8").iterdir()]
    assert sorted(left) == ["baseline.db", "head.db"]


def test_never_is_never(bench: Bench) -> None:
    """Claim: a regression without a trace, and no folder for it."""
    slow_down(bench)
    assert traced(bench, "never").trace is None
    assert not (bench.settings.out / "traces").exists()


def test_a_variant_slower_than_what_it_replaces_is_traced_beside_that(bench: Bench) -> None:
    """Claim: the arms are those whose difference made the verdict."""
    bench.workers.time_us = lambda arm, process: 13.0 if arm == "head" else 10.0
    record = traced(bench, "regression", "fused")
    assert record.decision.verdict is Verdict.SLOWER_THAN_REPLACED
    assert record.trace is not None
    assert [arm.arm for arm in record.trace.arms] == ["head", "replaced"]
    assert [arm.kernels[0].name for arm in record.trace.arms] == ["other_kernel", "double_kernel"]


@pytest.mark.parametrize(
    ("code", "second"),
    [
        ("slower", "baseline"),
        ("slower_than_replaced", "replaced"),
        ("slower_than_own_baseline", "own"),
        ("slower_than_parent", "parent"),
        ("creep", "baseline"),
    ],
)
def test_the_arms_are_those_of_the_decision(code: str, second: str) -> None:
    """Claim: of all arms that were timed the head is shown beside the one that it was called slower than."""
    head, *others = (
        Arm(name, CodeObject(name, b"", {}), Plan(()))
        for name in ("head", "baseline", "toolchain", "replaced", "own", "parent")
    )
    timed = {arm.name: arm for arm in others}
    assert [arm.name for arm in compared_arms(code, head, timed)] == ["head", second]
    assert compared_arms(code, head, {}) == (head,)


@pytest.mark.parametrize("what", ["mutation", "wrong", "crashed"])
def test_what_must_not_run_again_is_not_traced(bench: Bench, what: str) -> None:
    """Claim: mutations, wrong results and crashes are left alone even where everything is traced."""
    if what == "wrong":
        bench.workers.outputs = lambda plan, inputs: {"y": 3 * inputs["x"]}
    if what == "crashed":
        bench.workers.failure = KernelperfError("it died")
    assert traced(bench, "always", "broken" if what == "mutation" else "plain").trace is None


@pytest.mark.parametrize("misbehaviour", ["crashes", "loses_some"])
def test_no_verdict_hears_of_a_profiler_that_fails(bench: Bench, misbehaviour: str, tmp_path: Path) -> None:
    """Claim: but for its trace the record is what it is without one, notes and numbers included."""
    slow_down(bench)
    without = traced(bench, "never")
    stand_in_rocprofv3.install(tmp_path / "rocm", misbehaviour)
    record = traced(bench, "regression")
    assert record.trace is not None
    assert record.trace.notes
    assert msgspec.structs.replace(record, trace=None) == without


@pytest.mark.parametrize("what", ["file", "machine", "bug"])
def test_what_fails_before_the_profiler_is_a_note_too(bench: Bench, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: an output folder that cannot be written to, a machine that is not free and a bug of ours are one note,
    and the verdict stands."""
    slow_down(bench)
    bench.settings = dataclasses.replace(bench.settings, trace="regression")
    guard = bench.guard()
    if what == "file":
        (bench.settings.out / "traces").write_text("")
    if what != "file":

        def fail(*_: object) -> None:
            raise (ZeroDivisionError if what == "bug" else KernelperfError)(f"the {what} has gone")

        monkeypatch.setattr(tracing, "Taker", fail)
    record = guard.check(bench.spec("plain"), bench.settings.case, "test_k.py")
    assert record.decision.verdict is Verdict.REGRESSED
    assert record.trace is not None
    (note,) = record.trace.notes
    assert note.startswith("not traced: ")


def test_an_interruption_leaves_no_scratch(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: Ctrl-C while a replay runs goes on to whoever ends the session, and its scratch folder is gone."""
    slow_down(bench)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(rocprofv3, "check_version", interrupt)
    (bench.settings.out / ".gitignore").unlink()
    with pytest.raises(KeyboardInterrupt):
        traced(bench, "regression")
    assert (bench.settings.out / ".gitignore").read_text().endswith("\n*\n"), "git sees nothing of a run without an end"
    left = [path.name for path in (bench.settings.out / "traces" / "k-plain-8").iterdir()]
    assert sorted(left) == ["case.json", "case.json.data"]


def test_folders_have_names_of_their_own(tmp_path: Path) -> None:
    """Claim: readable where a case's names are, never outside of the folder, and never shared by two cases."""
    assert folder_name(CaseId("k", "plain", 8)) == "k-plain-8"
    strange = [CaseId("a/b", "x", 1), CaseId("a_b", "x", 1), CaseId("..", "..", 1), CaseId("k" * 300, "v", 1)]
    names = [folder_name(case) for case in strange]
    assert len(set(names)) == len(names)
    assert all("/" not in name and not name.startswith(".") and len(name) < 120 for name in names)


def test_traces_of_another_run_go(bench: Bench, tmp_path: Path) -> None:
    """Claim: what no record of this run speaks of is removed, also where a run was killed in the middle; what another
    run writes meanwhile is not."""
    slow_down(bench)
    record = traced(bench, "regression")
    out, started_s = bench.settings.out, time.time() - 60
    for name, age_s in (("old-case-1", 61), (".killed", 3600), ("k-plain-8", 61), ("another-1", 59)):
        (out / "traces" / name).mkdir(exist_ok=True)
        os.utime(out / "traces" / name, (0, time.time() - age_s))
    remove_stale(out, [record], started_s)
    assert sorted(path.name for path in (out / "traces").iterdir()) == ["another-1", "k-plain-8"]
    remove_stale(out, [], time.time())
    assert list((out / "traces").iterdir()) == []
    remove_stale(tmp_path / "nowhere", [record], started_s)


def test_a_case_that_another_run_is_tracing_is_left_alone(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: its folder is emptied and filled only while this run holds the machine."""
    slow_down(bench)
    theirs = bench.settings.out / "traces" / "k-plain-8" / "head.db"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("")
    bench.settings = dataclasses.replace(bench.settings, trace="regression")
    guard, seen = bench.guard(), []

    @contextmanager
    def exclusive() -> Iterator[None]:
        seen.append(theirs.exists())
        yield
        seen.append(theirs.exists())

    monkeypatch.setattr(bench.machine, "exclusive", exclusive)
    record = guard.check(bench.spec("plain"), bench.settings.case, "test_k.py")
    assert record.trace is not None
    assert record.trace.notes == ()
    *_, before, after = seen
    assert (before, after, theirs.read_bytes()[:6]) == (True, True, b"SQLite")
