"""Calibrating: what is measured beside itself, how often, what is counted, and when it gives up."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from scripted_workers import ScriptedMachine, ScriptedWorkers

from pytest_kernelperf import Kernel, Launch
from pytest_kernelperf.baseline.calibration_summary import CaseSummary, ModeSummary, bluntness, suiting_mode, summarise
from pytest_kernelperf.calibrate.calibrator import Calibrator, ScratchStore
from pytest_kernelperf.calibrate.copies import CopyingWorkers, copy_name
from pytest_kernelperf.calibrate.observation import observe
from pytest_kernelperf.calibrate.schedule import PASSES, Schedule
from pytest_kernelperf.calibrate.text import false_alarm_lines, render_outcome, short_lines, suit_lines
from pytest_kernelperf.calibrate.wish import MODES, Outcome, Wish
from pytest_kernelperf.case import list_cases
from pytest_kernelperf.model import Mode
from pytest_kernelperf.session.guard import Guard
from pytest_kernelperf.session.timing import policy_of
from pytest_kernelperf.settings import CaseSettings, Settings
from pytest_kernelperf.stats.rate import Rate

SOURCE = "kernel double_kernel v1\nkernel other_kernel v1\n"
TOLERANCE = 0.05  # the scripted device is a CPU


class Ticking:
    """A clock that goes on by one second with each measurement of a process."""

    def __init__(self, workers: ScriptedWorkers) -> None:
        self._workers = workers

    def __call__(self) -> float:
        return float(len(self._workers.requests))


class Bench:
    """A kernel of two variants and the parts of a calibration over scripted workers."""

    def __init__(self, folder: Path, copies: int = 4, modes: tuple[Mode, ...] = MODES, budget_s: float = 1e6) -> None:
        folder.mkdir(exist_ok=True)
        source = folder / "k.hip"
        source.write_text(SOURCE)
        self.kernel = Kernel("k", source=source, tokens=(8,))
        self.kernel.inputs(lambda tokens: {"x": np.ones(tokens, np.float32), "y": np.zeros(tokens, np.float32)})
        self.kernel.reference(lambda tokens, x: {"y": 2 * x})

        @self.kernel.variant
        def plain(tokens: int, device: Any) -> list[Launch]:
            return [Launch("double_kernel", grid=4, block=64, args=["x", "y"])]

        @self.kernel.variant(replaces="plain")
        def fused(tokens: int, device: Any) -> list[Launch]:
            return [Launch("other_kernel", grid=4, block=64, args=["x", "y"])]

        self.workers = ScriptedWorkers()
        self.fresh = 0
        self.settings = Settings(root=folder, baselines=folder / "own", out=folder / "out")
        copying = CopyingWorkers(self.workers, copies)
        store = ScratchStore(folder / "scratch")
        guard = Guard(self.settings, copying, ScriptedMachine(), store, 1, sleep=lambda seconds: None)
        wish = Wish("", budget_s, copies, modes)
        self.calibrator = Calibrator(guard, store, self._refresh, wish, Schedule(budget_s, 2), Ticking(self.workers))

    def _refresh(self) -> None:
        self.fresh += 1

    def visit(self, *names: str, settings: CaseSettings | None = None) -> Outcome:
        """Visit variants in order; return what came of it."""
        specs = {spec.doing.name: spec for spec in list_cases(self.kernel)}
        for name in names:
            if not self.calibrator.over:
                self.calibrator.check(specs[name], settings or self.settings.case, "test_k.py")
        return self.calibrator.outcome([str(specs[name].case) for name in ("plain", "fused")])


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench whose budget suffices for one group a visit: what is left is shared out evenly."""
    return Bench(tmp_path, budget_s=30.0)


def once(tmp_path: Path, **options: Any) -> Bench:
    """A bench with its own wish, whose visits have time for one group."""
    return Bench(tmp_path, budget_s=30.0, **options)


def test_identical_copies_are_unchanged_in_every_mode(bench: Bench) -> None:
    """Claim: three fresh processes, where the guard begins, three contrasts among four copies, no alarm."""
    outcome = bench.visit("plain")
    assert outcome.calibration is not None
    assert [(case.mode, case.gate) for case in outcome.calibration.cases] == [
        ("graph", True),
        ("loop", False),
        ("queued", False),
    ]
    for case in outcome.calibration.cases:
        (group,) = case.groups
        assert group.verdicts == ("unchanged",) * 3
        assert len(group.processes) == 3
        assert {len(process.change_ratios) for process in group.processes} == {3}
    assert bench.fresh == 1


