"""What a run found, as the one comment on its pull request: GitHub's Markdown, whatever strangers named their kernels.

The commit, the repository and the addresses come from the caller, who knows them; all else is a run file's word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from pytest_kernelperf import units
from pytest_kernelperf.model import Frozen, Record, Run
from pytest_kernelperf.report import change
from pytest_kernelperf.report.aside import blame_lines, environment_lines, not_shown_lines
from pytest_kernelperf.report.detail import select_command
from pytest_kernelperf.report.markdown import code, fenced, inert, inert_name
from pytest_kernelperf.report.opening import (
    case_name,
    is_told_by_opening,
    render_opening,
    sentence_of,
    several_kernels,
)
from pytest_kernelperf.report.room import Part, Size, characters, fitted
from pytest_kernelperf.report.summary import drift_lines
from pytest_kernelperf.report.traced import render_traced

MOST_CHARACTERS = 64_000
"""GitHub refuses comments of more than 65,536; the rest is for what is put in front."""

MOST_CELL, MOST_REASON, SHOWN_SHA = 160, 600, 12

_ACCEPTABLE = (change.SLOWS, change.CREEPS, change.OPEN)
_TOLD_BY_TABLE = (change.FASTER, change.NEW)
_TOLD_BY_CHANGE = ("slower", "slower_than_parent")
_SHA = re.compile(r"[0-9a-f]{40}")
_BEFORE_UNIT = re.compile(r" (?=%|us\b|→)|(?<= to) |(?<=\(floor) |(?<=^[❌✅🆕]) |(?<=^[⚠☑]\ufe0f) ")


class Links(Frozen, frozen=True):
    """What a text may point to, known by the caller: ``commit`` is the measured one, ``head`` the pull request's.

    ``server`` is GitHub's address, ``repository`` ``owner/name``; empty where not known.
    """

    repository: str = ""
    server: str = "https://github.com"
    commit: str = ""
    head: str = ""
    run_url: str = ""
    pull: int | None = None


def render_comment(
    found: Run | str,
    links: Links,
    most: int = MOST_CHARACTERS,
    size: Size = characters,
    pictures: Sequence[str] = (),
) -> str:
    """Return the comment's text of at most ``most`` by ``size``; a sentence stands where there is no result.

    ``pictures`` are drawn in characters, each of which is as wide as any other.
    """
    if isinstance(found, str):
        return f"⚠️ **No result**: {inert(found)}\n\n{_footer(None, links)}".rstrip()
    return fitted(list(_parts(found, links, pictures)), most, size)


def render_banner(state: str, links: Links) -> str:
    """Return the paragraph above an earlier result, or above nothing: what is measured now, or what it is not about."""
    run = f" ([run]({links.run_url}))" if links.run_url else ""
    if state == "running":
        below = "What stands below, if anything, is of an earlier commit."
        return f"> ⏳ **Measuring** {_commit(links.commit, links)}{run}. {below}"
    head = f" {_commit(links.head, links)}" if is_commit(links.head) and links.head != links.commit else ""
    return f"> ↩️ **Superseded**: this is of {_commit(links.commit, links)}, not of the latest commit{head}."


def _parts(run: Run, links: Links, pictures: Sequence[str]) -> Iterator[Part]:
    """Yield the comment from its top: what to act on, what changed, what to know, what can be unfolded."""
    ordered = change.in_order([*change.cases_of(run), *(r for r in run.records if r.mutation_of and r.decision.fails)])
    shown = [(group, record) for group, record in ordered if not group.folded]
    folded = [(group, record) for group, record in ordered if group.folded]
    kernels = several_kernels(run)
    yield Part("", (render_opening(run),))
    yield Part("", tuple(_actions(run, shown, links)))
    yield Part("", tuple(not_shown_lines(shown, kernels)), weight=1)
    yield _table("", shown, weight=2)
    yield Part("", tuple(_sentences(run, shown, kernels)), noun="sentence", weight=4)
    yield Part("", tuple(fenced(picture.rstrip(), "text") for picture in pictures), noun="picture", weight=5)
    yield Part("", tuple(blame_lines(run, links.commit if is_commit(links.commit) else "")), noun="note", weight=1)
    yield Part("", tuple(_machine(run)))
    if folded:
        yield _table(_folded(folded), folded, foot="\n</details>", weight=6)
    traces = [render_traced(record, "github").rstrip() for _, record in shown if record.trace is not None]
    traced = tuple(f"\n{text}" if place else text for place, text in enumerate(traces))
    yield Part(
        _summary(f"Traced: {units.format_counted(len(traced), 'case')}"), traced, "\n</details>", "case", weight=5
    )
    yield Part(_summary("Environment"), tuple(environment_lines(run)), "\n</details>", weight=3)
    yield Part("", (_footer(run, links),))


def _machine(run: Run) -> Iterator[str]:
    """Yield, as a quotation, that the machine moved; what to type then is ours, not the run file's."""
    for place, line in enumerate(drift_lines(replace(run, settings={}))):
        # A paragraph each: a line's end alone shows as a space outside of comments.
        yield f">\n> {inert(line, MOST_REASON)}" if place else f"> ⚠️ {inert(line, MOST_REASON)}"


