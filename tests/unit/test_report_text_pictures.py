"""Pictures in characters: what stands where, who gets one, and which streams can show them."""

from __future__ import annotations

import io
from collections.abc import Mapping

import msgspec
import pytest
from figures import broken, compared, measured, rich_run, run_of

from pytest_kernelperf import units
from pytest_kernelperf.model import CaseId, Run
from pytest_kernelperf.report.change import slowdown
from pytest_kernelperf.report.figure.block_differences import BlockRow, Judgement
from pytest_kernelperf.report.figure.block_text import draw_blocks
from pytest_kernelperf.report.figure.canvas import Canvas
from pytest_kernelperf.report.figure.curve_text import draw_curve
from pytest_kernelperf.report.figure.kernel_curve import CurveRow
from pytest_kernelperf.report.figure.text_pictures import text_pictures, why_not


def point(variant: str, tokens: int, time_us: float | None, **more: object) -> CurveRow:
    """One point of a curve."""
    row = CurveRow(variant, "head", tokens, time_us, None, None, "unchanged", False, False, False, "graph", None)
    return msgspec.structs.replace(row, **more)


def place(drawn: str, letter: str) -> list[tuple[int, int]]:
    """Return line and column of each of a letter's marks in the plot."""
    lines = [line for line in drawn.splitlines() if "│" in line or "┤" in line]
    return [(row, at) for row, line in enumerate(lines) for at, found in enumerate(line) if found == letter and at > 10]


class TestCanvas:
    """Dots, lines and letters."""

    def test_braille_has_eight_dots_a_cell(self) -> None:
        """Corners are where they belong: U+28C0 is the lower row, U+2801 the upper left dot."""
        canvas = Canvas(2, 2)
        canvas.line((0, 0), (1, 0))
        canvas.dot(0, 1)
        assert list(canvas.lines()) == ["\u2801", "\u28c0\u28c0"]

    def test_a_coarse_cell_tells_one_dot_from_several(self) -> None:
        """As far as it can."""
        canvas = Canvas(3, 1, braille=False)
        for x in (0, 1, 1):
            canvas.dot(x, 0)
        assert list(canvas.lines()) == ["• ●"]

    def test_what_is_outside_is_not_drawn(self) -> None:
        """Nor does it wrap round to the other side."""
        canvas = Canvas(2, 1)
        for x, y in ((-0.8, 0.5), (1.8, 0.5), (0.5, 3.0), (0.5, -3.0)):
            canvas.dot(x, y)
        canvas.write(0, 1, "ab")
        assert list(canvas.lines()) == [" a"]


class TestCurve:
    """Log axes: equal ratios are equal distances."""

    def test_a_time_ten_times_as_long_stands_as_much_higher(self) -> None:
        """1, 10 and 100 us at 1, 8 and 64 tokens lie on a straight line."""
        rows = [point("a", tokens, time_us) for tokens, time_us in ((1, 1.0), (8, 10.0), (64, 100.0))]
        (top, right), (middle, centre), (bottom, left) = place(draw_curve(rows, 80, 21), "A")
        assert bottom - middle == middle - top > 5
        assert abs((right - centre) - (centre - left)) <= 1
        assert right - left > 60

    def test_a_failing_point_and_a_starved_one_are_marked(self) -> None:
        """Behind their letters; two variants in one cell are said to be several."""
        rows = [point("a", 1, 5.0, starved=True), point("b", 1, 5.0), point("a", 512, 9.0, fails=True)]
        drawn = draw_curve(rows, 80, 12)
        assert "*▾" in drawn
        assert "A!" in drawn
        assert "B" not in "".join(line for line in drawn.splitlines() if "B b" not in line)
        for word in ("▾ starved", "! fails", "* several", "A a", "B b"):
            assert word in drawn
        assert "without a time" not in drawn

    def test_a_case_that_failed_before_it_was_timed_is_marked_on_the_axis(self) -> None:
        """Above its size."""
        rows = [point("a", 1, 5.0), point("a", 512, 9.0), point("b", 512, None, fails=True)]
        lines = draw_curve(rows, 80, 12).splitlines()
        axis = next(line for line in lines if "└" in line)
        assert abs(axis.index("x") - place("\n".join(lines), "A")[0][1]) <= 1
        assert axis.count("x") == 1
        assert lines[-1].endswith("x fails without a time")

    def test_points_of_two_modes_are_not_joined(self) -> None:
        """Between them there is not a dot."""
        rows = [point("a", 1, 5.0), point("a", 512, 500.0, mode="queued")]
        assert not [letter for letter in draw_curve(rows, 80, 12) if "\u2800" < letter <= "\u28ff"]

    def test_one_point_is_a_picture_too(self) -> None:
        """Without a range there is a middle."""
        ((row, column),) = place(draw_curve([point("a", 0, 3.0)], 60, 9), "A")
        assert (row, 30 < column < 40) == (4, True)

    def test_nothing_timed_is_no_picture(self) -> None:
        """A case that failed before it was timed has no place."""
        assert draw_curve([point("a", 1, None, fails=True)], 60, 9) == ""


