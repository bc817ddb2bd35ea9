"""A case under another name is the same case: held against its old entry, which moves when baselines are updated."""

from __future__ import annotations

import dataclasses
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from guard_bench import SOURCE, Bench, slower

from pytest_kernelperf import Kernel, Launch
from pytest_kernelperf.baseline.check import problems
from pytest_kernelperf.baseline.rename import Renames, fingerprint
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.case import list_cases
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import CaseId, Record, Verdict
from pytest_kernelperf.session.ending import Shelf, build_run, end_run
from pytest_kernelperf.session.guard import Guard

KEY = "cpu-test"
OLD = CaseId("k", "plain", 8)


def renamed_kernel(
    bench: Bench,
    name: str = "k",
    variant: str = "simple",
    former_kernel: str | None = None,
    former_variant: str | None = None,
) -> Kernel:
    """Return the bench's kernel with its variant under another name."""
    kernel = Kernel(name, source=bench.source, tokens=(8,), renamed_from=former_kernel)
    kernel.inputs(lambda tokens: {"x": np.ones(tokens, np.float32), "y": np.zeros(tokens, np.float32)})
    kernel.reference(lambda tokens, x: {"y": 2 * x})

    def plan(tokens: int, device: Any) -> list[Launch]:
        return [Launch("double_kernel", grid=4, block=64, args=["x", "y"])]

    plan.__name__ = variant
    kernel.variant(renamed_from=former_variant)(plan)
    return kernel


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench with one accepted case."""
    bench = Bench(tmp_path)
    bench.accept("plain")
    return bench


def check(bench: Bench, kernel: Kernel, known: frozenset[tuple[str, int]] | None = None) -> Record:
    """Judge the kernel's only case; tests have just that one."""
    (spec,) = list_cases(kernel)
    here = frozenset({(spec.doing.name, 8)}) if known is None else known
    store = BaselineStore(bench.settings.baselines)
    known_cases = lambda name, module: here if name == kernel.name else frozenset()  # noqa: E731
    renames = Renames(store, known_cases, bench.folder)
    guard = Guard(
        bench.settings, bench.workers, bench.machine, store, os.getpid(), sleep=lambda s: None, renames=renames
    )
    return guard.check(spec, bench.settings.case, "test_k.py", Shelf(bench.settings.out).put)


@pytest.mark.parametrize(("name", "variant"), [("k", "simple"), ("other", "plain"), ("other", "simple")])
def test_a_case_that_runs_the_very_same_is_the_vanished_one_renamed(bench: Bench, name: str, variant: str) -> None:
    """Nothing was said of it: instructions, launches and buffers tell."""
    record = check(bench, renamed_kernel(bench, name, variant))
    assert (record.decision.verdict, record.renamed_from) == (Verdict.IDENTICAL, OLD)
    assert "renamed: held against the baseline of k plain at 8 tokens" in record.notes


def test_a_case_that_some_test_still_has_was_not_renamed(bench: Bench) -> None:
    """A second variant that does the same is new."""
    record = check(bench, renamed_kernel(bench), frozenset({("plain", 8), ("simple", 8)}))
    assert (record.decision.verdict, record.renamed_from) == (Verdict.NEW, None)


def test_a_module_that_was_not_collected_whole_renames_nothing(bench: Bench) -> None:
    """What it has cannot be said."""
    store = BaselineStore(bench.settings.baselines)
    renames = Renames(store, lambda kernel, module: None, bench.folder)
    entry = store.read(KEY, "k")
    assert entry is not None
    case = entry.cases[0]
    assert renames.same(KEY, 8, case.plan, case.instruction_digests, case.buffers) is None
    gone = Renames(store, lambda kernel, module: frozenset(), bench.folder)
    assert gone.same(KEY, 8, case.plan, case.instruction_digests, case.buffers) == (OLD, case)
    assert gone.same(KEY, 9, case.plan, case.instruction_digests, case.buffers) is None


def test_other_instructions_under_another_name_are_new_unless_the_test_says_what_they_were(bench: Bench) -> None:
    """Said, they are timed beside the old binary, and a slowdown cannot hide behind the new name."""
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(1.33)
    assert check(bench, renamed_kernel(bench)).decision.verdict is Verdict.NEW
    said = check(bench, renamed_kernel(bench, "other", former_kernel="k", former_variant="plain"))
    assert (said.decision.verdict, said.renamed_from) == (Verdict.REGRESSED, OLD)


