"""What all tests share: hypothesis' settings, and a child project in which pytest runs with the plugin."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path

import hypothesis
import pytest

pytest_plugins = ["pytester"]

# Deadlines time the machine, not the code. In CI a failure must come back on the next run of the same commit.
hypothesis.settings.register_profile("home", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "home")


class ChildProject:
    """A folder of its own, with pytest runs in it that see the plugin as its users do."""

    def __init__(self, pytester: pytest.Pytester, plugin_arguments: tuple[str, ...]) -> None:
        self.pytester = pytester
        self.path: Path = pytester.path
        self.plugin_arguments = plugin_arguments

    def write(self, name: str, text: str) -> Path:
        """Write a file, its folders included; return its path."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def run(self, *arguments: str, timeout: float | None = None) -> pytest.RunResult:
        """Run pytest in a process of its own, in this folder."""
        return self.pytester.runpytest_subprocess(*self.plugin_arguments, *arguments, timeout=timeout)

    def run_here(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process, in this folder: quicker, for what needs no process of its own."""
        return self.pytester.runpytest_inprocess(*self.plugin_arguments, *arguments)


@pytest.fixture(scope="session")
def plugin_arguments() -> tuple[str, ...]:
    """What makes a pytest of one's own load the plugin: nothing where it is installed (twice is an error)."""
    installed = {entry.name for entry in importlib.metadata.entry_points(group="pytest11")}
    return () if "kernelperf" in installed else ("-p", "pytest_kernelperf.plugin")


@pytest.fixture
def child_project(
    pytester: pytest.Pytester, plugin_arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> ChildProject:
    """An empty child project; options meant for this run do not reach its runs."""
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return ChildProject(pytester, plugin_arguments)
