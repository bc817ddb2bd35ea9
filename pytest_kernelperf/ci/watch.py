"""The one issue that says how the box is: opened when something is wrong, kept up to date, closed when it is well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_kernelperf.ci.plain import plain
from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.github.api import Repository
from pytest_kernelperf.model import Frozen
from pytest_kernelperf.report.run_file import read_run
from pytest_kernelperf.report.summary import drift_lines

MARKER = "<!-- kernelperf watch -->"
TITLE = "kernelperf: the box needs a look"


class Finding(Frozen, frozen=True):
    """How the box is: sentences about what is wrong, none where it is well."""

    wrong: tuple[str, ...]

    @property
    def body(self) -> str:
        """The issue's text, but for where it was found."""
        return "\n".join(f"- {plain(line)}" for line in self.wrong)


def look(run_file: Path, box: str) -> Finding:
    """Say what is wrong with the box.

    Args:
        run_file: ``run.json`` of the accepted code timed again; a missing one is a finding.
        box: how the box's job ended, as GitHub says it (``success``, ``failure``, ``cancelled``, ``skipped``).
    """
    try:
        run = read_run(run_file)
    except KernelperfError:
        return Finding((f"the box measured nothing (its job ended as {box}): is it on, and does its runner listen?",))
    lines = list(drift_lines(run))
    if box != "success" and not lines:
        lines = [f"the box's job ended as {box}: a drill's alarm stayed silent, or a case failed; its log says which"]
    return Finding(tuple(lines))


def report(repository: Repository, finding: Finding, where: str, author: str) -> str:
    """Open, update, reopen or close the one issue; return what was done, as a sentence.

    Args:
        repository: GitHub.
        finding: how the box is.
        where: the run that found it, as a link.
        author: who our issues are by; nobody else's issue is touched, whatever it says.

    Raises:
        KernelperfError: GitHub cannot be asked or told.
    """
    issue = _ours(repository.pages("issues", state="all", creator=author), author)
    body = f"{MARKER}\n{finding.body}\n\nFound by {where}; this text follows the box, and the issue closes by itself."
    if not finding.wrong:
        if issue is None or issue["state"] == "closed":
            return "the box is well, and no issue says otherwise"
        number = issue["number"]
        repository.post(f"issues/{number}/comments", {"body": f"The box is well again: {where}"})
        repository.patch(f"issues/{number}", {"state": "closed", "state_reason": "completed"})
        return f"the box is well again: closed issue {number}"
    if issue is None:
        made = repository.post("issues", {"title": TITLE, "body": body})
        return f"opened issue {made['number']}"
    number = issue["number"]
    if issue["state"] == "open" and _said(str(issue.get("body") or "")) == _said(body):
        return f"issue {number} says so already"
    repository.patch(f"issues/{number}", {"body": body, "state": "open"})
    return f"{'updated' if issue['state'] == 'open' else 'reopened'} issue {number}"


def _ours(issues: list[dict[str, Any]], author: str) -> dict[str, Any] | None:
    """The oldest issue with our mark that we wrote; pull requests are issues to this API, and are none to us."""
    found = [
        issue
        for issue in issues
        if str(issue.get("body") or "").startswith(MARKER)
        and (issue.get("user") or {}).get("login") == author
        and "pull_request" not in issue
    ]
    return min(found, key=lambda issue: int(issue["number"]), default=None)


def _said(body: str) -> str:
    """What an issue says, without where it was found."""
    return body.partition("\n\nFound by ")[0]
