"""Runs with all that figures mark: sizes, curves that cross, slow, starved and broken cases, somebody else's work."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from pytest_kernelperf.model import (
    CaseId,
    Decision,
    DeviceFacts,
    LaunchFill,
    Measurement,
    Record,
    Run,
    Sample,
    Verdict,
)
from pytest_kernelperf.stats.comparison import compare
from pytest_kernelperf.stats.policy import Policy

DEVICE = DeviceFacts("rocm", "", "gfx1151-40cu", "AMD Radeon 8060S Graphics", "gfx1151", 40, 20, 32, 1024, 65536, 2**36,
                     peak_gb_per_s=226.0)  # fmt: skip
SIZES = (1, 8, 64, 512, 2048)


def measured(
    time_us: float,
    ratio: float = 1.0,
    *,
    processes: int = 5,
    blocks: int = 30,
    noise: float = 0.003,
    contended: Sequence[int] = (),
    seed: int = 1,
) -> tuple[Measurement, ...]:
    """Samples of head and baseline: clocks that settle, a block in a hundred that somebody else slowed."""
    rng = random.Random(f"{time_us} {ratio} {seed}")
    found = []
    for process in range(processes):
        level, of_process = 1 + rng.gauss(0, 0.01), ratio * math.exp(rng.gauss(0, noise / 4))
        samples = []
        for block in range(blocks):
            base_us = time_us * level * (1 + 0.03 * math.exp(-block / 4)) * math.exp(rng.gauss(0, noise))
            head_us = base_us * of_process * math.exp(rng.gauss(0, noise / 3)) * (1.5 if rng.random() < 0.01 else 1)
            arms = [("head", head_us), ("baseline", base_us * math.exp(rng.gauss(0, noise / 3)))]
            rng.shuffle(arms)
            samples += [Sample(arm, block, place, us, 0.4) for place, (arm, us) in enumerate(arms)]
        by = "firefox (1.2 cores)" if process in contended else ""
        found.append(Measurement(process, "graph", 200, process, tuple(samples), contended_by=by))
    return tuple(found)


def compared(case: CaseId, measurements: tuple[Measurement, ...], moved_bytes: int | None = None) -> Record:
    """A case as the interleaved test sees its samples."""
    found = compare(measurements, "head", "baseline", Policy())
    slower, faster = found.slower >= found.needed, found.faster >= found.needed
    verdict = Verdict.REGRESSED if slower else Verdict.IMPROVED if faster else Verdict.UNCHANGED
    return Record(
        case, "test_kernel.py", Decision(verdict, slower, verdict.value, verdict.value), moved_bytes=moved_bytes,
        time_us=found.time_us, measurements=measurements, comparisons=(found,),
        fills=(LaunchFill("kernel", max(1, 2 * case.tokens), 40, 40, 1),),
    )  # fmt: skip


def broken(case: CaseId, verdict: Verdict = Verdict.WRONG) -> Record:
    """A case that fails without a time."""
    return Record(case, "test_kernel.py", Decision(verdict, True, verdict.value, "values differ"))


def run_of(records: Sequence[Record], device: DeviceFacts = DEVICE) -> Run:
    """A run of these cases."""
    return Run(1, "0.1.0", "2026-03-01T12:00:00Z", device, {}, {"mode": "graph"}, tuple(records))


def rich_run(blocks: int = 30) -> Run:
    """Three variants of one kernel whose curves cross; two cases slower, one measured beside a browser, one wrong."""
    records = [
        compared(
            CaseId("moe_add_inject", variant, tokens),
            measured(
                fixed_us + each_us * tokens,
                1.021 if (variant, tokens) in SLOWER else 1.0,
                contended=contended,
                blocks=blocks,
            ),
            moved_bytes=moved_bytes * tokens,
        )
        for tokens in SIZES
        for variant, fixed_us, each_us, moved_bytes in VARIANTS
        for contended in [(2,) if (variant, tokens) == ("separate", 64) else ()]
    ]
    return run_of([*records, broken(CaseId("moe_add_inject", "fused_column_tiles_64", 64))])


SLOWER = {("separate", 512), ("separate", 2048)}
VARIANTS = (
    ("separate", 3.8, 0.21, 122_896),
    ("fused_one_block_per_token", 4.6, 0.11, 102_416),
    ("fused_column_tiles", 1.9, 0.13, 102_416),
)
