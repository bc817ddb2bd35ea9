"""The job: the tree of the commit that is measured against, its plans, the guard, the reports."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_kernelperf import __version__
from pytest_kernelperf.baseline.exported import VERSION, Export, write_export
from pytest_kernelperf.ci.against import Against
from pytest_kernelperf.ci.checkout import Git
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.pytest_process import plugin_arguments

_SHA = re.compile(r"[0-9a-f]{40}")

# As console scripts have it: without the current folder on the path, so that a tree which holds this very package (ours
# does) is not imported instead of the installed one.
_PATH = "import sys; sys.path[:] = [folder for folder in sys.path if folder]; "
_COMMAND = _PATH + "from pytest_kernelperf.cli import main; main()"
_PYTEST = _PATH + "import pytest; sys.exit(pytest.main())"


@dataclass(frozen=True)
class Job:
    """One job's wishes.

    ``acceptance``: the text of an acceptance file, or nothing. ``baselines``: the project's folder of baselines,
    relative to its top. ``environment``: the process's variables.
    """

    folder: Path
    out: Path
    baselines: str = "baselines"
    runtime: str = "auto"
    acceptance: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def run_job(job: Job, against: Against, arguments: Sequence[str]) -> int:
    """Guard the commit at hand and report; return pytest's exit code, which is the gate.

    Args:
        job: folders, runtime and environment.
        against: what the commit is measured against.
        arguments: pytest's arguments.
    """
    git = Git(job.folder)
    if against.head and not git.merged(against.head):
        raise UsageError(f"the commit at hand does not merge {against.head}: check out the pull request's merge commit")
    measured = {"KERNELPERF_COMMIT": against.measured} if _SHA.fullmatch(against.measured) else {}
    environment = {**job.environment, **measured}
    job.out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="kernelperf-") as scratch,
        _laid_out(git, against, Path(scratch)) as (parent, yardstick),
        _strangers_output(),
    ):
        options = _options(job, against, Path(scratch), environment, parent, yardstick, arguments)
        code = _run([sys.executable, "-c", _PYTEST, *plugin_arguments(), *options, *arguments], job.folder, environment)
    _report(job, environment)
    return code


@contextlib.contextmanager
def _laid_out(git: Git, against: Against, scratch: Path) -> Iterator[tuple[Path | None, Path | None]]:
    """Lay out the trees whose code and whose baselines count; one tree where they are the same commit's."""
    with contextlib.ExitStack() as stack:
        trees: dict[str, Path] = {}

        def tree(name: str) -> Path | None:
            commit = git.commit(name) if name else ""
            if commit and commit not in trees:
                trees[commit] = stack.enter_context(git.tree(commit, scratch / f"tree-{len(trees)}"))
            return trees.get(commit)

        yield tree(against.parent), tree(against.baselines)


@contextlib.contextmanager
def _strangers_output() -> Iterator[None]:
    """Whatever kernels and tests print meanwhile is no command to the runner, whatever it looks like."""
    token = secrets.token_hex(16)
    _say(f"::stop-commands::{token}")
    try:
        yield
    finally:
        _say(f"::{token}::")


def _options(
    job: Job,
    against: Against,
    scratch: Path,
    environment: Mapping[str, str],
    parent: Path | None,
    yardstick: Path | None,
    arguments: Sequence[str],
) -> list[str]:
    options = ["--kernelperf", f"--kernelperf-out={job.out}", f"--kernelperf-runtime={job.runtime}"]
    if yardstick is not None:
        # A commit without baselines has none: those of the change must not take their place.
        (yardstick / job.baselines).mkdir(parents=True, exist_ok=True)
        options.append(f"--kernelperf-baselines={yardstick / job.baselines}")
    if parent is not None and (plans := _plans(job, parent, scratch / "parent.plans", environment, arguments)):
        options.append(f"--kernelperf-parent={plans}")
    if job.acceptance:
        file = scratch / "acceptance.json"
        file.write_text(job.acceptance, encoding="utf-8")
        options.append(f"--kernelperf-accept={file}")
    if against.new_limit_days is not None:
        options.append(f"--kernelperf-new-limit-days={against.new_limit_days}")
    return options


def _plans(job: Job, tree: Path, file: Path, environment: Mapping[str, str], arguments: Sequence[str]) -> Path | None:
    """Export the parent's plans. A parent that has none is said, and the baselines are left to compare with.

    Paths alone are passed on: options are as the change's workflow gives them, and the parent's limits are its own.
    """
    place = tree / job.folder.resolve().relative_to(Git(job.folder).top().resolve())
    if not place.is_dir():
        _say(f"kernelperf: the commit that is measured against has no folder {place.name}")
        return None
    named = [argument for argument in arguments if (job.folder / argument.partition("::")[0]).exists()]
    paths = [argument for argument in named if (place / argument.partition("::")[0]).exists()]
    if named and not paths:
        # Without a path pytest would collect all that there is.
        _say(f"kernelperf: the commit that is measured against has no {' and no '.join(named)}")
        return None
    command = [sys.executable, "-c", _COMMAND, "plans", "--output", str(file), "--runtime", job.runtime, *paths]
    if (code := _run(command, place, environment)) or not file.is_file():
        # Said in the run file and the comment as well: without the parent the change is judged by its own limits.
        problem = (
            f"kernelperf plans ended with exit code {code} on the commit that is measured against: see the job's log"
        )
        _say(f"kernelperf: {problem}; baselines alone are compared with")
        commit = Git(tree).commit("HEAD")
        write_export(file, Export(VERSION, commit, "", __version__, problems=(problem,)))
    return file


def _report(job: Job, environment: Mapping[str, str]) -> None:
    """Step summary and annotations. That a report fails changes nothing about the gate."""
    file = job.out / "run.json"
    if not file.is_file():
        _say("::error title=kernelperf::the guard wrote no run file: the log says why")
        return
    for report in ("summary", "annotations"):
        _run([sys.executable, "-c", _COMMAND, report, str(file)], job.folder, environment)


def _run(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> int:
    return subprocess.run(command, cwd=folder, env=dict(environment), check=False).returncode


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
