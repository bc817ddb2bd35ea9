"""Runs for the page: as large as one likes, with samples that spread as measured ones do, and names that mean harm."""

from __future__ import annotations

import msgspec
import numpy as np
from traced_cases import PAIR, traced_arm

from pytest_kernelperf.model import (
    BufferArgument,
    CaseId,
    CaseTrace,
    Comparison,
    Decision,
    DeviceFacts,
    Drift,
    LaunchFill,
    LaunchStep,
    Measurement,
    Plan,
    Record,
    Run,
    Sample,
    ScalarArgument,
    Verdict,
)

DEVICE = DeviceFacts(
    runtime="rocm",
    library="/opt/rocm/lib/libamdhip64.so.7",
    key="gfx1151-40cu",
    name="AMD Radeon 8060S Graphics",
    architecture="gfx1151",
    compute_units=40,
    hip_compute_units=20,
    warp_size=32,
    max_threads_per_block=1024,
    max_shared_bytes=65536,
    total_memory_bytes=68_719_476_736,
    peak_gb_per_s=226.0,
    compute_units_source="kfd simd_count / simd_per_cu",
    hip_version="7.2.53211",
    driver="amdgpu 6.16.6",
)
VARIANTS, SIZES, TOLERANCE = ("plain", "fused", "column_tiles", "split"), (1, 7, 64, 512, 4096), 1.01
HARM = (
    "</script><script>window.harmed = 1</script>",
    '"><img src=x onerror="window.harmed = 1">',
    "<!--<script>",
    "\u202egnp.exe\u2066\u0007\x1b[2J",
    "{{ 7 * 7 }}{% raw %}${alert(1)}",
    "javascript:window.harmed=1",
    "a b\tc/d?e#f%41&g=h~2\\",
    "𝒳-ß-👩‍💻-é\u0301\u0301\u0301\u0301",
    "*_`[x](http://evil.example)`_*",
)
"""Names that would be elements, programs, addresses or other directions of writing, were they not text."""


