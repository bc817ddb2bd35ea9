"""What is wrong with a baseline file, one sentence each, and dropping the cases that no test has any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import msgspec

from pytest_kernelperf.baseline.entry import Baseline, BaselineCase
from pytest_kernelperf.baseline.format import RESTORE
from pytest_kernelperf.baseline.replay import plan_problem
from pytest_kernelperf.baseline.store import BaselineStore, read_file
from pytest_kernelperf.code_object import read_kernels
from pytest_kernelperf.errors import BaselineError, CodeObjectError
from pytest_kernelperf.model import CaseId

KnownCases = Callable[[str, str], "frozenset[tuple[str, int]] | None"]
"""From a kernel's name and its test module (posix, relative to the project's root) to the cases (variant,
tokens) that tests have today. None: that module was not collected whole, so nothing can be said; an empty
set: it was, and has no such kernel."""

DROP = "pytest --kernelperf --update-baselines"


def problems(
    file: Path, known_cases: KnownCases | None, project_root: Path, renamed: Collection[CaseId] = ()
) -> list[str]:
    """Return all that is wrong with a baseline file; an empty list when it stands.

    ``known_cases`` is None for another commit's baselines, which may have cases that this one has no more.
    ``renamed``: cases that go on under other names, held against these very entries.

    Checked: that it can be read and is this folder's device's, that its test module and kernel are still
    there, that each case is still some test's, that its plans can be run, and that the objects and sources it
    refers to are whole and hold what the file says.
    """
    name = _shown(file, project_root)
    try:
        baseline = read_file(file, name)
    except FileNotFoundError:
        return [f"{name}: is gone since the tests were collected: run again"]
    except BaselineError as problem:
        return [str(problem)]
    return [
        *(_stale_sentences(name, baseline, known_cases, project_root, renamed) if known_cases is not None else ()),
        *_unplayable(name, baseline),
        *_missing(file, baseline, project_root),
    ]


def stale_cases(baseline: Baseline, known_cases: KnownCases, project_root: Path) -> tuple[BaselineCase, ...]:
    """Return the cases that no test has any more; none while that cannot be said."""
    known = _known(baseline, known_cases, project_root)
    if known is None:
        return ()
    return tuple(case for case in baseline.cases if (case.variant, case.tokens) not in known)


def drop_stale(store: BaselineStore, known_cases: KnownCases, project_root: Path) -> list[str]:
    """Drop stale cases from the baselines of all device keys; return a line for each.

    A file that cannot be read is left as it is: its own check fails.
    """
    lines = []
    for file in store.files():
        try:
            baseline = read_file(file)
        except (BaselineError, FileNotFoundError):
            continue
        stale = stale_cases(baseline, known_cases, project_root)
        if not stale:
            continue
        kept = tuple(case for case in baseline.cases if case not in stale)
        try:
            if kept:
                store.write(baseline.device_key, msgspec.structs.replace(baseline, cases=kept), {}, {})
            else:
                store.remove(baseline.device_key, baseline.kernel)
        except BaselineError as problem:
            lines.append(f"{_shown(file, project_root)}: nothing dropped: {problem}")
            continue
        lines += [f"{_shown(file, project_root)}: dropped {case.name}, which no test has any more" for case in stale]
    return lines


def _known(baseline: Baseline, known_cases: KnownCases, project_root: Path) -> frozenset[tuple[str, int]] | None:
    known = known_cases(baseline.kernel, baseline.test_module)
    if known is None and not (project_root / baseline.test_module).is_file():
        return frozenset()
    return known


def _stale_sentences(
    name: str, baseline: Baseline, known_cases: KnownCases, project_root: Path, renamed: Collection[CaseId]
) -> list[str]:
    module = baseline.test_module
    left = tuple(c for c in baseline.cases if CaseId(baseline.kernel, c.variant, c.tokens) not in renamed)
    baseline = msgspec.structs.replace(baseline, cases=left)
    if not left:
        return []
    known = _known(baseline, known_cases, project_root)
    if known is None:
        return []
    if known:
        return [
            f"{name} has case {case.name}, which no test has any more: restore it, or drop it with {DROP}"
            for case in stale_cases(baseline, known_cases, project_root)
        ]
    gone = f"{module} has no kernel {baseline.kernel} any more"
    if not (project_root / module).is_file():
        gone = f"its test module {module} is gone"
    count = f"{len(baseline.cases)} case{'s' if len(baseline.cases) != 1 else ''}"
    return [f"{name} has {count} of {baseline.kernel}, but {gone}: restore it, or drop them with {DROP}"]


def _unplayable(name: str, baseline: Baseline) -> list[str]:
    """Say which stored plans cannot be run, so that the code under test is not blamed for them."""
    found = ((case, plan_problem(case.plan, case.buffers)) for case in baseline.cases)
    return [
        f"{name}, case {case.name}: its plan cannot be run ({problem}): {RESTORE}" for case, problem in found if problem
    ]


def _foreign(baseline: Baseline, digest: str, data: bytes) -> Iterator[str]:
    """Say which cases an object is not the accepted one of: its instructions are others than the file's."""
    try:
        kernels = read_kernels(data, baseline.device.architecture)
    except CodeObjectError:
        return  # of a kind that says nothing of its kernels; loading it will tell
    for case in baseline.cases:
        if case.object_digest == digest and any(
            name in kernels and kernels[name].instruction_digest != instructions
            for name, instructions in case.instruction_digests.items()
        ):
            yield f"object {digest[:12]} of {baseline.kernel} has other instructions than case {case.name}: {RESTORE}"


def _missing(file: Path, baseline: Baseline, project_root: Path) -> list[str]:
    """Say which objects and sources cannot be read, each once however many cases refer to it."""
    store = BaselineStore(file.parent.parent)
    sentences: list[str] = []
    for digest in sorted({case.object_digest for case in baseline.cases}):
        try:
            sentences += _foreign(baseline, digest, store.read_object(baseline.device_key, digest))
        except BaselineError as problem:
            sentences.append(str(problem))
    for digest in sorted({case.source_digest for case in baseline.cases}):
        try:
            store.read_source(baseline.device_key, digest)
        except BaselineError as problem:
            sentences.append(str(problem))
    return [sentence.replace(f"{project_root}/", "") for sentence in sentences]


def _shown(file: Path, project_root: Path) -> str:
    """A file as sentences name it: relative to the project's root where it lies below."""
    return file.relative_to(project_root).as_posix() if file.is_relative_to(project_root) else str(file)
