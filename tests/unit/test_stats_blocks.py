"""How many blocks a test needs, against scipy, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.stats.blocks import check_blocks, plan_blocks, smallest_p
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.signed_rank import MOST_PAIRS, critical_sum, rank_against, signed_rank_p


@pytest.mark.parametrize("blocks", [1, 2, 7, 18, 29, 40])
def test_the_smallest_p_is_scipys_for_pairs_of_one_sign(blocks: int) -> None:
    """2**-n, which is what scipy says of n differences that all lie above zero."""
    differences = np.arange(1.0, blocks + 1)
    scipys = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert smallest_p(blocks) == pytest.approx(scipys, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("alpha", "looks", "contrary"), [(1e-5, 2, 0), (1e-5, 2, 1), (1e-3, 1, 2), (0.05, 1, 0)])
def test_the_planned_blocks_can_reject_and_one_fewer_cannot(alpha: float, looks: int, contrary: int) -> None:
    """With so many contrary blocks at the far end, the planned number is the smallest that rejects."""
    policy = Policy(alpha=alpha, looks=looks, contrary=contrary)
    blocks = plan_blocks(policy).blocks
    for number, rejects in ((blocks, True), (blocks - 1, False)):
        differences = np.arange(1.0, number + 1)
        differences[number - contrary :] *= -1
        assert (signed_rank_p(differences) <= 0.95 * alpha / looks) is rejects


def test_the_default_plan_takes_29_blocks() -> None:
    """One block of 29 may point the other way; without that, 18 blocks do."""
    plan = plan_blocks(Policy())
    assert (plan.blocks, plan.looks, plan.method) == (29, 2, "exact")
    # A twentieth of alpha is kept for further looks.
    assert plan.smallest_p <= plan.alpha_per_look == pytest.approx(0.95 * 5e-6)
    assert plan_blocks(Policy(contrary=0)).blocks == 18
    assert plan_blocks(Policy(), fewest=40).blocks == 40


def test_seven_blocks_are_refused_with_the_arithmetic() -> None:
    """The sentence says the smallest p, what is needed, and how many blocks to take."""
    sentence = (
        "7 blocks at alpha 1e-05 cannot reject: the smallest p is 0.0078, and each of 2 looks needs 4.8e-06; "
        "take at least 18 blocks"
    )
    with pytest.raises(UsageError, match=re.escape(sentence)):
        check_blocks(Policy(), 7)
    with pytest.raises(UsageError, match=re.escape("0.0078; take at least 17 blocks")):
        check_blocks(Policy(looks=1), 7)
    check_blocks(Policy(), 18)


def test_more_blocks_than_the_exact_test_takes_are_refused() -> None:
    """Rather than another method, silently, with another p-value."""
    with pytest.raises(UsageError, match=f"ask for at most {MOST_PAIRS // 2}"):
        check_blocks(Policy(), MOST_PAIRS // 2 + 1)
    check_blocks(Policy(), MOST_PAIRS // 2)


def test_an_alpha_that_no_number_of_blocks_reaches_is_refused() -> None:
    """Instead of a test that never rejects."""
    with pytest.raises(UsageError, match="raise alpha"):
        plan_blocks(Policy(alpha=1e-300))


@pytest.mark.parametrize("seed", range(20))
def test_without_ties_the_p_value_is_scipys(seed: int) -> None:
    """Ranks go in, but the p-value is what scipy gives for the differences themselves."""
    differences = np.random.default_rng(seed).normal(0.3, 1, size=5 + 2 * seed)
    scipys = stats.wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert signed_rank_p(differences) == pytest.approx(scipys, rel=1e-9)


@pytest.mark.parametrize(("pairs", "alpha"), [(5, 0.05), (18, 5e-6), (29, 5e-6), (29, 0.05), (60, 1e-3)])
def test_the_critical_sum_is_where_scipy_begins_to_reject(pairs: int, alpha: float) -> None:
    """One rank less does not; too few pairs have none."""
    needed = critical_sum(pairs, alpha)
    assert needed is not None
    survival = [
        stats.wilcoxon(_with_sum(pairs, total), alternative="greater", method="exact").pvalue
        for total in (needed, needed - 1)
    ]
    assert survival[0] <= alpha < survival[1]
    assert critical_sum(4, 0.05) is None
    assert critical_sum(0, 0.05) is None


def _with_sum(pairs: int, total: int) -> list[int]:
    """Ranks 1 to ``pairs``, the first that fit ``total`` above 0 and the others below."""
    above: list[int] = []
    for rank in range(pairs, 0, -1):
        if sum(above) + rank <= total:
            above.append(rank)
    assert sum(above) == total
    return [rank if rank in above else -rank for rank in range(1, pairs + 1)]


def test_ties_and_zeros_count_against_rejecting() -> None:
    """Among equal sizes the contrary ones get the higher ranks, and a zero is contrary with the lowest rank."""
    assert rank_against(np.array([2.0, -2.0, 0.0, 1.0])).tolist() == [3, -4, -1, 2]
    assert signed_rank_p(np.full(18, 0.5)) == pytest.approx(2.0**-18)
    assert signed_rank_p(np.zeros(30)) == 1.0
    assert signed_rank_p(np.array([])) == 1.0
    assert signed_rank_p(np.full(30, 1e-16)) == 1.0  # log(1.1) + log(1 / 1.1) is not quite zero either


def test_differences_that_are_no_numbers_are_refused() -> None:
    """NaN sorts somewhere, so it would be given a rank."""
    with pytest.raises(ValueError, match="finite"):
        signed_rank_p(np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="at most"):
        signed_rank_p(np.ones(MOST_PAIRS + 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tolerance", -0.01),
        ("tolerance", float("nan")),
        ("tolerance", 1.0),
        ("floor_us", -1.0),
        ("floor_us", float("inf")),
        ("alpha", 0.0),
        ("alpha", 0.5),
        ("looks", 0),
        ("confidence", 1.0),
        ("agreement", 0.0),
        ("agreement", 0.5),
        ("contrary", -1),
    ],
)
def test_numbers_outside_their_range_are_refused_by_name(name: str, value: float) -> None:
    """A policy that could never fail, or always, is no policy."""
    with pytest.raises(UsageError, match=f"{name} must be"):
        Policy(**{name: value}).check()
    assert Policy().check() == Policy()
