"""Whose slowdown it is: a change is held against the code that it is merged into, beside the accepted one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from guard_bench import Bench
from scripted_workers import ScriptedWorkers

from pytest_kernelperf.acceptance import Acceptance
from pytest_kernelperf.baseline.exported import VERSION, Export
from pytest_kernelperf.errors import UsageError, WorkerCrashed
from pytest_kernelperf.kernel import Tolerance
from pytest_kernelperf.model import AcceptanceUse, Comparison, LimitEdit, Record, Verdict
from pytest_kernelperf.parentage import Parentage, is_mains
from pytest_kernelperf.session.timing import check_settings
from pytest_kernelperf.settings import CaseSettings

COMMIT = "a1" * 20


def of_arms(**times_us: float) -> Callable[[str, int], float]:
    """Return the times of arms; 10 us for any other."""
    return lambda arm, process: times_us.get(arm, 10.0)


def write(bench: Bench, plain: str, fused: str = "v1") -> None:
    """Write the source with these versions of its kernels."""
    bench.source.write_text(f"kernel double_kernel {plain}\nkernel other_kernel {fused}\n")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench whose baseline is version 1 of its kernel."""
    bench = Bench(tmp_path)
    bench.accept("plain", "fused")
    return bench


def beside(bench: Bench, parent: str, head: str, times: Callable[[str, int], float], name: str = "plain") -> Record:
    """Judge a version of the kernel where the parent has another."""
    write(bench, parent)
    bench.parent = bench.export(commit=COMMIT)
    write(bench, head)
    bench.workers.time_us = times
    bench.workers.requests.clear()
    return bench.check(name)


def said(record: Record) -> tuple[str, str, bool]:
    """Verdict, code, and whether it fails."""
    return record.decision.verdict.value, record.decision.code, record.decision.fails


def state(record: Record) -> str:
    """What the parent's code is to head's."""
    assert record.parent is not None
    return record.parent.state


def arms(bench: Bench) -> set[str]:
    """All arms that were timed."""
    return {arm.name for request in bench.workers.requests for arm in request.arms}


def found(record: Record, arm: str, against: str) -> Comparison | None:
    """One comparison of a record."""
    return next((c for c in record.comparisons if (c.arm, c.against) == (arm, against)), None)


def test_code_that_nobody_changed_is_not_timed(bench: Bench) -> None:
    """Head, parent and baseline are one."""
    record = beside(bench, "v1", "v1", of_arms())
    assert (said(record), state(record)) == (("identical", "identical", False), "identical")
    assert not bench.workers.requests


def test_slower_than_the_parent_fails_even_within_the_tolerance_of_the_baseline(bench: Bench) -> None:
    """What main had gained is lost."""
    record = beside(bench, "v2", "v3", of_arms(parent=9.0, head=10.0))
    assert said(record) == ("regressed", "slower_than_parent", True)
    assert "slower than the parent's code" in record.decision.reason
    assert arms(bench) == {"head", "baseline", "parent"}
    assert [(c.arm, c.against) for c in record.comparisons] == [
        ("head", "baseline"),
        ("head", "parent"),
        ("parent", "baseline"),
    ]


def test_further_looks_are_taken_for_the_parent_too(bench: Bench) -> None:
    """As fast as the baseline, and slower than the parent by a little more than the tolerance, in noisy samples."""
    bench.workers.noise = 0.0165
    record = beside(bench, "v2", "v3", of_arms(parent=10.0 / 1.0585, head=10.0))
    assert said(record) == ("regressed", "slower_than_parent", True)
    comparison = found(record, "head", "parent")
    assert comparison is not None
    assert comparison.blocks in (116, 300)
    assert comparison.look_alpha == pytest.approx(0.05 * 1e-5 / 2 * (1 / 3 if comparison.blocks == 116 else 2 / 3))
    assert all(len(request.arms) == 3 for request in bench.workers.requests)


