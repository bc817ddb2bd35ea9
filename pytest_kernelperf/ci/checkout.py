"""Another commit's tree beside the one at hand, by git alone and without a network."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pytest_kernelperf.errors import UsageError

_SECONDS = 300


class Git:
    """The repository at hand."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def commit(self, name: str) -> str:
        """Return a commit's SHA.

        Raises:
            UsageError: it is not here.
        """
        found = self._run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if found.returncode:
            raise UsageError(f"the commit {name} is not in this clone: check out with fetch-depth: 0")
        return found.stdout.strip()

    def top(self) -> Path:
        """Return the tree's top folder."""
        found = self._run("rev-parse", "--show-toplevel")
        if found.returncode:
            raise UsageError(f"{self._folder} is in no git repository: {found.stderr.strip()}")
        return Path(found.stdout.strip())

    def merged(self, head: str) -> bool:
        """Whether the commit at hand merges ``head`` into something."""
        return self._run("rev-parse", "--verify", "--quiet", "HEAD^2").stdout.strip() == head

    def same(self, one: str, other: str, path: str) -> bool:
        """Whether a path is the same in two commits.

        Raises:
            UsageError: one of them is not here.
        """
        return self._run("diff", "--quiet", self.commit(one), self.commit(other), "--", path).returncode == 0

    @contextlib.contextmanager
    def tree(self, commit: str, folder: Path) -> Iterator[Path]:
        """Lay a commit's tree out in ``folder`` and take it away again."""
        made = self._run("worktree", "add", "--force", "--detach", str(folder), commit)
        if made.returncode:
            raise UsageError(f"the tree of {commit} cannot be laid out: {made.stderr.strip()[-300:]}")
        try:
            yield folder
        finally:
            self._run("worktree", "remove", "--force", str(folder))

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Hooks are the repository's, or whoever's wrote its configuration: none is needed for any of this.
        command = ["git", "-c", "core.hooksPath=/dev/null", "-C", str(self._folder), *arguments]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
        except (OSError, subprocess.SubprocessError) as problem:
            raise UsageError(f"git cannot be run: {problem}") from None
