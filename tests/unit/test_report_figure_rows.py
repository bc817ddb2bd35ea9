"""What figures show: rows, crossovers, names, and words that say it."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec
import pytest
from figures import DEVICE, broken, compared, measured, rich_run, run_of

from pytest_kernelperf.baseline.calibration_summary import CaseSummary
from pytest_kernelperf.model import CaseId, Comparison, LaunchFill, Record, Verdict
from pytest_kernelperf.report.change import deciding
from pytest_kernelperf.report.figure.block_differences import block_differences, block_rows, judgement
from pytest_kernelperf.report.figure.crossover import crossovers_of
from pytest_kernelperf.report.figure.edge import edges
from pytest_kernelperf.report.figure.figure import ROWS
from pytest_kernelperf.report.figure.kernel_curve import CurveRow, curve_rows, kernel_curve
from pytest_kernelperf.report.figure.naming import names_of
from pytest_kernelperf.report.figure.samples_in_time import samples_in_time
from pytest_kernelperf.report.figure.spread import calibration_rows, run_rows, spread
from pytest_kernelperf.stats.comparison import process_medians_us

CASE = CaseId("moe_add_inject", "separate", 64)


def curve(variant: str, *points: tuple[int, float], mode: str = "graph") -> list[CurveRow]:
    """A variant's head at several sizes."""
    return [
        CurveRow(variant, "head", tokens, time_us, None, None, "unchanged", False, False, False, mode, None)
        for tokens, time_us in points
    ]


class TestCurve:
    """Head and what it is held against, each with its interval."""

    def test_each_arm_has_its_own_time_and_interval(self) -> None:
        """Head's is the record's; the interval lies over the processes' medians."""
        record = compared(CASE, measured(10.0, 1.1), moved_bytes=226_000)
        head, baseline = curve_rows([record], 226.0)
        assert (head.arm, baseline.arm) == ("head", "baseline")
        assert head.time_us == record.time_us
        assert baseline.time_us == record.comparisons[0].against_us
        for row in (head, baseline):
            medians = process_medians_us(record.measurements, row.arm)
            assert row.low_us is not None
            assert row.high_us is not None
            assert row.low_us < math.exp(sum(map(math.log, medians)) / 5) < row.high_us
        assert head.roofline_us == pytest.approx(1.0)

    def test_samples_of_another_mode_are_not_in_it(self) -> None:
        """A case timed in two modes has the curve of its own one."""
        other = tuple(msgspec.structs.replace(one, mode="queued") for one in measured(99.0))
        record = compared(CASE, measured(10.0))
        both = msgspec.structs.replace(record, measurements=(*record.measurements, *other))
        assert curve_rows([both], None) == curve_rows([record], None)

    def test_an_expected_starvation_is_one(self) -> None:
        """A floor below the compute units passes the case; the point says all the same that the device is not full."""
        record = compared(CASE, measured(10.0))
        fills = (LaunchFill("k", 10, 10, 40, 1),)
        assert not curve_rows([record], None)[0].starved
        assert all(row.starved for row in curve_rows([msgspec.structs.replace(record, fills=fills)], None))

    def test_without_a_peak_or_bytes_there_is_no_roofline(self) -> None:
        """Neither is guessed."""
        with_bytes, without = compared(CASE, measured(10.0), 1000), compared(CASE, measured(10.0))
        assert curve_rows([with_bytes], None)[0].roofline_us is None
        assert curve_rows([without], 226.0)[0].roofline_us is None

    def test_a_failing_case_without_a_time_is_in_it(self) -> None:
        """Its kernel has a figure even when nothing else does."""
        figure = kernel_curve(run_of([broken(CASE)]), CASE.kernel)
        assert figure is not None
        assert [row["time_us"] for row in figure.datasets[ROWS]] == [None]
        assert "cross: fails without a time" in figure.subtitle
        assert "separate at 64 tokens wrong" in figure.description
        assert kernel_curve(run_of([broken(CASE)]), "another") is None

    def test_its_words_name_who_is_fastest_what_fails_and_where_curves_cross(self) -> None:
        """As somebody would tell it who sees the picture."""
        figure = kernel_curve(rich_run(), "moe_add_inject")
        assert figure is not None
        assert figure.title == "moe_add_inject: fused_column_tiles is the fastest at 3 of 5 sizes"
        for words in (
            "separate at 512 tokens regressed (+2 %)",
            "fused_column_tiles_64 at 64 tokens wrong",
            "is faster than fused_column_tiles from about 200 tokens (measured at 64 and 512)",
            "dotted: bytes at the memory's peak",
        ):
            assert words in figure.description

    def test_who_is_the_fastest_at_half_of_the_sizes_is_not_the_fastest(self) -> None:
        """Then that is what is to be seen."""
        times = {("a", 1): 1.0, ("a", 64): 3.0, ("b", 1): 2.0, ("b", 64): 2.5}
        records = [compared(CaseId("k", name, tokens), measured(us)) for (name, tokens), us in times.items()]
        figure = kernel_curve(run_of(records), "k")
        assert figure is not None
        assert figure.title == "k: which variant is the fastest depends on the size"

    def test_what_is_not_there_is_not_explained(self) -> None:
        """A key of marks that are nowhere is noise."""
        device = msgspec.structs.replace(DEVICE, peak_gb_per_s=None)
        figure = kernel_curve(run_of([compared(CASE, measured(10.0), 1000)], device), CASE.kernel)
        assert figure is not None
        assert figure.subtitle == "graph mode; solid: head, dashed: baseline"


