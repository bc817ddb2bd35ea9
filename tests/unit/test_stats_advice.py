"""What would decide an open case, tried: the amounts advised do decide it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from h200_samples import slowed

from pytest_kernelperf.model import Comparison
from pytest_kernelperf.reason import remedy
from pytest_kernelperf.stats.advice import Advice, Remedy, find_two_speeds, would_decide
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.stats.comparison import compare_pairs
from pytest_kernelperf.stats.policy import Policy

POLICY = Policy(tolerance=0.01)


def compared(*changes: float, within: float = 0.001, blocks: int = 29, alpha: float = 0.1, seed: int = 3) -> Comparison:
    """Processes with these log ratios, whose samples scatter by ``within``."""
    random = np.random.default_rng(seed)
    pairs = [((2 * np.exp(change + random.normal(0, within, blocks))).tolist(), [2.0] * blocks) for change in changes]
    return compare_pairs(dict(enumerate(pairs)), POLICY, alpha)


def test_two_processes_need_others() -> None:
    """Nothing else helps them."""
    assert would_decide(compared(0.02, 0.02)) == Advice(Remedy.MORE_PROCESSES, 5)


@pytest.mark.parametrize("change", [0.0, 0.02])
def test_noisy_samples_need_more_blocks_and_so_many_decide(change: float) -> None:
    """Samples that scatter by 1.5 %: as many blocks as advised leave most processes sure, where their mean is not."""
    found = compared(*[change] * 4, within=0.015)
    assert find(found) is Finding.OPEN
    advice = would_decide(found)
    assert advice.remedy is Remedy.MORE_BLOCKS
    shown = np.log(np.median(found.per_process_shown_ratio)) - math.log(1.01)
    excess = abs(math.log(found.change_ratio) - math.log(1.01))
    assert advice.count == math.ceil(29 * (shown / excess) ** 2)
    again = compared(*[change] * 4, within=0.015, blocks=min(300, 2 * advice.count))
    assert find(again) is (Finding.SLOWER if change else Finding.UNCHANGED)


def test_samples_that_no_number_of_blocks_sharpens_need_a_quieter_machine() -> None:
    """30 % of scatter against a tolerance of 1 %."""
    assert would_decide(compared(0.0, 0.0, 0.0, 0.0, 0.0, within=0.3)).remedy is Remedy.QUIETER
    few = compared(0.0, 0.0, 0.0, blocks=10)
    assert would_decide(few).remedy is Remedy.QUIETER


def test_a_change_at_the_tolerance_is_said_to_be_there() -> None:
    """Nothing decides whether exactly 1 % is more than 1 %."""
    at = math.log(1.01)
    assert would_decide(compared(at, at, at, at, at, within=0.01)).remedy is Remedy.AT_TOLERANCE
    assert would_decide(compared(at - 0.004, at + 0.004, at - 0.005, at + 0.005, at)).remedy is Remedy.AT_TOLERANCE


def test_processes_that_differ_need_others_and_so_many_decide() -> None:
    """A mean of 2 % that scatters by 3 %: the number advised is where the test over processes gets through."""
    changes = [-0.001, 0.03, 0.06, -0.002, 0.03]
    found = compared(*changes)
    assert find(found) is Finding.OPEN
    advice = would_decide(found)
    assert advice.remedy is Remedy.MORE_PROCESSES
    assert 5 < advice.count <= 12
    random = np.random.default_rng(0)
    mean, spread = float(np.mean(changes)), float(np.std(changes, ddof=1))
    ideal = random.normal(0, 1, advice.count + 1)
    ideal = mean + spread * (ideal - ideal.mean()) / ideal.std(ddof=1)
    again = compared(*ideal.tolist())
    assert again.p_slower is not None
    assert again.p_slower <= 0.1


def test_two_speeds_are_recognised() -> None:
    """Processes that gather round two ratios, two of them at each at least."""
    advice = would_decide(compared(0.0, 0.24, 0.0005, 0.2405, -0.0005))
    assert advice.remedy is Remedy.TWO_SPEEDS
    assert advice.low_ratio == pytest.approx(1.0, abs=0.001)
    assert advice.high_ratio == pytest.approx(math.exp(0.24), abs=0.001)
    assert find_two_speeds(np.array([0.0, 0.001, 0.0, 0.2]), 0.01) is None  # one alone is an odd one, not a speed
    assert find_two_speeds(np.array([0.0, 0.0001, 0.005, 0.0051]), 0.01) is None  # less than what matters
    assert find_two_speeds(np.linspace(0, 0.2, 8), 0.01) is None  # spread evenly


def test_processes_that_stay_divided_depend_on_the_process() -> None:
    """Three of eight slower by unlike amounts, or some slower and some faster: more will be so too."""
    assert would_decide(compared(0.0, 0.0, 0.02, 0.05, 0.09, 0.003, 0.001, 0.002)).remedy is Remedy.DEPENDS
    assert would_decide(compared(0.0, 0.03, 0.05, -0.02, 0.02)).remedy is Remedy.DEPENDS


@pytest.mark.parametrize(
    ("advice", "said"),
    [
        (Advice(Remedy.MORE_PROCESSES, 12), "about 12 processes would decide it (kernelperf_processes)"),
        (Advice(Remedy.MORE_BLOCKS, 90), "about 90 blocks a process would decide it (kernelperf_blocks)"),
        (Advice(Remedy.TWO_SPEEDS, 0, 1.0, 1.27), "two speeds: some processes show the same, the others 27 % slower;"),
    ],
)
def test_the_remedy_is_said_with_its_amount(advice: Advice, said: str) -> None:
    """In a sentence that says what to do."""
    assert remedy(advice).startswith(said)


def test_every_remedy_has_a_sentence() -> None:
    """None is forgotten."""
    assert len({remedy(Advice(each, 9, 1.0, 1.1)) for each in Remedy}) == len(Remedy)


def test_every_open_case_of_the_real_samples_gets_a_remedy() -> None:
    """Spinning code on the H200 in groups of five: what is open depends on processes, never on blocks."""
    remedies = set()
    for group in slowed()[::2]:
        found = compare_pairs(dict(enumerate(group.processes[:5])), POLICY)
        if find(found) is Finding.OPEN:
            remedies.add(would_decide(found).remedy)
    assert Remedy.MORE_PROCESSES in remedies
    assert not remedies & {Remedy.QUIETER}
