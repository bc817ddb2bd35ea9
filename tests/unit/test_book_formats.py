"""The book's schemas and tables of fields are those of the code, explain every field, and fit real files."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
    """Each keeps the rules of its draft."""
    jsonschema.Draft202012Validator.check_schema(validator(name).schema)


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
