"""Which of a run's records somebody asked for, by kernel or by case."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

import msgspec

from pytest_kernelperf import units
from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import CaseId, Run
from pytest_kernelperf.report.text import one_line

MOST_LISTED = 3


def chosen(run: Run, kernel: str = "", case: str = "") -> Run:
    """Return the run with the records and curves of a kernel, or of a case, alone; all of it where none is asked for.

    ``case`` is a case's name as tables and messages have it (``moe_add_inject separate at 7 tokens``), without its
    kernel, or as pytest has it (``separate-7``); it may fit cases of several kernels.

    Raises:
        UsageError: no record is of that kernel or case.
    """
    records, curves = run.records, run.curves
    if kernel:
        records = tuple(record for record in records if record.case.kernel == kernel)
        curves = tuple(curve for curve in curves if curve.kernel == kernel)
        if not records:
            raise UsageError(_none("kernel", kernel, sorted({record.case.kernel for record in run.records})))
    if case:
        within = records
        records = tuple(record for record in within if case in names_of(record.case))
        curves = ()
        if not records:
            raise UsageError(_none("case", case, [str(record.case) for record in within]))
    return msgspec.structs.replace(run, records=records, curves=curves)


def names_of(case: CaseId) -> tuple[str, ...]:
    """Return what a case may be called; counts with and without commas."""
    size = units.format_counted(case.tokens, "token")
    item = f"{case.variant}-{case.tokens}"
    return (str(case), f"{case.kernel} {case.variant} at {size}", f"{case.variant} at {size}", item, f"[{item}]",
            str(case).removeprefix(f"{case.kernel} "))  # fmt: skip


def _none(what: str, asked: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(asked, known, MOST_LISTED, 0.5) or known[:MOST_LISTED]
    listed = ", ".join(repr(one_line(name)) for name in near)
    there = f"it has {units.format_counted(len(known), what)}, such as {listed}" if known else f"it has no {what}"
    return f"the run has no {what} {one_line(asked)!r}: {there}"
