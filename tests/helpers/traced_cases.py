"""Traced cases as the guard keeps them: arms made from one round's launches, repeated with a little noise."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pytest_kernelperf.model import (
    CaseId,
    CaseTrace,
    Decision,
    Record,
    TracedArm,
    TracedKernel,
    TracedSpan,
    Verdict,
)

Launch = tuple[str, float, int | None]
"""Kernel, traced us, workgroups."""

FOLDER = "traces/moe_add_inject-separate-1"
ROUNDS = 5

PAIR: Sequence[Launch] = (("add_kernel(float const*, int)", 0.72, 10), ("inject_kernel(float const*, int)", 0.8, 40))
LAYER: Sequence[Launch] = (
    ("void gemm::Kernel<gemm::Universal<128, 128, 32>, __half>(gemm::Parameters)", 4.2, 64),
    ("rms_norm<__half, 2560>(__half*, __half const*)", 1.1, 8),
    ("rope", 0.8, 20),
    ("silu_mul<float4>", 1.4, 80),
    ("add_residual", 0.7, 10),
)


def traced_arm(arm: str, launches: Sequence[Launch], gap_us: float, compute_units: int = 40) -> TracedArm:
    """An arm whose rounds are these launches."""
    names = list(dict.fromkeys(name for name, _, _ in launches))
    spans: list[TracedSpan] = []
    now_us = 0.0
    for number in range(2):
        for place, (name, time_us, workgroups) in enumerate(launches):
            lasted_us = round(time_us * (1 + ((place * 7 + number * 3) % 5 - 2) / 50), 3)
            spans.append(TracedSpan(names.index(name), round(now_us, 3), lasted_us, workgroups))
            now_us += lasted_us + gap_us * (1 + ((place * 5 + number) % 7 - 3) / 10)
    kernels = []
    for name in names:
        times_us = [time_us for one, time_us, _ in launches if one == name]
        counts = tuple(sorted({count for one, _, count in launches if one == name and count is not None}))
        kernels.append(
            TracedKernel(name, ROUNDS * len(times_us), sum(times_us) / len(times_us), median(times_us), min(times_us),
                         ROUNDS * sum(times_us), counts, counts[0] < compute_units if counts else None)
        )  # fmt: skip
    window_us = spans[-1].start_us + spans[-1].duration_us
    busy_ratio = sum(span.duration_us for span in spans) / window_us
    starving = gap_us > median(time_us for _, time_us, _ in launches)
    return TracedArm(arm, tuple(kernels), tuple(spans), ROUNDS, gap_us, busy_ratio, starving, f"{FOLDER}/{arm}.db")


def traced_record(*arms: TracedArm, variant: str = "separate", tokens: int = 1, notes: tuple[str, ...] = ()) -> Record:
    """A regressed case of 40 compute units with these arms."""
    return Record(
        CaseId("moe_add_inject", variant, tokens),
        "kernels/moe_add_inject/test_moe_add_inject.py",
        Decision(Verdict.REGRESSED, True, "regressed", "slower"),
        trace=CaseTrace("rocprofv3", arms, notes, 40),
    )


def pair_record() -> Record:
    """Two launches a round: the lesson's separate pair."""
    slower = [(name, time_us * 1.5, workgroups) for name, time_us, workgroups in PAIR]
    return traced_record(traced_arm("head", slower, 2.0), traced_arm("baseline", PAIR, 1.1))


def dense_record() -> Record:
    """Two hundred launches a round: forty layers of five kernels."""
    slower = [(name, time_us * (1.4 if "rms" in name else 1), count) for name, time_us, count in LAYER]
    return traced_record(
        traced_arm("head", slower * 40, 1.2),
        traced_arm("baseline", list(LAYER) * 40, 0.6),
        variant="decoder",
        tokens=512,
    )
