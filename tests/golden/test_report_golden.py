"""All renderers, from the same records, compared with the texts beside this file."""

from __future__ import annotations

from collections.abc import Callable

from traced_cases import dense_record, pair_record

from pytest_kernelperf import strict_json
from pytest_kernelperf.baseline import format as baseline_format
from pytest_kernelperf.baseline.update import Acceptance, update
from pytest_kernelperf.model import DeviceFacts, Record, Run
from pytest_kernelperf.report.detail import failure_text, render_details
from pytest_kernelperf.report.progress import Progress, render_progress
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
    """Claim: one line says how far, which case, which phase, how long and how long left."""
    steps = (
        Progress(0, 16, "moe_add_inject separate at 1 token", "compiling", 0.4),
        Progress(3, 16, "moe_add_inject fused_one_block_per_token at 7 tokens", "blocks 12 of 30", 14.2),
        Progress(15, 16, "moe_add_inject fused_column_tiles_64 at 512 tokens", "", 3725.0),
    )
    golden("progress.txt", "".join(f"{render_progress(step)}\n" for step in steps))


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
