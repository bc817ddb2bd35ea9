"""Figures as files in a folder of the user's: which ones a run has, what their files are called, and their writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from pytest_kernelperf.atomic_write import write_atomically
from pytest_kernelperf.model import Record, Run
from pytest_kernelperf.report.detail import needs_details
from pytest_kernelperf.report.figure import drawing
from pytest_kernelperf.report.figure.block_differences import block_differences
from pytest_kernelperf.report.figure.figure import Figure
from pytest_kernelperf.report.figure.kernel_curve import kernel_curve
from pytest_kernelperf.report.figure.samples_in_time import samples_in_time
from pytest_kernelperf.report.figure.spread import run_rows, spread
from pytest_kernelperf.report.figure.theme import LIGHT, Config
from pytest_kernelperf.report.timeline_file import file_name

Form = Literal["svg", "png"]

SUFFIX = {
    "kernel_curve": "curve",
    "block_differences": "blocks",
    "samples_in_time": "samples",
    "spread": "spread",
}  # fmt: skip


def figures_of(run: Run, records: Sequence[Record], *, cases_alone: bool = False) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of some of a run's records, each with what its file's name begins with.

    Every kernel's curve, the blocks and samples of each case that fails or is undecided, and how sharp the guard is;
    ``cases_alone``: blocks and samples of all these records, and nothing else.
    """
    if not cases_alone:
        for kernel in dict.fromkeys(record.case.kernel for record in records):
            if (curve := kernel_curve(run, kernel)) is not None:
                yield kernel, curve
    for record in records:
        if (cases_alone or needs_details(record)) and not record.mutation_of:
            name = f"{record.case.kernel}-{record.case.variant}-{record.case.tokens}"
            yield from ((name, made) for made in (block_differences(record), samples_in_time(record)) if made)
    sharp = None if cases_alone else spread(run_rows(records), "what this run's own samples would have shown")
    if sharp is not None:
        yield "", sharp


def write_pictures(
    figures: Iterator[tuple[str, Figure]],
    folder: Path,
    form: Form,
    config: Config = LIGHT,
    written: Callable[[Path], None] = lambda path: None,
) -> int:
    """Write figures to a folder, which is made; return how many. ``written`` is called with each file.

    Raises:
        UsageError: the extra ``report`` is not installed.
        OSError: a file cannot be written.
    """
    names: set[str] = set()
    for name, figure in figures:
        data = (
            drawing.draw_svg(figure, config).encode() if form == "svg" else drawing.draw_png(figure, config)
        )  # fmt: skip
        path = folder / _unique(f"{file_name(name)}.{SUFFIX[figure.kind]}".lstrip("."), form, names)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
        written(path)
    return len(names)


def _unique(stem: str, form: Form, names: set[str]) -> str:
    """Names that differ in what no file's name may hold, or by case alone, are numbered."""
    name, number = f"{stem}.{form}", 1
    while name.lower() in names:
        number += 1
        name = f"{stem}-{number}.{form}"
    names.add(name.lower())
    return name
