"""The finished values of a report: each cell, each line, and when progress is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.model import Floor, LaunchFill, Noise, Record, Run, Verdict
from pytest_kernelperf.report.detail import failure_text, render_details
from pytest_kernelperf.report.progress import Progress, ProgressPolicy, estimate_remaining_s, render_progress
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.summary import headline, next_commands
from pytest_kernelperf.report.table import render_tables
from pytest_kernelperf.report.terminal import render_run
from pytest_kernelperf.report.view import COLUMNS, RATE, fills_text, time_text, view_of

RUN = read_run(Path(__file__).parent.parent / "golden" / "run.json")


def of(verdict: Verdict) -> Record:
    """The sample record with a verdict."""
    return next(record for record in RUN.records if record.decision.verdict is verdict)


def cells(record: Record, **device: Any) -> dict[str, str]:
    """A record's row by column."""
    run = msgspec.structs.replace(RUN, records=(record,), device=msgspec.structs.replace(RUN.device, **device))
    (table,) = view_of(run).tables
    return dict(zip(table.columns, table.rows[0].cells, strict=True))


def with_decision(record: Record, **changes: Any) -> Record:
    """A record with another decision."""
    return msgspec.structs.replace(record, decision=msgspec.structs.replace(record.decision, **changes))


def test_a_stored_time_is_marked() -> None:
    """Claim: a time that was not taken today says so, and each time names its mode."""
    assert time_text(of(Verdict.IDENTICAL)) == "4.05 graph (stored)"
    assert time_text(of(Verdict.ACCEPTED)) == "19.90 queued"
    assert time_text(of(Verdict.WRONG)) == "-"


def test_cold_caches_are_marked() -> None:
    """Claim: a time with cold caches never looks like a warm one."""
    accepted = msgspec.structs.replace(of(Verdict.ACCEPTED), cache="cold")
    assert time_text(accepted) == "19.90 queued cold"
    assert time_text(msgspec.structs.replace(accepted, time_is_stored=True)) == "19.90 queued cold (stored)"
    regressed = msgspec.structs.replace(of(Verdict.REGRESSED), cache="cold")
    assert "with cold caches" in failure_text(regressed)


def test_operations_have_a_column_where_they_are_stated() -> None:
    """Claim: 1e9 operations a second beside GB/s; no other kernel's table is wider for it, nor is a figure made up."""
    new = RUN.records[0]
    assert RATE not in cells(new)
    stated = msgspec.structs.replace(new, operations=2_000_000, time_us=10.0)
    assert cells(stated)[RATE] == "200.0"
    assert list(cells(stated)) == [*COLUMNS[:6], RATE, *COLUMNS[6:]]
    silent = msgspec.structs.replace(new, case=msgspec.structs.replace(new.case, variant="other"))
    untimed = msgspec.structs.replace(stated, time_us=None)
    table = view_of(msgspec.structs.replace(RUN, records=(stated, silent, untimed))).tables[0]
    assert [row.cells[table.columns.index(RATE)] for row in table.rows] == ["200.0", "-", "-"]
    assert RATE in render_tables(view_of(msgspec.structs.replace(RUN, records=(stated,))), "github")


def test_bandwidth_above_the_peak_came_from_a_cache() -> None:
    """Claim: more than memory can give is marked; without a known peak nothing is said."""
    new = RUN.records[0]
    assert (cells(new)["GB/s"], cells(new)["% of peak"]) == ("956.4", "423 % (from cache)")
    assert cells(of(Verdict.IDENTICAL))["% of peak"] == "13 %"
    assert cells(new, peak_gb_per_s=None)["% of peak"] == "-"


@pytest.mark.parametrize(
    ("fills", "text"),
    [
        ((), "-"),
        ((LaunchFill("a", 1, 40, 40, 8),), "1/40 starved"),
        ((LaunchFill("a", 40, 40, 40, 8),), "40/40"),
        ((LaunchFill("a", 10, 10, 40, 8, Floor(10, "why")),), "10/40 (floor 10)"),
        ((LaunchFill("a", 1, 10, 40, 8, Floor(10, "why")),), "1/40 starved (floor 10)"),
        ((LaunchFill("a", 512, 40, 40, 8), LaunchFill("b", 7, 40, 40, 8)), "7/40 starved, 512/40"),
        (tuple(LaunchFill("a", count, 1, 40, 8) for count in (5, 4, 3, 2, 2, 1)), "1/40, 2/40, 3/40, 2 more"),
    ],
)
def test_workgroups_stand_beside_compute_units_smallest_first(fills: tuple[LaunchFill, ...], text: str) -> None:
    """Claim: the launch that fills the device least is read first."""
    assert fills_text(fills) == text


