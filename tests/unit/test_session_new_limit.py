"""How long a case has been without a baseline, by git's word alone."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from datetime import date
from pathlib import Path

import pytest
from guard_bench import Bench

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Verdict
from pytest_kernelperf.session.new_limit import NewLimit

FIRST = "kernel = Kernel('k', source='k.hip', tokens=(8,))\n\ndef plain(tokens, device):\n    ...\n"


class History:
    """A repository with a test file, whose commits have the days that a test gives."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.file = bench.folder / "test_k.py"
        bench.kernel.module_path = self.file
        self.git("init", "-q")

    def commit(self, day: str, text: str) -> None:
        """Commit a text of the file on a day."""
        self.file.write_text(text)
        self.git("add", "test_k.py")
        self.git("commit", "-q", "-m", "change", day=day)

    def git(self, *arguments: str, day: str = "2026-01-01") -> None:
        """Run git, on a day."""
        dates = {"GIT_AUTHOR_DATE": f"{day}T12:00:00Z", "GIT_COMMITTER_DATE": f"{day}T12:00:00Z"}
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.bench.folder), *who, *arguments]
        subprocess.run(command, check=True, env={**os.environ, **dates})

    def since(self, name: str = "plain", today: date = date(2026, 3, 1)) -> str:
        """Ask since when a variant is declared."""
        return NewLimit(7, today).since(self.bench.spec(name)).isoformat()


@pytest.fixture
def history(tmp_path: Path) -> History:
    """A repository without commits."""
    return History(Bench(tmp_path))


def test_a_variant_is_as_old_as_its_function(history: History) -> None:
    """Later changes of its body make it no younger, another variant does not either."""
    history.commit("2026-01-05", FIRST)
    history.commit("2026-01-20", FIRST.replace("...", "return []"))
    history.commit("2026-02-10", FIRST.replace("...", "return []") + "\ndef fused(tokens, device):\n    ...\n")
    assert (history.since("plain"), history.since("fused")) == ("2026-01-05", "2026-02-10")


def test_a_variant_that_was_away_is_new_since_it_came_back(history: History) -> None:
    """Meanwhile nothing guarded it."""
    history.commit("2026-01-05", FIRST)
    history.commit("2026-01-20", FIRST.replace("plain", "other"))
    history.commit("2026-02-10", FIRST)
    assert history.since() == "2026-02-10"


def test_new_sizes_make_new_cases(history: History) -> None:
    """A size that came last week is a case since last week."""
    history.commit("2026-01-05", FIRST)
    history.commit("2026-02-20", FIRST.replace("(8,)", "(8, 64)"))
    assert history.since() == "2026-02-20"


def test_what_was_merged_is_as_old_as_its_merge(history: History) -> None:
    """On main nobody knew of it before."""
    history.commit("2026-01-02", FIRST)
    history.git("checkout", "-q", "-b", "work")
    history.commit("2026-01-05", FIRST + "\ndef fused(tokens, device):\n    ...\n")
    history.git("checkout", "-q", "-")
    history.git("merge", "-q", "--no-ff", "-m", "merge", "work", day="2026-02-02")
    assert history.since("fused") == "2026-02-02"
    assert history.since("plain") == "2026-01-02"
    history.git("checkout", "-q", "-b", "sizes")
    history.commit("2026-02-03", FIRST.replace("(8,)", "(8, 64)"))
    history.git("checkout", "-q", "-")
    history.git("merge", "-q", "--no-ff", "-m", "merge", "sizes", day="2026-02-20")
    assert history.since("plain") == "2026-02-20"


def test_what_is_not_committed_is_new_since_today(history: History) -> None:
    """In a file that git does not know, and in one that it does."""
    history.commit("2026-01-05", "import pytest\n")
    history.file.write_text(FIRST)
    assert history.since() == "2026-03-01"


def test_a_checkout_without_history_is_refused(history: History, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It would make every case as young as its only commit."""
    history.commit("2026-01-05", FIRST)
    history.commit("2026-01-06", FIRST + "#\n")
    clone = tmp_path_factory.mktemp("clone") / "shallow"
    source = history.bench.folder.as_uri()
    subprocess.run(["git", "clone", "-q", "--depth=1", source, str(clone)], check=True)
    history.bench.kernel.module_path = clone / "test_k.py"
    with pytest.raises(UsageError, match="fetch-depth: 0"):
        history.since()


def test_what_is_no_checkout_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where git is missing."""
    bench = Bench(tmp_path)
    bench.kernel.module_path = tmp_path / "test_k.py"
    with pytest.raises(UsageError, match="no checkout"):
        NewLimit(7).since(bench.spec("plain"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no checkout"):
        NewLimit(7).since(bench.spec("plain"))


@pytest.mark.parametrize(("today", "over"), [(date(2026, 1, 12), False), (date(2026, 1, 13), True)])
def test_the_limit_is_counted_in_whole_days(today: date, over: bool) -> None:
    """Seven days after it is fine, the eighth is not."""
    assert NewLimit(7, today).is_over(date(2026, 1, 5)) is over


@pytest.mark.parametrize(("day", "fails"), [("2026-01-05", True), (date.today().isoformat(), False)])
def test_a_case_that_stays_new_for_too_long_fails_and_says_since_when(history: History, day: str, fails: bool) -> None:
    """With a baseline it is nobody's concern."""
    history.commit(day, FIRST)
    bench = history.bench
    bench.settings = dataclasses.replace(bench.settings, new_limit_days=7)
    record = bench.check()
    assert (record.decision.verdict, record.decision.fails) == (Verdict.NEW, fails)
    assert (record.decision.code == "new_too_long", record.new_since) == (fails, day)
    assert (day in record.decision.reason) is fails
    bench.accept("plain")
    record = bench.check()
    assert (record.decision.verdict, record.new_since) == (Verdict.IDENTICAL, "")
