"""Pictures of three decisions on real samples of an H200, from the files that the tests keep.

PYTHONPATH=docs python -m made.decision      # writes docs/decision_*.svg, prints what was decided
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pytest_kernelperf import reason, units
from pytest_kernelperf.judge import verdict_of
from pytest_kernelperf.model import CaseId, Comparison, Decision, Measurement, Mode, Record, Sample
from pytest_kernelperf.report.figure.block_differences import block_differences
from pytest_kernelperf.report.figure.drawing import draw_svg
from pytest_kernelperf.stats.comparison import compare
from pytest_kernelperf.stats.policy import Policy
from pytest_kernelperf.stats.sequence import plan

DOCS = Path(__file__).parents[1]
DATA = DOCS.parent / "tests" / "data"
LIVE = DATA / "h200_live" / "inject_100.jsonl.gz"
SPINNING = DATA / "h200" / "slowdown_queued.jsonl.gz"
CASE = CaseId("decode_attention", "eight_splits", 64)
UNEVEN = CaseId("moe_add_inject", "fused_column_tiles", 7)
UNEVEN_CYCLES = 50
POLICY = Policy(tolerance=0.01, floor_us=0.02)
PROCESSES = 5

Pairs = tuple[list[float], list[float]]


def pictures() -> Iterator[tuple[str, CaseId, Mode, list[Pairs]]]:
    """Yield each picture's name, case and mode, and each process's times of both arms, block by block."""
    yield "unchanged", CASE, "graph", live_pairs(copy=1, extra_rounds=0)
    yield "regressed", CASE, "graph", live_pairs(copy=0, extra_rounds=3)
    yield "undecided", UNEVEN, "queued", spinning_pairs()


def live_pairs(copy: int, extra_rounds: int) -> list[Pairs]:
    """Times of one arm beside copy 0 of the same code, in the processes that had both."""
    times: dict[int, dict[tuple[int, int], list[float]]] = {}
    for row in rows_of(LIVE):
        if (row["kernel"], row["variant"], row["tokens"]) == (CASE.kernel, CASE.variant, CASE.tokens):
            times.setdefault(row["process"], {})[row["copy"], row["extra_rounds"]] = row["us"]
    wanted = (copy, extra_rounds)
    return [(of[wanted], of[0, 0]) for _, of in sorted(times.items()) if wanted in of]


def spinning_pairs() -> list[Pairs]:
    """Times of code that spins beside the same code without, in the first processes."""
    times: dict[int, dict[int, list[float]]] = {}
    for row in rows_of(SPINNING):
        if (row["variant"], row["tokens"]) == (UNEVEN.variant, UNEVEN.tokens):
            times.setdefault(row["process"], {}).setdefault(row["spin_cycles"], row["us"])
    return [(of[UNEVEN_CYCLES], of[0]) for _, of in sorted(times.items())][:PROCESSES]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """Return a file's lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def decide(mode: Mode, pairs: list[Pairs]) -> tuple[tuple[Measurement, ...], Comparison]:
    """Return the samples as the guard has them, and what it makes of them."""
    measurements = tuple(
        Measurement(
            process=process,
            mode=mode,
            rounds=200,
            seed=0,
            samples=tuple(
                Sample(arm, block, place, time_us, 0.0)
                for place, (arm, times) in enumerate(zip(("head", "baseline"), both, strict=True))
                for block, time_us in enumerate(times)
            ),
        )
        for process, both in enumerate(pairs)
    )
    schedule = plan(POLICY, PROCESSES)
    look = next(look for look in schedule.by_processes if look.processes == len(pairs))
    return measurements, compare(measurements, "head", "baseline", POLICY, look.agreement_alpha, schedule)


if __name__ == "__main__":
    for name, case, mode, pairs in pictures():
        measurements, comparison = decide(mode, pairs)
        decision = Decision(verdict_of(comparison), False, "", reason.changed(comparison, "the baseline"))
        record = Record(case, "", decision, measurements=measurements, comparisons=(comparison,))
        figure = block_differences(record)
        assert figure is not None
        path = DOCS / f"decision_{name}_h200.svg"
        path.write_text(draw_svg(figure) + "\n", encoding="utf-8")
        print(f"{path.name}: {case}: {decision.verdict.value}: {decision.reason}")
        print(f"  {', '.join(map(units.format_change, comparison.per_process_ratio))}")
        print(
            f"  {comparison.slower} of {comparison.processes} processes say slower, {comparison.not_slower} not slower"
        )
