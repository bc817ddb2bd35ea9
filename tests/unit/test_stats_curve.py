"""Small slowdowns at several sizes, pooled: what is seen, and that identical code is not."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest
from h200_samples import Group, identical
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_kernelperf.model import Comparison
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import compare_pairs
from pytest_kernelperf.stats.curve import Curve, find_curve
from pytest_kernelperf.stats.policy import Policy

POLICY = Policy(tolerance=0.01)


def comparison(
    ratios: dict[int, float], *, tolerance: float = 0.01, floor_us: float = 0.0, **changes: Any
) -> Comparison:
    """One size's comparison, of which the curve reads processes, ratios, tolerance and floor alone."""
    return Comparison(
        **{
            "arm": "head",
            "against": "baseline",
            "mode": "graph",
            "change_ratio": 1.0,
            "low_ratio": None,
            "high_ratio": None,
            "confidence": 0.95,
            "processes": len(ratios),
            "slower": 0,
            "faster": 0,
            "blocks": 29,
            "alpha": 1e-5,
            "tolerance_ratio": 1 + tolerance,
            "floor_us": floor_us,
            "time_us": 2.0,
            "against_us": 2.0,
            "per_process_ratio": tuple(ratios.values()),
            "process_numbers": tuple(ratios),
            **changes,
        }
    )


def curve(sizes: list[list[float]], tolerance: float | None = None) -> Curve:
    """The curve of sizes, each a list of its processes' ratios."""
    found = find_curve([comparison(dict(enumerate(ratios))) for ratios in sizes], tolerance)
    assert found is not None
    return found


def spread(
    change: float, sizes: int = 8, processes: int = 5, noise: float = 0.0003, seed: int = 1
) -> list[list[float]]:
    """So many sizes, each slower by as much in every process, give or take ``noise``."""
    random = np.random.default_rng(seed)
    return [(change * np.exp(random.normal(0, noise, processes))).tolist() for _ in range(sizes)]


def groups_of(chosen: tuple[Group, ...]) -> list[list[Group]]:
    """Groups of the same two arms over their sizes, where there are at least three."""
    grouped = collections.defaultdict(list)
    for group in chosen:
        grouped[(group.file, group.mode, group.variant, group.order, group.contrast)].append(group)
    return [of for of in grouped.values() if len(of) >= 3]


def curve_of(groups: list[Group], processes: int, slowed_by: float = 1.0) -> Curve:
    """The curve of real samples, head's times multiplied."""
    comparisons = []
    for group in groups:
        pairs = [np.array(both) for both in group.processes[:processes]]
        ratios = {process: slowed_by * float(np.median(both[0] / both[1])) for process, both in enumerate(pairs)}
        comparisons.append(comparison(ratios))
    found = find_curve(comparisons)
    assert found is not None
    return found


def test_a_little_at_every_size_is_seen_though_no_size_shows_it() -> None:
    """0.6 % at each of eight sizes, each within its 1 %, with three processes and with five."""
    for processes in (3, 5):
        found = curve(spread(1.006, processes=processes))
        assert found.finding is Finding.SLOWER
        assert (found.sizes, found.processes, found.sizes_slower) == (8, processes, 8)
        assert found.change_ratio == pytest.approx(1.006, abs=0.0005)
        assert found.tolerance_ratio == pytest.approx(1.005)
        assert found.low_ratio is not None
        assert 1.0 < found.low_ratio < found.change_ratio
        assert curve(spread(1 / 1.006, processes=processes)).finding is Finding.FASTER
        assert curve(spread(1.0, processes=processes)).finding is Finding.UNCHANGED
        assert curve(spread(1.002, processes=processes)).finding is Finding.UNCHANGED


def test_real_identical_code_is_no_slower_curve_and_six_tenths_of_a_percent_are() -> None:
    """All curves of four sizes on the H200: none called, and each that is slowed by 0.6 % called by five processes."""
    curves = groups_of(identical())
    assert len(curves) >= 150
    for groups in curves:
        for processes in (3, 5):
            assert curve_of(groups, processes).finding not in (Finding.SLOWER, Finding.FASTER), groups[0]
        assert curve_of(groups, 5, 1.006).finding is Finding.SLOWER, groups[0]


def test_the_ratios_are_the_comparisons_own() -> None:
    """From samples to the curve through the interleaved test, of which no size shows 0.6 %."""
    groups = groups_of(identical())[0]
    pairs = [[([1.006 * time for time in head], base) for head, base in group.processes[:5]] for group in groups]
    comparisons = [compare_pairs(dict(enumerate(of)), POLICY) for of in pairs]
    assert all(find(of) is not Finding.SLOWER for of in comparisons)
    found = find_curve(comparisons)
    assert found is not None
    assert found.change_ratio == pytest.approx(curve_of(groups, 5, 1.006).change_ratio, abs=1e-5)
    assert found.finding is Finding.SLOWER


def test_identical_code_beside_a_busy_process_is_no_slower_curve() -> None:
    """Even where a contended mean lies 10 % off."""
    means = []
    for groups in groups_of(identical(contended=True)):
        found = curve_of(groups, 6)
        means.append(found.change_ratio)
        assert found.finding not in (Finding.SLOWER, Finding.FASTER), groups[0]
    assert len(means) == 6
    assert max(means) > 1.05


def test_one_slow_size_is_not_the_curve() -> None:
    """Its own case says so; seven unchanged sizes are no slower for it."""
    sizes = spread(1.0)
    sizes[3] = [1.10] * 5
    found = curve(sizes)
    assert found.change_ratio > found.tolerance_ratio
    assert found.p_slower < 0.001
    assert found.finding is Finding.OPEN


