"""Which of the files that a pull request changes decide how it is judged: GitHub's word, since its own code could lie.

Workflows, hooks and the guard are named as files. Of settings and of tests the changed lines count: those that name a
limit. What such lines are taken for is a hint for the eye: a test module is code, and can do more than that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from pytest_kernelperf.errors import GitHubError
from pytest_kernelperf.github.api import Repository
from pytest_kernelperf.report.judging import Changed, Judging

MOST_FILES = 3000
"""GitHub lists no more of a pull request."""

WORKFLOW, GUARD, HOOKS = "the workflow that measures", "the guard itself", "pytest's hooks"
SETTINGS, LIMITS, BASELINES = "settings", "limits of single cases", "baselines"
KINDS = (WORKFLOW, GUARD, HOOKS, SETTINGS, LIMITS, BASELINES)

_WORKFLOW = (".github/*", "action.yml", "action.yaml", "*/action.yml", "*/action.yaml")
_HOOKS = ("conftest.py", "sitecustomize.py", "usercustomize.py")
_CONFIGURATION = (
    "pyproject.toml",
    "pytest.toml",
    ".pytest.toml",
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "setup.py",
)
_PINS = ("*requirements*.txt", "*requirements*.in", "*constraints*.txt", "*.lock", "pylock*.toml", "environment.y*ml")
_SETTING = re.compile(
    r"kernelperf|pytest|addopts|testpaths|pythonpath|python_(?:files|classes|functions)|norecursedirs|confcutdir"
    r"|usefixtures|collect|(?<!\w)-p\b|plugin",
    re.IGNORECASE,
)
_NAMED = re.compile(r"^[+-]\s*[\"']?(kernelperf_\w+)[\"']?\s*[=:]\s*(.*?)\s*$", re.MULTILINE)
_LIMIT = re.compile(
    r"mark\.kernelperf|\b(?:tolerance|curve_tolerance|floor_us|alpha|creep|dwell_s)(?=\s*=)|\bFloor(?=\()|\bunderfill\b"
    r"|\bexpect_starved\b|\breplaces\b(?=\s*=)|\brenamed_from\b|\bpytest_plugins\b"
)
_CHANGED_LINE = re.compile(r"^[+-].*$", re.MULTILINE)


def find_judging(github: Repository, number: int, workflow: str = "", more: tuple[str, ...] = ()) -> Judging:
    """Return what a pull request changes of that which judges it.

    Args:
        github: the repository.
        number: the pull request.
        workflow: path of the workflow whose run is told about.
        more: patterns of further files that judge, as ``fnmatch`` has them: the guard, where the project is the guard.
    """
    try:
        files = github.pages(f"pulls/{number}/files")
        found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
        for file in files:
            for kind, name, detail in _judging(file, workflow, more):
                found[kind].setdefault(name, detail)
    except (GitHubError, LookupError, TypeError, AttributeError) as problem:
        return Judging(unknown=f"GitHub does not list the files that it changes ({problem})")
    unknown = f"GitHub lists {MOST_FILES:,} files at most" if len(files) >= MOST_FILES else ""
    kinds = (
        (kind, tuple(Changed(name, detail) for name, detail in sorted(names.items()))) for kind, names in found.items()
    )
    return Judging(tuple((kind, files) for kind, files in kinds if files), unknown)


def _judging(file: Mapping[str, Any], workflow: str, more: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and detail of what a changed file judges by; a renamed file counts under both its names."""
    patch = file.get("patch")
    lines = None if patch is None else "\n".join(_CHANGED_LINE.findall(str(patch)))
    for name in dict.fromkeys((str(file["filename"]), str(file.get("previous_filename") or file["filename"]))):
        base = name.rpartition("/")[2].lower()
        if name == workflow or _matches(name.lower(), _WORKFLOW):
            yield WORKFLOW, name, ""
        elif _matches(name, more):
            yield GUARD, name, ""
        elif base in _HOOKS or base.endswith(".pth"):
            yield HOOKS, name, ""
        elif base in _CONFIGURATION:
            # Whether a line belongs to pytest's table is not in its text: a renamed, new or unshown file counts whole.
            if lines is None or file.get("status") in ("added", "removed", "renamed") or _SETTING.search(lines):
                yield SETTINGS, name, _settings(lines or "")
        elif "baselines" in name.split("/"):
            yield BASELINES, name, ""
        elif _matches(base, _PINS):
            if lines is None or "kernelperf" in lines:
                yield GUARD, name, ""
        elif base.endswith(".py") and (lines is None or _LIMIT.search(lines)):
            yield LIMITS, name, _limits(lines or "")


def _settings(lines: str) -> str:
    """What the guard's settings were and are: ``kernelperf_tolerance "1%" → "50%"``."""
    said: dict[str, dict[str, str]] = {}
    for found in _NAMED.finditer(lines):
        said.setdefault(found[1], {})[found[0][0]] = found[2]
    return ", ".join(f"{name} {_value(one, '-')} → {_value(one, '+')}" for name, one in said.items())


def _value(said: Mapping[str, str], side: str) -> str:
    return said.get(side, "default")


def _limits(lines: str) -> str:
    return ", ".join(dict.fromkeys(found[0] for found in _LIMIT.finditer(lines)))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