def test_copies_are_asked_with_the_error_of_the_look_that_the_head_has_reached(bench: Bench) -> None:
    """Where that is less than blocks of both signs can show, what the head is called at more is not said of them."""
    bench.workers.noise = 0.02
    bench.workers.time_us = lambda arm, process: 11.0 if arm == "head" or arm == copy_name(3) else 10.0
    spec = next(spec for spec in list_cases(bench.kernel) if spec.doing.name == "plain")
    record = bench.calibrator.check(spec, bench.settings.case, "test_k.py")
    policy = policy_of(bench.settings.case, "cpu")
    as_seen = observe(record, policy)
    assert as_seen is not None
    assert as_seen.verdicts[0] == "regressed"
    assert as_seen.verdicts.count("regressed") == 2
    assert sum(process.slower for process in as_seen.processes) == 2 * len(as_seen.processes)
    strict = tuple(msgspec.structs.replace(found, look_alpha=1e-30) for found in record.comparisons)
    asked = observe(msgspec.structs.replace(record, comparisons=strict), policy)
    assert asked is not None
    assert asked.verdicts.count("regressed") == 1  # the head's own, which is the record's
    assert sum(process.slower for process in asked.processes) == 0


def test_the_copies_are_one_code_object_with_one_plan(bench: Bench) -> None:
    """Claim: head, baseline and all further copies run the very same bytes."""
    bench.visit("plain")
    compared = [request for request in bench.workers.requests if len(request.arms) > 1]
    assert compared
    for request in compared:
        assert [arm.name for arm in request.arms] == ["head", "baseline", "copy-3", "copy-4"]
        assert len({(arm.code.digest, arm.plan.digest, arm.rounds_ratio) for arm in request.arms}) == 1


def test_a_variant_is_not_compared_with_the_one_that_it_replaces(bench: Bench) -> None:
    """Claim: different code is no part of a calibration."""
    bench.visit("fused")
    assert all(arm.name != "replaced" for request in bench.workers.requests for arm in request.arms)


@pytest.mark.parametrize(("arm", "place"), [("head", 0), ("copy-3", 1), ("copy-4", 2)])
def test_a_copy_that_looks_slower_is_a_false_alarm(tmp_path: Path, arm: str, place: int) -> None:
    """Claim: whichever copy it is, the guard's own decision counts it, in its group and in each process."""
    bench = once(tmp_path, modes=("graph",))
    bench.workers.time_us = lambda name, process: 11.0 if name == arm else 10.0
    outcome = bench.visit("plain")
    assert outcome.calibration is not None
    (case,) = outcome.calibration.cases
    assert case.groups[0].verdicts[place] == "regressed"
    gate = summarise(outcome.calibration).gate
    assert gate is not None
    assert (gate.groups.events, gate.groups.checks, gate.groups.clusters_hit, gate.groups.clusters) == (1, 3, 1, 1)
    assert (gate.processes.events, gate.processes.checks) == (3, 9)


def test_spreads_within_and_between_processes_are_told_apart(tmp_path: Path) -> None:
    """Claim: noise of 0.4 % from block to block, processes 3 % apart in time, and copies as far apart as they are."""
    bench = once(tmp_path, modes=("graph",))
    bench.workers.noise = 0.004
    bench.workers.time_us = lambda arm, process: 10.0 * (1 + 0.03 * (process - 1))
    outcome = bench.visit("plain")
    assert outcome.calibration is not None
    (case,) = summarise(outcome.calibration).cases
    assert case.within_share == pytest.approx(0.004 * 2**0.5, rel=0.25)
    assert case.time_share == pytest.approx(0.03 * np.std(range(3), ddof=1), rel=0.1)
    assert case.between_share is not None
    assert case.between_share < 0.004
    assert case.detectable_ratio is not None
    assert 1 + TOLERANCE < case.detectable_ratio < 1.07


def test_each_group_has_fresh_processes_and_time_decides_how_many(tmp_path: Path) -> None:
    """Claim: with time for more, a visit takes more groups, each with workers of its own."""
    bench = Bench(tmp_path, modes=("graph",), budget_s=120.0)
    outcome = bench.visit(*["plain", "fused"] * PASSES)
    assert outcome.calibration is not None
    groups = [len(case.groups) for case in outcome.calibration.cases]
    assert bench.fresh == sum(groups)
    assert min(groups) >= 4
    assert 100 <= len(bench.workers.requests) <= 140


def test_a_case_that_time_does_not_reach_is_named(tmp_path: Path) -> None:
    """Claim: nothing is left out without a word."""
    outcome = Bench(tmp_path, budget_s=1.0).visit("plain", "fused")
    assert outcome.unreached == ("k fused at 8 tokens",)


