"""run.json: written whole, read strictly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.model import Run
from pytest_kernelperf.report import run_file
from pytest_kernelperf.report.run_file import MAKE_ANEW, decode_run, read_run, write_run

GOLDEN = Path(__file__).parent.parent / "golden" / "run.json"


@pytest.fixture
def run() -> Run:
    """A run with every verdict."""
    return read_run(GOLDEN)


def refusal(change: Callable[[dict[str, Any]], object]) -> str:
    """The sentence with which the golden run is refused after a change to its JSON."""
    value = json.loads(GOLDEN.read_bytes())
    change(value)
    return refused(json.dumps(value).encode())


def traced(value: dict[str, Any]) -> dict[str, Any]:
    """The first arm of the one record that has a trace."""
    arm: dict[str, Any] = value["records"][4]["trace"]["arms"][0]
    return arm


def refused(data: bytes) -> str:
    """The sentence with which bytes are refused."""
    with pytest.raises(RunFileError) as caught:
        decode_run(data, "run.json")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_written_is_read(tmp_path: Path, run: Run) -> None:
    """Claim: a run comes back equal, its folder is made, and no temporary file stays."""
    path = tmp_path / "out" / "run.json"
    write_run(path, run)
    assert read_run(path) == run
    assert path.read_bytes() == GOLDEN.read_bytes()
    assert list(path.parent.iterdir()) == [path]


def test_a_run_of_an_earlier_version_is_read(tmp_path: Path, run: Run) -> None:
    """Claim: comparisons that do not say what error their look could use come back without it."""
    older = json.loads(GOLDEN.read_text())
    comparisons = [found for record in older["records"] for found in record["comparisons"]]
    assert comparisons
    assert all(found.pop("look_alpha", 0) is None for found in comparisons)
    path = tmp_path / "run.json"
    path.write_text(json.dumps(older))
    assert read_run(path) == run


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_not_written(tmp_path: Path, run: Run, number: float) -> None:
    """Claim: NaN never reaches the file, and the old file stays."""
    path = tmp_path / "run.json"
    write_run(path, run)
    broken = msgspec.structs.replace(run.records[0], time_us=number)
    with pytest.raises(RunFileError, match=r"field records\[0\].time_us is"):
        write_run(path, msgspec.structs.replace(run, records=(broken,)))
    assert read_run(path) == run


def test_what_could_not_be_read_is_not_written(tmp_path: Path, run: Run) -> None:
    """Claim: limits hold when writing too."""
    long = msgspec.structs.replace(run, environment={"x": "y" * 70_000})
    with pytest.raises(
        RunFileError, match=r"field environment\.x has 70000 characters, more than 65536: nothing was written"
    ):
        write_run(tmp_path / "run.json", long)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda v: v.update(version=2),
            "has version 2, and this pytest-kernelperf reads version 1: it was written by a newer",
        ),
        (lambda v: v.pop("version"), "has no version"),
        (lambda v: v.update(more=1), "has an unknown field `more`"),
        (lambda v: v["records"][0].update(more=1), "field records[0]: has an unknown field `more`"),
        (
            lambda v: v["records"][1]["decision"].update(verdict="fine"),
            "field records[1].decision.verdict: invalid enum",
        ),
        (lambda v: v["records"][0].update(time_us=-1), "record 1: field time_us is -1.0, not above 0"),
        (lambda v: v["records"][0].update(moved_bytes=-1), "record 1: field moved_bytes is -1, below 0"),
        (lambda v: v["records"][0]["case"].update(tokens=-1), "record 1: field case.tokens is -1, not a size"),
        (lambda v: v["records"][0]["case"].update(variant="x" * 1001), "record 1: field variant has 1001 characters"),
        (
            lambda v: v["records"][0]["measurements"][0]["samples"][1].update(time_us=0),
            "record 1: field measurements[0] has a sample whose time is not above 0",
        ),
        (lambda v: v.update(device=None), "field device: expected an object, got `null`"),
        (
            lambda v: v["records"][4]["trace"].update(compute_units=0),
            "record 5: field trace.compute_units is 0, no number of compute units",
        ),
        (lambda v: traced(v).update(rounds=0), "record 5: field trace.arms[0] has a share, a gap or a number of"),
        (lambda v: traced(v).update(busy_ratio=1.01), "has a share, a gap or a number of rounds that cannot be"),
        (lambda v: traced(v).update(median_gap_us=-1), "has a share, a gap or a number of rounds that cannot be"),
        (lambda v: traced(v)["spans"][0].update(kernel=2), "has a span of a kernel that is not among its kernels"),
        (lambda v: traced(v)["spans"][0].update(kernel=-1), "has a span of a kernel that is not among its kernels"),
        (lambda v: traced(v)["spans"].reverse(), "has spans that are not in order"),
        (lambda v: traced(v)["spans"][0].update(duration_us=0), "has a time that is not above 0, or above 1e+12 us"),
        (lambda v: traced(v)["spans"][3].update(start_us=1e13), "has a time that is not above 0, or above 1e+12 us"),
        (lambda v: traced(v)["spans"][0].update(workgroups=0), "has a number of workgroups that is none"),
        (lambda v: traced(v)["kernels"][1].update(calls=0), "has a kernel without calls"),
        (lambda v: traced(v)["kernels"][1].update(median_us=0), "has a time that is not above 0, or above 1e+12 us"),
        (lambda v: traced(v)["kernels"][1].update(workgroups=[2**63]), "has a number of workgroups that is none"),
    ],
)
def test_a_wrong_value_is_refused_by_record_and_field(change: Callable[[dict[str, Any]], object], words: str) -> None:
    """Claim: each refusal names file, record and field."""
    sentence = refusal(change)
    assert sentence.startswith("run.json: ")
    assert words in sentence


def test_counts_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claim: records, measurements, samples and bytes have limits."""
    for limit, words in (
        ("MAX_RECORDS", "has 17 records, more than 0"),
        ("MAX_MEASUREMENTS", "record 1: has 5 measurements, more than 0"),
        ("MAX_SAMPLES", "record 1: field measurements[0] has 3 samples, more than 0"),
        ("MAX_FILE_BYTES", "has more than 0 bytes"),
        ("MAX_ARMS", "record 5: field trace has 2 arms, more than 0"),
        ("MAX_SPANS", "record 5: field trace.arms[0] has 4 spans, more than 0"),
        ("MAX_TRACED_KERNELS", "record 5: field trace.arms[0] has 2 kernels, more than 0"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(run_file, limit, 0)
            assert words in refused(GOLDEN.read_bytes())


def test_nan_is_refused_by_field() -> None:
    """Claim: NaN in a stranger's file is refused, and the sentence says where it is."""
    data = GOLDEN.read_bytes().replace(b'"time_us": 4.05', b'"time_us": NaN', 1)
    assert "field records[1].time_us is nan" in refused(data)


def test_a_file_that_is_missing_or_a_folder_is_said(tmp_path: Path) -> None:
    """Claim: a path that cannot be read is one sentence with what to do."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(RunFileError, match=r"cannot be read .*: make it anew with pytest --kernelperf"):
            read_run(path)


@pytest.mark.parametrize("text", ["[build-system]\n", "[]", "not JSON", "\x00"])
def test_what_is_no_object_is_no_run_file(text: str) -> None:
    """Claim: another file, given by mistake, is called that, and not measured by the fields of a run."""
    with pytest.raises(RunFileError) as refusal:
        decode_run(text.encode(), "pyproject.toml")
    assert str(refusal.value) == f"pyproject.toml: is no run file: {MAKE_ANEW}"
