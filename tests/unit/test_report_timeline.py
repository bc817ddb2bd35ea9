"""The picture of a traced case: what stands where, what is said, and what a stranger's names cannot do."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from traced_cases import LAYER, PAIR, dense_record, pair_record, traced_arm, traced_record

from pytest_kernelperf.model import CaseTrace, Record, Run, TracedArm, TracedKernel, TracedSpan
from pytest_kernelperf.report.drawing import Drawing, draw
from pytest_kernelperf.report.lane import LEFT, RIGHT, WIDTH, length
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.timeline import DARK, LIGHT, render_timeline
from pytest_kernelperf.report.timeline_file import write_beside_traces, write_timelines

SVG = "{http://www.w3.org/2000/svg}"
GOLDEN = Path(__file__).parent.parent / "golden"


def drawn(record: Record) -> Drawing:
    """Return where everything stands."""
    assert record.trace is not None
    drawing = draw(record.trace)
    assert drawing is not None
    return drawing


def parsed(record: Record) -> ElementTree.Element:
    """Return the picture as XML."""
    picture = render_timeline(record)
    assert picture is not None
    return ElementTree.fromstring(picture)


def said(record: Record) -> str:
    """Return all text of the picture."""
    return "\n".join(parsed(record).itertext())


def test_both_arms_have_one_scale() -> None:
    """Claim: a microsecond is as long in one arm as in the other, and gaps are where nothing runs."""
    record = pair_record()
    assert record.trace is not None
    for arm, drawing in zip(record.trace.arms, drawn(record).panels[0].arms, strict=True):
        bars = sorted((bar for lane in drawing.lanes for bar in lane.bars), key=lambda bar: bar.x)
        scales = [bar.width / span.duration_us for bar, span in zip(bars, arm.spans, strict=True)]
        assert scales == pytest.approx([(RIGHT - LEFT) / end_us(record)] * 4)
        assert [one.x for one in drawing.idle] == pytest.approx([bar.x + bar.width for bar in bars[:-1]])
        assert [one.x + one.width for one in drawing.idle] == pytest.approx([bar.x for bar in bars[1:]])


def end_us(record: Record) -> float:
    """Return when the last kernel of all arms ends."""
    assert record.trace is not None
    return max(span.start_us + span.duration_us for arm in record.trace.arms for span in arm.spans)


def test_workgroups_are_heights_and_the_full_device_is_a_line() -> None:
    """Claim: more workgroups stand higher, as many as compute units reach the line, fewer do not."""
    launches = [(f"k{count}", 1.0, count) for count in (1, 10, 40, 5120)]
    panel = drawn(traced_record(traced_arm("head", launches, 1.0))).panels[0]
    heights = [lane.bars[0].height for lane in panel.arms[0].lanes]
    assert heights == sorted(set(heights))
    assert panel.full_height == heights[2]
    assert [lane.about.endswith("starved") for lane in panel.arms[0].lanes] == [True, True, False, False]


def test_every_kernel_is_named_beside_its_row() -> None:
    """Claim: colour is never all that tells kernels apart."""
    for record in (pair_record(), dense_record()):
        for panel in drawn(record).panels:
            for arm in panel.arms:
                names = [lane.name for lane in arm.lanes]
                assert len(set(names)) == len(names) == len({lane.base for lane in arm.lanes})
                assert set(names) <= set(said(record).splitlines())


def test_two_hundred_launches_are_all_there_and_enlarged() -> None:
    """Claim: each launch is in the overview, the beginning is shown so large that labels fit, and the file is small."""
    record = dense_record()
    whole, enlarged = drawn(record).panels
    for arm in whole.arms:
        assert sum(bar.launches for lane in arm.lanes for bar in lane.bars) == 400
        assert len(arm.rounds) == 2
    for arm in enlarged.arms:
        assert all(bar.label for lane in arm.lanes for bar in lane.bars)
        assert len(arm.rounds) == 1
    picture = render_timeline(record)
    assert picture is not None
    assert len(picture) < 64_000


def test_labels_of_a_row_do_not_overlap() -> None:
    """Claim: a label has room between its neighbours' labels and bars, and stays within the plot."""
    rare = [("a", 0.4, 1), ("b", 3.0, 2), ("a", 0.4, 5000), ("a", 2.0, 7), ("b", 0.1, 3)]
    for record in (pair_record(), dense_record(), traced_record(traced_arm("head", rare, 0.2))):
        for lane in (lane for panel in drawn(record).panels for arm in panel.arms for lane in arm.lanes):
            spans = [(bar.label_x, bar.label_x + length(bar.label)) for bar in lane.bars if bar.label]
            assert all(one[1] < other[0] for one, other in pairwise(spans))
            assert all(left >= LEFT and right <= RIGHT for left, right in spans)