class TestCrossovers:
    """Where the fastest changes, on log axes."""

    def test_it_lies_where_straight_lines_meet(self) -> None:
        """1 to 4 us and 4 to 1 us over 1 to 16 tokens meet in the middle: at 4 tokens, 2 us."""
        (found,) = crossovers_of([*curve("a", (1, 1.0), (16, 4.0)), *curve("b", (1, 4.0), (16, 1.0))])
        assert (found.tokens, found.time_us) == pytest.approx((4, 2))
        assert found.text == "b is faster than a from about 4 tokens (measured at 1 and 16)"

    def test_curves_that_only_touch_do_not_cross(self) -> None:
        """Half a percent is no difference, and no change of sign."""
        assert crossovers_of([*curve("a", (1, 1.0), (8, 1.0)), *curve("b", (1, 0.995), (8, 1.005))]) == ()
        touching = [*curve("a", (1, 1.0), (8, 2.0), (64, 4.0)), *curve("b", (1, 1.5), (8, 2.001), (64, 5.0))]
        assert crossovers_of(touching) == ()

    def test_a_size_at_which_they_are_even_does_not_hide_it(self) -> None:
        """Clear before and clear behind is a crossing."""
        rows = [*curve("a", (1, 1.0), (8, 2.0), (64, 4.0)), *curve("b", (1, 1.5), (8, 2.0), (64, 3.0))]
        (found,) = crossovers_of(rows)
        assert found.tokens == pytest.approx(8)

    def test_who_is_not_the_fastest_there_does_not_matter(self) -> None:
        """Two slow curves cross below a fast one unmarked; so do those of two modes."""
        slow = [*curve("a", (1, 1.0), (16, 4.0)), *curve("b", (1, 4.0), (16, 1.0))]
        assert crossovers_of([*slow, *curve("c", (1, 0.5), (16, 0.5))]) == ()
        assert crossovers_of([*slow[:2], *curve("b", (1, 4.0), (16, 1.0), mode="queued")]) == ()


class TestNames:
    """Beside their lines' ends."""

    def test_names_of_curves_that_end_together_keep_apart(self) -> None:
        """In the order of their times, a line's height between them."""
        rows = [row for place, name in enumerate("abc") for row in curve(name, (1, 1.0), (512, 100 + place))]
        found = names_of(rows)
        assert [name.variant for name in found] == ["a", "b", "c"]
        steps = [math.log(after.time_us / before.time_us) for before, after in pairwise(found)]
        assert min(steps) > 0.05 * math.log(100)

    def test_one_curve_needs_no_name(self) -> None:
        """Nor do more than can be read."""
        assert names_of(curve("a", (1, 1.0))) == ()
        assert names_of([row for place in range(13) for row in curve(f"v{place}", (1, 1.0))]) == ()


