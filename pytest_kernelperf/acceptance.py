"""A maintainer's acceptance of a slowdown: for one commit, with a reason, read from a file that CI makes.

It is tied to the full SHA of the commit that is measured: whatever is pushed after it was given is not accepted. Of
another commit it has no effect, and the run says so.
"""

from __future__ import annotations

import re
from pathlib import Path

from pytest_kernelperf import strict_json
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import AcceptanceUse, Accepted, CaseId, Frozen

VERSION = 1
MOST_BYTES = 1_000_000
MOST_REASON = 500

ADVICE = 'it holds {"version": 1, "commit": SHA, "by": LOGIN, "reason": TEXT, "cases": null or a list of cases}'

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class AcceptanceFile(Frozen, frozen=True):
    """The file. ``cases``: those that may be slower; None: all of the commit's. Version 1: as it stands.

    ``commit``: the full SHA of the commit that is accepted. ``by``: who accepts it. ``reason``: why.
    """

    version: int
    commit: str
    by: str
    reason: str
    cases: tuple[CaseId, ...] | None = None


class Acceptance(Frozen, frozen=True):
    """What a run was given: who accepts what for which commit, and why it has no effect where it has none."""

    use: AcceptanceUse
    cases: tuple[CaseId, ...] | None = None

    def of(self, case: CaseId) -> Accepted | None:
        """Return the acceptance of a case; None where it is not accepted."""
        if self.use.refused or (self.cases is not None and case not in self.cases):
            return None
        return Accepted(self.use.by, self.use.reason, self.use.commit)

    @property
    def of_all(self) -> Accepted | None:
        """Return the acceptance of whatever the commit slows; None where single cases are accepted, or none."""
        return (
            None
            if self.use.refused or self.cases is not None
            else Accepted(self.use.by, self.use.reason, self.use.commit)
        )


def read_acceptance(path: Path, measured: str) -> Acceptance:
    """Read an acceptance.

    Args:
        path: the file.
        measured: the full SHA of the commit that is measured; empty where it is not known.

    Raises:
        UsageError: it cannot be read or holds something else: a run that was to be lenient must not go on by chance.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as problem:
        raise UsageError(f"--kernelperf-accept: {path} cannot be read ({problem.strerror}): {ADVICE}") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"--kernelperf-accept: {path} has more than {MOST_BYTES} bytes: {ADVICE}")
    subject = f"--kernelperf-accept: {path}"
    found = strict_json.decode(data, AcceptanceFile, subject=subject, error=UsageError, advice=ADVICE)
    if found.version != VERSION:
        raise UsageError(f"{subject}: has version {found.version}, known is {VERSION}: {ADVICE}")
    if not _COMMIT.fullmatch(found.commit):
        raise UsageError(strict_json.one_line(f"{subject}: commit {found.commit[:80]!r} is no full SHA: {ADVICE}"))
    by, reason = (strict_json.one_line(text).strip()[:MOST_REASON] for text in (found.by, found.reason))
    if not by or not reason:
        raise UsageError(f"{subject}: an acceptance needs who gives it and a reason: {ADVICE}")
    return Acceptance(AcceptanceUse(by, reason, found.commit, _refusal(found.commit, measured)), found.cases)


def _refusal(commit: str, measured: str) -> str:
    """Say why an acceptance has no effect here; empty where it has."""
    if not measured:
        return (
            f"it accepts commit {commit}, and which commit is measured here is not known: run inside a git checkout, "
            "or set KERNELPERF_COMMIT"
        )
    if commit != measured:
        return f"it accepts commit {commit}, and commit {measured} is measured: accept that one"
    return ""
