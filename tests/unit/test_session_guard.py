"""The guard's order of work: what is run, what is timed, what is asked again, and what comes out of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from guard_bench import SOURCE, Bench, slower
from scripted_workers import FACTS

from pytest_kernelperf import Floor, Launch
from pytest_kernelperf.baseline.store import BaselineStore
from pytest_kernelperf.errors import CompileError, DeviceError, WorkerCrashed, WorkerHung
from pytest_kernelperf.kernel import Variant
from pytest_kernelperf.model import Verdict
from pytest_kernelperf.session.ending import build_run, end_run
from pytest_kernelperf.settings import CaseSettings, Target


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench in a folder of its own."""
    return Bench(tmp_path)


def test_a_case_without_baseline_is_new_and_timed_in_one_process(bench: Bench) -> None:
    """Seven samples in one process show a time; storing takes more."""
    record = bench.check()
    assert record.decision.verdict is Verdict.NEW
    assert (record.time_us, record.moved_bytes) == (pytest.approx(10, rel=0.01), 64)
    assert [(r.blocks, len(r.arms)) for r in bench.workers.requests] == [(7, 1)]
    assert bench.workers.started == [1]


def test_an_accepted_case_is_identical_and_nothing_is_timed(bench: Bench) -> None:
    """Same instructions, plan and inputs: there is nothing to time, and the stored time is shown as stored."""
    bench.accept("plain", "fused")
    bench.workers.requests.clear()
    bench.machine.asked.clear()
    record = bench.check()
    assert record.decision.verdict is Verdict.IDENTICAL
    assert record.time_is_stored
    assert record.time_us == pytest.approx(10, rel=0.01)
    assert not bench.workers.requests
    assert "exclusive" not in bench.machine.asked


def test_a_comment_in_the_source_changes_nothing(bench: Bench) -> None:
    """The instructions decide, not the text."""
    bench.accept("plain", "fused")
    bench.source.write_text("// a comment\n" + SOURCE)
    assert bench.check().decision.verdict is Verdict.IDENTICAL


def test_a_change_of_one_kernel_leaves_the_others_identical(bench: Bench) -> None:
    """Only cases that launch the changed kernel are timed."""
    bench.accept("plain", "fused")
    bench.source.write_text(SOURCE.replace("other_kernel v1", "other_kernel v2"))
    assert bench.check("plain").decision.verdict is Verdict.IDENTICAL
    assert bench.check("fused").decision.verdict is Verdict.UNCHANGED


def test_a_slower_kernel_is_regressed_with_its_numbers(bench: Bench) -> None:
    """The accepted binary and the new one alternate in three processes, which are enough, with the accepted plan."""
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(1.33)
    bench.workers.requests.clear()
    record = bench.check()
    assert record.decision.verdict is Verdict.REGRESSED
    assert record.decision.fails
    comparison = record.comparisons[0]
    assert comparison.change_ratio == pytest.approx(1.33, rel=0.01)
    assert (comparison.slower, comparison.processes) == (3, 3)
    assert [arm.name for arm in bench.workers.requests[0].arms] == ["head", "baseline"]
    assert bench.workers.requests[0].arms[1].code.data != bench.workers.requests[0].arms[0].code.data


def test_a_faster_kernel_is_improved(bench: Bench) -> None:
    """Improvement is tested like a slowdown."""
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(0.8)
    assert bench.check().decision.verdict is Verdict.IMPROVED


def test_a_disturbed_process_is_measured_again_after_a_pause(bench: Bench) -> None:
    """One visitor costs a pause, not a verdict, and none of the disturbed samples are kept."""
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.disturbed = 1
    record = bench.check()
    assert record.decision.verdict is Verdict.UNCHANGED
    assert len(bench.slept) == 1
    assert not any(measurement.contended_by for measurement in record.measurements)


def test_a_busy_machine_is_invalid_and_never_regressed(bench: Bench) -> None:
    """After two retries the case fails as not measured, whatever the samples say."""
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(3.0)
    bench.workers.disturbed = 10**6
    record = bench.check()
    assert (record.decision.verdict, record.decision.fails) == (Verdict.INVALID, True)
    assert "ffmpeg" in record.decision.reason


