"""The pictures of a run, from real samples of an H200 that the tests keep: code beside the same that spins a while.

PYTHONPATH=docs python -m made.pictures      # writes docs/picture_*.svg, prints their words and the terminal's picture
"""

from __future__ import annotations

import msgspec

from made.decision import DATA, DOCS, PROCESSES, SPINNING, rows_of
from pytest_kernelperf import reason
from pytest_kernelperf.judge import verdict_of
from pytest_kernelperf.model import CaseId, Decision, DeviceFacts, LaunchFill, Measurement, Record, Run, Sample
from pytest_kernelperf.report.figure.drawing import draw_svg
from pytest_kernelperf.report.figure.figure import Figure
from pytest_kernelperf.report.figure.kernel_curve import kernel_curve
from pytest_kernelperf.report.figure.samples_in_time import samples_in_time
from pytest_kernelperf.report.figure.spread import run_rows, spread
from pytest_kernelperf.report.figure.text_pictures import text_pictures
from pytest_kernelperf.stats.comparison import compare
from pytest_kernelperf.stats.policy import Policy

KERNEL = "moe_add_inject"
CYCLES = 100
BUSY = DATA / "h200" / "contended_queued.jsonl.gz"
H200 = DeviceFacts("cuda", "", "sm90-132sm", "NVIDIA H200", "sm_90", 132, 132, 32, 1024, 232_448, 150_754_820_096,
                   peak_gb_per_s=4_800.0)  # fmt: skip
COLUMNS, STREAMS, THREADS = 2560, 4, 256

Times = dict[int, list[list[float]]]


def moved_bytes(variant: str, tokens: int) -> int:
    """Both inputs and x in and out; the separate launches write and read y besides."""
    floats = 2 * COLUMNS + 2 * STREAMS * COLUMNS + STREAMS + (2 * COLUMNS if variant == "separate" else 0)
    return 4 * floats * tokens


def workgroups(variant: str, tokens: int) -> int:
    """Of the smallest launch."""
    return tokens if variant == "fused_one_block_per_token" else tokens * COLUMNS // THREADS


def record_of(case: CaseId, processes: Times, contended_by: str = "") -> Record:
    """A case as the guard has it; ``processes`` has the times of the baseline and of head, block by block."""
    measurements = tuple(
        Measurement(process, "queued", 200, 0, tuple(
            Sample(arm, block, place, time_us, 0.0)
            for place, (arm, times) in enumerate(zip(("baseline", "head"), both, strict=True))
            for block, time_us in enumerate(times)
        ), contended_by=contended_by)
        for process, both in sorted(processes.items())[:PROCESSES]
    )  # fmt: skip
    found = compare(measurements, "head", "baseline", Policy(tolerance=0.01, floor_us=0.02))
    verdict = verdict_of(found)
    fails = verdict.value == "regressed"
    groups = workgroups(case.variant, case.tokens)
    decision = Decision(verdict, fails, "slower" * fails, reason.changed(found, "the baseline"))
    return Record(
        case, "test_moe_add_inject.py", decision,
        moved_bytes=moved_bytes(case.variant, case.tokens), mode="queued", time_us=found.time_us, comparisons=(found,),
        measurements=measurements, fills=(LaunchFill(case.variant, groups, min(groups, 132), 132, 0),),
    )  # fmt: skip


def run_of(cycles: int) -> Run:
    """All cases of the file, with code that spins for so many cycles as head."""
    cases: dict[CaseId, Times] = {}
    for row in rows_of(SPINNING):
        found = cases.setdefault(CaseId(KERNEL, row["variant"], row["tokens"]), {}).setdefault(row["process"], [])
        if row["spin_cycles"] == (0, cycles)[min(len(found), 1)] and len(found) < 2:
            found.append(row["us"])
    records = tuple(record_of(case, times) for case, times in cases.items())
    return Run(1, "", "", H200, {}, {"mode": "queued"}, records)


def disturbed() -> Record:
    """The same code twice, while another process kept the GPU busy."""
    case, times = CaseId(KERNEL, "separate", 1), dict[int, list[list[float]]]()
    for row in rows_of(BUSY):
        if (row["mode"], row["variant"], row["tokens"]) == ("queued", case.variant, case.tokens):
            times.setdefault(row["process"], []).append(row["us"])
    return record_of(case, {process: both[:2] for process, both in times.items()}, "another process")


def write(name: str, figure: Figure | None) -> None:
    """Draw it, and say what it shows."""
    assert figure is not None
    (DOCS / f"picture_{name}_h200.svg").write_text(draw_svg(figure) + "\n", encoding="utf-8")
    print(f"{name}: {figure.description}")


if __name__ == "__main__":
    run = run_of(CYCLES)
    write("curve", kernel_curve(run, KERNEL))
    write("samples", samples_in_time(disturbed()))
    write("spread", spread(run_rows(run.records), "what the samples of this run would have shown"))
    worst = msgspec.structs.replace(
        run, records=tuple(r for r in run.records if r.case.variant == "fused_column_tiles")
    )
    print("\n".join(list(text_pictures(worst, 100))[:2]))
