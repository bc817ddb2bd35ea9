"""The interleaved test on samples of real kernels: an H200, the lesson's three variants (tests/data/h200)."""

from __future__ import annotations

import collections
import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_kernelperf.judge import verdict_of
from pytest_kernelperf.model import Comparison, Measurement, Sample, Verdict
from pytest_kernelperf.stats.comparison import compare
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.stored import compare_stored

DATA = Path(__file__).parents[1] / "data" / "h200"

Row = dict[str, Any]
Case = tuple[Any, ...]


@lru_cache
def rows(name: str) -> list[Row]:
    """All rows of one file."""
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def cases(chosen: Iterable[Row], *names: str) -> Iterator[tuple[Case, dict[int, list[Row]]]]:
    """Rows by mode, variant, tokens and ``names``, and within these by process."""
    grouped: dict[Case, dict[int, list[Row]]] = collections.defaultdict(lambda: collections.defaultdict(list))
    for row in chosen:
        grouped[tuple(row[name] for name in ("mode", "variant", "tokens", *names))][row["process"]].append(row)
    return iter(grouped.items())


def compared(
    processes: dict[int, list[Row]], head: Callable[[Row], bool], baseline: Callable[[Row], bool], policy: Policy
) -> Comparison:
    """Compare the first five processes' samples of two arms, each chosen by a condition."""
    measurements = []
    for process in sorted(processes)[:5]:
        arms = {
            "head": next(filter(head, processes[process]))["us"],
            "baseline": next(filter(baseline, processes[process]))["us"],
        }
        samples = tuple(
            Sample(arm, block, 0, time_us, 0.0) for arm, times in arms.items() for block, time_us in enumerate(times)
        )
        measurements.append(Measurement(process, processes[process][0]["mode"], 200, 0, samples))
    return compare(measurements, "head", "baseline", policy)


def copy_is(number: int) -> Callable[[Row], bool]:
    """Whether a row is of the code object's copy of that number."""
    return lambda row: bool(row["copy"] == number)


def test_identical_code_on_shared_buffers_is_never_called_slower() -> None:
    """96 pairs of twins, interleaved, at 1 % and a quarter of it: none called either way, most proven unchanged.

    Not all are, as these have 20 blocks: enough to reject, too few to bear a stray sample.
    """
    verdicts = collections.Counter[Verdict]()
    for case, processes in cases([row for row in rows("twins") if row["buffers"] == "shared"]):
        for copy in range(1, 5):
            for tolerance in (0.01, 0.0025):
                found = compared(processes, copy_is(copy), copy_is(0), Policy(tolerance=tolerance))
                assert (found.slower, found.faster) == (0, 0), case
                if tolerance == 0.01:
                    verdicts[verdict_of(found)] += 1
    assert sum(verdicts.values()) == 96
    assert verdicts[Verdict.UNCHANGED] >= 90, verdicts


@pytest.mark.parametrize("order", ["abba", "random"])
def test_identical_code_in_balanced_order_is_never_called_slower(order: str) -> None:
    """24 cases, 40 blocks each, at 1 % and at a quarter of it; in graph mode proven unchanged even then."""
    for case, processes in cases([row for row in rows("orders") if row["order"] == order]):
        for tolerance in (0.01, 0.0025):
            found = compared(processes, copy_is(1), copy_is(0), Policy(tolerance=tolerance))
            assert (found.slower, found.faster) == (0, 0), case
            if tolerance == 0.01 or case[0] == "graph":
                assert verdict_of(found) is Verdict.UNCHANGED, case


def test_strict_alternation_is_why_the_order_is_balanced() -> None:
    """The same code in A B A B order is called different without a tolerance; in random order it is not."""
    different = collections.Counter[str]()
    for case, processes in cases(rows("orders"), "order"):
        found = compared(processes, copy_is(1), copy_is(0), Policy(tolerance=0.0))
        different[case[-1]] += found.slower + found.faster
    assert different["abab"] >= 10
    assert different["random"] == different["abba"] == 0


