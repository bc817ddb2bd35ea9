"""The sentence behind a time that moved without the change under test: noise, the clock, the toolchain."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kernelperf.model import Comparison, Noise, StoredComparison
from pytest_kernelperf.reason import agreed, allowed, changed
from pytest_kernelperf.stats.agreement import Finding, find
from pytest_kernelperf.units import describe_change, format_change, format_counted, format_interval, format_probability

_ANEW = "store it anew with --update-baselines=REASON"


def stored_alone(stored: StoredComparison, unplayable: str) -> str:
    """Today's times against stored ones, where the accepted binary does not run here any more."""
    since = f", since {unplayable}" if unplayable else ""
    change = describe_change(stored.change_ratio)
    than = "as" if change == "the same" else "than"
    processes = format_counted(stored.processes, "process", "processes")
    said = (
        f"stored times alone{since}: {change} {than} when the baseline was stored "
        f"(p = {format_probability(stored.p_value)}, {processes} against "
        f"{stored.stored_processes} stored on {format_counted(stored.stored_days, 'day')})"
    )
    if not stored.gated:
        return f"not proven, by {said}; {stored.reason}; {_ANEW}"
    if stored.slower:
        return f"{said}, which the machine may have done as well; {_ANEW}"
    return said if stored.not_slower else f"not proven, by {said}; {_ANEW}"


def clock(comparison: Comparison, against: str = "the baseline") -> str:
    """The time changed and the cycles did not: not what the code does, but how fast the device ran."""
    return (
        f"the clock, not the code: {changed(comparison, against)}, while its device cycles changed by "
        f"{format_change(comparison.cycles_ratio)}; run again, or, should it be that it draws more power, let arms "
        "dwell with kernelperf_dwell_s = 1, so that this counts"
    )


def slower_by_power(comparison: Comparison) -> str:
    """After each arm had run for long enough to have the clock that its own power leaves it."""
    return (
        f"{changed(comparison, 'the baseline')}, {agreed(comparison, comparison.slower)}, {allowed(comparison)}; "
        f"its device cycles changed by {format_change(comparison.cycles_ratio)}: the clock falls while it runs, so it "
        "draws more power"
    )


def noise(found: Sequence[tuple[int, Noise]]) -> tuple[str, ...]:
    """A sentence for each kind of noise that is left in some process: ``... (2 of 5 processes)``."""
    return tuple(f"{one.sentence}{_where(found, one.kind)}" for one in noise_left(found))


def noise_left(found: Sequence[tuple[int, Noise]]) -> tuple[Noise, ...]:
    """One of each kind of noise that taking samples again did not end, the commonest first."""
    left: dict[str, list[Noise]] = {}
    for _, one in found:
        if not one.settled:
            left.setdefault(one.kind, []).append(one)
    return tuple(of[0] for of in sorted(left.values(), key=len, reverse=True))


def _where(found: Sequence[tuple[int, Noise]], kind: str) -> str:
    processes = len({process for process, one in found if one.kind == kind and not one.settled})
    return f" ({format_counted(processes, 'process', 'processes')})"


def toolchain(comparison: Comparison | None, change: str) -> str:
    """What today's toolchain makes of the accepted source, beside the accepted binary."""
    if comparison is None:
        return f"the toolchain changed ({change}) and makes the same instructions of the accepted source"
    found = describe_change(comparison.change_ratio)
    interval = format_interval(comparison.low_ratio, comparison.high_ratio)
    proven = "" if find(comparison) in (Finding.SLOWER, Finding.FASTER) else ", not proven"
    what = f"{found}{'' if found == 'the same' else ' than the accepted binary'}"
    return f"the toolchain ({change}): the accepted source, compiled today, is {what} (interval {interval}{proven})"


def toolchain_is_head(change: str) -> str:
    """The change under test is none but the compiler's."""
    return (
        f"the toolchain, not the source: the accepted source compiled today ({change}) gives these very instructions; "
        "go back to that toolchain, or accept what it makes with --update-baselines=REASON"
    )