def test_a_little_slower_on_top_of_what_went_before_is_creep(bench: Bench) -> None:
    """4 % before, 3 % now: beyond the 5 % that the baseline allows, and the change did some of it."""
    record = beside(bench, "v2", "v3", of_arms(parent=10.4, head=10.71))
    assert said(record) == ("regressed", "creep", True)
    assert "creep" in record.decision.reason


def test_code_as_fast_as_its_slow_parent_is_mains_creep(bench: Bench) -> None:
    """Main is slow; this change did not do it, and passes, saying so."""
    record = beside(bench, "v2", "v3", of_arms(parent=10.7, head=10.7))
    assert said(record) == ("unchanged", "main_creep", False)
    assert "not this change" in record.decision.reason


def test_code_faster_than_its_slow_parent_is_mains_creep_too(bench: Bench) -> None:
    """It made main better, not worse."""
    record = beside(bench, "v2", "v3", of_arms(parent=11.5, head=10.7))
    assert said(record) == ("unchanged", "main_creep", False)


def test_the_parents_very_code_is_not_blamed_and_costs_no_arm(bench: Bench) -> None:
    """Identical to the parent, slower than the baseline: main's creep."""
    record = beside(bench, "v2", "v2", of_arms(head=10.7))
    assert (said(record), state(record)) == (("identical", "main_creep", False), "identical")
    assert arms(bench) == {"head", "baseline"}
    assert said(bench_without_parent(bench)) == ("regressed", "slower", True)


def bench_without_parent(bench: Bench) -> Record:
    """Judge the same without a parent."""
    bench.parent = None
    return bench.check()


def test_a_change_that_goes_back_to_the_baseline_loses_what_main_had_gained(bench: Bench) -> None:
    """Identical to the baseline is no excuse where main is faster by now; only head and parent are timed."""
    record = beside(bench, "v2", "v1", of_arms(parent=9.0))
    assert said(record) == ("regressed", "slower_than_parent", True)
    assert arms(bench) == {"head", "parent"}


def test_the_baselines_code_that_is_as_fast_as_the_parents_is_identical(bench: Bench) -> None:
    """And says what it was held against."""
    record = beside(bench, "v2", "v1", of_arms())
    assert said(record) == ("identical", "identical", False)
    assert "the parent's code" in record.decision.reason
    assert not record.time_is_stored


def test_a_parent_that_is_the_baseline_costs_no_arm(bench: Bench) -> None:
    """One comparison says both."""
    record = beside(bench, "v1", "v2", of_arms(head=10.7))
    assert (said(record), state(record)) == (("regressed", "slower", True), "baseline")
    assert arms(bench) == {"head", "baseline"}


@pytest.mark.parametrize(
    ("head_us", "expected"),
    [(10.0, ("new", "new_beside_parent", False)), (10.7, ("regressed", "slower_than_parent", True))],
)
def test_without_a_baseline_the_parent_is_what_a_case_is_held_against(
    tmp_path: Path, head_us: float, expected: tuple[str, str, bool]
) -> None:
    """A new case is not unguarded where the parent has it."""
    bench = Bench(tmp_path)
    assert said(beside(bench, "v2", "v3", of_arms(head=head_us))) == expected
    assert arms(bench) == {"head", "parent"}


def test_without_a_baseline_a_busy_device_is_no_reason_to_pass(tmp_path: Path) -> None:
    """There is something to be held against, so it has to be."""
    bench = Bench(tmp_path)
    bench.workers.disturbed = 1000
    assert said(beside(bench, "v2", "v3", of_arms())) == ("invalid", "busy", True)


def test_a_case_that_the_parent_has_not_is_held_against_the_baseline_alone(bench: Bench) -> None:
    """Absent; the record says so."""
    write(bench, "v2")
    bench.parent = bench.export("fused")
    bench.workers.time_us = of_arms(head=10.7)
    record = bench.check()
    assert (said(record), state(record)) == (("regressed", "slower", True), "absent")