def test_the_same_instructions_elsewhere_are_not_slower() -> None:
    """Other functions before them in the module move them to other addresses, which does not matter at 1 %."""
    for case, processes in cases([row for row in rows("layout") if row["build"] != "at most 24 registers"]):
        for copy in (1, 2, 3, 4):
            found = compared(processes, copy_is(copy), copy_is(0), Policy(tolerance=0.01))
            assert (found.slower, found.faster) == (0, 0), (case, copy)


def spins(cycles: int) -> Callable[[Row], bool]:
    """Whether a row spins so many cycles at the end of each thread."""
    return lambda row: bool(row["spin_cycles"] == cycles)


@pytest.mark.parametrize("cycles", [400, 800])
def test_large_true_slowdowns_are_called_by_every_process(cycles: int) -> None:
    """All twelve cases, with an interval that holds the change and lies wholly above the tolerance."""
    for case, processes in cases(rows("slowdown_queued")):
        found = compared(processes, spins(cycles), spins(0), Policy(tolerance=0.01))
        assert verdict_of(found) is Verdict.REGRESSED, case
        assert found.low_ratio is not None
        assert found.high_ratio is not None
        assert 1.01 < found.low_ratio < found.change_ratio < found.high_ratio, case


def test_small_true_slowdowns_are_never_called_improved() -> None:
    """50 and 100 cycles cost 0 to 7 %: regressed, undecided or within the tolerance, but never better."""
    verdicts = collections.Counter(
        verdict_of(compared(processes, spins(cycles), spins(0), Policy(tolerance=0.01)))
        for cycles in (50, 100)
        for _, processes in cases(rows("slowdown_queued"))
    )
    assert verdicts[Verdict.IMPROVED] == 0
    assert verdicts[Verdict.REGRESSED] >= 5
    assert verdicts[Verdict.UNDECIDED] >= 5  # the same cycles cost different processes differently


def test_a_case_that_depends_on_the_process_is_not_a_regression() -> None:
    """Where processes disagree about the same code, the comparison takes no side but that of a mean within 1 %."""
    divided = [
        found
        for _, processes in cases(rows("slowdown_queued"))
        for found in [compared(processes, spins(50), spins(0), Policy(tolerance=0.01))]
        if found.slower and found.not_slower and found.slower < found.needed
    ]
    verdicts = collections.Counter(verdict_of(found) for found in divided)
    assert set(verdicts) == {Verdict.UNDECIDED, Verdict.UNCHANGED}
    assert verdicts[Verdict.UNDECIDED] >= 3
    assert all(found.change_ratio < 1.01 for found in divided if verdict_of(found) is Verdict.UNCHANGED)


def test_stored_times_alone_would_blame_identical_code() -> None:
    """The same code in other processes: five against ten differ by more than 1 % often, and are never gated."""
    beyond = total = 0
    for _, processes in cases(rows("aa_loop")):
        medians = [float(np.median(processes[process][0]["us"])) for process in sorted(processes)]
        found = compare_stored(medians[:5], medians[5:15], 3, Policy())
        assert not found.gated
        beyond += abs(found.change_ratio - 1) > 0.01
        total += 1
    assert beyond >= total / 4


@pytest.mark.parametrize("mode", ["graph", "queued"])
def test_a_case_with_two_speeds_does_not_fool_the_stored_gate(mode: str) -> None:
    """Ten processes against ten of three days, split in 500 ways: identical code is never slower; what lies beyond
    both of its speeds is."""
    ((_, processes),) = [
        found for found in cases(rows("aa_queued_graph")) if found[0] == (mode, "fused_one_block_per_token", 512)
    ]
    medians = np.array([float(np.median(processes[process][0]["us"])) for process in sorted(processes)])
    assert medians.max() / medians.min() > 1.25
    for seed in range(500):
        order = np.random.default_rng(seed).permutation(20)
        stored = medians[order[10:]].tolist()
        for shift, slower in ((1.0, False), (1.35, True)):
            found = compare_stored((shift * medians[order[:10]]).tolist(), stored, 3, Policy())
            assert (found.gated, found.slower) == (True, slower)