def test_a_busy_machine_does_not_fail_a_case_that_has_nothing_to_compare_with(bench: Bench) -> None:
    """It stays new, untimed, and without waiting; storing it beside somebody else is refused."""
    bench.workers.disturbed = 10**6
    record = bench.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.NEW, "new_untimed")
    assert not bench.slept
    assert record.time_us is None
    bench.settings = dataclasses.replace(bench.settings, update_reason="first")
    assert bench.check().decision.verdict is Verdict.INVALID


def test_a_run_that_times_nothing_still_judges_results_and_workgroups(bench: Bench) -> None:
    """A hosted machine's times mean nothing, so none are taken, whatever baselines there are."""
    bench.accept("plain")
    bench.settings = dataclasses.replace(bench.settings, untimed=True)
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(3.0)
    record = bench.check()
    assert (record.decision.verdict, record.decision.code) == (Verdict.NEW, "untimed")
    assert (record.time_us, record.measurements) == (None, ())
    bench.workers.outputs = lambda plan, inputs: {"y": np.asarray(inputs["x"])}
    assert bench.check().decision.verdict is Verdict.WRONG


def test_a_comparison_with_the_replaced_variant_that_was_disturbed_is_not_believed(bench: Bench) -> None:
    """A new case is not blamed; one that is to be stored fails as not measured."""
    bench.settings = dataclasses.replace(bench.settings, update_reason="first")
    bench.workers.time_us = lambda arm, process: {"head": 12.0, "replaced": 10.0}[arm]
    measured, real = [], bench.workers.measure

    def disturb_queued(process: int, request: Any, inputs: Any) -> Any:
        bench.workers.disturbed = int(request.mode == "queued")
        measured.append(request.mode)
        return real(process, request, inputs)

    bench.workers.measure = disturb_queued  # type: ignore[method-assign]
    record = bench.check("fused")
    assert (record.decision.verdict, record.decision.code) == (Verdict.INVALID, "busy")
    assert measured.count("queued") == 9


def test_a_machine_that_stays_busy_is_not_waited_for_case_after_case(bench: Bench) -> None:
    """Three cases wait their pauses out; after them each gets one try, until one is measured."""
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.disturbed = 10**6
    guard = bench.guard()
    pauses = []
    for _ in range(5):
        bench.slept.clear()
        record = guard.check(bench.spec("plain"), bench.settings.case, "test_k.py")
        assert record.decision.verdict is Verdict.INVALID
        assert record.time_us is None
        pauses.append(len(bench.slept))
    assert pauses == [2, 2, 2, 0, 0]


def test_a_wrong_result_is_said_before_anything_is_timed(bench: Bench) -> None:
    """A kernel that is fast and wrong is wrong."""
    bench.workers.outputs = lambda plan, inputs: {"y": np.asarray(inputs["x"])}
    record = bench.check()
    assert record.decision.verdict is Verdict.WRONG
    assert record.mismatch is not None
    assert (record.mismatch.differing, record.mismatch.values) == (8, 8)
    assert not bench.workers.requests


def test_a_starved_launch_is_said_before_anything_is_timed(bench: Bench) -> None:
    """Three workgroups on four compute units."""
    bench.grid = 3
    record = bench.check()
    assert record.decision.verdict is Verdict.STARVED
    assert not bench.workers.requests


def test_starvation_is_judged_by_the_targets_compute_units(bench: Bench) -> None:
    """The plan on the target is what counts; what runs is the plan on this device."""
    bench.settings = dataclasses.replace(bench.settings, target=Target("gfx1151", 40))
    record = bench.check()
    assert record.decision.verdict is Verdict.STARVED
    assert "40 compute units" in record.decision.reason
    assert "gfx1151" in record.decision.reason


