"""Whatever a stranger names a kernel: GitHub's own renderer makes text of it, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from comment_states import LINKS, STATES
from github_markdown import problems_of, render, tables_of
from hypothesis import given, settings
from hypothesis import strategies as st
from run_damage import HOSTILE, damaged

from pytest_kernelperf.errors import RunFileError
from pytest_kernelperf.model import Run
from pytest_kernelperf.report.annotation import render_annotations
from pytest_kernelperf.report.comment import MOST_CHARACTERS, render_comment
from pytest_kernelperf.report.markdown import fenced, inert
from pytest_kernelperf.report.room import characters
from pytest_kernelperf.report.run_file import decode_run
from pytest_kernelperf.report.terminal import render_run

signs = st.sampled_from(list("`|*_~#@:<>[]()!\\ $&-=+1."))
texts = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12), signs), max_size=8).map("".join)


@settings(max_examples=150, deadline=None)
@given(texts)
def test_no_text_is_more_than_text(text: str) -> None:
    """In a cell, a list, a heading, a quotation and a paragraph."""
    safe = inert(text)
    for markdown in (
        f"| a | b |\n|---|---|\n| {safe} | x |",
        f"- {safe}",
        f"before\n{safe}",
        f"### {safe}",
        f"> {safe}",
        f"<details><summary>x</summary>\n\n- **{safe}**: {safe}\n\n</details>",
    ):
        assert problems_of(markdown) == []
    assert tables_of(f"| a | b |\n|---|---|\n| {safe} | x |") == [[2, 2]]


def test_whatever_stands_before_it_makes_it_no_more_than_text() -> None:
    """Each word that means something, behind each sign: GitHub takes some for a word's beginning."""
    for before in (
        "_",
        "__i_",
        "*",
        "~",
        "(",
        "-",
        ".",
        "/",
        ":",
        "1",
        "x",
        "\u00e9",
        "\u200b",
        "'",
        '"',
        ">",
        "=",
        "+",
    ):
        for text in HOSTILE:
            for after in ("", "_", "."):
                assert problems_of(f"- {inert(before + text + after)}") == [], (before, text, after)


@settings(max_examples=80, deadline=None)
@given(texts)
def test_a_block_of_code_ends_where_we_end_it(text: str) -> None:
    """Whatever fences are in it."""
    assert problems_of(f"{fenced(text, 'sh')}\n\nafter") == []
    assert render(f"{fenced(text)}\n\nafter").endswith("</code></pre>\n<p>after</p>\n")


@pytest.mark.parametrize("text", ["fused_column_tiles", "gemm<float, 4>", "a*b", "1. x", "50 %", "a & b", "x^2"])
def test_a_text_shows_as_it_is_written(text: str) -> None:
    """To a reader, that is: harmless is not mutilated."""
    shown = re.sub(r"<[^>]*>", "", render(inert(text))).strip()
    assert shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


def rich_run() -> dict[str, object]:
    """All states in one run."""
    runs = [run for run in STATES.values() if isinstance(run, Run)]
    records = tuple({str(one.case) + one.decision.code: one for run in runs for one in run.records}.values())
    run = msgspec.structs.replace(
        STATES["edited_baseline"], records=records, curves=STATES["curve"].curves, drift=STATES["machine_moved"].drift
    )  # type: ignore[union-attr]
    return msgspec.to_builtins(run)  # type: ignore[no-any-return]


def check(run: dict[str, object], seed: int) -> bool:
    """Whether the file was read; either way what would be posted is harmless."""
    data = damaged(run, seed)
    found: Run | str
    try:
        found = decode_run(data, "run.json")
    except RunFileError as problem:
        found = str(problem)
    text = render_comment(found, LINKS)
    assert characters(text) <= MOST_CHARACTERS
    assert problems_of(text) == [], f"seed {seed}"
    if isinstance(found, Run):
        assert problems_of(render_run(found, "github")) == [], f"seed {seed}, kernelperf show --markdown"
        for line in render_annotations(found, Path(), Path()).splitlines():
            assert re.match(r"::(error|warning) (file=[^:,]*,line=\d+,)?title=[^:,]*::", line), f"seed {seed}"
    return isinstance(found, Run)


def test_a_damaged_run_file_is_told_without_harm() -> None:
    """Claim: whatever is changed in it, there is a comment, and nothing of the stranger's is more than text."""
    run = rich_run()
    read = sum(check(run, seed) for seed in range(30))
    assert 10 < read < 30


@pytest.mark.weekly
def test_ten_thousand_damaged_run_files_are_told_without_harm() -> None:
    """The same, 10,000 times."""
    run = rich_run()
    read = sum(check(run, seed) for seed in range(10_000))
    assert 2_000 < read < 9_900