def test_when_the_time_is_up_the_gates_mode_is_all_that_is_measured(tmp_path: Path) -> None:
    """Claim: an open case takes long in every mode, and the gate's is the one that was asked about."""
    outcome = Bench(tmp_path, budget_s=1.0).visit("plain")
    assert outcome.calibration is not None
    assert [(case.mode, case.gate) for case in outcome.calibration.cases] == [("graph", True)]


def test_a_wrong_case_is_left_out_with_its_reason(bench: Bench) -> None:
    """Claim: what the guard would fail for another reason is no false alarm, and is said."""
    bench.workers.outputs = lambda plan, inputs: {"y": 3 * np.asarray(inputs["x"])}
    outcome = bench.visit("plain")
    assert outcome.calibration is None
    assert outcome.problem.startswith("nothing was measured: wrong: 8 of 8 values")


def test_a_disturbed_group_is_thrown_away(tmp_path: Path) -> None:
    """Claim: what somebody disturbed for all of the guard's tries counts neither way, and its number is told."""
    bench = Bench(tmp_path, modes=("graph",), budget_s=120.0)
    specs = {spec.doing.name: spec for spec in list_cases(bench.kernel)}
    bench.calibrator.check(specs["plain"], bench.settings.case, "test_k.py")
    before = len(bench.visit().calibration.cases[0].groups)  # type: ignore[union-attr]
    bench.workers.disturbed = 9  # three processes, three tries
    outcome = bench.visit("plain")
    assert outcome.disturbed == 1
    assert outcome.calibration is not None
    assert len(outcome.calibration.cases[0].groups) > before
    assert {v for g in outcome.calibration.cases[0].groups for v in g.verdicts} == {"unchanged"}


def test_a_time_that_somebody_else_took_is_said_to_be_so(tmp_path: Path) -> None:
    """Claim: a budget that disturbances used up is not called too short."""
    bench = once(tmp_path)
    bench.workers.disturbed = 15
    assert "pid 7 (ffmpeg)" in bench.visit("plain").problem


def test_whoever_stays_ends_the_calibration_without_a_result(tmp_path: Path) -> None:
    """Claim: a contended machine is refused, with who it is."""
    bench = Bench(tmp_path)
    bench.workers.disturbed = 10_000
    outcome = bench.visit(*["plain", "fused"] * 4)
    assert outcome.calibration is None
    assert "pid 7 (ffmpeg)" in outcome.problem
    assert "nothing was stored" in outcome.problem
    assert bench.calibrator.over


def test_the_projects_own_baselines_are_left_alone(bench: Bench) -> None:
    """Claim: what is compared with lies in a scratch folder."""
    bench.visit("plain")
    assert not bench.settings.baselines.exists()


def test_a_marker_that_gates_in_another_mode_is_followed(tmp_path: Path) -> None:
    """Claim: the mode of the case is the gate's, whatever the run's is."""
    bench = once(tmp_path, modes=("graph",))
    outcome = bench.visit("plain", settings=replace(bench.settings.case, mode="queued"))
    assert outcome.calibration is not None
    assert [(case.mode, case.gate) for case in outcome.calibration.cases] == [("graph", False), ("queued", True)]


def test_modes_and_second_visits_that_the_time_did_not_reach_are_named(tmp_path: Path) -> None:
    """Claim: nobody takes one visit in one mode for all that was asked for; with time enough nothing is said."""
    short = Bench(tmp_path / "short", budget_s=1.0).visit("plain")
    assert short.missed_modes == (("k plain at 8 tokens", "queued"), ("k plain at 8 tokens", "loop"))
    assert short.visited_once == ("k plain at 8 tokens",)
    assert [line.partition(":")[0] for line in short_lines(short)] == [
        "not reached in mode queued",
        "not reached in mode loop",
        "not reached a second time",
    ]
    assert short.calibration is not None
    assert short_lines(short)[0] in render_outcome(short, summarise(short.calibration))
    assert short_lines(Bench(tmp_path / "long", budget_s=60.0).visit(*["plain", "fused"] * PASSES)) == []


# --- which mode suits -------------------------------------------------------------------------------


def mode(name: Mode, blunt: float | None, alarms: int = 0) -> ModeSummary:
    """A mode with a bluntness and false alarms."""
    rate = Rate(alarms, 100, alarms, 50)
    return ModeSummary(name, 4, rate, rate, rate, rate, 0.001, 0.001, 0.01, 1.02, 1.03, blunt, 0)