def test_the_change_shown_is_the_one_that_decided() -> None:
    """Claim: where the replaced variant decided, its comparison is shown, and said to be with it."""
    slower = of(Verdict.SLOWER_THAN_REPLACED)
    assert cells(slower)["change"] == "+5.1 % (+4.9 to +5.3 %) vs replaced"
    both = msgspec.structs.replace(slower, comparisons=(*slower.comparisons, *of(Verdict.REGRESSED).comparisons))
    assert cells(both)["change"] == "+5.1 % (+4.9 to +5.3 %) vs replaced"
    assert cells(with_decision(both, verdict=Verdict.REGRESSED))["change"] == "+33.1 % (+32.8 to +33.4 %)"
    assert cells(with_decision(slower, verdict=Verdict.NEW))["change"] == "-"


def test_an_expected_starvation_is_said_in_the_verdict() -> None:
    """Claim: a case that may be starved is not shown as if it were not."""
    expected = next(record for record in RUN.records if record.notes)
    assert cells(expected)["verdict"] == "new, starved as expected"
    assert cells(of(Verdict.STARVED))["verdict"] == "starved"
    assert cells(with_decision(expected, verdict=Verdict.WRONG, fails=True))["verdict"] == "wrong"


def test_kernels_have_tables_of_their_own_in_order() -> None:
    """Claim: rows are grouped by kernel and ordered by tokens; the variants of a size stay as the run has them."""
    other = msgspec.structs.replace(
        RUN.records[0], case=msgspec.structs.replace(RUN.records[0].case, kernel="a_kernel")
    )
    view = view_of(msgspec.structs.replace(RUN, records=(*reversed(RUN.records), other)))
    assert [table.kernel for table in view.tables] == ["a_kernel", "moe_add_inject"]
    sizes = [int(row.cells[0]) for row in view.tables[1].rows]
    assert sizes == sorted(sizes)
    variants = [r.case.variant for r in reversed(RUN.records) if r.case.tokens == sizes[0] and not r.mutation_of]
    assert [row.cells[1] for row in view.tables[1].rows][: len(variants)] == variants
    assert all(not row.cells[1].startswith("last_tile") for row in view.tables[1].rows), "mutations are not timed"


def test_a_scripted_clock_is_said() -> None:
    """Claim: numbers that no device gave are never shown as if one had."""
    assert "clock script" in view_of(msgspec.structs.replace(RUN, scripted_clock=True)).device


def test_a_strangers_text_cannot_paint_the_terminal_or_break_a_table() -> None:
    """Claim: control characters, line breaks and Markdown from a run file stay harmless."""
    case = msgspec.structs.replace(RUN.records[0].case, variant="a\x1b[2Jb\n|c<img>\u202e@d")
    record = msgspec.structs.replace(RUN.records[0], case=case, test="t\x1b.py::x\n", notes=("n\x07",))
    run = msgspec.structs.replace(RUN, records=(with_decision(record, fails=True, reason="r\x1b\x9b\r"),))
    for text in (render_run(run), render_run(run, "github")):
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\r", "\u202e"}
    row = next(line for line in render_tables(view_of(run), "github").splitlines() if "a?" in line)
    assert "\\|c&lt;img&gt;?@\u200bd" in row


def test_a_failures_message_names_its_case_once() -> None:
    """Claim: a reason that begins with the case goes on behind it; a reason that is nothing else is kept."""
    failed = with_decision(of(Verdict.REGRESSED), reason=f"{of(Verdict.REGRESSED).case}, step 1 (add): no such kernel")
    text = failure_text(failed)
    assert text.count(str(failed.case)) == 1
    assert text.splitlines()[1] == "  step 1 (add): no such kernel"
    assert str(failed.case) in failure_text(with_decision(failed, reason=str(failed.case))).splitlines()[1]