def test_a_floor_of_the_plan_stands_where_the_target_cannot_be_filled(bench: Bench) -> None:
    """Ten tiles of forty compute units are meant; nine are not."""
    bench.settings = dataclasses.replace(bench.settings, target=Target("gfx1151", 40))

    def ten_tiles(tokens: int, device: Any) -> list[Launch]:
        floor = Floor(10, "ten tiles") if device.compute_units == 40 else None
        return [Launch("double_kernel", grid=bench.grid, block=64, args=["x", "y"], underfill=floor)]

    bench.kernel.variants["plain"] = dataclasses.replace(bench.kernel.variants["plain"], function=ten_tiles)
    bench.grid = 10
    assert bench.check().decision.verdict is Verdict.NEW
    bench.grid = 9
    assert bench.check().decision.verdict is Verdict.STARVED


def test_an_expected_starvation_is_noted_and_does_not_fail(bench: Bench) -> None:
    """The lesson's bad example stays in the suite."""
    bench.grid = 1
    plain = bench.kernel.variants["plain"]
    bench.kernel.variants["plain"] = Variant("plain", plain.function, None, None, {8: "kept to show it"})
    record = bench.check()
    assert (record.decision.verdict, record.decision.fails) == (Verdict.NEW, False)
    assert any("kept to show it" in note for note in record.notes)


def test_a_mutation_that_the_reference_notices_is_caught(bench: Bench) -> None:
    """It is compiled with its own options, and neither counted nor timed."""
    bench.workers.outputs = lambda plan, inputs: {"y": np.asarray(inputs["x"])}
    assert bench.check("broken").decision.verdict is Verdict.CAUGHT
    assert bench.spec("plain").kernel is bench.spec("broken").kernel
    assert not bench.workers.requests


def test_a_mutation_that_nobody_notices_fails(bench: Bench) -> None:
    """A test that cannot fail proves nothing."""
    record = bench.check("broken")
    assert (record.decision.verdict, record.decision.fails) == (Verdict.UNNOTICED, True)


def test_a_variant_slower_than_the_one_it_replaces_fails(bench: Bench) -> None:
    """Compared queue kept full, launch gaps included."""
    bench.workers.time_us = lambda arm, process: {"head": 12.0, "replaced": 10.0}[arm]
    record = bench.check("fused")
    assert record.decision.verdict is Verdict.SLOWER_THAN_REPLACED
    assert bench.workers.requests[-1].mode == "queued"


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (WorkerCrashed("it died"), Verdict.CRASHED),
        (WorkerHung("it hung"), Verdict.HUNG),
        (CompileError("k plain at 8 tokens, k.hip:1: expected ;"), Verdict.FAILED),
    ],
)
def test_a_worker_that_does_not_answer_is_a_verdict(bench: Bench, error: Any, verdict: Verdict) -> None:
    """The sentence is the reason; the next case goes on; the source is not compiled again for it."""
    bench.workers.failure = error
    guard = bench.guard()
    records = [guard.check(bench.spec(name), bench.settings.case, "test_k.py") for name in ("plain", "fused")]
    assert [record.decision.verdict for record in records] == [verdict, verdict]
    assert records[0].decision.reason == str(error)
    assert records[1].decision.reason == str(error).replace("plain", "fused")
    assert len(bench.workers.compiled) == 1


def test_an_error_in_the_users_function_names_its_line(bench: Bench) -> None:
    """Not a traceback from inside the guard."""

    def plan(tokens: int, device: Any) -> list[Launch]:
        raise KeyError("tiles")

    bench.kernel.variants["plain"] = Variant("plain", plan)
    record = bench.check()
    assert record.decision.verdict is Verdict.FAILED
    assert "KeyError: 'tiles'" in record.decision.reason
    assert f"{Path(__file__).name}:" in record.decision.reason


