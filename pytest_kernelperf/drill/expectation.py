"""What had to happen in a run, and whether it did: records and names in, an answer with its sentence out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_kernelperf.drill.guard_run import GuardRun
from pytest_kernelperf.model import Frozen, Record
from pytest_kernelperf.units import format_counted

MOST_NAMED = 3

BUSY = "busy"
"""The guard's reason code where it has not measured since somebody else was active."""


class Answer(Frozen, frozen=True):
    """Whether it happened, and what did. ``disturbed``: it could not, since somebody else was active."""

    rang: bool
    found: str
    disturbed: bool = False

    def after(self, what: str) -> Answer:
        """The answer with what was put in before it."""
        return Answer(self.rang, f"{what}: {self.found}", self.disturbed)


class Wanted(Frozen, frozen=True):
    """What a case must be called, whether that fails the run, and what its reason must hold."""

    verdicts: frozenset[str]
    fails: bool
    words: str = ""

    def refuses(self, record: Record | None) -> bool:
        """Whether the record is not as wanted."""
        if record is None:
            return True
        decision = record.decision
        as_wanted = decision.verdict.value in self.verdicts and decision.fails == self.fails
        return not as_wanted or self.words not in decision.reason


def passing(names: Iterable[str], *verdicts: str) -> dict[str, Wanted]:
    """All these cases pass with one of these verdicts."""
    return dict.fromkeys(names, Wanted(frozenset(verdicts), fails=False))


def failing(name: str, *verdicts: str, words: str = "") -> dict[str, Wanted]:
    """This case fails with one of these verdicts."""
    return {name: Wanted(frozenset(verdicts), fails=True, words=words)}


def expect(
    run: GuardRun, wanted: Mapping[str, Wanted], *, file: str = "", file_words: str = "", tell: Iterable[str] = ()
) -> Answer:
    """Ask whether a run came out as wanted, and blamed nobody else.

    Args:
        run: the run.
        wanted: by case (``str(CaseId)``) what must have happened; a case that is not named must not fail.
        file: the baseline file whose item must fail, and no other file's; empty: no file's item may.
        file_words: what its message must hold.
        tell: the cases that the answer is to tell of where all went as wanted; the others are counted.
    """
    wrong = [f"{name}: {_say(run.record(name))}" for name, want in wanted.items() if want.refuses(run.record(name))]
    wrong += [f"blamed: {record.case}: {_say(record)}" for record in run.failing if str(record.case) not in wanted]
    messages = [message for name, message in run.failed_files if file and name.endswith(file)]
    if file and not any(file_words in message for message in messages):
        wrong.append(f"the item of {file} did not fail with {file_words!r}: {' '.join(messages) or 'it passed'}")
    others = [(name, text) for name, text in run.failed_files if not file or not name.endswith(file)]
    wrong += [f"blamed: {name}: {_first(text)}" for name, text in others]
    if not wrong and not run.agrees:
        wrong.append(
            f"exit code {run.code} and {format_counted(len(run.failed), 'failure')} in JUnit's file do not tell the "
            f"same as {format_counted(len(run.failing), 'failing verdict')}"
        )
    if wrong and not run.records:
        wrong.append(f"exit code {run.code}; the end of what pytest said: {' / '.join(run.output.splitlines()[-5:])}")
    told = tuple(tell)
    right = [f"{name}: {_say(run.record(name))}" for name in told] if told else [_count(run, wanted)]
    disturbed = [run.record(name) for name, want in wanted.items() if "invalid" not in want.verdicts]
    busy = any(record is not None and record.decision.code == BUSY for record in disturbed)
    return Answer(not wrong, _joined(wrong or [*map(_first, messages), *right]), disturbed=bool(wrong) and busy)


def _say(record: Record | None) -> str:
    if record is None:
        return "was not judged"
    reason = record.decision.reason.removeprefix(str(record.case)).lstrip(":, ")  # who says this has named the case
    return f"{record.decision.verdict.value}{' and fails' if record.decision.fails else ''}, {reason}"


def _first(message: str) -> str:
    return message.strip().partition("\n")[0]


def _count(run: GuardRun, names: Iterable[str]) -> str:
    """``2 unchanged, 1 undecided``."""
    verdicts = [record.decision.verdict.value for name in names if (record := run.record(name)) is not None]
    return ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))


def _joined(sentences: list[str]) -> str:
    more = len(sentences) - MOST_NAMED
    return "; ".join(sentences[:MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")
