"""From a run's event to the pull request's comment: who is told what, and when nothing is."""

from __future__ import annotations

from typing import Protocol

import msgspec

from pytest_kernelperf.errors import GitHubError, RunFileError
from pytest_kernelperf.github.acceptance import find_acceptance
from pytest_kernelperf.github.api import Storage, as_described
from pytest_kernelperf.github.artifact import find_artifact, read_artifact
from pytest_kernelperf.github.body import MAX_CHARACTERS, RUNNING, SHOWN, SUPERSEDED, Body, Mark
from pytest_kernelperf.github.event import RunEvent
from pytest_kernelperf.github.judging import find_judging
from pytest_kernelperf.github.pull import Pull, find_pulls
from pytest_kernelperf.github.sticky import Comment, find_comment, put_comment
from pytest_kernelperf.model import Frozen, Run, Verdict
from pytest_kernelperf.report.comment import Links
from pytest_kernelperf.report.judging import Judging

NOT_FOUND = 404
NO_RESULT = {
    "cancelled": "The run was cancelled: nothing was measured.",
    "action_required": "The run waits for a maintainer's approval: nothing was measured.",
    "skipped": "The run was skipped: nothing was measured.",
    "timed_out": "The run took too long and left no result: its log says where it was.",
}


class Renderer(Protocol):
    """Texts in Markdown, harmless whatever the run holds."""

    def result(self, found: Run | str, links: Links, judging: Judging) -> str:
        """What a run found, or the sentence that says why nothing is shown, below what judges it and is changed."""
        ...

    def banner(self, state: str, links: Links) -> str:
        """One paragraph above what an earlier run found, if anything."""
        ...


class Wish(Frozen, frozen=True):
    """What the caller chose: artifacts that may hold the result, best first; who our comments are by.

    ``judges``: patterns of files that judge, beside those that do everywhere.
    """

    repository: str
    server: str
    artifacts: tuple[str, ...]
    author: str
    judges: tuple[str, ...] = ()


def post(github: Storage, event: RunEvent, wish: Wish, renderer: Renderer) -> str:
    """Bring the comment up to the event; return what was done, or why nothing was, as a sentence.

    Raises:
        GitHubError: GitHub cannot be asked or told.
    """
    if event.kind != "pull_request":
        return f"the run was for {event.kind}, not for a pull request: nothing is posted"
    with as_described():
        pulls = find_pulls(github, event)
    if len(pulls) != 1:
        found = "no open pull request comes" if not pulls else f"{len(pulls)} open pull requests come"
        return f"{found} from the run's branch: nothing is posted"
    pull = pulls[0]
    with as_described():
        earlier = find_comment(github, pull.number, wish.author)
    if earlier is not None and earlier.body.mark.order > _mark(event).order and _is_run(github, earlier.body.mark.run):
        return f"the comment on #{pull.number} shows a later run: nothing is posted"
    body = _body(github, event, wish, renderer, pull, earlier)
    if body is None:
        return (
            f"#{pull.number} is at {pull.head[:12]} by now, and the run was for {event.commit[:12]}: nothing is posted"
        )
    return put_comment(github, pull.number, wish.author, earlier, body)


def _body(
    github: Storage, event: RunEvent, wish: Wish, renderer: Renderer, pull: Pull, earlier: Comment | None
) -> Body | None:
    """What the comment is to say; None: nothing."""
    links = Links(wish.repository, wish.server, event.commit, pull.head, event.url, pull.number)
    shown = earlier.body if earlier is not None else None
    if pull.head != event.commit:
        if shown is None or shown.mark.commit == pull.head:
            return None
        mark = Mark(shown.mark.run, shown.mark.attempt, SUPERSEDED, shown.mark.commit)
        return Body(mark, renderer.banner(SUPERSEDED, links), shown.result)
    kept = shown.result if shown is not None else ""
    if not event.is_over:
        return Body(_mark(event), renderer.banner(RUNNING, links), kept)
    if event.conclusion == "skipped" and kept:
        return Body(_mark(event), "", kept)
    return Body(_mark(event), "", _result(github, event, wish, renderer, links, pull.number))


def _result(github: Storage, event: RunEvent, wish: Wish, renderer: Renderer, links: Links, pull: int) -> str:
    found: Run | str
    note = ""
    try:
        with as_described():
            artifact = find_artifact(github, event, wish.artifacts)
        if artifact is None:
            found = NO_RESULT.get(event.conclusion, "The run left no result: its log says why.")
        else:
            name, archive = artifact
            found = read_artifact(archive, event)
            if name != wish.artifacts[0] and event.conclusion != "success":
                note = f"The run ended as {event.conclusion} and timed nothing; what was checked without a GPU:\n\n"
    except RunFileError as problem:
        found = f"The result is not shown: {problem}."
    judging = find_judging(github, pull, event.workflow, wish.judges)
    if isinstance(found, Run) and _says_accepted(found):
        judging = msgspec.structs.replace(judging, unconfirmed=_why_not_accepted(github, event, pull))
    text = note + renderer.result(found, links, judging)
    if len(text) > MAX_CHARACTERS - 1_000:
        sentence = "The result is longer than a comment may be: look at the run's summary."
        text = renderer.result(sentence, links, judging)
    return text


def _is_run(github: Storage, number: int) -> bool:
    """Whether a run is there: what another bot of the repository repeats may begin with a mark that was made up."""
    try:
        return bool(github.get(f"actions/runs/{number}"))
    except GitHubError as problem:
        if problem.status == NOT_FOUND:
            return False
        raise


def _says_accepted(run: Run) -> bool:
    decisions = [*(record.decision for record in run.records), *(curve.decision for curve in run.curves)]
    return any(one.verdict is Verdict.ACCEPTED for one in decisions) or any(one.accepted for one in run.records)


def _why_not_accepted(github: Storage, event: RunEvent, pull: int) -> str:
    """Say why a run that says that it was accepted was not; empty where it was: its own word is no maintainer's."""
    try:
        with as_described():
            found = find_acceptance(github, pull)
    except GitHubError as problem:
        return f"GitHub could not be asked who accepted it ({problem})"
    if found.by and found.commit == event.commit:
        return ""
    return found.sentence if not found.by else f"another commit was, {found.commit}"


def _mark(event: RunEvent) -> Mark:
    return Mark(event.run, event.attempt, SHOWN if event.is_over else RUNNING, event.commit)
