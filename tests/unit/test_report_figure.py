"""Figures: Vega-Lite takes every specification, and rows say what was measured, no more."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from typing import Any, get_args

import altair
import pytest
import vl_convert
from figures import compared, measured, rich_run, run_of

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import CaseId, Measurement, Record, Run, Sample
from pytest_kernelperf.report.figure import specification as specification_module
from pytest_kernelperf.report.figure.block_differences import block_differences
from pytest_kernelperf.report.figure.drawing import draw_png, draw_svg
from pytest_kernelperf.report.figure.figure import KINDS, ROWS, Figure, Kind
from pytest_kernelperf.report.figure.kernel_curve import kernel_curve
from pytest_kernelperf.report.figure.samples_in_time import samples_in_time
from pytest_kernelperf.report.figure.specification import HEIGHT, WIDTH, filled, specification
from pytest_kernelperf.report.figure.spread import run_rows, spread
from pytest_kernelperf.report.figure.theme import DARK, DARK_CATEGORIES, LIGHT, LIGHT_CATEGORIES

KERNEL = "moe_add_inject"


def figure_of(kind: Kind, run: Run, kernel: str = KERNEL) -> Figure:
    """Return a figure of a rich run: of its kernel, or of its first case with samples."""
    record = next(record for record in run.records if record.measurements)
    made = {
        "kernel_curve": lambda: kernel_curve(run, kernel),
        "block_differences": lambda: block_differences(record),
        "samples_in_time": lambda: samples_in_time(record),
        "spread": lambda: spread(run_rows(run.records), "this run"),
    }[kind]()
    assert made is not None
    return made


@pytest.fixture(scope="module")
def run() -> Run:
    """A run with all that figures mark."""
    return rich_run()


HOSTILE = "<script>alert(1)</script>]]>&\"' datum.x; javascript:alert(1) \u202e"


@pytest.fixture(scope="module")
def hostile() -> Run:
    """Two variants of a kernel, all named by somebody who means harm."""
    return run_of([compared(CaseId(f"{HOSTILE}k", f"{HOSTILE}{n}", 7 * n), measured(2.0 * n)) for n in (1, 2)])


class TestSpecification:
    """What Altair writes is what Vega-Lite reads."""

    def test_every_kind_has_one(self) -> None:
        """The list of kinds is the type's."""
        assert get_args(Kind) == KINDS

    @pytest.mark.parametrize(("kind", "width"), [*((kind, WIDTH) for kind in KINDS), ("spread", "container")])
    def test_it_is_valid_and_holds_no_data(self, kind: Kind, width: int | str) -> None:
        """By Vega-Lite's own schema; rows have names, and there is neither a value nor an address."""
        spec = specification(kind, width)
        altair.LayerChart.from_dict(spec, validate=True)
        data = _values(spec, "data")
        assert {"name": ROWS} in data
        assert all(set(found) == {"name"} for found in data)
        assert "datasets" not in spec

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_dataset_is_the_figures(self, kind: Kind, run: Run) -> None:
        """A name that no figure fills would be an empty layer."""
        named = {found["name"] for found in _values(specification(kind), "data")}
        assert named == set(figure_of(kind, run).datasets)

    @pytest.mark.parametrize("kind", KINDS)
    def test_vega_lite_compiles_it_without_a_warning(
        self, kind: Kind, run: Run, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """Warnings are how Vega-Lite says that a channel or property has no effect."""
        spec = filled(figure_of(kind, run))
        vl_convert.vegalite_to_vega(json.dumps(spec), show_warnings=True)
        shown = capfd.readouterr()
        assert shown.out + shown.err == ""


def _values(spec: object, key: str) -> list[Any]:
    """Return all values of a key, however deep."""
    if isinstance(spec, dict):
        return [value for name, value in spec.items() if name == key] + [
            found for value in spec.values() for found in _values(value, key)
        ]
    return [found for value in spec for found in _values(value, key)] if isinstance(spec, list) else []


def test_a_case_without_samples_has_no_picture() -> None:
    """Claim: nothing is drawn from nothing."""
    bare: Record = next(record for record in rich_run().records if not record.measurements)
    assert block_differences(bare) is None
    assert samples_in_time(bare) is None


class TestDrawing:
    """SVG and PNG, made without a browser and without network."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_hostile_name_is_text(self, kind: Kind, hostile: Run) -> None:
        """It is seen as it is written, and there is no element or attribute of its making."""
        figure = figure_of(kind, hostile, hostile.records[0].case.kernel)
        root = ElementTree.fromstring(draw_svg(figure))
        names = {element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root.iter()}
        assert names <= {"svg", "g", "path", "text", "tspan", "rect", "line", "defs", "clipPath", "title", "desc"}
        attributes = {name for element in root.iter() for name in element.attrib}
        assert not [name for name in attributes if name.startswith("on") or "href" in name]
        assert "\u202e" not in "".join(root.itertext())
        if kind != "spread":  # whose title names no case
            assert "<script>" in "".join(root.itertext())

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_figures_in_words_are_the_pictures_own(self, kind: Kind, run: Run) -> None:
        """Who does not see it is told: title, what it shows, and how it is to be read."""
        figure = figure_of(kind, run)
        root = ElementTree.fromstring(draw_svg(figure))
        assert (root.get("role"), root.get("aria-label")) == ("img", figure.description)
        assert [root[place].text for place in (0, 1)] == [figure.title, figure.description]
        assert figure.title in figure.description

    def test_both_themes_draw_the_same_marks(self, run: Run) -> None:
        """Light and dark differ in colours alone."""
        figure = figure_of("block_differences", run)
        light, dark = (ElementTree.fromstring(draw_svg(figure, config)) for config in (LIGHT, DARK))
        assert [element.get("d") for element in light.iter()] == [element.get("d") for element in dark.iter()]
        assert {element.get("fill") for element in light.iter()} != {element.get("fill") for element in dark.iter()}

    def test_a_png_is_sharp(self, run: Run) -> None:
        """Twice as many pixels as px of the picture."""
        data = draw_png(figure_of("spread", run))
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(data[16:20], "big") > 2 * WIDTH

    @pytest.mark.parametrize("missing", ["altair", "vl_convert"])
    def test_without_the_extra_a_sentence_says_which(
        self, missing: str, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whichever of its packages is not there."""
        for name in [name for name in sys.modules if name.startswith("pytest_kernelperf.report.figure.chart")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, missing, None)
        specification_module._made.cache_clear()
        with pytest.raises(UsageError, match=r"pip install 'pytest-kernelperf\[report\]'$"):
            draw_svg(figure_of("spread", run))
        with pytest.raises(UsageError, match=r"pip install 'pytest-kernelperf\[report\]'$"):
            specification_module.require_extra()


@pytest.mark.parametrize(("categories", "page"), [(LIGHT_CATEGORIES, "#ffffff"), (DARK_CATEGORIES, "#0d1117")])
def test_colours_stand_out_from_the_page(categories: list[str], page: str) -> None:
    """Claim: at least 3 to 1, as WCAG 2.2 asks of graphics (1.4.11)."""
    for colour in categories:
        lighter, darker = sorted((luminance(colour), luminance(page)), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 3


def luminance(colour: str) -> float:
    """Relative luminance, by WCAG's definition."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class TestMarks:
    """What is drawn where, read from the SVG."""

    STEADY = (2.0, 2.004, 1.996, 2.002, 1.998, 2.0, 2.003, 1.997)

    def record(self, *far_us: float) -> Record:
        """One process's blocks at 2 us, with some of head's far from it, and a second visit to it after another's."""
        head = [*self.STEADY, *far_us]
        visits = [
            Measurement(process, "graph", 200, 0, tuple(
                Sample(arm, block, place, us, 0.1)
                for block, head_us in enumerate(head)
                for place, (arm, us) in enumerate((("head", head_us), ("baseline", 2.0)))
            ))
            for process in (0, 1, 0)
        ]  # fmt: skip
        return compared(CaseId("k", "v", 7), tuple(visits))

    def texts(self, figure: Figure | None) -> list[str]:
        """Return the picture's texts, in the order in which they are drawn."""
        assert figure is not None
        return [text for text in ElementTree.fromstring(draw_svg(figure)).itertext() if text.strip()]

    def arrows(self, figure: Figure | None) -> list[tuple[bool, float]]:
        """Return each arrow: whether it points up, and how far from the top of the plot it is."""
        assert figure is not None
        found = []
        for element in ElementTree.fromstring(draw_svg(figure)).iter("{http://www.w3.org/2000/svg}path"):
            place = re.match(r"translate\([-\d.]+,([-\d.]+)\)( rotate\(180\))?", element.get("transform", ""))
            if place and element.get("d", "").count("L") == 6:  # the arrow's corners; no other mark has as many
                found.append((place[2] is None, float(place[1])))
        return found

    def test_a_process_that_is_measured_twice_has_two_stretches(self) -> None:
        """Each under its number, in order of time."""
        assert self.texts(samples_in_time(self.record())).count("process 0") == 2
        assert self.texts(block_differences(self.record())).count("process 0") == 1  # whose blocks are pooled

    def test_what_lies_beyond_the_edge_is_an_arrow_that_points_there(self) -> None:
        """At the top those above, at the bottom those below; none where all are near."""
        assert self.arrows(block_differences(self.record())) == []
        arrows = self.arrows(block_differences(self.record(9.0, 0.2)))
        assert sorted(up for up, _ in arrows) == [False] * 3 + [True] * 3
        assert all(y < 20 if up else y > HEIGHT - 20 for up, y in arrows)

    def test_a_sample_beyond_the_edge_is_there_with_an_arrow(self) -> None:
        """It counts among the samples, and does not press the others flat."""
        assert self.arrows(samples_in_time(self.record())) == []
        assert [up for up, _ in self.arrows(samples_in_time(self.record(900.0)))] == [True] * 3
        assert "900" not in "".join(text for text in self.texts(samples_in_time(self.record(900.0))) if len(text) < 6)

    def test_every_figure_says_its_unit(self, run: Run) -> None:
        """On its axes."""
        assert "time per round (us)" in self.texts(figure_of("kernel_curve", run))
        assert "tokens" in self.texts(figure_of("kernel_curve", run))
        assert "time per round (us)" in self.texts(figure_of("samples_in_time", run))
        assert "+1 %" in self.texts(figure_of("block_differences", run))
        assert "1 %" in self.texts(figure_of("spread", run))

    def test_a_curves_name_stands_beside_it_but_not_on_a_narrow_page(self, run: Run) -> None:
        """Where there is no room beside the plot, the legend has the names."""
        assert self.texts(figure_of("kernel_curve", run)).count("fused_column_tiles") == 2
        assert "names" not in json.dumps(specification("kernel_curve", "container"))