def measured_run(cases: int = 20, blocks: int = 30, processes: int = 5, slower: int = 2, seed: int = 7) -> Run:
    """Return a run of so many timed cases, of which the first few are slower than their baselines."""
    chance = np.random.default_rng(seed)
    names = [
        CaseId(f"kernel_{kernel:02}", variant, tokens)
        for kernel in range(1 + cases // (len(VARIANTS) * len(SIZES)))
        for variant in VARIANTS
        for tokens in SIZES
    ][:cases]
    worse = {round((place + 0.5) * cases / max(1, slower)) % max(1, cases) for place in range(slower)}
    records = tuple(
        _record(case, 1.023 + place % 7 / 100 if place in worse else 1.0, blocks, processes, chance)
        for place, case in enumerate(names)
    )
    return Run(
        version=1,
        tool_version="0.1.0",
        started_at="2026-03-01T12:00:00+00:00",
        device=DEVICE,
        environment={"kernel_release": "6.16.0", "cpu_governor": "performance"},
        settings={"mode": "graph", "tolerance": "0.01", "command": "pytest --kernelperf"},
        records=records,
        drift=Drift(1.0002, 0.61, 0.01, 1.01, cases, processes, 15, False, facts_known=True,
                    changed=("compiler: amdclang 20.0.0 -> amdclang 20.1.0",)),
        commit="0123456789abcdef0123456789abcdef01234567",
    )  # fmt: skip


def hostile_run() -> Run:
    """Return a run in which every text that a stranger can write means harm."""
    run = measured_run(cases=len(HARM), blocks=4, processes=2, slower=4)
    records = tuple(
        msgspec.structs.replace(
            record,
            case=CaseId(HARM[place % len(HARM)][:1000], HARM[(place + 1) % len(HARM)], place + 1),
            test=HARM[place % len(HARM)],
            source=HARM[place % len(HARM)],
            decision=msgspec.structs.replace(record.decision, reason=f"{HARM[place % len(HARM)]}\n{'x' * 10_000}"),
            notes=HARM,
            resources_changed=(HARM[place % len(HARM)],),
            trace=harmful_trace() if place == 0 else None,
            measurements=tuple(
                msgspec.structs.replace(
                    one, contended_by=HARM[0], samples=tuple(_renamed(sample) for sample in one.samples)
                )
                for one in record.measurements
            ),
        )
        for place, record in enumerate(run.records)
    )
    texts = dict(zip(HARM, reversed(HARM), strict=True))
    device = msgspec.structs.replace(DEVICE, name=HARM[0], compiler=HARM[1], driver=HARM[3])
    return msgspec.structs.replace(
        run, records=records, environment=texts, settings={**texts, "command": HARM[0]}, device=device,
        started_at=HARM[1], tool_version=HARM[2], commit=HARM[0],
    )  # fmt: skip


def harmful_trace() -> CaseTrace:
    """Return a trace whose kernels and files have such names."""
    launches = [(name, time_us, count) for name, (_, time_us, count) in zip(HARM, PAIR, strict=False)]
    return CaseTrace(HARM[0], (traced_arm(HARM[1], launches, 0.5), traced_arm("baseline", launches, 0.4)), HARM, 40)


def traced(record: Record) -> Record:
    """Return a record with a trace of head and baseline."""
    arms = (traced_arm("head", PAIR, 1.9), traced_arm("baseline", PAIR, 0.4))
    return msgspec.structs.replace(record, trace=CaseTrace("rocprofv3", arms, (), 40))


def _renamed(sample: Sample) -> Sample:
    return msgspec.structs.replace(sample, arm=HARM[4]) if sample.block == 3 else sample


def _record(case: CaseId, ratio: float, blocks: int, processes: int, chance: np.random.Generator) -> Record:
    time_us = float(2.1 * case.tokens**0.6 * chance.uniform(0.8, 1.4))
    per_process = ratio * np.exp(chance.normal(0, 0.0008, processes))
    measurements = tuple(
        _measurement(process + 1, time_us * float(chance.normal(1, 0.01)), float(one), blocks, chance)
        for process, one in enumerate(per_process)
    )
    slow = ratio > TOLERANCE
    mean = float(np.exp(np.log(per_process).mean()))
    comparison = Comparison(
        arm="head", against="baseline", mode="graph", change_ratio=mean, low_ratio=float(per_process.min()),
        high_ratio=float(per_process.max()), confidence=0.95, processes=processes, slower=processes if slow else 0,
        faster=0, blocks=blocks, alpha=1e-5, tolerance_ratio=TOLERANCE, floor_us=0.02, time_us=time_us * mean,
        against_us=time_us, per_process_ratio=tuple(map(float, per_process)), not_slower=0 if slow else processes,
        needed=max(1, processes - 1), detectable_ratio=None if slow else 1.0114,
        process_numbers=tuple(range(1, processes + 1)),
    )  # fmt: skip
    count = max(1, case.tokens * 10)
    fill = LaunchFill(f"{case.variant}_kernel", count, min(count, 40), 40, count * 8)
    arguments = (ScalarArgument("<i4", b"\1\0\0\0", 4), BufferArgument("x"), BufferArgument("y"))
    verdict = Verdict.REGRESSED if slow else Verdict.UNCHANGED
    reason = (
        f"{100 * (mean - 1):.1f} % slower than the baseline, {processes} of {processes} processes agree, tolerance 1 %"
    )
    return Record(
        case=case,
        test=f"kernels/{case.kernel}/test_{case.kernel}.py",
        decision=Decision(verdict, slow, "slower" if slow else "unchanged", reason if slow else "within the tolerance"),
        plan=Plan((LaunchStep(fill.kernel, (10, case.tokens, 1), (256, 1, 1), arguments),)),
        resources={fill.kernel: {"vgprs": 24, "sgprs": 18, "lds_bytes": 1024, "spills": 0}},
        resources_changed=(f"{fill.kernel}: VGPRs 24 → 96, spills 0 → 16 (accepted → now)",) if slow else (),
        moved_bytes=case.tokens * 102_416,
        fills=(fill,),
        time_us=time_us * mean,
        measurements=measurements,
        comparisons=(comparison,),
        source=f"kernels/{case.kernel}/{case.kernel}.hip",
    )


def _measurement(process: int, time_us: float, ratio: float, blocks: int, chance: np.random.Generator) -> Measurement:
    samples = []
    for block in range(blocks):
        arms = [("head", time_us * ratio), ("baseline", time_us)]
        for place, which in enumerate(chance.permutation(2)):
            arm, middle_us = arms[which]
            taken_us = float(middle_us * np.exp(chance.normal(0, 0.002)))
            samples.append(Sample(arm, block, place, taken_us, taken_us / 4))
    return Measurement(process, "graph", 200, 40 + process, tuple(samples))
