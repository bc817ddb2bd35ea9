"""The pooled drift test: seen where the machine moved, silent where it did not, with real samples of an H200."""

from __future__ import annotations

import collections
import gzip
import json
import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.stats.drift import ALPHA, ALPHA_FEW, FEWEST_CASES, CaseTimes, find_drift

DATA = Path(__file__).parents[1] / "data" / "h200"
SPLITS = 400


@lru_cache
def medians(mode: str) -> dict[tuple[str, int], list[float]]:
    """Each case's median in us in each of the 20 processes of identical code."""
    found: dict[tuple[str, int], dict[int, float]] = collections.defaultdict(dict)
    with gzip.open(DATA / ("aa_loop.jsonl.gz" if mode == "loop" else "aa_queued_graph.jsonl.gz"), "rt") as lines:
        for row in map(json.loads, lines):
            if row.get("mode", "loop") == mode:
                found[row["variant"], row["tokens"]][row["process"]] = float(np.median(row["us"]))
    return {case: [of[process] for process in sorted(of)] for case, of in found.items()}


def split(
    mode: str, seed: int, stored: int, shift: float, cases: tuple[tuple[str, int], ...], today: int
) -> list[CaseTimes]:
    """Processes drawn for today, their times shifted, and others drawn as the stored ones."""
    order = np.random.default_rng(seed).permutation(20)
    times = medians(mode)
    return [
        CaseTimes(
            {f"process {n}": times[case][p] * shift for n, p in enumerate(order[:today])},
            {
                f"2026-01-0{1 + n // 5}, process {n % 5}": times[case][p]
                for n, p in enumerate(order[today : today + stored])
            },
        )
        for case in cases or times
    ]


def moved(mode: str, stored: int, shift: float = 1.0, cases: tuple[tuple[str, int], ...] = (), today: int = 5) -> float:
    """How often the test says so, over many ways to split the processes."""
    found = [find_drift(split(mode, seed, stored, shift, cases, today), 0.01) for seed in range(SPLITS)]
    return sum(drift is not None and drift.moved for drift in found) / SPLITS


@pytest.mark.parametrize("mode", ["graph", "queued", "loop"])
@pytest.mark.parametrize(("today", "stored"), [(5, 5), (5, 15), (3, 5), (3, 3)])
def test_identical_code_on_one_machine_moves_no_more_often_than_alpha(mode: str, today: int, stored: int) -> None:
    """All cases together, the two-speed one among them; 2.33 standard deviations are allowed for the splits drawn."""
    assert moved(mode, stored, today=today) <= ALPHA + 2.33 * math.sqrt(ALPHA * (1 - ALPHA) / SPLITS)


def test_a_move_of_two_percent_is_seen_in_graph_mode_and_never_imagined() -> None:
    """Processes differ by 0.1 to 0.8 % there; one case has two speeds 27 % apart and is one voice of twelve."""
    assert moved("graph", 5) == 0
    assert moved("graph", 5, 1.02) == 1
    assert moved("graph", 15, 1 / 1.02) == 1
    assert moved("graph", 5, today=3) == 0
    assert moved("graph", 5, 1.02, today=3) >= 0.99


def test_a_two_speed_case_does_not_make_a_drift_among_two_steady_ones() -> None:
    """Whichever of its speeds today's processes have."""
    cases = (("fused_one_block_per_token", 512), ("separate", 512), ("fused_one_block_per_token", 64))
    assert moved("graph", 5, cases=cases) == 0
    assert moved("graph", 5, 1.02, cases=cases) > 0.95


def test_a_process_is_one_number_however_many_cases_it_measured() -> None:
    """Two hundred cases that share the moods of five processes are five numbers, not a thousand."""
    mood = np.random.default_rng(1).normal(0, 0.02, 10)
    cases = [
        CaseTimes(
            {f"process {n}": 10 * math.exp(mood[n]) for n in range(5)},
            {f"stored {n}": 10 * math.exp(mood[5 + n]) for n in range(5)},
        )
        for _ in range(200)
    ]
    many, few = find_drift(cases, 0.01), find_drift(cases[:FEWEST_CASES], 0.01)
    assert many is not None
    assert few is not None
    assert (many.p_value, many.processes, many.cases) == (few.p_value, 5, 200)
    assert many.p_value == pytest.approx(stats.mannwhitneyu(mood[:5], mood[5:], method="exact").pvalue)


def test_cases_of_other_levels_and_days_are_pooled() -> None:
    """Levels cancel; a stored process that measured some cases only counts with these."""
    cases = [
        CaseTimes(
            {f"process {n}": level * 1.03 * (1 + 0.0001 * n) for n in range(5)},
            {f"day {level % 2}, process {n}": level * (1 + 0.0001 * n) for n in range(5)},
        )
        for level in (1.0, 2.0, 30.0, 400.0)
    ]
    drift = find_drift(cases, 0.01)
    assert drift is not None
    assert (drift.moved, drift.processes, drift.stored_processes) == (True, 5, 10)
    assert drift.change_ratio == pytest.approx(1.03)
    assert all(ratio == pytest.approx(1.03, abs=0.002) for ratio in drift.per_process_ratio)


@pytest.mark.parametrize("change", [1.009, 1 / 1.009])
def test_a_change_within_the_tolerance_is_none(change: float) -> None:
    """However certain it is."""
    times = {f"{n}": 10 + 0.0001 * n for n in range(8)}
    cases = [CaseTimes({n: t * change for n, t in times.items()}, times)] * 3
    drift = find_drift(cases, 0.01)
    assert drift is not None
    assert drift.p_value <= ALPHA
    assert not drift.moved


@pytest.mark.parametrize(
    ("cases", "processes", "reason"),
    [
        (2, 5, "2 cases timed, at least 3 are needed"),
        (3, 2, "2 processes against 2 stored, at least 3 of each are needed"),
    ],
)
def test_too_little_says_why_it_says_nothing(cases: int, processes: int, reason: str) -> None:
    """However far today lies off."""
    times = {f"{n}": 10 + 0.001 * n for n in range(processes)}
    drift = find_drift([CaseTimes({n: 2 * t for n, t in times.items()}, times)] * cases, 0.01)
    assert drift is not None
    assert (drift.moved, drift.p_value, drift.reason) == (False, 1.0, reason)
    assert drift.change_ratio == pytest.approx(2)


def test_few_processes_must_lie_apart_completely_and_by_students_test() -> None:
    """As scipy says it; one process of today among the stored ones, and nothing is proven."""
    stored = {f"{n}": 10 + 0.01 * n for n in range(5)}
    for today, apart in (({"a": 10.5, "b": 10.51, "c": 10.53}, True), ({"a": 10.5, "b": 10.51, "c": 10.03}, False)):
        drift = find_drift([CaseTimes(today, stored)] * 3, 0.01)
        assert drift is not None
        p_value = stats.ttest_ind(np.log(list(today.values())), np.log(list(stored.values()))).pvalue
        assert drift.p_value == pytest.approx(p_value if apart else 1.0)
        assert (drift.moved, drift.alpha) == (apart, ALPHA_FEW)


def test_without_cases_there_is_no_question() -> None:
    """A run that timed nothing says nothing of the machine."""
    assert find_drift([], 0.01) is None
    assert find_drift([CaseTimes({}, {"a": 1.0}), CaseTimes({"a": 1.0}, {})], 0.01) is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0, -1.0])
def test_times_that_are_none_are_refused(bad: float) -> None:
    """They would otherwise rank somewhere."""
    with pytest.raises(KernelperfError, match="positive"):
        find_drift([CaseTimes({"a": bad}, {"a": 1.0})], 0.01)