def test_a_failures_message_stands_alone() -> None:
    """Claim: case, verdict, sentence, numbers and the next command are all in the failing test's message."""
    text = failure_text(of(Verdict.REGRESSED))
    assert text.startswith("regressed: moe_add_inject separate at 512 tokens\n  33.1 % slower than the baseline")
    for part in ("+33.1 % (+32.8 to +33.4 %)", "5 slower", "graph mode", "seeds 7, 8, 9, 10, 11", "200 rounds"):
        assert part in text
    selection = "kernels/moe_add_inject/test_moe_add_inject.py -k '[separate-512]'"
    assert f"pytest --kernelperf {selection}\n" in text
    assert f'pytest --kernelperf {selection} --update-baselines="why"\n' in text


def test_a_case_without_a_module_is_selected_by_its_names() -> None:
    """Claim: the command selects by kernel, variant and size where the record has no test module."""
    record = msgspec.structs.replace(of(Verdict.REGRESSED), test="")
    assert "pytest --kernelperf -k 'moe_add_inject and [separate-512]'\n" in failure_text(record)


def test_only_what_a_reason_can_accept_is_offered_for_acceptance() -> None:
    """Claim: a wrong, starved or contended case is never offered as a baseline."""
    for record in RUN.records:
        verdict = record.decision.verdict
        slower = verdict in (Verdict.REGRESSED, Verdict.SLOWER_THAN_REPLACED, Verdict.UNDECIDED)
        assert ("--update-baselines" in failure_text(record)) == slower


def test_details_are_of_failing_and_undecided_cases_only() -> None:
    """Claim: nothing that passed takes the reader's time."""
    text = render_details(RUN)
    for record in RUN.records:
        undecided = record.decision.verdict is Verdict.UNDECIDED
        assert (f"{record.decision.verdict.value}: {record.case}" in text) == (record.decision.fails or undecided)
    assert render_details(msgspec.structs.replace(RUN, records=(RUN.records[0],))) == ""


def test_warnings_are_shown_where_failures_already_were() -> None:
    """Claim: below pytest's own failures only what warns is told again."""
    text = render_run(RUN, details=False)
    assert "undecided: moe_add_inject separate at 7 tokens" in text
    assert "regressed: moe_add_inject" not in text


def only(*records: Record) -> Run:
    """The run with these records."""
    return msgspec.structs.replace(RUN, records=records)


def test_the_headline_counts_failing_cases_first() -> None:
    """Claim: what fails is read first, mutations are counted apart."""
    regressed, identical, caught = of(Verdict.REGRESSED), of(Verdict.IDENTICAL), of(Verdict.CAUGHT)
    assert headline(only(identical, identical, regressed)) == "3 cases: 1 regressed, 2 identical"
    assert headline(only(identical, caught)) == "1 case: 1 identical; mutation: 1 caught"
    assert headline(only()) == "0 cases"
    warned, failed = of(Verdict.UNDECIDED), with_decision(of(Verdict.UNDECIDED), fails=True)
    assert headline(only(warned, failed)) == "2 cases: 1 undecided, 1 undecided (warning)"


def test_new_and_improved_cases_come_with_the_command_that_stores_them() -> None:
    """Claim: what to type next is said, and only then."""
    new, improved = of(Verdict.NEW), of(Verdict.IMPROVED)
    assert next_commands(only(of(Verdict.IDENTICAL))) == ()
    assert next_commands(only(new, new)) == (
        '2 cases have no baseline on gfx1151-40cu yet; store with: pytest --kernelperf --update-baselines="first"',
    )
    assert next_commands(only(improved))[0].startswith("1 case got faster; ")


def test_progress_fits_its_width_and_estimates_from_what_is_done() -> None:
    """Claim: one line of the terminal's width; the rest is thought to go as it went so far."""
    progress = Progress(2, 8, "moe_add_inject fused_one_block_per_token at 512 tokens", "blocks", 10.0)
    assert estimate_remaining_s(progress) == 30.0
    assert render_progress(progress, 200).endswith("512 tokens: blocks, 10 s, about 30 s left")
    for width in range(1, 100):
        line = render_progress(progress, width)
        assert len(line) <= width
        assert "\n" not in line
    assert estimate_remaining_s(msgspec.structs.replace(progress, done=0)) is None
    assert estimate_remaining_s(msgspec.structs.replace(progress, done=8)) is None


