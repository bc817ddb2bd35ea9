"""Creep and further days, as a user meets them: real runs, real kernels, a scripted clock."""

from __future__ import annotations

import json
from typing import Any

import pytest

FACTOR = "if (i < n) y[i] = factor * x[i];"
PRECISE = ("-o", "kernelperf_tolerance=1%")


def slow_down(stored: Any, step: int, percent: float) -> None:
    """Change the kernel ``scale`` in a way of its own, and let the clock say that it got slower."""
    text = (stored.path / "scale.hip").read_text()
    begin, end = text.index("if (i < n)"), text.index("\n}", text.index("if (i < n)"))
    (stored.path / "scale.hip").write_text(
        text[:begin] + f"if (i < n) y[i] = x[i] * factor + 0.0f * (i + {step});" + text[end:]
    )
    stored.set_times(
        {"match": {"arm": "head", "variant": "plain"}, "us": 10 * (1 + percent / 100), "noise_ratio": 0.0005},
        {"match": {}, "us": 10.0, "noise_ratio": 0.0005},
    )


def test_small_accepted_steps_add_up_and_are_said_with_their_reasons(stored: Any) -> None:
    """Two accepted steps of 3 % are more than the budget of 5 %: said when accepted, in every run after it, and in the
    message of a third one, which fails."""
    slow_down(stored, 1, 3)
    assert stored.guard(*PRECISE, "--update-baselines=router").ret == 0
    assert "creep" not in "".join(stored.notes().values())
    slow_down(stored, 2, 3)
    result = stored.guard(*PRECISE, "--update-baselines=rounding")
    assert result.ret == 0
    today = "????-??-??"
    said = f"6.1 % slower than the figure accepted on {today}, in 2 accepted steps, beyond the budget of 5 %: "
    result.stdout.fnmatch_lines([f"*plain at 8 tokens: creep: {said}+3 % on {today} (router), +3 % by this change"])
    result = stored.guard(*PRECISE)
    assert result.ret == 0
    assert stored.verdicts()["plain-8"] == "identical"
    result.stdout.fnmatch_lines(
        [f"*plain at 8 tokens: creep: {said}+3 % on {today} (router), +3 % on {today} (rounding)"]
    )
    slow_down(stored, 3, 2)
    result = stored.guard(*PRECISE, "-k", "plain-8")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            f"*2 % slower than the baseline*accepting it would make the case 8.2 % slower than the figure accepted on "
            f"{today}, in 3 accepted steps, beyond the budget of 5 %: *(router), *(rounding), +2 % by this change"
        ]
    )


@pytest.mark.weekly
def test_a_larger_budget_is_given_by_the_setting_or_the_marker(stored: Any) -> None:
    """What is meant to cost more says so once."""
    slow_down(stored, 1, 8)
    assert "beyond the budget of 5 %" in stored.guard(*PRECISE, "--update-baselines=router").stdout.str()
    assert "beyond the budget" not in stored.guard("-o", "kernelperf_creep=10%").stdout.str()
    stored.replace("test_scale.py", "kernelperf(kernel)", "kernelperf(kernel, creep=0.1)")
    assert "beyond the budget" not in stored.guard().stdout.str()


def test_steps_survive_an_entry_of_a_release_that_knew_none(stored: Any) -> None:
    """The stored fixture's entries have neither anchor nor steps; the first acceptance gives them both."""
    assert "anchor" not in stored.baseline().read_text()
    slow_down(stored, 1, 3)
    assert stored.guard(*PRECISE, "--update-baselines=router").ret == 0
    case = next(
        c for c in json.loads(stored.baseline().read_text())["cases"] if (c["variant"], c["tokens"]) == ("plain", 8)
    )
    assert case["anchor"]["time_us"] == 10.0 or abs(case["anchor"]["time_us"] - 10) < 0.1
    (step,) = case["steps"]
    assert step["reason"] == "router"
    assert abs(step["ratio"] - 1.03) < 0.002


@pytest.mark.weekly
def test_baselines_gain_processes_of_another_day_and_of_each_day_once(stored: Any) -> None:
    """--extend-baselines times identical cases too and adds today's processes of the accepted binary, nothing else."""
    path = stored.baseline()
    earlier = path.read_text().replace(stored_day(stored), "2026-01-05")
    path.write_text(earlier)
    result = stored.guard("--extend-baselines")
    assert result.ret == 0
    today = stored.run_file()["started_at"][:10]
    result.stdout.fnmatch_lines(
        ["extended scale plain at 8 tokens: 3 -> 6 processes, 1 -> 2 days; the accepted binary *"]
    )
    text = path.read_text()
    before, after = json.loads(earlier), json.loads(text)
    assert {case["days"] for case in map(days, after["cases"])} == {("2026-01-05", today)}
    (facts,) = after["environments"].values()
    assert facts["compiler"] == stored.run_file()["device"]["compiler"]
    for old, new in zip(before["cases"], after["cases"], strict=True):
        assert {**new, "processes": new["processes"][:3]} == old
    again = stored.guard("--extend-baselines")
    assert again.ret == 0
    again.stdout.fnmatch_lines(
        [f"left     scale plain at 8 tokens: has processes of {today} already", "no baseline changed"]
    )
    assert path.read_text() == text
    assert stored.guard().ret == 0
    assert path.read_text() == text


def test_unchanged_entries_stay_to_the_byte_under_an_update(stored: Any) -> None:
    """Also when they are timed: only --extend-baselines adds to them."""
    text = stored.baseline().read_text()
    assert stored.guard("--update-baselines=again", "--kernelperf-full").ret == 0
    assert stored.baseline().read_text() == text


def test_a_regressed_case_gains_no_processes(stored: Any) -> None:
    """It fails as always, and its entry stays."""
    path = stored.baseline()
    path.write_text(path.read_text().replace(stored_day(stored), "2026-01-05"))
    slow_down(stored, 1, 30)
    result = stored.guard("--extend-baselines")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["left     scale plain at 8 tokens: regressed: gains processes once that is settled"])
    grown = {(c["variant"], c["tokens"]): len(c["processes"]) for c in json.loads(path.read_text())["cases"]}
    assert grown == {("plain", 1): 3, ("plain", 8): 3, ("strided", 1): 6, ("strided", 8): 6}


def stored_day(stored: Any) -> str:
    """Return the day on which the fixture's baselines were stored."""
    day: str = json.loads(stored.baseline().read_text())["cases"][0]["accepted_at"]
    return day


def days(case: dict[str, Any]) -> dict[str, Any]:
    """Return the days of a stored case's processes."""
    return {"days": tuple(sorted({process["day"] for process in case["processes"]}))}