@pytest.mark.parametrize("amount", [lambda tokens: 1.5, lambda tokens: 0, lambda tokens: 1 // 0, lambda tokens: 2**80])
@pytest.mark.parametrize("name", ["moved_bytes", "operations"])
def test_bytes_and_operations_are_positive_whole_numbers(bench: Bench, name: str, amount: Callable[[int], Any]) -> None:
    """Anything else, or an error in the function, is one sentence."""
    bench.kernel.variants["plain"] = dataclasses.replace(bench.kernel.variants["plain"], **{name: amount})
    record = bench.check()
    assert record.decision.verdict is Verdict.FAILED
    assert f"k plain at 8 tokens, {name}" in record.decision.reason


def test_stated_operations_are_recorded(bench: Bench) -> None:
    """A variant that states none has none."""
    bench.kernel.variants["plain"] = dataclasses.replace(
        bench.kernel.variants["plain"], operations=lambda tokens: 2 * tokens
    )
    assert [bench.check(name).operations for name in ("plain", "fused")] == [16, None]


def test_what_cannot_be_kept_for_its_baseline_fails_the_case(bench: Bench) -> None:
    """A full disk, or a file where the output folder should be."""
    bench.settings = dataclasses.replace(bench.settings, out=bench.source)
    record = bench.check()
    assert record.decision.verdict is Verdict.FAILED
    assert "cannot be kept for its baseline" in record.decision.reason


def test_a_damaged_shelf_is_written_anew(bench: Bench) -> None:
    """What a killed or hostile run left in the output folder ends nobody's update."""
    bench.accept("plain")
    for path in (bench.settings.out / "objects").iterdir():
        path.write_text("x")
    (bench.settings.baselines / FACTS.key / "k.json").unlink()
    assert any(line.startswith("stored") for line in bench.accept("plain"))


def test_a_loaded_profiler_makes_the_case_invalid_and_is_named(bench: Bench) -> None:
    """Traced times are no times."""
    bench.workers.profilers = ("LD_PRELOAD=librocprofiler-sdk-tool.so",)
    record = bench.check()
    assert record.decision.verdict is Verdict.INVALID
    assert "librocprofiler-sdk-tool.so" in record.decision.reason


def test_a_damaged_baseline_fails_its_cases(bench: Bench) -> None:
    """A baseline that cannot be read guards nothing, so nothing may pass for guarded."""
    bench.accept("plain")
    path = bench.settings.baselines / FACTS.key / "k.json"
    path.write_text(path.read_text()[:-200])
    record = bench.check()
    assert record.decision.verdict is Verdict.FAILED
    assert "k.json" in record.decision.reason


def test_a_baseline_of_another_mode_fails_instead_of_passing_for_new(bench: Bench) -> None:
    """A changed setting must not switch the guard off; storing anew takes a reason."""
    bench.accept("plain")
    queued = CaseSettings(mode="queued")
    record = bench.check(settings=queued)
    assert (record.decision.verdict, record.decision.fails) == (Verdict.FAILED, True)
    assert "taken in graph mode" in record.decision.reason
    bench.settings = dataclasses.replace(bench.settings, update_reason="queued now", case=queued)
    record = bench.check(settings=queued)
    assert record.decision.verdict is Verdict.NEW
    assert any("measured afresh" in note for note in record.notes)


def test_a_baseline_of_another_cache_state_fails_too(bench: Bench) -> None:
    """Cold is compared with cold only; stored anew, the case is cold in record and baseline."""
    cold = CaseSettings(cache="cold")
    bench.accept("plain")
    bench.settings = dataclasses.replace(bench.settings, last_level_bytes=1000)
    record = bench.check(settings=cold)
    assert (record.decision.verdict, record.decision.fails) == (Verdict.FAILED, True)
    assert "taken with warm caches, and cache states are never compared" in record.decision.reason
    bench.settings = dataclasses.replace(bench.settings, case=cold)
    lines = bench.accept("plain")
    assert any("10.00 us graph cold" in line for line in lines)
    assert bench.check(settings=cold).decision.verdict is Verdict.IDENTICAL
    assert bench.check(settings=cold).cache == "cold"
    assert "taken with cold caches" in bench.check(settings=CaseSettings()).decision.reason


def test_what_is_cold_is_asked_of_the_workers(bench: Bench) -> None:
    """The size of the caches goes to every measurement of the case, that with the replaced variant among them."""
    bench.accept("plain")
    bench.workers.requests.clear()
    bench.check("fused")
    assert {request.cold_bytes for request in bench.workers.requests} == {0}
    bench.workers.requests.clear()
    bench.settings = dataclasses.replace(bench.settings, last_level_bytes=1000)
    bench.check("fused", CaseSettings(cache="cold"))
    assert {(request.mode, request.cold_bytes) for request in bench.workers.requests} == {
        ("graph", 1000),
        ("queued", 1000),
    }


def test_caches_of_unknown_size_are_said_and_nothing_is_timed(bench: Bench) -> None:
    """The test device says nothing of its caches."""
    record = bench.check(settings=CaseSettings(cache="cold"))
    assert record.decision.verdict is Verdict.FAILED
    assert "set kernelperf_last_level_bytes" in record.decision.reason
    assert not bench.workers.requests


def test_a_plan_that_cannot_be_captured_goes_on_as_it_was_stored(bench: Bench) -> None:
    """It was measured queued instead of as a graph, is stored so, and is compared so."""
    measure = bench.workers.measure

    def fall_back(process: int, request: Any, inputs: Any) -> Any:
        taken = measure(process, msgspec.structs.replace(request, mode="queued"), inputs)
        return msgspec.structs.replace(taken, fallback="cannot be captured, so it is queued")

    bench.workers.measure = fall_back  # type: ignore[method-assign]
    bench.accept("plain")
    assert bench.check().decision.verdict is Verdict.IDENTICAL
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    record = bench.check()
    assert (record.decision.verdict, record.mode) == (Verdict.UNCHANGED, "queued")


def test_changed_inputs_cannot_be_compared_and_fail(bench: Bench) -> None:
    """The accepted plan needs its buffers as they were."""
    bench.accept("plain")
    bench.kernel._inputs = lambda tokens: {"x": np.ones(16, np.float32), "y": np.zeros(16, np.float32)}
    record = bench.check()
    assert record.decision.verdict is Verdict.FAILED
    assert "buffer x in the shape and type that it had" in record.decision.reason
    assert "--update-baselines" in record.decision.reason


def hold_days(bench: Bench, *days: str) -> None:
    """Let the stored case have five processes of each of these days, and be unloadable from now on."""
    store = BaselineStore(bench.settings.baselines)
    baseline = store.read(FACTS.key, "k")
    assert baseline is not None
    case = baseline.cases[0]
    processes = tuple(msgspec.structs.replace(process, day=day) for day in days for process in case.processes)
    store.write(
        FACTS.key,
        msgspec.structs.replace(baseline, cases=(msgspec.structs.replace(case, processes=processes),)),
        {},
        {},
    )
    measure, run = bench.workers.measure, bench.workers.run
    accepted = case.object_digest

    def measure_unless_old(process: int, request: Any, inputs: Any) -> Any:
        if any(arm.code.digest == accepted for arm in request.arms):
            raise DeviceError("hipModuleLoadData: no kernel image for this device")
        return measure(process, request, inputs)

    def run_unless_old(case: Any, plan: Any, code: Any, inputs: Any, outputs: Any) -> Any:
        if code.digest == accepted:
            raise DeviceError("hipModuleLoadData: no kernel image for this device")
        return run(case, plan, code, inputs, outputs)

    bench.workers.measure, bench.workers.run = measure_unless_old, run_unless_old  # type: ignore[method-assign]
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.requests.clear()


@pytest.mark.parametrize(
    ("ratio", "verdict", "code"),
    [(1.0, Verdict.UNCHANGED, "stored"), (1.2, Verdict.REGRESSED, "slower_than_stored")],
)
def test_stored_times_gate_where_the_accepted_binary_does_not_run_any_more(
    bench: Bench, ratio: float, verdict: Verdict, code: str
) -> None:
    """From three days' processes on, in as many of today as their test needs: 15 stored ones take seven."""
    bench.accept("plain")
    hold_days(bench, "2026-01-02", "2026-01-03", "2026-01-04")
    bench.workers.time_us = slower(ratio)
    record = bench.check()
    assert (record.decision.verdict, record.decision.code) == (verdict, code)
    assert "does not run here any more (hipModuleLoadData: no kernel image" in record.decision.reason
    assert len(bench.workers.requests) == 7
    assert record.stored is not None
    assert (record.stored.arm, record.stored.gated, record.stored.stored_days) == ("head", True, 3)


@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_with_fewer_days_stored_times_are_shown_and_the_case_is_not_proven(bench: Bench, ratio: float) -> None:
    """Never regressed by them, and never passed by them."""
    bench.accept("plain")
    hold_days(bench, "2026-01-02", "2026-01-03")
    bench.workers.time_us = slower(ratio)
    record = bench.check()
    assert (record.decision.verdict, record.decision.code, record.decision.fails) == (
        Verdict.UNDECIDED,
        "not_gated",
        True,
    )
    assert (
        "too little stored: 10 stored processes from 2 days, at least 10 from 3 days are needed"
        in record.decision.reason
    )
    assert "--update-baselines=REASON" in record.decision.reason


def test_a_failure_that_is_not_the_accepted_binarys_is_not_blamed_on_it(bench: Bench) -> None:
    """The head fails while it is timed, and the accepted binary runs: the case failed."""
    bench.accept("plain")
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))

    def fail(process: int, request: Any, inputs: Any) -> Any:
        raise WorkerCrashed("the worker died of signal 11")

    bench.workers.measure = fail  # type: ignore[method-assign]
    assert bench.check().decision.verdict is Verdict.CRASHED