def test_one_slow_process_is_not_the_code() -> None:
    """Slower by 5 % at every size, in one process of five."""
    sizes = [[1.05, *ratios[1:]] for ratios in spread(1.0)]
    found = curve(sizes)
    assert found.change_ratio > found.tolerance_ratio
    assert found.p_sizes_slower < 0.001
    assert found.finding is Finding.OPEN


def test_only_processes_that_took_every_size_count() -> None:
    """A size that was clear after three processes leaves three."""
    ratios = dict.fromkeys(range(5), 1.006)
    early = {0: 1.0061, 1: 1.006, 2: 1.0059}
    found = find_curve([comparison(ratios), comparison(early), comparison(ratios), comparison(ratios)])
    assert found is not None
    assert (found.processes, found.finding) == (3, Finding.SLOWER)
    assert find_curve([comparison({0: 1.0, 1: 1.0}), comparison({2: 1.0, 3: 1.0})]) is None
    assert find_curve([]) is None


@pytest.mark.parametrize(("sizes", "processes", "decidable"), [(2, 5, False), (3, 2, False), (3, 3, True)])
def test_two_sizes_or_two_processes_prove_nothing(sizes: int, processes: int, decidable: bool) -> None:
    """However slow."""
    found = curve(spread(1.05, sizes, processes))
    assert found.decidable is decidable
    assert found.finding is (Finding.SLOWER if decidable else Finding.OPEN)


def test_the_tolerance_is_half_of_the_cases_floor_included() -> None:
    """0.02 us of 2 us are 1 %, and of 20 us 0.1 %, less than the tolerance."""
    same = dict.fromkeys(range(3), 1.0)
    floored = [comparison(same, tolerance=0.004, floor_us=0.02), comparison(same, tolerance=0.004, floor_us=0.02)]
    larger = comparison(same, tolerance=0.004, floor_us=0.02, against_us=20.0)
    found = find_curve([*floored, larger])
    assert found is not None
    assert found.tolerance_ratio == pytest.approx(np.exp((2 * np.log(1.005) + np.log(1.002)) / 3))
    given_ = find_curve([*floored, larger], tolerance=0.02)
    assert given_ is not None
    assert given_.tolerance_ratio == pytest.approx(1.02)


def test_curves_are_of_one_pair_of_arms_and_say_their_processes() -> None:
    """Anything else would pool what has nothing in common."""
    same = dict.fromkeys(range(3), 1.0)
    with pytest.raises(ValueError, match="only one pair of arms in one mode"):
        find_curve([comparison(same), comparison(same, mode="queued")])
    with pytest.raises(ValueError, match="does not say which processes"):
        find_curve([comparison(same, process_numbers=())])


def test_the_mean_and_its_test_are_scipys() -> None:
    """One number per process, Student's t against no change."""
    sizes = [[1.01, 0.99, 1.02, 1.0], [1.0, 1.01, 1.01, 1.02], [1.02, 1.0, 0.98, 1.01]]
    found, of_process = curve(sizes), np.log(sizes).mean(axis=0)
    assert found.change_ratio == pytest.approx(np.exp(of_process.mean()))
    assert found.p_slower == pytest.approx(stats.ttest_1samp(of_process, 0, alternative="greater").pvalue)
    of_size = np.log(sizes).mean(axis=1)
    assert found.p_sizes_slower == pytest.approx(stats.ttest_1samp(of_size, 0, alternative="greater").pvalue)


def test_code_that_is_not_slower_is_called_so_no_more_often_than_alpha() -> None:
    """Without tolerance, with effects of 2 % that belong to the process and of 0.1 % that belong to the sample."""
    random = np.random.default_rng(8)
    called = 0
    for _ in range(600):
        of_process = random.normal(0, 0.02, 5)
        sizes = np.exp(of_process + random.normal(0, 0.001, (8, 5)))
        called += curve(sizes.tolist(), tolerance=0.0).finding is Finding.SLOWER
    assert 0 < called <= stats.binom.ppf(0.9999, 600, 0.01)


ratios = st.lists(st.lists(st.floats(0.9, 1.1), min_size=4, max_size=4), min_size=1, max_size=6)


@given(ratios, st.floats(0.0, 0.02))
def test_swapping_the_arms_swaps_slower_and_faster(sizes: list[list[float]], tolerance: float) -> None:
    """Neither direction is favoured; unchanged alone asks about slower only."""
    forward = curve(sizes, tolerance)
    backward = curve([[1 / ratio for ratio in of] for of in sizes], tolerance)
    assert (forward.finding is Finding.SLOWER) == (backward.finding is Finding.FASTER)
    assert forward.change_ratio * backward.change_ratio == pytest.approx(1.0)


@given(ratios, st.permutations(range(4)))
def test_the_order_of_sizes_and_processes_does_not_matter(sizes: list[list[float]], order: list[int]) -> None:
    """As long as a process keeps its number over the sizes."""
    plain = curve(sizes)
    mixed = curve([[of[place] for place in order] for of in sizes[::-1]])
    assert mixed.change_ratio == pytest.approx(plain.change_ratio)
    assert mixed.p_slower == pytest.approx(plain.p_slower, abs=1e-6)


@given(ratios, st.floats(1.0, 1.2))
def test_slower_never_improves_a_curve(sizes: list[list[float]], by: float) -> None:
    """From faster through unchanged and open to slower."""
    order = [Finding.FASTER, Finding.UNCHANGED, Finding.OPEN, Finding.SLOWER]
    slower = curve([[by * ratio for ratio in of] for of in sizes])
    assert order.index(slower.finding) >= order.index(curve(sizes).finding)
