"""What is said under a traced case: one table, traced times by name, and how to open the traces."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from traced_cases import PAIR, pair_record, traced_arm, traced_record

from pytest_kernelperf.model import CaseTrace, Decision, Record, Run, Verdict
from pytest_kernelperf.report.markdown import ZERO_WIDTH
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.table import Format
from pytest_kernelperf.report.terminal import MOST_TRACES, render_run
from pytest_kernelperf.report.traced import COLUMNS, render_traced

RUN = read_run(Path(__file__).parent.parent / "golden" / "run.json")
FORMS: tuple[Format, ...] = ("plain", "github")


def rows(record: Record) -> list[list[str]]:
    """Return the cells of the table in Markdown."""
    lines = [line for line in render_traced(record, "github").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|:")]


def run_of(*records: Record) -> Run:
    """Return a run of these records alone."""
    return msgspec.structs.replace(RUN, records=records)


def passing(record: Record) -> Record:
    """Return a record that fails nothing."""
    return msgspec.structs.replace(record, decision=Decision(Verdict.UNCHANGED, False, "unchanged", "as it was"))


def test_arms_stand_side_by_side() -> None:
    """Claim: each kernel has a row for each arm, the longest first, then what is of the whole arm."""
    assert rows(pair_record()) == [
        list(COLUMNS),
        ["inject_kernel", "head", "5", "1.20", "1.20", "40/40", "", ""],
        ["", "baseline", "5", "0.8", "0.8", "40/40", "", ""],
        ["add_kernel", "head", "5", "1.08", "1.08", "10/40 starved", "", ""],
        ["", "baseline", "5", "0.72", "0.72", "10/40 starved", "", ""],
        ["all kernels", "head", "10", "", "", "", "2.00", "45.4 %"],
        ["", "baseline", "10", "", "", "", "1.10", "50.2 %"],
    ]


def test_a_kernel_of_one_arm_alone_has_one_row() -> None:
    """Claim: fused and separate stand beside each other without figures that nobody measured."""
    fused = traced_arm("head", [("fused_one_block_per_token", 3.31, 1)], 2.0)
    found = [row[:3] for row in rows(traced_record(fused, traced_arm("replaced", PAIR, 1.1)))[1:]]
    assert found == [
        ["fused_one_block_per_token", "head", "5"],
        ["inject_kernel", "replaced", "5"],
        ["add_kernel", "replaced", "5"],
        ["all kernels", "head", "5"],
        ["", "replaced", "10"],
    ]


def test_several_and_unknown_workgroups_are_told_apart() -> None:
    """Claim: a kernel of several sizes names them, and one of unknown size no number."""
    launches = [("several", 2.0, 8), ("several", 2.0, 80), ("unknown", 1.0, None)]
    record = traced_record(traced_arm("head", launches, 1.0))
    assert [row[5] for row in rows(record)[1:3]] == ["(8, 80)/40 starved", "-/40"]
    unknown = msgspec.structs.replace(record, trace=msgspec.structs.replace(record.trace, compute_units=None))
    assert [row[5] for row in rows(unknown)[1:3]] == ["(8, 80)/- starved", "-/-"]


@pytest.mark.parametrize("form", FORMS)
def test_every_time_is_said_to_be_traced(form: Format) -> None:
    """Claim: no column of times goes without the word, and the heading names who recorded them."""
    text = render_traced(pair_record(), form)
    assert "traced times (rocprofv3) say why, not by how much" in text
    assert all(column.startswith("traced") for column in COLUMNS if column.endswith(" us"))
    assert all(column in text for column in COLUMNS)


@pytest.mark.parametrize("form", FORMS)
def test_each_trace_is_named_with_what_opens_it(form: Format) -> None:
    """Claim: paths as one types them, the picture, and a command for two that can be copied."""
    text = render_traced(pair_record(), form, "out")
    folder = "out/traces/moe_add_inject-separate-1"
    for words in (f"{folder}/head.db", f"{folder}/timeline.svg", "ROCm Optiq", "ui.perfetto.dev",
                  f"kernelperf trace {folder}/baseline.db {folder}/head.db"):  # fmt: skip
        assert words in text


def test_of_three_arms_the_first_two_are_compared() -> None:
    """Claim: the new code beside what it is held against, that first, as kernelperf trace has it."""
    arms = [traced_arm(arm, PAIR, 1.0) for arm in ("head", "baseline", "parent")]
    assert "/baseline.db traces/moe_add_inject-separate-1/head.db\n" in render_traced(traced_record(*arms))


@pytest.mark.parametrize("form", FORMS)
def test_no_trace_is_its_reason(form: Format) -> None:
    """Claim: where nothing could be recorded, what went wrong is all that is said."""
    notes = ("rocprofv3 was not found: install ROCm's profiler",)
    text = render_traced(msgspec.structs.replace(pair_record(), trace=CaseTrace("rocprofv3", (), notes)), form)
    assert "no trace" in text
    assert notes[0] in text
    assert "traced times" not in text
    assert "to open" not in text


@pytest.mark.parametrize("form", FORMS)
def test_a_strangers_texts_stay_in_their_place(form: Format) -> None:
    """Claim: names, notes and paths neither end a cell or line, nor paint the terminal, nor become commands."""
    hostile = "x|<img>\n\x1b[31m@all $(rm -rf ~)"
    arm = traced_arm("head", [(hostile, 1.0, 4)], 1.0)
    arm = msgspec.structs.replace(arm, arm=hostile, path=f"{hostile}/head.db")
    text = render_traced(traced_record(arm, traced_arm("baseline", PAIR, 1.0), notes=(hostile,)), form)
    assert all(line.replace(ZERO_WIDTH, "").isprintable() for line in text.splitlines())
    assert "'x|" in text.replace("\\|", "|").split("side by side")[1]
    if form == "github":
        assert "<img>" not in text
        assert "@all" not in text
        bars = [line.replace("\\|", "").count("|") for line in text.splitlines() if line.startswith("|")]
        assert set(bars) == {len(COLUMNS) + 1}


def test_many_kernels_are_cut_and_counted() -> None:
    """Claim: the table stays small however many kernels a round has."""
    launches = [(f"kernel_{place}", 1.0 + place, 8) for place in range(40)]
    table = rows(traced_record(traced_arm("head", launches, 1.0)))
    assert len(table) == 1 + 12 + 1
    assert (table[1][0], table[-1][0], table[-1][2]) == ("kernel_39", "all 40 kernels", "200")


def test_cases_that_pass_show_their_traces_too() -> None:
    """Claim: --kernelperf-trace=always is answered on the screen, for as many cases as one reads."""
    text = render_run(run_of(*[passing(pair_record())] * (MOST_TRACES + 2)))
    assert text.count("traced: moe_add_inject separate at 1 token\n  traced times") == MOST_TRACES
    assert "2 more cases were traced" in text
    failing = render_run(run_of(pair_record()))
    assert "traced: moe_add_inject" not in failing
    assert failing.count("traced times") == 1


def test_markdown_has_a_real_table() -> None:
    """Claim: it stands outside of the fenced details, once."""
    text = render_run(run_of(pair_record()), "github")
    assert text.count("traced times") == 1
    assert text.index("```\n") < text.index("| kernel ")