def test_more_kernels_than_rows_share_the_last_row() -> None:
    """Claim: the seven that take longest have rows of their own; the picture does not grow without end."""
    launches = [(f"kernel_{place:02}", 1.0 + place, 8 + place) for place in range(15)]
    lanes = drawn(traced_record(traced_arm("head", launches, 1.0))).panels[0].arms[0].lanes
    assert [lane.name for lane in lanes] == [*(f"kernel_{place:02}" for place in range(8, 15)), "8 further kernels"]
    assert lanes[-1].full_name == ", ".join(f"kernel_{place:02}" for place in range(8))
    assert len(lanes[-1].bars) == 16


def test_rounds_that_cannot_be_told_apart_are_not_marked() -> None:
    """Claim: halves of different kernels are no rounds; an arm without spans is named, no arm at all is no picture."""
    arm = traced_arm("head", PAIR, 1.0)
    odd = msgspec.structs.replace(arm, spans=arm.spans[:3])
    assert len(drawn(traced_record(odd)).panels[0].arms[0].rounds) == 1
    empty = msgspec.structs.replace(arm, arm="baseline", spans=())
    assert "no rounds to be told apart: baseline" in said(traced_record(arm, empty))
    assert render_timeline(traced_record(empty)) is None
    assert render_timeline(msgspec.structs.replace(traced_record(), trace=None)) is None


def test_rounds_that_are_short_beside_another_arms_are_named_once() -> None:
    """Claim: one arm may be a hundred times as long as the other; names of rounds do not lie on each other."""
    record = traced_record(traced_arm("head", [("k", 5000.0, 40)], 1.0), traced_arm("baseline", [("k", 50.0, 40)], 1.0))
    assert [len(arm.rounds) for arm in drawn(record).panels[0].arms] == [2, 2]
    assert (said(record).count("round 1"), said(record).count("round 2")) == (2, 1)


def test_unknown_workgroups_are_said_to_be_unknown() -> None:
    """Claim: a height that says nothing is pale, and the picture says so."""
    record = traced_record(traced_arm("head", [("k", 1.0, None)], 1.0))
    assert "pale: workgroups unknown" in said(record)
    assert "? wg" in said(record)
    assert "pale:" not in said(pair_record())


def test_the_picture_says_what_it_shows() -> None:
    """Claim: traced times, the unit, the origin and what heights mean are in the picture; readers of screens get it."""
    root = parsed(pair_record())
    text = said(pair_record())
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "title about")
    assert [child.get("id") for child in root[:2]] == ["title", "about"]
    assert "2.00 us between kernels (median): starving" in (root[1].text or "")
    for words in ("traced times (rocprofv3)", "traced time, from the first start", "us", "log scale", "40 CUs"):
        assert words in text


def test_light_and_dark_differ_and_can_be_seen() -> None:
    """Claim: bars, texts and lines have contrast to page and idle times in both (WCAG: 3 for shapes, 4.5 for text)."""
    for colours, page, idle, text, soft in (
        (LIGHT, "#ffffff", "#fbe9c6", "#1f2328", "#57606a"),
        (DARK, "#0d1117", "#3a2d12", "#e6edf3", "#9aa4af"),
    ):
        style = parsed(pair_record()).findtext(f"{SVG}style") or ""
        assert all(one in style for one in (*colours, page, idle, text, soft))
        assert min(contrast(one, ground) for one in colours for ground in (page, idle)) >= 3
        assert min(contrast(one, ground) for one in (text, soft) for ground in (page, idle)) >= 4.5
    assert "prefers-color-scheme: dark" in style


