"""What a pull request changes of that which judges it, from GitHub's list of its files."""

from __future__ import annotations

from typing import Any

import pytest
from github_api import GitHub, World
from github_markdown import problems_of

from pytest_kernelperf.github.client import Client
from pytest_kernelperf.github.judging import (
    BASELINES,
    GUARD,
    HOOKS,
    LIMITS,
    MOST_FILES,
    SETTINGS,
    WORKFLOW,
    find_judging,
)
from pytest_kernelperf.report.judging import Changed, Judging, render_judging

OWN = "owner/project"


class Files:
    """A repository of one pull request with these files."""

    def __init__(self, *files: dict[str, Any]) -> None:
        self.files = list(files)

    def pages(self, path: str, **query: str | int) -> list[dict[str, Any]]:
        assert (path, query) == ("pulls/7/files", {})
        return self.files

    def get(self, path: str, **query: str | int) -> Any:
        raise AssertionError(path)

    post = patch = get


def found(name: str, patch: str | None = None, workflow: str = "", more: tuple[str, ...] = (), **file: Any) -> Judging:
    """What one file is taken for."""
    given = {"filename": name, "status": "modified", **file, **({} if patch is None else {"patch": patch})}
    return find_judging(Files(given), 7, workflow, more)


def kinds(judging: Judging) -> list[str]:
    """The kinds that were found."""
    return [kind for kind, _ in judging.changed]


class TestWhatJudges:
    """File by file."""

    @pytest.mark.parametrize(
        ("name", "patch", "kind"),
        [
            (".github/workflows/kernelperf.yml", "+x", WORKFLOW),
            (".github/workflows/new.yml", None, WORKFLOW),
            (".github/runner/kernelperf_runner/gate.py", "+x", WORKFLOW),
            ("tools/guard/action.yml", "+x", WORKFLOW),
            ("conftest.py", "+x", HOOKS),
            ("kernels/deep/conftest.py", None, HOOKS),
            ("kernels/sitecustomize.py", "+x", HOOKS),
            ("kernels/evil.pth", "+import x", HOOKS),
            ("pyproject.toml", '-kernelperf_tolerance = "1%"\n+kernelperf_tolerance = "50%"', SETTINGS),
            ("pyproject.toml", '+addopts = "-p no:kernelperf"', SETTINGS),
            ("pyproject.toml", "+[tool.pytest.ini_options]", SETTINGS),
            ("pyproject.toml", None, SETTINGS),
            ("kernels/pytest.ini", "+anything", SETTINGS),
            ("setup.cfg", "+testpaths = elsewhere", SETTINGS),
            ("setup.py", "+    entry_points={'pytest11': ['x = evil']},", SETTINGS),
            ("requirements.txt", "-pytest-kernelperf==1\n+pytest-kernelperf @ https://evil", GUARD),
            ("uv.lock", None, GUARD),
            ("baselines/gfx1151-40cu/moe.json", "+x", BASELINES),
            ("baselines", "+/etc", BASELINES),
            ("kernels/a/test_a.py", "+@pytest.mark.kernelperf(tolerance=0.5)", LIMITS),
            ("kernels/a/test_a.py", "+        tolerance=0.5,", LIMITS),
            ("kernels/a/test_a.py", "+    underfill=Floor(1, 'so')", LIMITS),
            ("kernels/a/test_a.py", "+@k.variant(expect_starved={1: 'so'})", LIMITS),
            ("kernels/a/test_a.py", "+pytest_plugins = ['evil']", LIMITS),
            ("kernels/a/test_a.py", None, LIMITS),
        ],
    )
    def test_what_judges_is_found(self, name: str, patch: str | None, kind: str) -> None:
        """By its name, or by the lines that change; where GitHub does not show those, by its name."""
        status = "added" if name == "kernels/pytest.ini" else "modified"
        assert kinds(found(name, patch, status=status)) == [kind]

    @pytest.mark.parametrize(
        ("name", "patch"),
        [
            ("kernels/a/a.hip", "+tolerance = 1"),
            ("kernels/a/test_a.py", " @pytest.mark.kernelperf(tolerance=0.01)\n+x = 1"),
            ("kernels/a/test_a.py", "+    return inputs"),
            ("pyproject.toml", '-version = "1"\n+version = "2"'),
            ("pyproject.toml", ' kernelperf_tolerance = "1%"\n+version = "2"'),
            ("requirements.txt", "-numpy==1\n+numpy==2"),
            ("docs/baselines.md", "+x"),
            ("README.md", None),
        ],
    )
    def test_what_does_not_is_not(self, name: str, patch: str | None) -> None:
        """A warning on each change would be read by nobody; lines that only stand near count for nothing."""
        assert found(name, patch) == Judging()

    def test_a_file_that_is_moved_away_counts_by_its_old_name(self) -> None:
        """As much as one that comes."""
        assert found("old.txt", previous_filename="conftest.py", status="renamed").changed == (
            (HOOKS, (Changed("conftest.py"),)),
        )

    def test_the_workflow_that_ran_counts_wherever_it_lies(self) -> None:
        """GitHub says which it was."""
        assert kinds(found("ci/measure.yml", "+x", workflow="ci/measure.yml")) == [WORKFLOW]

    def test_a_projects_own_patterns_count(self) -> None:
        """Where the guard is the project, it judges itself."""
        assert kinds(found("pytest_kernelperf/judge.py", "+x", more=("pytest_kernelperf/*",))) == [GUARD]
        assert kinds(found("pytest_kernelperf/judge.py", "+x")) == []

    def test_settings_are_told_with_their_values(self) -> None:
        """What was, and what is: nobody has to open the file."""
        lines = ('-kernelperf_alpha = "1e-5"', '-kernelperf_tolerance = "1%"', '+kernelperf_tolerance = "50%"')
        patch = "\n".join((*lines, "+kernelperf_floor_us = 9"))
        ((_, (file,)),) = found("pyproject.toml", patch).changed
        assert file.detail == (
            'kernelperf_alpha "1e-5" → default, kernelperf_tolerance "1%" → "50%", kernelperf_floor_us default → 9'
        )