class TestBlocks:
    """The picture of a decision."""

    def test_the_tolerance_is_the_floor_where_that_is_more(self) -> None:
        """0.02 us of 0.5 us are 4 %; on the faster side as much time."""
        found = deciding(compared(CASE, measured(0.5)))
        assert found is not None
        judged = judgement(msgspec.structs.replace(found, floor_us=0.02, against_us=0.5))
        assert (judged.tolerated_high, judged.tolerated_low) == pytest.approx((0.04, 1 / 1.04 - 1))
        assert judgement(found).tolerated_high == pytest.approx(found.tolerance_ratio - 1)

    def test_a_rerun_of_a_process_goes_on_counting_its_blocks(self) -> None:
        """Its measurements are pooled, as the decision pools them."""
        first, second = measured(1.0, processes=1, blocks=3), measured(1.0, processes=1, blocks=2, contended=(0,))
        comparison = compared(CASE, (*first, *second)).comparisons[0]
        rows = block_rows((*first, *second), comparison)
        assert [(row.block, row.place, row.contended) for row in rows] == [
            (1, 1, False), (2, 2, False), (3, 3, False), (4, 4, True), (5, 5, True),
        ]  # fmt: skip

    def test_its_words_have_the_verdict_the_figures_and_the_votes(self) -> None:
        """Also what is marked in it, where it is."""
        figure = block_differences(compared(CASE, measured(10.0, 1.2, contended=(1,))))
        assert figure is not None
        assert figure.title == "moe_add_inject separate at 64 tokens: regressed, +20 % against baseline"
        assert "150 blocks" in figure.description
        assert "5 of 5 processes say slower" in figure.description
        assert "hollow: somebody else was active" in figure.subtitle

    def test_what_no_case_can_have_been_is_not_drawn(self) -> None:
        """A stranger's file may say that nothing was compared with nothing."""
        record = compared(CASE, measured(10.0))
        odd: Comparison = msgspec.structs.replace(record.comparisons[0], arm="nobody", against="nothing")
        assert block_differences(msgspec.structs.replace(record, comparisons=(odd,))) is None


class TestSamples:
    """In order of time."""

    def test_a_run_of_many_samples_is_thinned_and_says_so(self) -> None:
        """Whole blocks stay together."""
        figure = samples_in_time(compared(CASE, measured(10.0)), most=100)
        assert figure is not None
        rows = figure.datasets[ROWS]
        assert len(rows) == 100
        assert {row["arm"] for row in rows} == {"head", "baseline"}
        assert "100 of them drawn" in figure.subtitle
        assert "300 samples" in figure.title

    def test_an_edge_is_the_widest_groups(self) -> None:
        """One that is spread wide does not turn its own values into arrows because another is narrow."""
        narrow, wide = [1.0, 1.1, 1.2, 1.3], [9.0, 9.0, 9.0, 50.0]  # middle halves: 1.075 to 1.225, 9 to 19.25
        assert edges([narrow], 4) == pytest.approx((1.075 - 4 * 0.15, 1.225 + 4 * 0.15))
        assert edges([narrow, wide], 4) == pytest.approx((9 - 4 * 10.25, 19.25 + 4 * 10.25))


class TestSpread:
    """From a run, and from a calibration."""

    CALIBRATED = CaseSummary("k", "v", 7, "graph", True, 2.0, 0.01, 4, 0, 0, 0, 0.002, 0.004, 0.03, 1.02, False)

    def test_a_calibration_shows_the_mode_that_it_gates_in(self) -> None:
        """As shares of the time."""
        (row,) = calibration_rows([self.CALIBRATED, msgspec.structs.replace(self.CALIBRATED, gate=False)])
        assert (row.case, row.within, row.between, row.tolerance) == ("k v at 7 tokens", 0.002, 0.004, 0.01)
        assert row.detectable == pytest.approx(0.02)

    def test_a_runs_own_samples_say_as_much(self) -> None:
        """Noise of half a percent from block to block is found as that."""
        (row,) = run_rows([compared(CASE, measured(10.0, noise=0.005, blocks=200))])
        expected = 0.005 / 3 * math.sqrt(2)  # what the two arms of a block do not share
        assert row.within == pytest.approx(expected, rel=0.1)
        assert row.between is not None
        assert 0 < row.between < 0.005

    def test_the_bluntest_come_first_and_the_others_are_counted(self) -> None:
        """Who would show nothing is blunter than anybody."""
        rows = [row for n in range(50) for row in calibration_rows([msgspec.structs.replace(
            self.CALIBRATED, tokens=n, detectable_ratio=None if n == 30 else 1.01 + n / 1000)])]  # fmt: skip
        figure = spread(rows, "calibrated")
        assert figure is not None
        shown = [row["case"] for row in figure.datasets[ROWS]]
        assert shown[:3] == ["k v at 30 tokens", "k v at 49 tokens", "k v at 48 tokens"]
        assert len(shown) == 40
        assert figure.title == "A slowdown of 3.4 % would show in the middle case, of 5.9 % in the worst"
        assert figure.subtitle == "calibrated: 50 cases, the 40 bluntest of them; in 1 case none would show for certain"

    def test_mutations_and_cases_without_samples_are_left_out(self) -> None:
        """They were not timed."""
        record: Record = compared(CASE, measured(10.0))
        mutation = msgspec.structs.replace(record, mutation_of="separate")
        assert run_rows([mutation, broken(CASE, Verdict.CRASHED)]) == ()
        assert spread((), "this run") is None
