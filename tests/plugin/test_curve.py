"""The whole curve: eight sizes, each within its tolerance, are slower together; and the item that says so."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from guarded_project import FILES, GuardedProject, store_baselines

SIZES = range(1, 9)
EIGHT = "tokens=(1, 2, 3, 4, 5, 6, 7, 8)"
MUTATION = FILES["test_scale.py"][FILES["test_scale.py"].index("@kernel.mutation") :]
PROJECT = {
    **FILES,
    "test_scale.py": FILES["test_scale.py"].replace("tokens=(1, 8)", EIGHT).replace(
        MUTATION, MUTATION[MUTATION.index("@pytest.mark") :]
    ),
    "pytest.ini": FILES["pytest.ini"] + "kernelperf_tolerance = 1%\n",
}  # fmt: skip
CHANGED = "if (i < n) y[i] = factor * x[i];", "if (i < n) y[i] = x[i] * factor + 0.0f * i;"


@pytest.fixture(scope="session")
def eight_sizes(tmp_path_factory: pytest.TempPathFactory, plugin_arguments: tuple[str, ...]) -> Path:
    """Baselines of the project with eight sizes."""
    return store_baselines(tmp_path_factory.mktemp("eight"), plugin_arguments, PROJECT)


@pytest.fixture
def changed(guarded: GuardedProject, eight_sizes: Path) -> GuardedProject:
    """That project, with other instructions in one of its two kernels: all sizes of ``plain`` are timed."""
    for name, text in PROJECT.items():
        guarded.child.write(name, text)
    guarded.start_from(eight_sizes)
    guarded.replace("scale.hip", *CHANGED)
    return guarded


def slow_down(project: GuardedProject, percent: float) -> None:
    """Let the clock say that the new binary takes so much longer at every size."""
    project.set_times(
        {"match": {"arm": "head"}, "us": 10 * (1 + percent / 100), "noise_ratio": 0.0005},
        {"match": {}, "us": 10.0, "noise_ratio": 0.0005},
    )


def outcomes(project: GuardedProject) -> dict[str, bool]:
    """Return which items of the last run's JUnit file passed."""
    cases = ET.parse(project.path / "junit.xml").iter("testcase")
    return {str(case.get("name")): case.find("failure") is None for case in cases}


def curves(project: GuardedProject) -> dict[str, str]:
    """Return variant -> verdict of the curves of the last run."""
    return {curve["variant"]: curve["decision"]["verdict"] for curve in project.run_file()["curves"]}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-n2",),
        pytest.param(("-n3", "--dist=worksteal"), marks=pytest.mark.weekly),
        pytest.param(("-p", "no:terminal"), marks=pytest.mark.weekly),
        pytest.param(("-x",), marks=pytest.mark.weekly),
        ("-k", "plain"),
    ],
)
def test_six_tenths_of_a_percent_at_eight_sizes_is_seen(changed: Any, arguments: tuple[str, ...]) -> None:
    """Every case is unchanged at a tolerance of 1 %; the curve's own item fails, and nothing else does."""
    if "-n2" in arguments or "-n3" in arguments:
        pytest.importorskip("xdist", reason="needs pytest-xdist")
    slow_down(changed, 0.6)
    result = changed.guard("--junitxml=junit.xml", *arguments)
    assert result.ret == 1
    verdicts = changed.verdicts()
    assert {verdicts[f"plain-{tokens}"] for tokens in SIZES} == {"unchanged"}
    assert curves(changed) == {"plain": "regressed"}
    (curve,) = changed.run_file()["curves"]
    assert curve["tokens"] == list(SIZES)
    assert curve["change_ratio"] == pytest.approx(1.006, abs=0.0003)
    assert [name for name, passed in outcomes(changed).items() if not passed] == ["test_scale[plain-curve]"]
    (failure,) = ET.parse(changed.path / "junit.xml").iter("failure")
    for part in ("regressed: scale plain", "over 8 sizes", " % at 8", "-k '[plain-'", "--update-baselines"):
        assert part in f"{failure.get('message')}{failure.text}"
    assert not (changed.path / ".kernelperf" / "board").exists()
    if "no:terminal" not in arguments:
        result.stdout.fnmatch_lines(
            [
                "regressed: scale plain over all sizes",
                "  0.* % slower than the baseline on average over 8 sizes *8 of 8 above no change*of the mean 0.5 %",
                "*--update-baselines=*",
                "*plain over 8 sizes: +0.* % (*), regressed",
                "*; curve: 1 regressed",
            ],
            consecutive=False,
        )


def test_identical_speed_is_no_curve_regression(changed: Any) -> None:
    """Other instructions, the same times: unchanged together as one by one."""
    result = changed.guard("--junitxml=junit.xml")
    assert result.ret == 0
    assert curves(changed) == {"plain": "unchanged"}
    assert outcomes(changed)["test_scale[plain-curve]"]
    assert outcomes(changed)["test_scale[strided-curve]"]


