"""Which commit is measured: as CI says it, else as git does."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

GIT_LIMIT_S = 20.0

_FULL = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")


def measured_commit(variables: Mapping[str, str]) -> str:
    """Return the commit that CI says it checked out (``KERNELPERF_COMMIT``, full and in hexadecimal), else nothing."""
    commit = variables.get("KERNELPERF_COMMIT", "")
    return commit.lower() if _FULL.fullmatch(commit) else ""


def commit_at_hand(root: Path, variables: Mapping[str, str]) -> str:
    """Return the full SHA of what is measured: CI's word, else HEAD of the checkout at ``root``; empty if neither."""
    said = measured_commit(variables)
    return said or ask_git(root, "rev-parse", "HEAD").strip().lower()


def ask_git(root: Path, *arguments: str) -> str:
    """Return what a git command prints; empty where it fails, git is missing, or ``root`` is no checkout."""
    try:
        asked = subprocess.run(
            ["git", "-C", str(root), *arguments],
            capture_output=True, text=True, errors="replace", timeout=GIT_LIMIT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout if asked.returncode == 0 else ""
