"""All renderers, from the same records, compared with the texts beside this file."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from traced_cases import dense_record, pair_record

from pytest_kernelperf import strict_json
from pytest_kernelperf.baseline import format as baseline_format
from pytest_kernelperf.baseline.update import Acceptance, update
from pytest_kernelperf.model import DeviceFacts, Record, Run
from pytest_kernelperf.report.detail import failure_text, render_details
from pytest_kernelperf.report.progress import Estimate, Progress, Timing, render_progress
from pytest_kernelperf.report.table import render_tables
from pytest_kernelperf.report.terminal import render_run
from pytest_kernelperf.report.timeline import render_timeline
from pytest_kernelperf.report.traced import render_traced
from pytest_kernelperf.report.view import view_of

Golden = Callable[[str, "bytes | str"], None]


def test_the_terminal_table_reads_as_it_did(sample_run: Run, golden: Golden) -> None:
    """Claim: every verdict has its row, grouped by kernel, in order of tokens."""
    golden("table.txt", render_tables(view_of(sample_run)))


def test_the_markdown_table_reads_as_it_did(sample_run: Run, golden: Golden) -> None:
    """Claim: Markdown holds the same cells."""
    golden("table.md.txt", render_tables(view_of(sample_run), "github"))


def test_the_details_read_as_they_did(sample_run: Run, golden: Golden) -> None:
    """Claim: each failing case shows reason, numbers and the next command."""
    golden("details.txt", render_details(sample_run))


def test_the_whole_report_reads_as_it_did(sample_run: Run, golden: Golden) -> None:
    """Claim: table, details, headline and commands come in that order."""
    golden("report.txt", render_run(sample_run))


def test_the_markdown_report_reads_as_it_did(sample_run: Run, golden: Golden) -> None:
    """Claim: details are fenced, so that nothing in them is taken for Markdown."""
    golden("report.md.txt", render_run(sample_run, "github"))


def test_a_failing_tests_message_reads_as_it_did(sample_run: Run, golden: Golden) -> None:
    """Claim: the message of one failing test stands alone."""
    regressed = next(record for record in sample_run.records if record.decision.verdict.value == "regressed")
    golden("failure.txt", failure_text(regressed))


def test_progress_reads_as_it_did(golden: Golden) -> None:
    """Claim: one line says how far, which case, which phase, what so far, how long; the narrower, the less of it."""
    steps = (
        Progress(0, 16, "moe_add_inject separate at 1 token", "compiling", 0.4),
        Progress(3, 16, "moe_add_inject fused_one_block_per_token at 7 tokens", "blocks 12 of 30", 14.2),
        Progress(15, 16, "moe_add_inject fused_column_tiles_64 at 512 tokens", "", 3725.0),
    )
    lines = [render_progress(step) for step in steps]
    estimate = Estimate(2.26, "baseline", 1.0226, 1.019, 1.026, "regressed")
    timing = Timing(12, 29, 29, 464, estimate)
    case, phase = "moe_add_inject fused_column_tiles at 7 tokens", "timing, process 2 of 3"
    step = Progress(3, 16, case, phase, 14.2, timing, 9.0)
    widths = (240, 200, 160, 132, 119, 100, 79, 60, 40, 20, 8, 1, 0)
    lines += [f"{width:3} {render_progress(step, width)}" for width in widths]
    alone = msgspec.structs.replace(timing, estimate=Estimate(2.26))
    lines.append(render_progress(msgspec.structs.replace(step, timing=alone), 160))
    golden("progress.txt", "".join(f"{line}\n" for line in lines))


def test_a_timeline_is_drawn_as_it_was(sample_run: Run, golden: Golden) -> None:
    """Claim: the same trace is the same picture, to the last byte."""
    traced = next(record for record in sample_run.records if record.trace is not None)
    golden("timeline.svg", render_timeline(traced) or "")


def test_a_timeline_of_two_hundred_launches_is_drawn_as_it_was(golden: Golden) -> None:
    """Claim: both rounds small, their beginning enlarged."""
    golden("timeline_200.svg", render_timeline(dense_record()) or "")


def test_a_lessons_pair_reads_as_it_did(golden: Golden) -> None:
    """Claim: traced head beside baseline: calls, times, workgroups, gaps, share busy, files and what opens them."""
    golden("traced.txt", render_traced(pair_record(), folder=".kernelperf"))


def test_the_run_file_is_written_as_it_was(sample_run: Run, golden: Golden) -> None:
    """Claim: the format of run.json has not changed unnoticed."""
    golden("run.json", strict_json.layout(sample_run))


def test_a_baseline_is_written_as_it_was(stored_record: Record, device: DeviceFacts, golden: Golden) -> None:
    """Claim: the format of a baseline has not changed unnoticed."""
    module = "kernels/moe_add_inject/test_moe_add_inject.py"
    acceptance = Acceptance("moe_add_inject", module, device, "first", "2026-03-01", "0.1.0")
    baseline = update(None, [stored_record], acceptance).baseline
    assert baseline is not None
    golden("baseline.json", baseline_format.encode(baseline))