class TestGitHub:
    """The list itself."""

    def test_all_pages_are_read(self) -> None:
        """What judges may be the last of many."""
        world = World()
        world.add_pull(OWN, number=7).files = [{"filename": f"f{n}"} for n in range(250)] + [
            {"filename": "conftest.py"}
        ]
        with GitHub(world) as github:
            judging = find_judging(Client(OWN, "ghs_stand_in", github.url), 7)
            assert github.problems == []
        assert judging == Judging(((HOOKS, (Changed("conftest.py"),)),))

    def test_a_list_that_may_not_be_whole_is_said(self) -> None:
        """GitHub ends it at 3,000: a change could hide behind that many."""
        judging = find_judging(Files(*[{"filename": f"f{n}"} for n in range(MOST_FILES)]), 7)
        assert judging.unknown == "GitHub lists 3,000 files at most"
        assert find_judging(Files(*[{"filename": f"f{n}"} for n in range(MOST_FILES - 1)]), 7).unknown == ""

    @pytest.mark.parametrize("file", [{}, {"filename": None, "patch": 7}, [], "x", 7])
    def test_an_odd_answer_is_said_and_hides_no_result(self, file: Any) -> None:
        """Not known is no crash, and never nothing."""
        judging = find_judging(Files(file), 7)
        assert judging.unknown or not judging.changed


class TestTheParagraph:
    """What a human sees above the result."""

    def test_nothing_is_said_of_nothing(self) -> None:
        """Most changes change nothing that judges."""
        assert render_judging(Judging()) == ""

    def test_it_says_what_and_how_many(self) -> None:
        """A few names of each kind."""
        files = tuple(Changed(f"baselines/{n}.json") for n in range(5))
        assert render_judging(Judging(((SETTINGS, (Changed("tox.ini", "a → b"),)), (BASELINES, files)), "so")) == (
            "> ⚠️ **This pull request changes what judges it.** The result below was made with these changes: "
            "review them first.\n"
            "> - settings: tox.ini (a → b)\n"
            "> - baselines: baselines/0.json, baselines/1.json, baselines/2.json and 2 more files\n"
            "> ⚠️ Whether it changes more is not known: so"
        )

    def test_names_are_harmless(self) -> None:
        """A file may be called anything, and so may a setting."""
        evil = "@team](http://x)<b>`|\n\n# ![x](y) #1 :tada: GH-1 x/conftest.py"
        text = render_judging(Judging(((HOOKS, (Changed(evil, evil * 100),)),), evil * 9))
        assert text.count("\n") == 2
        assert problems_of(text) == []
        assert len(text) < 1200
