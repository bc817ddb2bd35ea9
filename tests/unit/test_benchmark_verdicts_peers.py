"""Our restatements of other tools' rules, beside the tools themselves where ``scripts/peers`` has installed them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from verdict import peers
from verdict.rows import read_folder

ROOT = Path(__file__).parents[2]
PEERS = ROOT / "build" / "peers"
Sides = tuple[list[list[float]], list[list[float]]]


def told_by(tool: str, module: str, cases: list[Sides]) -> list[Any]:
    """What the tool itself says of the cases; skips, with what is missing, where it is not installed."""
    if not (PEERS / module).exists():
        pytest.skip(f"{module} is not in build/peers: run scripts/peers (benchmatrix needs Python 3.11)")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "helpers" / "peer_rules.py"), tool],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": str(PEERS)},
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def real_cases(processes: int, count: int = 60, most: int = 30) -> list[Sides]:
    """Old and new samples of real kernels, whatever their true difference: some of slowed code, some of the same."""
    rows = read_folder(ROOT / "tests" / "data" / "h200")
    chosen = [row for row in rows if row.file == "slowdown_queued" and row.spin_cycles in (0, 50, 200, 400)]
    generator = np.random.default_rng(1)
    found = []
    while len(found) < count:
        first = chosen[int(generator.integers(len(chosen)))]
        like = [row for row in chosen if (row.variant, row.tokens) == (first.variant, first.tokens)]
        picked = [like[int(number)] for number in generator.choice(len(like), 2 * processes, replace=False)]
        if generator.random() < 0.5:
            picked.sort(key=lambda row: row.spin_cycles)
        samples = [list(row.us[:most]) for row in picked]
        found.append((samples[:processes], samples[processes:]))
    return found


def arrays(side: list[list[float]]) -> list[Any]:
    """As the rules take them."""
    return [np.array(process) for process in side]


def ours(rule: peers.Rule, cases: list[Sides]) -> list[bool]:
    """What the restatement says."""
    return [rule(arrays(old), arrays(new), 12) for old, new in cases]


def by_name(name: str) -> peers.Peer:
    """A peer of the table."""
    return next(peer for peer in peers.PEERS if peer.name == name)


def test_pytest_benchmark_says_what_pytest_benchmark_says() -> None:
    """Four thresholds on its own statistics."""
    cases = real_cases(1)
    told = told_by("pytest_benchmark", "pytest_benchmark", cases)
    names = ("median 5%", "mean 5%", "median 10%", "mean 10%")
    found = zip(*(ours(by_name(f"pytest-benchmark {name}").rule, cases) for name in names), strict=True)
    assert [list(answer) for answer in found] == told
    assert 0 < sum(answer[0] for answer in told) < len(told)


@pytest.mark.parametrize("most", [30, 8])
def test_asv_says_what_asv_says(most: int) -> None:
    """Its Mann-Whitney test, by the normal approximation of many samples and exact of few, and its factor."""
    cases = [(old, [[1.05 * value for value in process] for process in new]) for old, new in real_cases(2, 80, most)]
    told = told_by("asv", "asv", cases)
    assert ours(peers.asv, cases) == told
    assert 0 < sum(told) < len(told)


def test_benchmatrix_says_what_benchmatrix_says() -> None:
    """Its interval to the width that resampling leaves, its verdict but at the border of the threshold."""
    cases = [
        (old, [[(1.0, 1.3)[number % 2] * value for value in process] for process in new])
        for number, (old, new) in enumerate(real_cases(5, 24))
    ]
    told = told_by("benchmatrix", "benchmatrix", cases)
    for (old, new), (low, high, regressed) in zip(cases, told, strict=True):
        means = [np.array([np.mean(process) for process in side]) for side in (old, new)]
        found = peers.benchmatrix_interval(*means, 1 - 0.05 / 12, 20_000, 0)
        assert (-100 * found[1], -100 * found[0]) == pytest.approx((low, high), abs=1.0)
        if abs(high + 5.0) > 1.0:
            assert peers.benchmatrix(arrays(old), arrays(new), 12) is regressed
    assert 0 < sum(regressed for *_, regressed in told) < len(told)


def test_nvbench_says_what_nvbench_says() -> None:
    """``SLOW`` of the robust comparison at a constant clock."""
    cases = real_cases(1)
    told = told_by("nvbench", "cuda", cases)
    assert ours(peers.nvbench, cases) == told
    assert 0 < sum(told) < len(told)


def test_google_benchmark_is_scipys_u_test() -> None:
    """Its compare.py calls scipy too; what grew is called slower."""
    fast, slow = np.arange(1.0, 11.0), np.arange(6.0, 16.0)
    assert peers.google_benchmark([fast], [slow], 1)
    assert not peers.google_benchmark([slow], [fast], 1)
    assert not peers.google_benchmark([fast], [fast + 0.1], 1)


def test_criterion_needs_a_difference_and_one_beyond_its_noise_threshold() -> None:
    """Half a percent is significant here, yet within the threshold of 1 %; five percent is not."""
    generator = np.random.default_rng(1)
    old = generator.normal(100, 0.2, 30)
    assert not peers.criterion([old], [generator.normal(100.5, 0.2, 30)], 1)
    assert peers.criterion([old], [generator.normal(105, 0.2, 30)], 1)
    assert not peers.criterion([old], [generator.normal(95, 0.2, 30)], 1)
    assert not peers.criterion([generator.normal(100, 9, 30)], [generator.normal(102, 9, 30)], 1)


def test_welch_is_scipys() -> None:
    """The statistic that criterion resamples."""
    generator = np.random.default_rng(1)
    first, second = generator.normal(1, 1, (4, 9)), generator.normal(2, 3, (4, 12))
    expected = stats.ttest_ind(first, second, axis=1, equal_var=False).statistic
    assert peers.welch(first, second) == pytest.approx(expected)


@given(st.integers(1, 7), st.integers(1, 7))
def test_the_rank_sums_are_counted_exactly(m: int, n: int) -> None:
    """All orders together, symmetric, and scipy's p-value of complete separation."""
    counts = peers.rank_sum_counts(m, n)
    assert counts == counts[::-1]
    assert sum(counts) == math.comb(m + n, m)
    exact = stats.mannwhitneyu(np.arange(m), np.arange(m, m + n), alternative="less", method="exact").pvalue
    assert counts[0] / sum(counts) == pytest.approx(exact)