def test_full_times_identical_cases_too(bench: Bench) -> None:
    """Asked for, the identical case is measured and is unchanged."""
    bench.accept("plain")
    bench.settings = dataclasses.replace(bench.settings, full=True)
    record = bench.check()
    assert record.decision.verdict is Verdict.UNCHANGED
    assert record.stored is not None


def test_an_update_stores_what_passed_and_refuses_the_rest(bench: Bench) -> None:
    """Five fresh processes each; a wrong case is not stored."""
    lines = bench.accept("plain")
    assert any(line.startswith("stored") and "plain" in line for line in lines)
    assert len(bench.workers.requests) == 5
    bench.workers.outputs = lambda plan, inputs: {"y": np.asarray(inputs["x"])}
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    before = (bench.settings.baselines / FACTS.key / "k.json").read_bytes()
    lines = bench.accept("plain")
    assert any(line.startswith("refused") for line in lines)
    assert (bench.settings.baselines / FACTS.key / "k.json").read_bytes() == before


def test_an_update_without_reason_does_not_accept_a_slowdown(bench: Bench) -> None:
    """A slower baseline needs a reason that a reviewer can read."""
    bench.accept("plain")
    before = (bench.settings.baselines / FACTS.key / "k.json").read_bytes()
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.time_us = slower(1.33)
    bench.settings = dataclasses.replace(bench.settings, update_reason="")
    record = bench.check()
    assert record.decision.verdict is Verdict.REGRESSED
    run = build_run(bench.settings, FACTS, {}, [record], datetime(2026, 1, 3, tzinfo=timezone.utc))
    end_run(run, bench.settings, BaselineStore(bench.settings.baselines), lambda kernel, module: None)
    assert (bench.settings.baselines / FACTS.key / "k.json").read_bytes() == before


