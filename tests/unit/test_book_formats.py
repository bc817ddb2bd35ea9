"""The book's schemas and tables of fields are those of the code, explain every field, and fit real files."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guard_bench import Bench

from pytest_kernelperf.baseline import calibration, exported
from pytest_kernelperf.baseline.entry import DeviceSummary

jsonschema = pytest.importorskip("jsonschema")
made = pytest.importorskip("made.__main__")
files = pytest.importorskip("made.files")
schema = pytest.importorskip("made.schema")
table = pytest.importorskip("made.table")

ROOT = Path(__file__).parents[2]
STORED = ROOT / "baselines" / "sm90-132sm"
FILES = {file.name: file for file in files.FILES}


def validator(name: str) -> Any:
    """Return what holds a value against a schema as it lies in docs/."""
    text = (made.DOCS / "schema" / f"{name}.json").read_text(encoding="utf-8")
    return jsonschema.Draft202012Validator(json.loads(text))


def real_files() -> Iterator[tuple[str, Path]]:
    """Yield files that a guard wrote, each with its kind."""
    yield "run", ROOT / "tests" / "golden" / "run.json"
    yield "baseline", ROOT / "tests" / "golden" / "baseline.json"
    yield from (("baseline", path) for path in sorted(STORED.glob("*.json")))
    yield from (("source", path) for path in sorted(STORED.glob("sources/*.json")))


def records() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each record of the files once: its name and its schema."""
    seen = set()
    for file in files.FILES:
        whole = schema.schema_of(file)
        for name, record in {file.record.__name__: whole, **whole["$defs"]}.items():
            if name not in seen and "properties" in record:
                seen.add(name)
                yield name, record


def test_what_is_made_from_the_code_is_not_stale() -> None:
    """Schemas and tables in docs/ are what scripts/schemas would write now."""
    names = [str(path.relative_to(ROOT)) for path, _ in made.stale()]
    assert names == [], "run scripts/schemas, and commit what it writes"


@pytest.mark.parametrize("name", FILES)
def test_the_schemas_are_schemas(name: str) -> None:
    """Each keeps the rules of its draft, in words that are not Python's alone."""
    found = validator(name).schema
    jsonschema.Draft202012Validator.check_schema(found)
    assert "\\A" not in json.dumps(found).replace("\\\\", "\\")


def test_every_field_is_explained() -> None:
    """A field that its record's docstring does not speak of holds a record, or words that are listed."""
    unexplained = []
    for name, record in records():
        whole, meanings = table.meanings(record)
        for field, kind in record["properties"].items():
            plain = "$ref" not in kind and "enum" not in kind and "const" not in kind
            spoken_of = field in meanings or all(word.rstrip("s") in whole.lower() for word in field.split("_"))
            if plain and not spoken_of:
                unexplained.append(f"{name}.{field}")
    assert unexplained == []


@pytest.mark.parametrize(
    ("name", "path"), list(real_files()), ids=lambda value: value if isinstance(value, str) else value.stem[:20]
)
def test_real_files_fit_their_schema(name: str, path: Path) -> None:
    """What the guard wrote is what its schema describes; an unknown field and another version are not."""
    if not path.exists():
        pytest.skip(f"{path.name} is not beside these tests")
    value = json.loads(path.read_text(encoding="utf-8"))
    holds = validator(name)
    assert [error.message for error in holds.iter_errors(value)] == []
    damaged = copy.deepcopy(value)
    damaged["surprise"] = 1
    assert not holds.is_valid(damaged)
    if "version" in value:
        assert not holds.is_valid({**value, "version": value["version"] + 1})


def test_a_record_that_is_wrong_inside_does_not_fit() -> None:
    """Schemas reach into records: a time that is text, a verdict that there is none of, a digest of other letters."""
    run = json.loads((ROOT / "tests" / "golden" / "run.json").read_text(encoding="utf-8"))
    for where, wrong in (("time_us", "4.05"), ("mode", "slow"), ("fills", [{}])):
        damaged = copy.deepcopy(run)
        damaged["records"][0][where] = wrong
        assert not validator("run").is_valid(damaged), where
    baseline = json.loads((ROOT / "tests" / "golden" / "baseline.json").read_text(encoding="utf-8"))
    baseline["cases"][0]["object_digest"] = "A" * 64
    assert not validator("baseline").is_valid(baseline)


def test_what_the_guard_encodes_fits_its_schema(tmp_path: Path) -> None:
    """Exported plans and a calibration, as they are written; one whose device key is not a name does not fit."""
    plans = json.loads(gzip.decompress(exported.encode(Bench(tmp_path).export(commit="a1" * 20))))
    assert plans["cases"]
    assert [error.message for error in validator("plans").iter_errors(plans)] == []
    process = calibration.SeenProcess(2.0, 1.0, 0.001, (1.001, 0.999), 0)
    group = calibration.SeenGroup(("unchanged", "undecided"), None, (process,) * 3)
    case = calibration.SeenCase("scale", "plain", 8, "graph", True, 0.01, 0.02, 1e-5, (group,))
    device = DeviceSummary("cpu", "a CPU", "x86-64", 2, 2)
    when = "2026-12-01T05:00:00+00:00"
    whole = calibration.Calibration(1, "cpu-2c", device, when, 9.5, "0", "g++", "", "7", "warm", 3, 3, (case,))
    written = json.loads(calibration.encode(whole))
    assert [error.message for error in validator("calibration").iter_errors(written)] == []
    assert not validator("calibration").is_valid({**written, "device_key": "../elsewhere"})