def contrast(one: str, other: str) -> float:
    """Return WCAG 2's contrast ratio of two colours."""
    light = sorted(luminance(colour) for colour in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def luminance(colour: str) -> float:
    """Return a colour's relative luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


HOSTILE = '</text></svg><script>alert(1)</script>&amp;"\x00\x1b[31m\u202e\ud800\ufffe'


def test_a_strangers_names_stay_text() -> None:
    """Claim: tags, entities, control characters and unpaired surrogates in names end no element and begin none."""
    launches = [(HOSTILE, 1.0, 4), (HOSTILE + "2", 1.0, 4)]
    arm = msgspec.structs.replace(traced_arm("head", launches, 1.0), arm=HOSTILE)
    record = msgspec.structs.replace(traced_record(arm, variant=HOSTILE))
    record = msgspec.structs.replace(record, trace=msgspec.structs.replace(record.trace, origin=HOSTILE))
    kinds = {element.tag.removeprefix(SVG) for element in parsed(record).iter()}
    assert kinds == {"svg", "title", "desc", "style", "rect", "path", "text", "tspan", "g"}
    assert "<script>alert(1)</script>&amp;" in said(record)
    assert all(line.isprintable() for line in said(record).splitlines())


TIMES_US = st.floats(0, 1e12, exclude_min=True)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 11), TIMES_US, TIMES_US, st.one_of(st.none(), st.integers(1, 2**62))),
        min_size=1,
        max_size=80,
    ),
    st.one_of(st.none(), st.integers(1, 10_000)),
)
def test_whatever_the_spans_the_picture_holds(
    rows: list[tuple[int, float, float, int | None]], compute_units: int | None
) -> None:
    """Claim: it is XML, everything stands within it, all launches are in it, and it is the same each time."""
    starts_us = sorted(start_us for _, start_us, _, _ in rows)
    spans = tuple(
        TracedSpan(kernel, start_us - starts_us[0], duration_us, workgroups)
        for start_us, (kernel, _, duration_us, workgroups) in zip(starts_us, rows, strict=True)
    )
    kernels = tuple(TracedKernel(f"k{one}", 5, 1.0, 1.0, 1.0, 5.0, (), None) for one in range(12))
    trace = CaseTrace("cpu", (TracedArm("head", kernels, spans, 5, 1.0, 0.5, False, "a/head.db"),), (), compute_units)
    record = msgspec.structs.replace(traced_record(), trace=trace)
    drawing = drawn(record)
    for panel in drawing.panels:
        places = [(x - 3.5 * len(number), x + 3.5 * len(number)) for x, number in panel.ticks]
        assert all(one[1] < other[0] for one, other in pairwise(places))
        for arm in panel.arms:
            for bar in (bar for lane in arm.lanes for bar in lane.bars):
                assert LEFT <= bar.x < bar.x + bar.width <= RIGHT + 1.01 < WIDTH
                assert 0 < bar.height < 30.001
            assert arm.bottom < drawing.height
    first = drawing.panels[0].arms[0]
    assert sum(bar.launches for lane in first.lanes for bar in lane.bars) == len(rows)
    assert parsed(record).tag == f"{SVG}svg"
    assert render_timeline(record) == render_timeline(record)


def golden_run() -> Run:
    """Return the run of all golden texts; its fifth record was traced."""
    return read_run(GOLDEN / "run.json")


def test_pictures_lie_beside_their_traces(tmp_path: Path) -> None:
    """Claim: at the end of a run each traced case has its picture where its databases are."""
    write_beside_traces(golden_run(), tmp_path)
    assert [path.name for path in tmp_path.rglob("*.svg")] == ["timeline.svg"]
    assert (tmp_path / "traces" / "moe_add_inject-separate-512" / "timeline.svg").is_file()


@pytest.mark.parametrize("path", ["../../outside/head.db", "/tmp/outside/head.db"])
def test_no_picture_leaves_its_folder(tmp_path: Path, path: str) -> None:
    """Claim: a run file's paths are a stranger's, and what they point to outside is not written."""
    arm = msgspec.structs.replace(traced_arm("head", LAYER, 1.0), path=path)
    run = msgspec.structs.replace(golden_run(), records=(traced_record(arm, variant="../../../x"),) * 2)
    folder = tmp_path / "in" / "side"
    write_beside_traces(run, folder)
    assert list(tmp_path.rglob("*.svg")) == []
    assert [one.name for one in write_timelines(run, folder)] == [
        "moe_add_inject-.._.._.._x-1.svg",
        "moe_add_inject-.._.._.._x-1-1.svg",
    ]
    assert {one.parent for one in tmp_path.rglob("*.svg")} == {folder}
