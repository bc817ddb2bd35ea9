"""The documentation's code blocks do what the pages say; those that are not run say why."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

book_blocks = pytest.importorskip("book_blocks", reason="markdown-it-py is not installed", exc_type=ImportError)
jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).parents[2]
PAGES = [
    path
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
    if path.exists()
]
BLOCKS = {page.name: book_blocks.blocks_of(page) for page in PAGES}
FOLLOWED = [name for name, blocks in BLOCKS.items() if any(b.language != "text" and not b.not_run for b in blocks)]

WRITTEN = {
    "run": ".kernelperf/run.json",
    "case": ".kernelperf/traces/*/case.json",
    "baseline": "baselines/*/*.json",
    "source": "baselines/*/sources/*.json",
    "plans": "?*.kernelperf",
}
LONG = {"baselines.md", "pull-requests.md", "traces.md"}

pytestmark = pytest.mark.skipif(not (ROOT / "docs").exists(), reason="docs/ is not beside these tests")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.weekly] * (name in LONG)) for name in FOLLOWED])
def test_a_page_does_what_it_says(name: str, guarded: Any, plugin_arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Each block of a page, in order, in one folder: files are written, commands give what is shown, snippets run."""
    folder = tmp_path / "reader"
    folder.mkdir()
    reader = book_blocks.Reader(folder, plugin_arguments, BLOCKS[name])
    for block in BLOCKS[name]:
        if not block.not_run:
            reader.follow(block)
    check_written_files(folder)


def check_written_files(folder: Path) -> None:
    """All files that a page's commands wrote fit the schemas that the book shows."""
    for name, pattern in WRITTEN.items():
        schema = json.loads((ROOT / "docs" / "schema" / f"{name}.json").read_text(encoding="utf-8"))
        for path in folder.glob(pattern):
            data = path.read_bytes()
            value = json.loads(gzip.decompress(data) if name == "plans" else data)
            problems = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(value)]
            assert problems == [], path


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_can_be_followed_or_says_why_not(name: str) -> None:
    """A block has a language that is known; what is not run gives a reason of several words."""
    for block in BLOCKS[name]:
        assert block.language in book_blocks.LANGUAGES, block.place
        assert not block.not_run or len(block.not_run.split()) >= 3, block.place
        if block.language == "console":
            assert block.commands, f"{block.place}: no line begins with '$ '"


def test_a_reason_that_names_a_test_names_one_that_there_is() -> None:
    """Where a page says which test runs a block in the reader's place, that file is there."""
    for blocks in BLOCKS.values():
        for block in blocks:
            for path in re.findall(r"tests/[\w/]+\.py", block.not_run):
                assert (ROOT / path).exists(), f"{block.place}: {path}"


SHOWN = """\
…
  tokens  variant    us/launch
--------  ---------  -----------
       1  plain      0.176 graph
…
2 cases: 2 new
"""


@pytest.mark.parametrize(
    ("actual", "same"),
    [
        ("DEVICE\n\n tokens variant us/launch\n---- ---- ----\n 1 plain 27.31 graph\nmore\n2 cases: 2 new\n", True),
        ("tokens variant us/launch\n---- ---- ----\n 1 plain 27.31 graph\n2 cases: 2 new\n", True),
        ("tokens variant us/launch\n---- ---- ----\n 7 plain 27.31 graph\n2 cases: 2 new\n", False),
        ("tokens variant us/launch\n---- ---- ----\n 1 plain 27.31 queued\n2 cases: 2 new\n", False),
        ("tokens variant us/launch\n---- ---- ----\n 1 plain 27.31 graph\n2 cases: 1 new\n", False),
        ("tokens variant us/launch\n---- ---- ----\n 1 plain 27.31 graph\n2 cases: 2 new\nand more\n", False),
    ],
)
def test_shown_output_is_compared_in_all_but_what_was_measured(actual: str, same: bool) -> None:
    """Words, counts and sizes must be those that came; figures and what the page leaves out may be others."""
    assert book_blocks.matches(SHOWN, actual) is same
