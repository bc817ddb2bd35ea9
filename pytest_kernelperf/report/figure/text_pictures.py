"""Pictures in characters, of a run: which of its kernels and cases are drawn, and whether a stream can show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TextIO

from pytest_kernelperf import units
from pytest_kernelperf.model import Record, Run
from pytest_kernelperf.report.change import deciding, in_order
from pytest_kernelperf.report.detail import needs_details
from pytest_kernelperf.report.figure.block_differences import block_differences, block_rows, judgement
from pytest_kernelperf.report.figure.block_text import draw_blocks
from pytest_kernelperf.report.figure.curve_text import draw_curve
from pytest_kernelperf.report.figure.kernel_curve import curve_rows, kernel_curve

MOST_KERNELS, MOST_CASES = 3, 3
"""So many are drawn; the others are counted."""

LEAST_COLUMNS, MOST_COLUMNS = 50, 100
CURVE_LINES, BLOCK_LINES = 14, 13

COARSE = str.maketrans({"▾": "▼", "◆": "◊"})
"""What the fonts of web pages all have, for what terminals have."""

LETTERS = "⠿─│└┴┘┤═▾▲▼◆•●"
"""What is drawn with."""


def text_pictures(run: Run, columns: int, *, braille: bool = True, told: bool = True) -> Iterator[str]:
    """Yield a picture each of the kernels and cases worth one, the worst first; nothing where there is no room.

    A kernel has one where a case of it fails, or where it is the run's only one; a case where it fails, is undecided,
    or is the run's only one. ``columns`` is the width that there is. ``told``: how to see what is left out is said.
    """
    if columns < LEAST_COLUMNS:
        return
    width = min(columns, MOST_COLUMNS)
    records = [record for _, record in in_order(record for record in run.records if not record.mutation_of)]
    shown = [record for record in records if needs_details(record) or len(records) == 1]
    kernels = list(dict.fromkeys(record.case.kernel for record in shown)) or _only_kernel(records)
    timed = {record.case.kernel for record in records if record.time_us is not None}
    curves = [kernel for kernel in kernels if len(records) > 1 and kernel in timed]
    cases = [record for record in shown if record.measurements and deciding(record) is not None]
    yield from filter(None, (_curve(run, kernel, width, braille) for kernel in curves[:MOST_KERNELS]))
    yield from filter(None, (_blocks(record, width, braille) for record in cases[:MOST_CASES]))
    left = {"kernel": len(curves) - MOST_KERNELS, "case": len(cases) - MOST_CASES}
    more = [units.format_counted(count, f"more {noun}") for noun, count in left.items() if count > 0]
    if more and told:
        yield f"{' and '.join(more)} could be drawn: name one with --kernel or --case, or write all with --svg DIR\n"


def why_not(stream: TextIO, environment: Mapping[str, str], *, asked: bool) -> str:
    """Return why a stream gets no pictures, empty where it does.

    ``asked``: somebody wants them there, whether it is a terminal or not.
    """
    encoding = stream.encoding or "ascii"
    try:
        LETTERS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return f"standard output is written as {encoding}, which has no signs to draw with: set PYTHONIOENCODING=utf-8"
    if asked:
        return ""
    if environment.get("CI") or environment.get("TERM") == "dumb" or not stream.isatty():
        return "standard output is no terminal that somebody looks at"
    return ""


def _only_kernel(records: list[Record]) -> list[str]:
    kernels = list(dict.fromkeys(record.case.kernel for record in records))
    return kernels if len(kernels) == 1 else []


def _curve(run: Run, kernel: str, columns: int, braille: bool) -> str:
    figure = kernel_curve(run, kernel)
    records = [record for record in run.records if record.case.kernel == kernel and not record.mutation_of]
    drawn = draw_curve(curve_rows(records, run.device.peak_gb_per_s), columns, CURVE_LINES, braille=braille)
    return _titled(figure.title, drawn, braille) if figure is not None and drawn else ""


def _blocks(record: Record, columns: int, braille: bool) -> str:
    figure, comparison = block_differences(record), deciding(record)
    if figure is None or comparison is None:
        return ""
    rows = block_rows(record.measurements, comparison)
    drawn = draw_blocks(rows, judgement(comparison), columns, BLOCK_LINES, braille=braille)
    return _titled(figure.title, drawn, braille)


def _titled(title: str, drawn: str, braille: bool) -> str:
    return f"{title}\n{drawn if braille else drawn.translate(COARSE)}\n"