@pytest.mark.weekly
def test_only_sizes_that_were_timed_count(changed: Any) -> None:
    """Two sizes are no curve, whose item is deselected with them; three are; a curve alone has nothing to pool."""
    slow_down(changed, 0.6)
    assert changed.guard("-k", "plain-1 or plain-2", "--junitxml=junit.xml").ret == 0
    assert "test_scale[plain-curve]" not in outcomes(changed)
    assert changed.guard("-k", "plain-1 or plain-2 or curve", "--junitxml=junit.xml").ret == 0
    assert set(outcomes(changed)) == {"test_scale[plain-1]", "test_scale[plain-2]"}
    assert changed.guard("-k", "plain-1 or plain-2 or plain-3 or curve").ret == 1
    assert changed.run_file()["curves"][0]["tokens"] == [1, 2, 3]


def test_nothing_is_pooled_where_nothing_is_timed(changed: Any) -> None:
    """Identical cases have no comparison, and their curve passes without a word."""
    changed.replace("scale.hip", *reversed(CHANGED))
    changed.set_times()
    result = changed.guard("--junitxml=junit.xml")
    assert result.ret == 0
    assert (curves(changed), outcomes(changed)["test_scale[plain-curve]"]) == ({}, True)
    assert "over 8 sizes" not in result.stdout.str()


def test_a_size_that_fails_by_itself_is_left_to_its_own_message(changed: Any) -> None:
    """One size that is a third slower fails; the other seven are as they were, and so is the curve."""
    changed.set_times(
        {"match": {"arm": "head", "tokens": 8}, "us": 13.0, "noise_ratio": 0.0005},
        {"match": {}, "us": 10.0, "noise_ratio": 0.0005},
    )
    assert changed.guard("--junitxml=junit.xml").ret == 1
    assert [name for name, passed in outcomes(changed).items() if not passed] == ["test_scale[plain-8]"]
    assert curves(changed) == {"plain": "unchanged"}


def test_a_slower_curve_is_accepted_with_a_reason_and_each_size_remembers_it(changed: Any) -> None:
    """Without a reason it fails and all entries stay; with one the sizes are stored, each with its step."""
    slow_down(changed, 0.6)
    before = changed.baseline().read_bytes()
    assert changed.guard("--update-baselines").ret == 1
    assert changed.baseline().read_bytes() == before
    result = changed.guard("--update-baselines=rounds as the engine does")
    assert result.ret == 0
    assert curves(changed) == {"plain": "accepted"}
    result.stdout.fnmatch_lines(["stored   scale plain at 8 tokens: * us graph -> 10.0* us graph (+0.* %)"])
    cases = json.loads(changed.baseline().read_text())["cases"]
    steps = {(case["variant"], case["tokens"]): case.get("steps") for case in cases}
    assert all(steps["strided", tokens] is None for tokens in SIZES)
    for tokens in SIZES:
        (step,) = steps["plain", tokens]
        assert step["reason"] == "rounds as the engine does"
        assert step["ratio"] == pytest.approx(1.006, abs=0.0005)
    changed.set_times()
    assert changed.guard().ret == 0


@pytest.mark.weekly
def test_the_last_failed_curve_is_run_again_with_its_sizes(changed: Any) -> None:
    """--lf selects the failed item alone; its cases come back, or it could not fail again."""
    slow_down(changed, 0.6)
    assert changed.guard().ret == 1
    assert changed.guard("--lf").ret == 1
    assert curves(changed) == {"plain": "regressed"}


@pytest.mark.weekly
def test_the_curves_tolerance_is_the_settings_or_the_markers(changed: Any) -> None:
    """A variant whose sizes may all lose a little says so once."""
    slow_down(changed, 0.6)
    assert changed.guard("-o", "kernelperf_curve_tolerance=0.9%").ret == 0
    changed.replace("test_scale.py", "kernelperf(kernel)", 'kernelperf(kernel, curve_tolerance="0.9%")')
    assert changed.guard().ret == 0
    assert changed.run_file()["curves"][0]["tolerance_ratio"] == pytest.approx(1.009)


@pytest.mark.weekly
def test_a_change_that_allows_itself_more_is_judged_by_its_parents_limits(changed: Any) -> None:
    """In the settings and in the marker: the case that it slows fails by the parent's, and so does the curve."""
    head = (changed.path / "scale.hip").read_text()
    changed.replace("scale.hip", *reversed(CHANGED))
    exported = changed.command("plans", "--runtime=cpu", "--output=parent.plans")
    assert exported.returncode == 0, exported.stderr
    (changed.path / "scale.hip").write_text(head)
    changed.replace("pytest.ini", "kernelperf_tolerance = 1%\n", "kernelperf_curve_tolerance = 40%\n")
    changed.replace("test_scale.py", "mark.kernelperf(kernel", "mark.kernelperf(kernel, tolerance='50%'")
    slow_down(changed, 0.6)
    shutil.copytree(changed.path / "baselines", changed.path / "parents")
    against = ("--kernelperf-parent=parent.plans", "--kernelperf-baselines=parents")
    assert changed.guard(*against).ret == 1
    assert curves(changed)["plain"] == "regressed"
    slow_down(changed, 3.0)
    assert changed.guard(*against).ret == 1
    verdicts = changed.verdicts()
    assert {verdicts[f"plain-{tokens}"] for tokens in SIZES} == {"regressed"}
    assert changed.guard().ret == 0, "by its own limits it would pass"