@pytest.mark.parametrize("page", [True, False])
def test_a_run_that_ends_in_a_named_folder_has_a_page_there(bench: Bench, page: bool) -> None:
    """It is written beside the run file, and a line says where; elsewhere neither."""
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    settings = dataclasses.replace(bench.settings, page=page)
    run = build_run(settings, FACTS, {}, [bench.check()], datetime(2026, 1, 3, tzinfo=timezone.utc))
    ending = end_run(run, settings, BaselineStore(settings.baselines), lambda kernel, module: None)
    assert ending.failures == ()
    path = settings.out / "report.html"
    assert ending.lines == ((f"the run as a page: {path}",) if page else ())
    assert path.exists() is page


def test_what_cannot_run_here_is_skipped_with_its_reason(bench: Bench) -> None:
    """It is neither run nor timed nor stored, and does not fail; its mutations neither."""
    bench.workers.cannot_run = "k.hip needs a GPU"
    bench.workers.outputs = None  # type: ignore[assignment]
    for name in ("plain", "fused", "broken"):
        record = bench.check(name)
        assert (record.decision.verdict, record.decision.fails) == (Verdict.SKIPPED, False)
        assert (record.decision.code, record.decision.reason) == ("needs_architecture", "k.hip needs a GPU")
    assert not bench.workers.requests
    assert not bench.machine.asked.count("exclusive")
    assert not (bench.settings.out / "objects").exists()
    assert any("refused" in line and "skipped" in line for line in bench.accept("plain"))


