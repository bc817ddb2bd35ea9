"""action.yml as another repository uses it, by what its documentation says, under act."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from act_runs import FILES, ROOT, SLOWED, Finished, Repository, clock

DOCUMENT = ROOT / "docs" / "action.md"
SHA = "5" * 40


def use(repository: Repository, folder: Path, files: dict[str, str], python: str) -> Finished:
    """A pull request to another repository: its workflow has the documented lines, and says where its Python is."""
    (lines,) = re.findall(r"^```yaml\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    used = f"maker/pytest-kernelperf@{SHA}"
    assert lines.endswith("- uses: OWNER/pytest-kernelperf@SHA\n")
    lines = lines.replace("OWNER/pytest-kernelperf@SHA", used)
    workflow = f"on: pull_request\njobs:\n  guard:\n{lines}        with: {{runtime: cpu, python: {python!r}}}\n"
    repository.git("rm", "-r", "--quiet", ".github", "action.yml", "scripts")
    repository.commit({".github/workflows/guard.yml": workflow}, "Guard")
    for name in ("action.yml", "scripts/action"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    repository.shims[used] = folder
    head = repository.commit(files, "Change", "change")
    payload = repository.payload(7, head, "change")
    return repository.run("pull_request", payload, repository.checkout(head, "main"), "guard.yml", clock(head=12.0))


@pytest.mark.weekly
def test_another_repository_needs_the_documented_lines_alone(repository: Repository, tmp_path: Path) -> None:
    """It has none of our files, and no baselines: the code that the change is merged into is enough."""
    repository.git("rm", "-r", "--quiet", "baselines")
    run = use(repository, tmp_path / "action", SLOWED, sys.executable)
    assert run.jobs == {"guard": "failure"}, run.text
    (record,) = run.run_file()["records"]
    assert record["decision"]["code"] == "slower_than_parent"
    assert run.run_file()["blame"]["parent_commit"] == repository.git("rev-parse", "main")
    assert (run.artifacts / "kernelperf" / "report.html").is_file()


@pytest.mark.weekly
def test_where_nothing_could_be_prepared_a_sentence_says_why_and_nothing_is_kept(
    repository: Repository, tmp_path: Path
) -> None:
    """There is no folder of results then, and an empty name would be the whole disk."""
    run = use(repository, tmp_path / "action", FILES, "/nowhere/python")
    assert run.jobs == {"guard": "failure"}, run.text
    assert "::error title=kernelperf::/nowhere/python has no pytest-kernelperf" in run.text
    assert "no path is given" not in run.text
    assert not list(run.artifacts.iterdir())
