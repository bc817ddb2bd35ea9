"""The verdicts benchmark's arithmetic: bounds clustered by process, truth, bands, groups and runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from verdict.bounds import Outcome, count_units, exact_interval, rate_of
from verdict.checks import Check
from verdict.contrasts import Case, Contrast, Pair, Suite
from verdict.groups import choose_groups, choose_sides
from verdict.score import equally_fast, run_outcomes, score
from verdict.truth import BANDS, Truth, band_of, truth_of

SUITE = Suite("file", "graph", "")


def outcome(alarmed: bool, *processes: int) -> Outcome:
    """A check of some processes."""
    return Outcome(tuple(("file", process) for process in processes), alarmed)


def test_the_exact_interval_is_clopper_and_pearsons() -> None:
    """Beside scipy's own, at some counts."""
    for hits, checks in ((0, 20), (1, 20), (7, 31), (20, 20)):
        expected = stats.binomtest(hits, checks).proportion_ci(0.95, "exact")
        assert exact_interval(hits, checks) == pytest.approx((expected.low, expected.high))


def test_no_alarm_is_bounded_by_groups_of_processes_that_share_none() -> None:
    """A thousand checks of the same five processes are one unit; those of another five are a second."""
    same = [outcome(False, 1, 2, 3, 4, 5)] * 1000
    assert count_units(same) == 1
    assert rate_of(same).high == pytest.approx(1 - 0.025)
    both = [*same, *[outcome(False, 6, 7, 8)] * 500]
    assert count_units(both) == 2
    assert rate_of(both).high < rate_of(same).high


def test_checks_that_fail_together_bound_less_than_independent_ones() -> None:
    """One process that alarms in all its checks is one event, however many checks it has."""
    apart = [outcome(process % 10 == 0, process) for process in range(200)]
    together = [outcome(process % 10 == 0, process) for process in range(20) for _ in range(10)]
    assert (rate_of(apart).hits, rate_of(apart).checks) == (20, 200)
    assert (rate_of(together).hits, rate_of(together).checks) == (20, 200)
    assert rate_of(together).high > 1.5 * rate_of(apart).high
    expected = stats.binomtest(20, 200).proportion_ci(0.95, "exact")
    assert rate_of(apart).high == pytest.approx(expected.high, rel=0.05)


def test_bounds_of_clustered_checks_cover_the_rate() -> None:
    """2,000 simulated processes of ten checks each, all alike within a process: the rate lies above 3 % at times."""
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(200):
        bad = generator.random(40) < 0.2
        found = rate_of([outcome(bool(bad[process]), process) for process in range(40) for _ in range(10)])
        covered += found.low <= 0.2 <= found.high
    assert covered >= 186


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8), st.integers(0, 8)), max_size=60))
def test_an_interval_always_holds_its_rate(checks: list[tuple[bool, int, int]]) -> None:
    """Whatever shares what."""
    found = rate_of([outcome(alarmed, *processes) for alarmed, *processes in checks])
    rate = found.hits / found.checks if found.checks else 0.0
    assert 0 <= found.low <= rate + 1e-12
    assert rate - 1e-12 <= found.high <= 1


def test_bands_begin_where_the_one_before_ends() -> None:
    """Slowdowns in percent; what is faster is below the lowest band's end."""
    ratios = (0.9, 1.0, 1.00499, 1.00501, 1.0101, 1.0201, 1.0501, 3.0)
    assert [band_of(ratio) for ratio in ratios] == ["<0.5", "<0.5", "<0.5", "0.5-1", "1-2", "2-5", ">5", ">5"]


def contrast(ratios: dict[int, float], injected: float | None = None) -> Contrast:
    """A slowed case with a ratio for each process."""
    logs = {(process, 0): math.log(ratio) for process, ratio in ratios.items()}
    pairs = {(process, 0): Pair(np.full(3, ratio), np.ones(3)) for process, ratio in ratios.items()}
    return Contrast(SUITE, Case("", "v", 1), "slowed", "spin", pairs, injected, logs)