def _table(head: str, rows: Sequence[tuple[change.Group, Record]], *, foot: str = "", weight: int) -> Part:
    cells = [_cells(group, record) for group, record in rows]
    # A column that is empty throughout says nothing.
    kept = [place for place in range(len(change.COLUMNS)) if any(row[place] for row in cells)]
    names = [change.COLUMNS[place] for place in kept]
    rule = ["---:" if name in change.RIGHT else "---" for name in names]
    head = (f"{head}\n" if head else "") + f"| {' | '.join(names)} |\n|{'|'.join(rule)}|"
    lines = tuple(f"| {' | '.join(row[place] for place in kept)} |" for row in cells)
    return Part(head, lines, foot, "case", weight=weight, table=True)


def _cells(group: change.Group, record: Record) -> tuple[str, ...]:
    """A case's cells, harmless; a figure keeps its unit beside it, however narrow the column."""
    texts = change.cells(group, record)
    names = (inert_name(text, MOST_CELL) for text in texts[: change.FIRST_FIGURE])
    figures = (_BEFORE_UNIT.sub("\u00a0", inert(text, MOST_CELL)) for text in texts[change.FIRST_FIGURE :])
    return (*names, *figures)


def _folded(rows: Sequence[tuple[change.Group, Record]]) -> str:
    verdicts: dict[str, int] = {}
    for group, record in rows:
        word = group.word if group is change.WITHOUT_TIME else record.decision.verdict.value
        verdicts[word] = verdicts.get(word, 0) + 1
    counts = ", ".join(f"{units.format_count(count)} {word}" for word, count in sorted(verdicts.items()))
    return _summary(counts)


def _summary(text: str) -> str:
    return f"<details><summary>{text}</summary>\n"


def _actions(run: Run, shown: Sequence[tuple[change.Group, Record]], links: Links) -> Iterator[str]:
    """Yield how to see the worst again and how to accept it; the guard's command is ours, not the run file's."""
    failing = [(group, record) for group, record in shown if record.decision.fails]
    if not failing:
        return
    lines = [f"# see it again\n{select_command(failing[0][1])}"]
    commit = links.commit if is_commit(links.commit) else run.commit
    if is_commit(commit) and any(group in _ACCEPTABLE for group, _ in failing):
        label = f"slow-ok:{commit}"
        pull = f"{links.pull} " if links.pull is not None else ""
        lines.append(
            "# accept what is slower, as a maintainer, for this commit alone\n"
            f'gh label create {label} --description "why it is worth it"\n'
            f"gh pr edit {pull}--add-label {label}"
        )
    yield fenced("\n".join(lines), "sh")


def _sentences(run: Run, shown: Sequence[tuple[change.Group, Record]], kernels: bool) -> Iterator[str]:
    """Yield a line for each case whose sentence says more than its row."""
    said = {record.decision.reason for group, record in shown if group is change.UNMEASURED}
    for group, record in shown:
        by_row = group in _TOLD_BY_TABLE or (group is change.SLOWS and record.decision.code in _TOLD_BY_CHANGE)
        beside = record.accepted is not None or (group is change.UNMEASURED and len(said) == 1)
        parent = record.parent.sentence if record.parent is not None and record.parent.state == "unplayable" else ""
        if by_row or beside or (not parent and is_told_by_opening(shown, record)):
            continue
        more = f"; {inert(parent, MOST_REASON)}" if parent else ""
        yield f"- {group.sign} **{case_name(record, kernels)}**: {sentence_of(record, MOST_REASON)}{more}"
    for curve in run.curves:
        if curve.decision.fails:
            name = inert_name(f"{curve.kernel} {curve.variant}", MOST_CELL)
            yield f"- ❌ **{name} over all sizes**: {inert(curve.decision.reason, MOST_REASON)}"


def _footer(run: Run | None, links: Links) -> str:
    said = []
    commit = links.commit if is_commit(links.commit) or run is None else run.commit
    if is_commit(commit):
        said.append(f"measured {_commit(commit, links)}")
    if run is not None:
        parent = run.blame.parent_commit if run.blame is not None else ""
        said += [f"against {_commit(parent, links)}"] if is_commit(parent) else []
        said.append(f"pytest-kernelperf {inert(run.tool_version, 40)}, {inert(run.started_at, 40)}")
    said += [f"[the run]({links.run_url})"] if links.run_url else []
    return f"<sub>{' · '.join(said)}</sub>" if said else ""


def is_commit(sha: str) -> bool:
    """Return whether a text is a commit's full SHA; zeros stand for one that is not known."""
    return _SHA.fullmatch(sha) is not None and sha != "0" * 40


def _commit(sha: str, links: Links) -> str:
    """A commit as a link, where it is one and the repository is known."""
    if not is_commit(sha):
        return "a commit"
    shown = code(sha[:SHOWN_SHA])
    return f"[{shown}]({links.server}/{links.repository}/commit/{sha})" if links.repository else shown
