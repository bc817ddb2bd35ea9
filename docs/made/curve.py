"""The lesson's kernels on an H200: time against tokens, from the baselines that were accepted there.

PYTHONPATH=docs python -m made.curve      # writes docs/curve_h200.svg, prints what it shows
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from pytest_kernelperf.baseline.entry import Baseline, BaselineCase
from pytest_kernelperf.baseline.format import decode
from pytest_kernelperf.model import (
    NO_DEVICE,
    CaseId,
    Decision,
    LaunchFill,
    Measurement,
    Record,
    Run,
    Sample,
    Verdict,
)
from pytest_kernelperf.report.figure.drawing import draw_svg
from pytest_kernelperf.report.figure.figure import Figure
from pytest_kernelperf.report.figure.kernel_curve import kernel_curve

DOCS = Path(__file__).parents[1]
KERNEL = "moe_add_inject"
FILE = DOCS.parent / "baselines" / "sm90-132sm" / f"{KERNEL}.json"
PICTURE = DOCS / "curve_h200.svg"
PEAK_GB_PER_S = 4814.3
"""As `kernelperf doctor` said on an H200: docs/doctor.md."""


def figure() -> Figure:
    """Return the curve of the accepted cases."""
    baseline = decode(FILE.read_bytes(), FILE.name)
    device = msgspec.structs.replace(NO_DEVICE, key=baseline.device_key, peak_gb_per_s=PEAK_GB_PER_S)
    records = tuple(record_of(baseline, case) for case in baseline.cases)
    found = kernel_curve(Run(1, "", "", device, {}, {}, records), KERNEL)
    assert found is not None
    return found


def record_of(baseline: Baseline, case: BaselineCase) -> Record:
    """Return an accepted case as the run that measured it had it."""
    units = baseline.device.compute_units
    return Record(
        CaseId(baseline.kernel, case.variant, case.tokens),
        baseline.test_module,
        Decision(Verdict.NEW, False, "", ""),
        mode=case.mode,
        time_us=case.time_us,
        moved_bytes=case.moved_bytes,
        fills=tuple(LaunchFill(one.kernel, one.workgroups, 1, units, 0) for one in case.plan.launches),
        measurements=tuple(
            Measurement(
                number,
                case.mode,
                process.rounds,
                0,
                tuple(Sample("head", block, 0, time_us, 0.0) for block, time_us in enumerate(process.times_us)),
            )
            for number, process in enumerate(case.processes)
        ),
    )


if __name__ == "__main__":
    drawn = figure()
    PICTURE.write_text(draw_svg(drawn) + "\n", encoding="utf-8")
    print(f"{PICTURE.name}: {drawn.description}")