def test_what_of_the_parent_could_not_be_exported_is_said(bench: Bench) -> None:
    """A change that repairs main's source is measured against the baseline."""
    bench.workers.failure = UsageError("it does not compile")
    export = bench.export()
    bench.workers.failure = None
    assert [one.sentence for one in export.unexported] == ["it does not compile"] * 2
    bench.parent = export
    write(bench, "v2")
    record = bench.check()
    assert (said(record), state(record)) == (("unchanged", "within_tolerance", False), "unplayable")
    assert any("it does not compile" in note for note in record.notes)


def test_a_parent_of_which_nothing_is_known_leaves_the_baseline(bench: Bench) -> None:
    """As where its export failed altogether: the reason is in each record."""
    write(bench, "v2")
    bench.parent = Export(VERSION, COMMIT, "", "", problems=("the export died",))
    bench.workers.time_us = of_arms(head=10.7)
    foreign(bench)
    record = bench.check()
    assert (said(record), state(record)) == (("regressed", "slower", True), "unplayable")
    assert any("the export died" in note for note in record.notes)


def test_plans_of_another_device_are_not_run(bench: Bench) -> None:
    """Its code is not this device's."""
    write(bench, "v2")
    bench.parent = msgspec.structs.replace(bench.export(), device_key="gfx1151-40cu")
    write(bench, "v3")
    bench.workers.requests.clear()
    record = bench.check()
    assert state(record) == "unplayable"
    assert arms(bench) == {"head", "baseline"}


class ParentThatCrashes(ScriptedWorkers):
    """Workers in which the parent's code dies, by itself and beside others."""

    digest = ""

    def measure(self, process: int, request: Any, inputs: Any) -> Any:
        """Die where the parent is among the arms."""
        if any(arm.code.digest == self.digest for arm in request.arms):
            raise WorkerCrashed("the worker died of signal 11")
        return super().measure(process, request, inputs)

    def run(self, case: Any, plan: Any, code: Any, inputs: Any, outputs: Any) -> Any:
        """Die where it is the parent's code."""
        if code.digest == self.digest:
            raise WorkerCrashed("the worker died of signal 11")
        return super().run(case, plan, code, inputs, outputs)


@pytest.mark.parametrize(("head", "code"), [("v3", "within_tolerance"), ("v1", "identical")])
def test_a_change_that_repairs_what_crashes_is_measured_without_it(bench: Bench, head: str, code: str) -> None:
    """The parent's code dies by itself too, so it is not head's doing."""
    write(bench, "v2")
    bench.parent = bench.export()
    workers = ParentThatCrashes()
    workers.digest = bench.parent.cases[0].object_digest
    bench.workers = workers
    write(bench, head)
    record = bench.check()
    assert (record.decision.code, record.decision.fails, state(record)) == (code, False, "unplayable")
    assert any("signal 11" in note for note in record.notes)


def test_a_busy_device_does_not_fail_code_that_the_change_did_not_touch(bench: Bench) -> None:
    """Nor does what cannot be decided; code that it did touch fails."""
    bench.workers.disturbed = 1000
    assert said(beside(bench, "v2", "v2", of_arms())) == ("identical", "identical_to_parent", False)
    bench.workers.disturbed = 1000
    assert said(beside(bench, "v2", "v3", of_arms())) == ("invalid", "busy", True)


def test_the_parents_code_that_is_wrong_fails(bench: Bench) -> None:
    """Main is broken then, and nobody should merge onto it."""
    bench.workers.outputs = lambda plan, inputs: {"y": 3 * inputs["x"]}
    assert said(beside(bench, "v2", "v2", of_arms()))[0] == "wrong"


def test_slower_than_what_it_replaces_is_excused_only_if_that_is_the_parents_too(bench: Bench) -> None:
    """Where the change made the replaced variant faster, the one that replaces it has to keep up."""
    slow = of_arms(replaced=9.0)
    write(bench, "v2", "v2")
    bench.parent = bench.export()
    bench.workers.time_us = slow
    record = bench.check("fused")
    assert said(record) == ("identical", "identical_to_parent", False)
    assert "which it replaces" in record.decision.reason
    write(bench, "v3", "v2")
    assert said(bench.check("fused")) == ("slower_than_replaced", "slower_than_replaced", True)