@pytest.mark.parametrize(
    ("modes", "suits"),
    [
        ((mode("graph", 1.0), mode("queued", 1.5), mode("loop", None)), "graph"),
        ((mode("graph", 1.1), mode("queued", 1.0)), "graph"),  # as good as equal
        ((mode("graph", 2.0), mode("queued", 1.0), mode("loop", 1.0)), "queued"),
        ((mode("graph", 1.0, alarms=1), mode("queued", 3.0)), "queued"),
        ((mode("graph", 1.0, alarms=3), mode("queued", 1.0, alarms=2)), "queued"),
        ((mode("graph", None), mode("loop", None)), "graph"),
    ],
)
def test_the_sharpest_mode_without_a_false_alarm_suits(modes: tuple[ModeSummary, ...], suits: Mode) -> None:
    """Claim: alarms before sharpness, sharpness before preference."""
    assert suiting_mode(modes) == suits


def shown(mode: Mode, tokens: int, time_us: float, detectable: float | None, bound: bool = False) -> CaseSummary:
    """A case with a smallest detectable slowdown."""
    return CaseSummary(
        "k", "plain", tokens, mode, False, time_us, 0.01, 1, 0, 0, 0, 0.001, None, None, detectable, bound
    )


def test_modes_are_compared_by_time_not_by_share() -> None:
    """Claim: launch gaps make a time longer, and what a change adds a smaller share of it; that is not sharpness."""
    cases = [shown("graph", 1, 1.0, 1.4), shown("queued", 1, 10.0, 1.08), shown("loop", 1, 10.0, 1.04)]
    assert bluntness(cases) == pytest.approx({"graph": 1.0, "queued": 2.0, "loop": 1.0})


def test_a_launch_bound_case_shows_nothing() -> None:
    """Claim: where the host's time is all that is seen, a slower kernel is not."""
    cases = [shown("graph", 1, 1.0, 1.4), shown("loop", 1, 4.0, 1.02, bound=True)]
    assert bluntness(cases) == {"graph": 1.0, "loop": None}


def test_the_report_says_rates_with_their_bounds_and_which_mode_suits_and_why(tmp_path: Path) -> None:
    """Claim: the sentences under the tables, whole."""
    bench = once(tmp_path, modes=("graph", "loop"))
    outcome = bench.visit("plain")
    assert outcome.calibration is not None
    summary = summarise(outcome.calibration)
    assert false_alarm_lines(summary) == [
        "false alarms as the project is gated: 0 of 3 comparisons in 1 group of processes; "
        "at most 95 % with 95 % confidence",
        "a process alone says slower: 0 of 9 comparisons in 3 processes; at most 63.2 % with 95 % confidence",
    ]
    (line,) = suit_lines(summary)
    assert re.fullmatch(
        r"mode graph suits: graph shows \d\.\d\d times the smallest slowdown; "
        r"loop shows \d\.\d\d times the smallest slowdown",
        line,
    )
    text = render_outcome(outcome, summary)
    assert "4 copies of each case's code object in groups of at most 3 fresh processes" in text
    assert "not reached: 1 case, k fused at 8 tokens the first" in text
    loud = msgspec.structs.replace(summary.modes[1], groups=Rate(1, 3, 1, 1), launch_bound=1, bluntness_ratio=None)
    alarmed = msgspec.structs.replace(summary, modes=(summary.modes[0], loud))
    assert suit_lines(alarmed)[0].endswith(
        "; loop shows nothing of most cases, has 1 false alarm, is launch-bound in 1 of 1 case"
    )
    elsewhere = msgspec.structs.replace(summary, suits="loop")
    assert suit_lines(elsewhere)[1] == (
        "the project gates in mode graph: set kernelperf_mode = loop and store baselines anew"
    )


# --- how time is shared out -------------------------------------------------------------------------


def test_what_is_left_is_shared_out_evenly() -> None:
    """Claim: ten visits of a budget of 100 s get 10 s each, and the last ones what is left."""
    schedule = Schedule(100.0, 5, passes=2)
    assert schedule.share_s(0.0, 0) == 10.0
    assert schedule.share_s(90.0, 8) == 5.0
    assert schedule.over(100.0, 9)
    assert schedule.over(50.0, 10)
    assert not schedule.over(99.0, 9)


def test_another_group_is_begun_where_half_of_it_fits() -> None:
    """Claim: a share of 10 s holds three groups of 4 s, not four."""
    assert Schedule.again(10.0, 8.0, 4.0)
    assert not Schedule.again(10.0, 12.0, 4.0)
