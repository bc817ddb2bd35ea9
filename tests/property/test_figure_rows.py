"""Rows of figures, whatever a run holds: finite, no more than there are samples, and drawn within their width."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from figures import measured, rich_run
from hypothesis import given, settings
from hypothesis import strategies as st
from run_damage import damaged

from pytest_kernelperf import strict_json
from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.model import Measurement, Run, Sample
from pytest_kernelperf.report.figure.block_differences import block_rows
from pytest_kernelperf.report.figure.figure import ROWS, Figure
from pytest_kernelperf.report.figure.kernel_curve import curve_rows
from pytest_kernelperf.report.figure.picture_file import figures_of
from pytest_kernelperf.report.figure.samples_in_time import sample_rows, samples_in_time, thinned
from pytest_kernelperf.report.figure.text_pictures import text_pictures
from pytest_kernelperf.report.run_file import decode_run
from pytest_kernelperf.stats.comparison import compare
from pytest_kernelperf.stats.policy import Policy

GOLDEN = Path(__file__).parent.parent / "golden" / "run.json"
RUN = rich_run()
RICH = json.loads(strict_json.layout(rich_run(blocks=6)))

times = st.floats(1e-11, 1e14)
measurements = st.lists(
    st.builds(
        Measurement,
        process=st.integers(0, 4),
        mode=st.sampled_from(["graph", "queued"]),
        rounds=st.just(1),
        seed=st.just(1),
        samples=st.lists(
            st.builds(
                Sample,
                arm=st.sampled_from(["head", "baseline", "parent"]),
                block=st.integers(0, 8),
                place=st.integers(0, 2),
                time_us=times,
                host_us=st.just(0.1),
            ),
            max_size=20,
            unique_by=lambda sample: (sample.block, sample.arm),
        ).map(tuple),
        contended_by=st.sampled_from(["", "firefox"]),
    ),
    max_size=6,
).map(tuple)


@given(measurements)
def test_every_sample_of_the_mode_is_one_row(found: tuple[Measurement, ...]) -> None:
    """In order, with its own time, and none of another mode."""
    rows = sample_rows(found, "graph")
    samples = [sample for one in found if one.mode == "graph" for sample in one.samples]
    assert [row.order for row in rows] == list(range(1, len(samples) + 1))
    assert sorted(row.time_us for row in rows) == sorted(sample.time_us for sample in samples)
    assert sum(row.contended for row in rows) == sum(
        len(one.samples) for one in found if one.mode == "graph" and one.contended_by
    )


@given(measurements)
def test_every_block_with_both_arms_is_one_row(found: tuple[Measurement, ...]) -> None:
    """A pair is of one block of one measurement; the ratio is its own."""
    policy, pairs = Policy(), []
    for one in found:
        if one.mode == "graph":
            head, baseline = ({s.block: s.time_us for s in one.samples if s.arm == arm} for arm in ("head", "baseline"))
            pairs += [(one.process, head[block] / baseline[block]) for block in head.keys() & baseline.keys()]
    if not pairs:
        return
    comparison = compare([one for one in found if one.mode == "graph"], "head", "baseline", policy)
    rows = block_rows(found, comparison)
    assert sorted((row.process, row.change + 1) for row in rows) == [
        (process, pytest.approx(ratio, rel=1e-9, abs=1e-9)) for process, ratio in sorted(pairs)
    ]
    assert [row.place for row in rows] == list(range(1, len(rows) + 1))
    assert [row.process for row in rows] == sorted(row.process for row in rows)


@given(st.integers(0, 300), st.integers(1, 50))
def test_what_is_thinned_is_thinned_evenly(blocks: int, most: int) -> None:
    """Never more than there is room for, always some, and in order."""
    rows = sample_rows(measured(1.0, processes=1, blocks=blocks), "graph") if blocks else ()
    kept = thinned(rows, most)
    assert len(kept) <= max(most, 0)
    assert bool(kept) == bool(rows)
    assert [row.order for row in kept] == sorted(row.order for row in kept)
    assert set(kept) <= set(rows)


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.booleans())
def test_a_strangers_run_makes_rows_that_vega_can_read(seed: int, rich: bool) -> None:
    """Whatever passes as a run file: flat rows, finite numbers, printable texts, never more rows than samples."""
    try:
        run = decode_run(damaged(RICH if rich else json.loads(GOLDEN.read_text("utf-8")), seed), "run.json")
    except RunFileError:
        return
    for _, figure in figures_of(run, run.records):
        check(figure)
    for record in run.records:
        figure = samples_in_time(record)
        taken = sum(len(one.samples) for one in record.measurements)
        assert figure is None or len(figure.datasets[ROWS]) <= taken
    assert len(curve_rows(run.records, run.device.peak_gb_per_s)) <= 3 * len(run.records)
    check_text(run)


def check(figure: Figure) -> None:
    """Rows are flat and finite; nothing that is shown repaints a terminal or turns the direction of writing."""
    json.dumps(figure.datasets, allow_nan=False)
    assert figure.datasets[ROWS]
    for rows in figure.datasets.values():
        for row in rows:
            for value in row.values():
                assert value is None or isinstance(value, (bool, int, float, str))
                assert not isinstance(value, float) or math.isfinite(value)
    for text in (figure.title, figure.subtitle, figure.description):
        assert text.isprintable() or text.replace("\ufeff", "").replace("\u061c", "").isprintable()


def check_text(run: Run) -> None:
    """No picture is wider than its terminal, but for its title and the names in its key."""
    for picture in text_pictures(run, 80):
        for line in picture.splitlines()[1:]:
            assert len(line) <= 100


@pytest.mark.parametrize("columns", [50, 51, 64, 80, 97, 100, 200])
def test_a_picture_fits_its_terminal(columns: int) -> None:
    """Whatever its width; and narrower ones get none."""
    pictures = list(text_pictures(RUN, columns))
    assert len(pictures) == 3
    widths = [len(line) for picture in pictures for line in picture.splitlines()[1:]]
    assert min(columns, 100) - 12 <= max(widths) <= columns


def test_a_terminal_without_room_gets_no_picture() -> None:
    """Axes alone would fill it."""
    assert list(text_pictures(RUN, 49)) == []