def test_two_comparisons_share_the_error_of_one(bench: Bench) -> None:
    """Neither alpha nor agreement grows by asking twice."""
    record = beside(bench, "v2", "v3", of_arms())
    with_parent, beside_parent = found(record, "head", "baseline"), found(record, "head", "parent")
    assert with_parent is not None
    assert beside_parent is not None
    alone = found(bench_without_parent(bench), "head", "baseline")
    assert alone is not None
    assert with_parent.alpha == beside_parent.alpha == pytest.approx(alone.alpha / 2)


def test_blocks_that_reject_alone_but_not_at_half_the_error_are_refused_at_once(bench: Bench) -> None:
    """Else every case would fail late."""
    settings = dataclasses.replace(bench.settings.case, blocks=18)
    check_settings(settings)
    with pytest.raises(UsageError, match="shared by 2 comparisons"):
        check_settings(settings, 2)


def test_slower_than_the_baseline_is_no_reason_to_stop_before_it_is_clear_whose_doing_it_is(bench: Bench) -> None:
    """Three processes show the slowdown; whether the change adds to it takes more."""
    bench.workers.started.clear()
    beside(bench, "v1", "v3", of_arms(head=10.7))
    few = max(request.blocks + request.first_block for request in bench.workers.requests), max(bench.workers.started)
    bench.workers.started.clear()
    beside(bench, "v2", "v3", of_arms(parent=10.7, head=10.7))
    more = max(request.blocks + request.first_block for request in bench.workers.requests), max(bench.workers.started)
    assert few[1] == 3
    assert more > few
    assert more[1] > 3


def test_of_equal_speed_the_sign_of_noise_does_not_decide(bench: Bench) -> None:
    """Not shown slower at all: blamed only where the parent is not shown slower than the baseline either."""
    record = beside(bench, "v2", "v3", of_arms(parent=10.7, head=10.7))
    comparison, slow = found(record, "head", "parent"), found(record, "parent", "baseline")
    assert comparison is not None
    assert slow is not None
    undecided = msgspec.structs.replace(comparison, slower=0, faster=0, not_slower=0, p_not_slower=1.0)
    same = msgspec.structs.replace(slow, slower=0, faster=0)
    assert is_mains(Parentage("timed", "", comparison, undecided, slow))
    assert not is_mains(Parentage("timed", "", comparison, undecided, same))
    assert not is_mains(Parentage("timed", "", comparison, slow, slow))
    assert not is_mains(Parentage("absent", ""))


def test_a_slowdown_against_the_parent_that_is_not_ruled_out_is_undecided(bench: Bench) -> None:
    """It fails closed unless twice the tolerance is ruled out."""
    record = beside(bench, "v2", "v3", lambda arm, process: 8.5 if arm == "parent" and process % 2 else 10.0)
    assert said(record) == ("undecided", "open_beside_parent", True)
    assert "the parent's code" in record.decision.reason


def test_a_maintainer_can_accept_creep(bench: Bench) -> None:
    """It is a slowdown like any other."""
    bench.settings = dataclasses.replace(bench.settings, acceptance=Acceptance(AcceptanceUse("ada", "why", COMMIT)))
    record = beside(bench, "v2", "v3", of_arms(parent=10.4, head=10.71))
    assert (record.decision.verdict, record.decision.code) == (Verdict.ACCEPTED, "creep")


LOOSE = CaseSettings(tolerance=0.5, floor_us=3.0, curve_tolerance=0.9, creep=0.8)


def with_limits(bench: Bench, parent: CaseSettings, head: CaseSettings, times: Callable[[str, int], float]) -> Record:
    """Judge a change whose settings are ``head`` where the parent's are ``parent``."""
    write(bench, "v2")
    bench.parent = bench.export(settings=parent)
    write(bench, "v3")
    bench.workers.time_us = times
    foreign(bench)
    return bench.check(settings=head)


