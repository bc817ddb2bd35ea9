"""The documentation's lists are those of the code."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import click
import pytest

from pytest_kernelperf.cli import SHORT_HELP, main
from pytest_kernelperf.doctor.finding import TOPICS
from pytest_kernelperf.ini import INI
from pytest_kernelperf.model import Verdict
from pytest_kernelperf.report import traced, view
from pytest_kernelperf.settings import CaseSettings

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def settings_page() -> str:
    """Return the page of settings."""
    page = DOCS / "settings.md"
    if not page.exists():
        pytest.skip("docs/ is not beside these tests")
    return page.read_text(encoding="utf-8")


def section(page: str, title: str) -> str:
    """Return what stands under a heading."""
    return page.partition(f"## {title}\n")[2].partition("\n## ")[0]


def first_column(text: str) -> list[str]:
    """Return the code spans in the first cell of a table's rows."""
    rows = re.findall(r"^\| (`[^|]*) \|", text, flags=re.MULTILINE)
    return [span for row in rows for span in re.findall(r"`([^`]+)`", row)]


def test_every_ini_setting_is_documented(settings_page: str) -> None:
    """No setting is missing, none is invented, in the code's order."""
    assert first_column(section(settings_page, "Ini settings")) == list(INI)


def test_every_option_is_documented(settings_page: str, pytestconfig: pytest.Config) -> None:
    """Every option that the plugin adds to pytest has its row."""
    documented = {re.split(r"[ =\[]", option)[0] for option in first_column(section(settings_page, "Options"))}
    help_text = Path(__file__).parents[2] / "pytest_kernelperf" / "plugin" / "__init__.py"
    if not help_text.exists():
        pytest.skip("the sources are not beside these tests")
    declared = set(re.findall(r'"(--[a-z-]+)"', help_text.read_text(encoding="utf-8")))
    assert documented == declared


def test_every_marker_keyword_is_documented(settings_page: str) -> None:
    """The marker's keywords are the fields of the case settings."""
    named = re.findall(r"`(\w+)`", section(settings_page, "The marker").partition("keywords")[2].partition("lay")[0])
    assert named == [field.name for field in dataclasses.fields(CaseSettings)]


def test_every_verdict_is_documented(settings_page: str) -> None:
    """A reader can look every verdict up."""
    assert sorted(first_column(section(settings_page, "Verdicts"))) == sorted(verdict.value for verdict in Verdict)


def test_every_command_is_documented_with_options_that_it_has(settings_page: str) -> None:
    """The table names each command, and no option that its command does not take."""
    rows = re.findall(r"^\| (`kernelperf .*) \|$", section(settings_page, "Commands"), flags=re.MULTILINE)
    named: set[str] = set()
    for row in rows:
        commands = re.findall(r"`kernelperf ([a-z]+)", row.partition(" | ")[0])
        taken = {option for command in commands for option in options_of(command)}
        assert set(re.findall(r"`(--[a-z-]+)", row)) | set(re.findall(r" \[?(--[a-z-]+)", row)) <= taken, row
        named.update(commands)
    assert named == set(SHORT_HELP)


def options_of(name: str) -> set[str]:
    """Return the options that a command takes, and of pytest's that it passes on."""
    command = main.get_command(click.Context(main), name)
    assert command is not None
    own = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    return own | {"--kernelperf-parent"}


@pytest.mark.parametrize(
    ("title", "columns"),
    [
        ("The table", (*view.COLUMNS[:6], view.RATE, *view.COLUMNS[6:])),
        ("A traced case", traced.COLUMNS),
    ],
)
def test_every_column_of_the_report_is_explained(title: str, columns: tuple[str, ...]) -> None:
    """The page's tables have the report's columns, in their order."""
    page = DOCS / "report.md"
    if not page.exists():
        pytest.skip("docs/ is not beside these tests")
    assert first_column(section(page.read_text(encoding="utf-8"), title)) == list(columns)


def test_every_line_of_a_failing_case_is_explained() -> None:
    """What stands before the numbers of a failing case, in all golden reports, has a row on the page."""
    page, golden = DOCS / "report.md", Path(__file__).parents[1] / "golden" / "details.txt"
    if not page.exists():
        pytest.skip("docs/ is not beside these tests")
    explained = first_column(section(page.read_text(encoding="utf-8"), "A failing case"))
    explained += ["head / replaced", "head / parent", "toolchain / baseline"]
    named = re.findall(r"^  ([a-z][a-zA-Z/ ]*?) {2,}\S", golden.read_text(encoding="utf-8"), flags=re.MULTILINE)
    traces = {"kernel", "trace of head", "trace of baseline", "timeline", "side by side", "to open one"}
    assert set(named) - set(explained) - traces == set()


def test_every_topic_of_the_doctor_is_documented() -> None:
    """The page's table is the closed list of topics, in its order."""
    page = DOCS / "doctor.md"
    if not page.exists():
        pytest.skip("docs/ is not beside these tests")
    assert first_column(section(page.read_text(encoding="utf-8"), "What is looked at")) == list(TOPICS)
