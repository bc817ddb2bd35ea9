"""A comment's body: a hidden mark that says whose it is and what it shows, a banner, the result."""

from __future__ import annotations

import re

from pytest_kernelperf.model import Frozen

MARKER = "<!-- kernelperf comment"
RESULT = "<!-- kernelperf result -->"
MAX_CHARACTERS = 65_536
"""GitHub refuses longer ones with 422, "body is too long" (not in its description of the API)."""

RUNNING, SUPERSEDED, SHOWN = "running", "superseded", "result"

_MARK = re.compile(
    re.escape(MARKER) + r" run=(\d{1,18}) attempt=(\d{1,6}) state=(running|superseded|result) commit=([0-9a-f]{40}) -->"
)


class Mark(Frozen, frozen=True):
    """Which run a comment shows, and how far it is."""

    run: int
    attempt: int
    state: str
    commit: str

    @property
    def order(self) -> tuple[int, int, bool]:
        """Later runs, attempts and states are larger: GitHub numbers its runs in order."""
        return self.run, self.attempt, self.state != RUNNING

    def text(self) -> str:
        """The hidden line."""
        return f"{MARKER} run={self.run} attempt={self.attempt} state={self.state} commit={self.commit} -->"


class Body(Frozen, frozen=True):
    """A comment taken apart: ``result`` is empty while a first run is on."""

    mark: Mark
    banner: str = ""
    result: str = ""

    def text(self) -> str:
        """The whole body."""
        return "\n".join((self.mark.text(), *((self.banner, "") if self.banner else ()), RESULT, self.result)).rstrip()


def read_body(text: str) -> Body | None:
    """Take a comment's text apart; None where it is none of ours: the mark is at its very start."""
    found = _MARK.match(text)
    if found is None:
        return None
    mark = Mark(int(found[1]), int(found[2]), found[3], found[4])
    # GitHub keeps what it was sent, but for line ends.
    banner, _, result = text[found.end() :].replace("\r\n", "\n").partition(RESULT)
    return Body(mark, banner.strip(), result.strip("\n"))