@pytest.mark.parametrize(
    ("terminal", "environment"),
    [(False, {}), (True, {"CI": "true"}), (True, {"GITHUB_ACTIONS": "1"}), (True, {"TERM": "dumb"})],
)
def test_progress_is_quiet_where_nobody_watches(terminal: bool, environment: dict[str, str]) -> None:
    """Claim: logs are not filled with progress."""
    assert not ProgressPolicy(terminal, {"TERM": "xterm", **environment}).shows(0.0)


def test_progress_is_quiet_where_fewer_words_are_asked_for_or_no_cursor_can_move() -> None:
    """Claim: -q, and a terminal that is none; colours it has none, so NO_COLOR changes nothing."""
    assert not ProgressPolicy(True, {"TERM": "xterm"}, verbosity=-1).shows(0.0)
    assert not ProgressPolicy(True, {}).shows(0.0)
    assert not ProgressPolicy(True, {"TERM": "unknown"}).shows(0.0)
    assert ProgressPolicy(True, {"TERM": "xterm", "NO_COLOR": "1", "CI": ""}, verbosity=2).shows(0.0)


def test_progress_is_drawn_at_once_and_ten_times_in_any_second() -> None:
    """Claim: phases may change a thousand times a second, the terminal does not."""
    policy = ProgressPolicy(True, {"TERM": "xterm"})
    shown = [millisecond for millisecond in range(5000) if policy.shows(millisecond / 1000)]
    assert shown[:11] == [*range(10), 1000]
    assert all(later - sooner >= 1000 for sooner, later in zip(shown, shown[10:], strict=False))


def test_no_name_can_repaint_the_terminal_or_pass_its_edge() -> None:
    """Claim: control characters are replaced; wide characters count twice."""
    hostile = Progress(0, 1, "a\x1b[2J\nb\u202e", "timing\r\x07", 1.0)
    assert render_progress(hostile) == "[1/1] a?[2J b?: timing??, 1 s"
    wide = Progress(0, 1, "核" * 60, "timing", 1.0)
    for width in range(8, 200):
        line = render_progress(wide, width)
        assert sum(2 if character == "核" else 1 for character in line) <= width
    assert render_progress(wide, 40) == "[1/1] " + "核" * 7 + "…" + "核" * 3 + ": timing, 1 s"


def test_what_would_have_been_caught_is_said_only_where_no_change_was_found() -> None:
    """Claim: a slowdown's own spread is in that figure, and whoever reads of a slowdown does not ask for it."""
    slower = of(Verdict.REGRESSED)
    (comparison,) = slower.comparisons
    quiet = msgspec.structs.replace(comparison, slower=0, faster=0)
    unchanged = msgspec.structs.replace(slower, comparisons=(quiet,))
    assert cells(slower)["would catch"] == "-"
    assert "would catch" not in failure_text(slower)
    assert cells(unchanged)["would catch"] == "1.2 %"
    assert "would catch" in failure_text(unchanged)


def test_a_failing_case_says_a_thing_once_and_in_one_unit() -> None:
    """Claim: two speeds stand in the note or in a row of their own, and the floor is written as it was set."""
    slower = of(Verdict.REGRESSED)
    noise = Noise("two_speeds", "two speeds, 27 % apart")
    measured = next(record for record in RUN.records if record.measurements).measurements[0]
    measured = msgspec.structs.replace(measured, noise=(noise,))
    noisy = msgspec.structs.replace(slower, measurements=(measured,))
    assert failure_text(noisy).count("two speeds, 27 %") == 1
    noted = msgspec.structs.replace(noisy, notes=("process 1: two speeds, 27 % apart",))
    assert failure_text(noted).count("two speeds, 27 %") == 1
    floor = msgspec.structs.replace(slower.comparisons[0], floor_us=0.02)
    assert "and 0.02 us" in failure_text(msgspec.structs.replace(slower, comparisons=(floor,)))


def test_the_hint_to_store_keeps_what_the_user_chose() -> None:
    """Claim: following it measures the same cases, not all of them."""
    run = msgspec.structs.replace(RUN, settings={**RUN.settings, "selection": "-k moe"})
    lines = next_commands(run)
    assert lines
    assert all("pytest --kernelperf -k moe --update-baselines=" in line for line in lines)