def foreign(bench: Bench) -> None:
    """Let the baselines be another commit's, as ``--kernelperf-baselines`` has it; the project's own are the same."""
    bench.settings = dataclasses.replace(bench.settings, own_baselines=bench.settings.baselines)


def test_a_change_is_not_judged_by_limits_that_it_gives_itself(bench: Bench) -> None:
    """With its own, 7 % would be nothing; the parent's say that it is slower, and the record says whose they were."""
    record = with_limits(bench, CaseSettings(), LOOSE, of_arms(head=10.7))
    assert said(record) == ("regressed", "slower_than_parent", True)
    assert record.parent is not None
    assert record.parent.limits == (
        LimitEdit("tolerance", "default", "50 %"),
        LimitEdit("floor_us", "0.02 us", "3 us"),
        LimitEdit("curve_tolerance", "default", "90 %"),
        LimitEdit("creep", "5 %", "80 %"),
    )
    assert "judged by the parent's limits, not by this change's own: tolerance default, not 50 %" in record.notes[-1]


def test_nor_is_it_judged_by_stricter_ones_before_they_are_mains(bench: Bench) -> None:
    """As with baselines: what it states counts from the next change on."""
    record = with_limits(bench, LOOSE, CaseSettings(), of_arms(head=10.7))
    assert not record.decision.fails


def test_limits_that_are_the_parents_are_nothing_to_say(bench: Bench) -> None:
    """The usual case."""
    record = with_limits(bench, LOOSE, LOOSE, of_arms(head=10.7))
    assert record.parent is not None
    assert (record.parent.limits, record.notes) == ((), ())
    assert not record.decision.fails


@pytest.mark.parametrize("exported", [("fused",), ("plain",)])
def test_a_case_that_the_parent_has_not_is_judged_by_its_own_limits(bench: Bench, exported: tuple[str, ...]) -> None:
    """There are no others."""
    write(bench, "v2")
    bench.parent = bench.export(*exported)
    write(bench, "v3")
    bench.workers.time_us = of_arms(head=10.7)
    foreign(bench)
    assert bench.check(settings=LOOSE).decision.fails is (exported == ("plain",))


def test_limits_count_even_where_the_parents_code_cannot_be_run_beside(bench: Bench) -> None:
    """Code of another device says as much about what is allowed."""
    write(bench, "v2")
    bench.parent = msgspec.structs.replace(bench.export(), device_key="gfx1151-40cu")
    write(bench, "v3")
    bench.workers.time_us = of_arms(head=10.7)
    foreign(bench)
    record = bench.check(settings=LOOSE)
    assert (said(record), state(record)) == (("regressed", "slower", True), "unplayable")


def test_main_is_judged_by_its_own_limits_which_have_been_reviewed_with_it(bench: Bench) -> None:
    """As by its own baselines: else a limit that was loosened on purpose would fail main once. What differs is said."""
    write(bench, "v2")
    bench.parent = bench.export()
    write(bench, "v3")
    bench.workers.time_us = of_arms(head=10.7)
    record = bench.check(settings=CaseSettings(tolerance=0.5))
    assert not record.decision.fails
    assert record.parent is not None
    assert record.parent.limits == (LimitEdit("tolerance", "default", "50 %", "here"),)


def test_how_far_results_may_lie_is_the_changes_own_and_said(bench: Bench) -> None:
    """It may have another reference; a reviewer sees that it allows itself more."""
    write(bench, "v2")
    bench.parent = bench.export()
    write(bench, "v3")
    bench.kernel.tolerance = Tolerance(1.0, 0.5, "rounding")
    bench.workers.outputs = lambda plan, inputs: {"y": 2 * inputs["x"] + 1}
    record = bench.check()
    assert record.decision.verdict is Verdict.UNCHANGED
    assert record.parent is not None
    assert record.parent.limits == (LimitEdit("results", "bit for bit", "within 1 + 0.5 of the reference", "here"),)
    assert any("judged by limits that this change states: results: within 1 + 0.5" in note for note in record.notes)