class TestBlocks:
    """One stretch for each process."""

    JUDGED = Judgement(0.02, 0.019, 0.021, -0.0099, 0.01, "+2 %")

    def drawn(self, *changes: float, judged: Judgement = JUDGED) -> list[str]:
        """Two processes with these changes each."""
        rows = [
            BlockRow(process, block + 1, place, change, False)
            for process in (0, 1)
            for block, (place, change) in enumerate(enumerate(changes, 1 + process * len(changes)))
        ]
        return draw_blocks(rows, judged, 80, 13, braille=False).splitlines()

    def test_slower_stands_above_the_tolerance(self) -> None:
        """And the interval over processes beside it."""
        lines = self.drawn(0.02, 0.0201, 0.0199, 0.02)
        rows = [number for number, line in enumerate(lines) if "•" in line or "●" in line]
        tolerance = next(number for number, line in enumerate(lines) if "+1 %" in line)
        assert rows
        assert max(rows) < tolerance
        assert next(number for number, line in enumerate(lines) if "◆" in line) in rows
        assert lines[tolerance].count("---") > 2

    def test_a_block_far_out_does_not_press_the_others_flat(self) -> None:
        """It is an arrow at the edge it lies beyond."""
        steady = (0.0, 0.001, -0.001, 0.0005, -0.0005, 0.0)
        lines = self.drawn(*steady, 3.0, -0.6, judged=msgspec.structs.replace(self.JUDGED, change=0, low=0, high=0))
        assert lines[0].count("▲") == 2
        assert lines[12].count("▼") == 2
        assert sum("•" in line or "●" in line for line in lines) >= 2

    def test_processes_are_named_and_apart(self) -> None:
        """In their order."""
        *plot, names, _ = self.drawn(0.01)
        assert names.index("process 0") < names.index("┴") < names.index("process 1") < names.index("┘ all")
        assert {line.index("│", 11) for line in plot} == {names.index("┴")}


class TestWhoGetsOne:
    """What fails, and a kernel that is alone."""

    def titles(self, run: Run) -> list[str]:
        """The pictures' first lines."""
        return [picture.splitlines()[0] for picture in text_pictures(run, 80)]

    def test_failing_cases_and_their_kernel(self) -> None:
        """The worst first."""
        run = rich_run()
        slow = sorted((r for r in run.records if r.comparisons and r.decision.fails), key=lambda r: -slowdown(r))
        sizes = [units.format_count(record.case.tokens) for record in slow]
        titles = [title.partition(":")[0] for title in self.titles(run)]
        assert titles == ["moe_add_inject", *(f"moe_add_inject separate at {size} tokens" for size in sizes)]

    def test_of_two_kernels_without_a_failure_none(self) -> None:
        """Where all is well there is nothing that one must look at."""
        well = [compared(CaseId(kernel, "v", tokens), measured(2.0)) for kernel in "ab" for tokens in (1, 7)]
        assert self.titles(run_of(well)) == []
        assert self.titles(run_of(well[:2])) == ["a: time against tokens"]
        (title,) = self.titles(run_of(well[:1]))
        assert title.startswith("a v at 1 token: ")

    def test_many_are_counted(self) -> None:
        """And how to see them is said."""
        slow = [compared(CaseId(f"k{n}", "v", t), measured(2.0, 1.1 + n / 50)) for n in range(5) for t in (1, 7)]
        pictures = list(text_pictures(run_of(slow), 80))
        assert len(pictures) == 7
        assert pictures[-1].startswith("2 more kernels and 7 more cases could be drawn")
        assert pictures[0].startswith("k4")

    def test_a_case_without_samples_has_none(self) -> None:
        """A wrong case was not timed."""
        assert self.titles(run_of([broken(CaseId("k", "v", 1))])) == []


class Terminal(io.TextIOWrapper):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environment", "asked", "shows"),
    [
        (Terminal(io.BytesIO(), "utf-8"), {}, False, True),
        (Terminal(io.BytesIO(), "utf-8"), {"CI": "true"}, False, False),
        (Terminal(io.BytesIO(), "utf-8"), {"CI": "true"}, True, True),
        (Terminal(io.BytesIO(), "utf-8"), {"TERM": "dumb"}, False, False),
        (Terminal(io.BytesIO(), "ascii"), {}, False, False),
        (Terminal(io.BytesIO(), "latin-1"), {}, True, False),
        (io.TextIOWrapper(io.BytesIO(), "utf-8"), {}, False, False),
        (io.TextIOWrapper(io.BytesIO(), "utf-8"), {}, True, True),
    ],
)
def test_who_can_show_pictures(
    stream: io.TextIOWrapper, environment: Mapping[str, str], asked: bool, shows: bool
) -> None:
    """Claim: a terminal whose encoding has the signs; elsewhere who asks for them, never an encoding without them."""
    assert (why_not(stream, environment, asked=asked) == "") is shows
