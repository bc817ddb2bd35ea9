"""Figures: Vega-Lite takes every specification, and rows say what was measured, no more."""

from __future__ import annotations

import json
from typing import Any, get_args

import altair
import pytest
import vl_convert
from figures import rich_run

from pytest_kernelperf.model import Record, Run
from pytest_kernelperf.report.figure.block_differences import block_differences
from pytest_kernelperf.report.figure.figure import KINDS, ROWS, Figure, Kind
from pytest_kernelperf.report.figure.kernel_curve import kernel_curve
from pytest_kernelperf.report.figure.samples_in_time import samples_in_time
from pytest_kernelperf.report.figure.specification import filled, specification
from pytest_kernelperf.report.figure.spread import run_rows, spread

KERNEL = "moe_add_inject"


def figure_of(kind: Kind, run: Run) -> Figure:
    """Return a figure of a rich run: of its kernel, or of its first case with samples."""
    record = next(record for record in run.records if record.measurements)
    made = {
        "kernel_curve": lambda: kernel_curve(run, KERNEL),
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


class TestSpecification:
    """What Altair writes is what Vega-Lite reads."""

    def test_every_kind_has_one(self) -> None:
        """The list of kinds is the type's."""
        assert get_args(Kind) == KINDS

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("width", [680, "container"])
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
