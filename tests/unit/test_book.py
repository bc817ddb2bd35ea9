"""The book's own order: what it lists is what there is, and what it says of the code's structure is the code's."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pytest needs it there

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

pytestmark = pytest.mark.skipif(not (DOCS / "index.md").exists(), reason="docs/ is not beside these tests")


def test_every_page_is_listed_once_in_the_same_order() -> None:
    """The page of contents and the site's side bar name the same pages, in the same order, and all that there are."""
    yaml = pytest.importorskip("yaml")
    contents = yaml.safe_load((DOCS / "_toc.yml").read_text(encoding="utf-8"))
    side_bar = [entry["file"] for part in contents["subtrees"] for entry in part["entries"]]
    listed = re.findall(r"^- \[[^]]+\]\(([\w-]+)\.md\)", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert side_bar == listed
    assert sorted(side_bar) == sorted(path.stem for path in DOCS.glob("*.md") if path.stem != "index")


def test_the_layers_of_the_page_are_those_that_are_held() -> None:
    """The list of layers on the page of the architecture is that of the contract, line by line."""
    pyproject = ROOT / "pyproject.toml"
    if not pyproject.exists():
        pytest.skip("pyproject.toml is not beside these tests")
    contracts = tomllib.loads(pyproject.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    held = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    drawn = page.partition("## Layers")[2].partition("```text\n")[2].partition("```")[0].splitlines()
    assert [re.split(r" {2,}", line)[0] for line in drawn] == held


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "baselines/README.md"])
def test_links_outside_the_book_lead_somewhere(name: str) -> None:
    """What Sphinx does not see: files and headings that the pages around the book point to."""
    page = ROOT / name
    if not page.exists():
        pytest.skip(f"{name} is not beside these tests")
    for target in re.findall(r"\]\(([^)#\s]*(?:#[^)\s]*)?)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        file = page.parent / unquote(path) if path else page
        assert file.exists(), target
        if anchor:
            assert anchor in anchors(file.read_text(encoding="utf-8")), target


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", plain, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("verdict", ["unchanged", "regressed", "undecided"])
def test_the_pictures_of_decisions_show_what_the_page_says(verdict: str) -> None:
    """A picture's samples lead to its verdict, by the guard's own functions, with the figures of page and picture."""
    decision = pytest.importorskip("made.decision")
    _, case, mode, pairs = next(picture for picture in decision.pictures() if picture[0] == verdict)
    _, comparison = decision.decide(mode, pairs)
    assert decision.verdict_of(comparison).value == verdict
    page = " ".join((DOCS / "how-it-works.md").read_text(encoding="utf-8").split())
    drawn = (DOCS / f"decision_{verdict}_h200.svg").read_text(encoding="utf-8")
    assert f"{case.kernel} {case.variant} at {case.tokens} tokens" in drawn
    if verdict != "undecided":
        assert decision.reason.changed(comparison, "the baseline") in page
    for ratio in comparison.per_process_ratio:
        assert decision.units.format_change(ratio) in drawn


def test_the_curve_shows_what_the_baselines_hold() -> None:
    """Its words come from the accepted times: which variant is the fastest where, and where curves cross."""
    curve = pytest.importorskip("made.curve")
    if not curve.FILE.exists():
        pytest.skip("baselines/ is not beside these tests")
    drawn = curve.PICTURE.read_text(encoding="utf-8")
    assert curve.figure().title in drawn
    assert "faster than fused_column_tiles from about 412 tokens" in curve.figure().description