def test_truth_comes_from_the_other_processes_alone() -> None:
    """However slow the processes under test are."""
    found = contrast({1: 9.0, 2: 9.0, 3: 1.02, 4: 1.03, 5: 1.04, 6: float("nan")})
    truth = truth_of(found, {(1, 0), (2, 7)})
    assert truth is not None
    assert truth.ratio == pytest.approx(1.03)
    logs = np.log([1.02, 1.03, 1.04])
    low, high = stats.t.interval(0.95, 2, np.mean(logs), stats.sem(logs))
    assert (truth.low, truth.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert truth.band == "2-5"
    assert not truth.sure
    alone = truth_of(found, {(1, 0), (2, 0), (3, 0), (4, 0)})
    assert alone is not None
    assert (alone.ratio, alone.sure) == (pytest.approx(1.04), False)
    assert truth_of(found, {(process, 0) for process in range(1, 6)}) is None


def test_what_was_put_in_is_the_truth() -> None:
    """Then no process is asked."""
    assert truth_of(contrast({1: 9.0}, injected=1.015), {(1, 0)}) == Truth(1.015, 1.015, 1.015)
    assert Truth(1.015, 1.015, 1.015).sure


@given(st.integers(3, 12), st.integers(1, 6), st.integers(1, 40), st.integers(0, 9))
def test_groups_are_different_and_of_their_size(processes: int, size: int, count: int, seed: int) -> None:
    """All groups where they are few; the first ones share no process."""
    groups = choose_groups(range(processes), size, count, seed)
    assert len(groups) == (min(count, math.comb(processes, size)) if size <= processes else 0)
    assert len(set(groups)) == len(groups)
    assert all(len(set(group)) == size for group in groups)
    if math.comb(processes, size) > count:
        first = groups[: processes // size]
        assert len({process for group in first for process in group}) == size * len(first)


def test_sides_share_no_process() -> None:
    """Old and new samples come from different processes."""
    sides = choose_sides(range(10), 3, 50, 1)
    assert len(sides) == 50
    assert all(not set(old) & set(new) for old, new in sides)
    assert choose_sides(range(5), 3, 50, 1) == []


def check(case: int, alarmed: bool, first: int = 1, **changes: Any) -> Check:
    """A check of identical code in three processes."""
    run = (tuple((process, 0) for process in range(first, first + 3)),)
    fields: dict[str, Any] = {"kind": "identical", "what": "copy 1"} | changes
    return Check("rule", SUITE, case=Case("", "v", case), run=run, alarmed=alarmed, **fields)


def test_a_run_alarms_when_one_of_its_cases_does() -> None:
    """Cases of the same processes, in runs of twelve; what is left over is in none."""
    checks = [check(case, case == 3) for case in range(27)] + [check(case, False, first=4) for case in range(12)]
    assert [found.alarmed for found in run_outcomes(checks, 12)] == [True, False, False]
    assert [found.alarmed for found in run_outcomes(checks, 24)] == [True]


def test_the_counts_have_the_shape_that_is_asked_for() -> None:
    """``false_alarms`` with ``cases`` and ``runs``, ``caught`` by band, each a pair of numbers."""
    slow = [check(1, ratio > 1.02, kind="slowed", truth=Truth(ratio, ratio, ratio)) for ratio in (1.003, 1.015, 1.03)]
    found = score([check(case, case == 0) for case in range(12)] + slow)
    assert found["false_alarms"] == {"cases": [1, 12], "runs": [1, 1]}
    assert found["caught"] == {"<0.5": [0, 1], "0.5-1": [0, 0], "1-2": [0, 1], "2-5": [1, 1], ">5": [0, 0]}
    assert list(found["caught"]) == [band for band, _ in BANDS]


def other(name: str, truth: Truth, alarmed: bool = False) -> Check:
    """A check of another build."""
    return check(1, alarmed, kind="other code", what=name, truth=truth)


def equally() -> Iterator[Check]:
    """Builds that are equally fast (one of them blamed once), faster, and not known well enough."""
    yield from [other("equal", Truth(1.0, 0.999, 1.001))] * 3
    yield from [other("blamed", Truth(1.0, 0.999, 1.001)), other("blamed", Truth(1.0, 0.999, 1.001), alarmed=True)]
    yield from [other("faster", Truth(0.8, 0.79, 0.81))] * 2
    yield other("unsure", Truth(1.0, 0.98, 1.02))


def test_only_code_that_is_surely_as_fast_counts_as_equally_fast() -> None:
    """The interval over the other processes lies within the tolerance, either way."""
    assert equally_fast(equally(), 0.01) == {
        "blamed": 1,
        "checks": 5,
        "pairs_blamed": 1,
        "pairs": 2,
        "not_sure": 1,
        "other": 1,
    }