def test_a_former_self_that_lives_on_is_not_taken(bench: Bench) -> None:
    """Then the case is a second one, and new."""
    store = BaselineStore(bench.settings.baselines)
    renames = Renames(store, lambda kernel, module: frozenset({("plain", 8)}), bench.folder)
    assert renames.declared(KEY, OLD) is None
    gone = Renames(store, lambda kernel, module: frozenset(), bench.folder)
    assert gone.declared(KEY, OLD) is not None
    assert gone.declared(KEY, CaseId("k", "plain", 9)) is None
    assert gone.declared(KEY, CaseId("none", "plain", 8)) is None


def test_kernels_are_told_by_their_instructions_and_not_by_their_names(bench: Bench) -> None:
    """Other grids, blocks, arguments or buffers are another case."""
    baseline = BaselineStore(bench.settings.baselines).read(KEY, "k")
    assert baseline is not None
    case = baseline.cases[0]
    launch = case.plan.launches[0]

    def other(**changes: Any) -> str:
        plan = msgspec.structs.replace(case.plan, steps=(msgspec.structs.replace(launch, **changes),))
        digests = {plan.launches[0].kernel: case.instruction_digests[launch.kernel]}
        return fingerprint(plan, digests, case.buffers)

    assert other() == other(kernel="renamed") == fingerprint(case.plan, case.instruction_digests, case.buffers)
    assert len({other(), other(grid=(5, 1, 1)), other(block=(65, 1, 1)), other(shared_bytes=4)}) == 4
    assert fingerprint(case.plan, {launch.kernel: "0" * 64}, case.buffers) != other()
    assert fingerprint(case.plan, case.instruction_digests, case.buffers[:1]) != other()


@pytest.mark.parametrize("name", ["k", "other"])
def test_an_update_moves_the_entry_with_its_history(bench: Bench, name: str) -> None:
    """Nothing is measured for it: what was accepted stays accepted, to the sample."""
    store = BaselineStore(bench.settings.baselines)
    before = store.read(KEY, "k")
    assert before is not None
    kernel = renamed_kernel(bench, name)
    bench.settings = dataclasses.replace(bench.settings, update_reason="renamed")
    bench.workers.requests.clear()
    record = check(bench, kernel)
    assert not bench.workers.requests
    run = build_run(bench.settings, bench.workers.facts(), {}, [record], datetime(2026, 1, 3, tzinfo=timezone.utc))
    known = {name: frozenset({("simple", 8)})}
    ending = end_run(run, bench.settings, store, lambda kernel, module: known.get(kernel, frozenset()))
    assert not ending.failures
    assert any("moved from its former name" in line for line in ending.lines)
    after = BaselineStore(bench.settings.baselines).read(KEY, name)
    assert after is not None
    assert [(case.variant, case.reason, case.accepted_at) for case in after.cases] == [
        ("simple", "first", "2026-01-02")
    ]
    assert [p.median_us for p in after.cases[0].processes] == [p.median_us for p in before.cases[0].processes]
    assert (store.read(KEY, "k") is None) == (name == "other")
    bench.settings = dataclasses.replace(bench.settings, update_reason=None)
    assert check(bench, kernel).renamed_from is None


def test_a_renamed_cases_old_entry_is_no_leftover(bench: Bench) -> None:
    """It is what the case is held against until it is moved."""
    file = bench.settings.baselines / KEY / "k.json"
    known = lambda kernel, module: frozenset({("simple", 8)})  # noqa: E731
    assert "no test has any more" in problems(file, known, bench.folder)[0]
    assert problems(file, known, bench.folder, {OLD}) == []
    assert "no test has any more" in problems(file, known, bench.folder, {CaseId("k", "plain", 9)})[0]


@pytest.mark.parametrize("former", ["", "k", 7])
def test_a_former_name_that_is_none_is_refused(bench: Bench, former: Any) -> None:
    """Also the present one."""
    with pytest.raises(UsageError, match="renamed_from is the name that it had before"):
        Kernel("k", source=bench.source, tokens=(8,), renamed_from=former)
