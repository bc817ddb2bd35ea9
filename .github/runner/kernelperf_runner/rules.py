"""The box's own settings, ``/etc/kernelperf-runner/gate.json``: root writes them, no repository can."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kernelperf_runner.document import Refusal, read

EVENTS = ("pull_request", "push", "merge_group", "workflow_dispatch", "schedule")
"""The only events that have rules; all others are refused, whatever a settings file says."""

LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
"""Companies that manage their users' accounts have an underscore in each: ``name_company``."""


@dataclass(frozen=True)
class Limits:
    """What the machine must look like before a job. ``None``: not looked at."""

    idle_percent: int = 5
    temperature_c: int | None = 60
    power_cap_w: int | None = None
    performance_level: str = "high"
    wait_s: int = 300


@dataclass(frozen=True)
class Rules:
    """Who may run what on this box.

    ``workflows``: path of the workflow's file -> the events it may run for. ``approvers``: logins whose label lets a
    commit of a fork run; empty: no fork runs.
    """

    repository: str
    repository_id: int
    default_branch: str
    workflows: Mapping[str, tuple[str, ...]]
    approvers: tuple[str, ...]
    labels: tuple[str, ...]
    machine: Limits


def read_rules(path: Path) -> Rules:
    """Read the settings; anything unknown, missing or of another type is refused, since a guess could let code in."""
    return rules_of(read(path, f"the settings {path}"), f"the settings {path}")


def rules_of(document: Mapping[str, Any], what: str = "the settings") -> Rules:
    """Check a settings document and return it as a record."""
    names = [field.name for field in fields(Rules)]
    if sorted(document) != sorted(names):
        raise Refusal(f"{what} must hold exactly {', '.join(names)}; they hold {', '.join(sorted(map(str, document)))}")
    workflows = document["workflows"]
    checks = (
        ("repository", "owner/name", _matches(document["repository"], r"[A-Za-z0-9-]{1,39}/[A-Za-z0-9._-]{1,100}")),
        ("repository_id", "a whole number", type(document["repository_id"]) is int and document["repository_id"] > 0),
        ("default_branch", "a branch's name", _matches(document["default_branch"], r"[A-Za-z0-9._/-]{1,200}")),
        ("approvers", "a list of logins", _texts(document["approvers"], LOGIN.pattern)),
        ("labels", "a list of the runner's labels", _texts(document["labels"], r"[A-Za-z0-9_.-]{1,100}")),
        ("workflows", "file -> list of " + ", ".join(EVENTS), isinstance(workflows, dict) and all(
            _matches(file, r"\.github/workflows/[A-Za-z0-9._-]{1,100}\.ya?ml") and _texts(events, "|".join(EVENTS))
            for file, events in workflows.items())),
    )  # fmt: skip
    for name, expected, holds in checks:
        if not holds:
            raise Refusal(f"{what} must hold {expected} in {name}")
    return Rules(
        repository=document["repository"],
        repository_id=document["repository_id"],
        default_branch=document["default_branch"],
        workflows={file: tuple(events) for file, events in workflows.items()},
        approvers=tuple(document["approvers"]),
        labels=tuple(document["labels"]),
        machine=_limits(document["machine"], what),
    )


def _limits(document: Any, what: str) -> Limits:
    known = {field.name: field.default for field in fields(Limits)}
    if not isinstance(document, dict) or not set(document) <= set(known):
        raise Refusal(f"{what} may hold {', '.join(known)} in machine")
    for name, value in document.items():
        kind = str if name == "performance_level" else int
        if type(value) is not kind and not (value is None and name in ("temperature_c", "power_cap_w")):
            raise Refusal(f"{what} must hold a {kind.__name__} in machine.{name}")
    return Limits(**document)


def _matches(value: Any, pattern: str) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _texts(value: Any, pattern: str) -> bool:
    return isinstance(value, list) and all(_matches(text, pattern) for text in value)
