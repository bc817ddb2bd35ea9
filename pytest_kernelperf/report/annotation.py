"""What fails and what warns, as the runner's workflow commands: GitHub shows them at the kernel's own line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pytest_kernelperf import units
from pytest_kernelperf.model import Record, Run
from pytest_kernelperf.report.change import MAIN, OPEN, UNMEASURED, found_text, group_of, in_order
from pytest_kernelperf.report.markdown import shortened, visible
from pytest_kernelperf.report.summary import drift_lines, headline
from pytest_kernelperf.report.text import one_line

MOST = 10
"""GitHub keeps so many errors and so many warnings of a step, and drops the rest without a word."""

MOST_TITLE, MOST_MESSAGE, MOST_SOURCE_BYTES = 200, 1_000, 1 << 20


def render_annotations(run: Run, folder: Path, workspace: Path) -> str:
    """Return a line for each case that fails or warns, worst first, and one that counts those beyond the limit.

    Args:
        run: the run.
        folder: the project's, in which its sources are looked up.
        workspace: what GitHub's paths are relative to.
    """
    ordered = [record for _, record in in_order(run.records)]
    errors = [_case("error", record, folder, workspace) for record in ordered if record.decision.fails]
    errors += [
        _command("error", f"{curve.kernel} {curve.variant} over all sizes", curve.decision.reason, {})
        for curve in run.curves
        if curve.decision.fails
    ]
    warned = (MAIN, OPEN, UNMEASURED)
    warnings = [
        _case("warning", record, folder, workspace)
        for record in ordered
        if not record.decision.fails and group_of(record) in warned
    ]
    drift = drift_lines(run)
    warnings += [_command("warning", "kernelperf", "; ".join(drift), {})] if drift else []
    lines = [*_first(errors, "error", run), *_first(warnings, "warning", run)]
    return "".join(f"{line}\n" for line in lines)


def _first(lines: list[str], kind: str, run: Run) -> Iterator[str]:
    if len(lines) <= MOST:
        yield from lines
        return
    yield from lines[: MOST - 1]
    more = units.format_count(len(lines) - MOST + 1)
    yield _command(kind, "kernelperf", f"{more} more; the summary lists all. {headline(run)}", {})


def _case(kind: str, record: Record, folder: Path, workspace: Path) -> str:
    where = {}
    path = _source(record, folder)
    if path is not None and path.is_relative_to(workspace.resolve()):
        relative = path.relative_to(workspace.resolve()).as_posix()
        where = {"file": relative, "line": str(_line(path, record))}
    message = "; ".join(filter(None, (record.decision.reason, *record.resources_changed, *_more(record))))
    return _command(kind, f"{record.decision.verdict.value}: {record.case}", message, where)


def _more(record: Record) -> tuple[str, ...]:
    found = found_text(record)
    return (found,) if found and not record.resources_changed else ()


def _source(record: Record, folder: Path) -> Path | None:
    """The kernel's source, else its test, where it is a file below the project's folder."""
    base = folder.resolve()
    for name in (record.source, record.test.partition("::")[0]):
        try:
            path = (base / name).resolve()
            if name and path.is_relative_to(base) and path.is_file():
                return path
        except (OSError, ValueError, RuntimeError):
            continue
    return None


def _line(path: Path, record: Record) -> int:
    """The line on which the case's first kernel that is found there is declared; the file's first, where none is."""
    try:
        with path.open("rb") as file:
            text = file.read(MOST_SOURCE_BYTES).decode("utf-8", "replace")
    except OSError:
        return 1
    launches = record.plan.launches if record.plan is not None else ()
    names = [launch.kernel for launch in launches] + [fill.kernel for fill in record.fills] + [record.case.variant]
    for name in dict.fromkeys(re.split(r"[<(]", name)[0].split("::")[-1].strip() for name in names):
        # A definition or declaration, and no call: nothing ends a statement between its type and its name.
        found = (
            re.search(rf"(?:__global__|void|def)\b[^;{{}}=]{{0,400}}?\b{re.escape(name)}\s*\(", text) if name else None
        )
        if found is not None:
            return text.count("\n", 0, found.end()) + 1
    return 1


def _command(kind: str, title: str, message: str, where: dict[str, str]) -> str:
    properties = where | {"title": shortened(visible(one_line(title)), MOST_TITLE)}
    listed = ",".join(f"{name}={_property(text)}" for name, text in properties.items())
    return f"::{kind} {listed}::{_data(shortened(visible(one_line(message)), MOST_MESSAGE))}"


def _data(text: str) -> str:
    """Text as the runner reads it back (its ``toCommandValue``)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
