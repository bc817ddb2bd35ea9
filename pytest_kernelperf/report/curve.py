"""One variant over all its sizes, as text: the sentence, a line for the table, and the message of a failing curve."""

from __future__ import annotations

import math
import shlex

from pytest_kernelperf import units
from pytest_kernelperf.model import CurveRecord, Verdict
from pytest_kernelperf.report.text import GUARD, one_line


def curve_reason(found: CurveRecord) -> str:
    """What all sizes of a variant say together, beside the tolerance of their mean."""
    sizes = units.format_counted(len(found.tokens), "size")
    change = units.describe_change(found.change_ratio or math.nan)
    than = "as" if change == "the same" else "than"
    p_values = [
        units.format_probability(p_value) for p_value in (found.p_slower, found.p_sizes_slower) if p_value is not None
    ]
    interval = units.format_interval(found.low_ratio, found.high_ratio)
    processes = units.format_counted(found.processes, "process", "processes")
    return (
        f"{change} {than} the baseline on average over {sizes} in {found.mode} mode (interval {interval}), "
        f"{found.sizes_slower} of {len(found.tokens)} above no change, p over {processes} and over sizes "
        f"{' and '.join(p_values) or '-'}, tolerance of the mean "
        f"{units.format_tolerance(found.tolerance_ratio or math.nan)}"
    )


def too_few_sizes(timed: int, needed: int) -> str:
    """A curve with too few timed sizes says nothing."""
    return f"{units.format_counted(timed, 'size')} timed beside a baseline, at least {needed} are needed to pool them"


def curve_note(record: CurveRecord) -> str:
    """``plain over 8 sizes: +0.6 % (+0.58 to +0.62 %), regressed``."""
    interval = units.format_interval(record.low_ratio, record.high_ratio)
    return (
        f"{one_line(record.variant)} over {units.format_counted(len(record.tokens), 'size')}: "
        f"{units.format_change(record.change_ratio)} ({interval}), {record.decision.verdict.value}"
    )


def curve_text(record: CurveRecord, command: str = GUARD) -> str:
    """Return the one message of a failing curve; it stands alone in JUnit. ``command`` is what one types to guard."""
    sizes = ", ".join(
        f"{units.format_change(ratio)} at {units.format_count(tokens)}"
        for tokens, ratio in zip(record.tokens, record.per_size_ratio, strict=False)
    )
    facts = [("sizes", sizes)] if sizes else []
    select = f"{one_line(command)} {_selection(record)}"
    facts.append(("see it again", select))
    if record.decision.verdict is Verdict.REGRESSED:
        facts.append(("accept it", f'{select} --update-baselines="why"'))
    width = max(len(name) for name, _ in facts)
    lines = [
        f"{record.decision.verdict.value}: {one_line(record.kernel)} {one_line(record.variant)} over all sizes",
        f"  {one_line(record.decision.reason)}",
        *(f"  {name:<{width}}  {text}" for name, text in facts),
    ]
    return "\n".join(lines) + "\n"


def _selection(record: CurveRecord) -> str:
    """All sizes of the variant; the bracket keeps ``tiles`` from matching ``column_tiles``."""
    if record.test.endswith(".py"):
        return f"{shlex.quote(one_line(record.test))} -k {shlex.quote(one_line(f'[{record.variant}-'))}"
    return f"-k {shlex.quote(one_line(f'{record.kernel} and [{record.variant}-'))}"