def test_what_cannot_run_here_is_starved_all_the_same(bench: Bench) -> None:
    """A plan needs no device to be counted, on the target's compute units."""
    bench.workers.cannot_run = "k.hip needs a GPU"
    bench.settings = dataclasses.replace(bench.settings, target=Target("gfx1151", 40))
    record = bench.check()
    assert (record.decision.verdict, record.decision.fails) == (Verdict.STARVED, True)
    assert "40 compute units (gfx1151)" in record.decision.reason


def test_what_cannot_run_here_is_checked_against_its_code_where_there_is_some(bench: Bench) -> None:
    """A renamed kernel is found; where nothing could be compiled nothing can be said."""
    bench.workers.cannot_run = "k.hip needs a GPU"
    bench.source.write_text(SOURCE.replace("double_kernel", "renamed"))
    assert bench.check().decision.verdict is Verdict.FAILED
    bench.source.write_text("")
    assert bench.check().decision.verdict is Verdict.SKIPPED


def test_a_ready_code_object_is_guarded_like_a_source(bench: Bench) -> None:
    """Its bytes reach the worker, and another file of the same kernels is identical or timed as usual."""
    bench.kernel.source, bench.kernel.build = bench.folder / "k.hsaco", "object"
    bench.kernel.source.write_text(SOURCE)
    bench.accept("plain", "fused")
    assert bench.check().decision.verdict is Verdict.IDENTICAL
    bench.kernel.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    assert bench.check().decision.verdict is Verdict.UNCHANGED


def test_other_registers_than_the_accepted_ones_are_noted(bench: Bench) -> None:
    """They are in the record, and a change of them stands beside the case, whatever its verdict."""
    bench.workers.resources = {"vgprs": 32, "spills": 0}
    bench.accept("plain")
    assert not bench.check().notes
    bench.source.write_text(SOURCE.replace("double_kernel v1", "double_kernel v2"))
    bench.workers.resources = {"vgprs": 64, "spills": 16}
    record = bench.check()
    assert record.resources == {"double_kernel": {"vgprs": 64, "spills": 16}}
    assert "double_kernel: VGPRs 32 → 64, spills 0 → 16 (accepted → now)" in record.notes
    assert record.resources_changed == ("double_kernel: VGPRs 32 → 64, spills 0 → 16 (accepted → now)",)


def test_another_launch_than_the_accepted_one_is_recorded(bench: Bench) -> None:
    """Its workgroups then and now; an unchanged plan says nothing."""
    bench.grid = 40
    bench.accept("plain")
    assert bench.check().launches_changed == ()
    bench.grid = 60
    assert bench.check().launches_changed == ("double_kernel: workgroups 40 → 60 (grid 40 → 60) (accepted → now)",)


def test_times_of_a_scripted_clock_have_a_device_key_of_their_own(bench: Bench) -> None:
    """They can never become or meet a device's baselines."""
    bench.settings = dataclasses.replace(bench.settings, clock_script=Path("script.json"))
    assert bench.guard().facts.key == "scripted-cpu-test"
