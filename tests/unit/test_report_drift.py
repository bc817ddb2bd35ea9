"""The machine moved: what the run's report says of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_kernelperf.model import Drift
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.terminal import render_run

RUN = read_run(Path(__file__).parent.parent / "golden" / "run.json")
MOVED = Drift(1.042, 0.0079, 0.01, 1.01, 12, 5, 5, True, stored_from="2026-11-30", stored_to="2026-11-30")


def report(form: Any = "plain", **more: Any) -> str:
    """Render a run whose machine moved."""
    return render_run(msgspec.structs.replace(RUN, drift=msgspec.structs.replace(MOVED, **more)), form)


def test_it_stands_above_the_headline_with_what_changed_and_what_to_do() -> None:
    """Claim: how far, how sure, since when, which facts, the command; the verdicts are not touched."""
    changed = ("driver: nvidia 550 -> nvidia 580", "power_limit: 700 W -> 500 W (3 of 12 cases)")
    text = report(facts_known=True, changed=changed)
    said = """
warning: the machine moved: the accepted binaries of 12 cases are 4.2 % slower today than when they were stored \
(p = 0.0079, 5 processes against 5 stored on 2026-11-30)
  changed since then: driver: nvidia 550 -> nvidia 580; power_limit: 700 W -> 500 W (3 of 12 cases)
  no verdict rests on it, since both sides of a comparison ran today; kernelperf doctor shows clocks, power and who \
else is there; if the machine is to stay so, add today's times: pytest --kernelperf --extend-baselines

15 cases: """
    assert said in text
    assert text.replace(said, "\n15 cases: ") == render_run(RUN)


@pytest.mark.parametrize(
    ("known", "said"),
    [(True, "none of the recorded facts changed since then"), (False, "stored on 2026-11-30)\n  no ")],
)
def test_without_a_change_it_says_where_to_look(known: bool, said: str) -> None:
    """Claim: nothing is made up where the baselines kept no facts."""
    assert said in report(facts_known=known)
    assert "\n  changed since then: " not in report(facts_known=known)


def test_several_days_are_a_span() -> None:
    """Claim: the first and the last stored day."""
    assert "15 stored on 2026-11-30 to 2026-12-02)" in report(stored_to="2026-12-02", stored_processes=15)


@pytest.mark.parametrize("drift", [None, msgspec.structs.replace(MOVED, moved=False)])
def test_a_machine_that_stayed_is_not_mentioned(drift: Drift | None) -> None:
    """Claim: only a move is worth a line."""
    assert render_run(msgspec.structs.replace(RUN, drift=drift)) == render_run(RUN)


def test_a_strangers_facts_neither_paint_nor_mark_up() -> None:
    """Claim: a run file's text stays text, in the terminal and in Markdown."""
    hostile = ("driver: \x1b[2J<img src=x> @everyone -> 1\n# heading",)
    plain, markdown = report(facts_known=True, changed=hostile), report("github", facts_known=True, changed=hostile)
    assert "\x1b[2J" not in plain
    assert "driver: ?[2J<img src=x> @everyone -> 1 # heading" in plain
    assert "> changed since then: driver: ?\\[2J&lt;img src=x&gt; @\u200beveryone -&gt; 1 \\# heading" in markdown
    assert markdown.count("> **Warning:** the machine moved") == 1
