"""The sentence behind each verdict: the numbers in plain words, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_kernelperf.model import (
    Accepted,
    Comparison,
    Creep,
    CreepStep,
    LaunchFill,
    Mismatch,
    Noise,
    StoredComparison,
)
from pytest_kernelperf.stats.advice import Advice, Remedy, would_decide
from pytest_kernelperf.stats.agreement import ruling_out
from pytest_kernelperf.units import (
    describe_change,
    format_bytes,
    format_change,
    format_count,
    format_counted,
    format_floor,
    format_interval,
    format_probability,
    format_time,
    format_tolerance,
)

IDENTICAL_CODE = "instructions, launch plan and inputs are the baseline's"
IDENTICAL = f"{IDENTICAL_CODE}: nothing to time"
UNTIMED = "right and not starved; not timed and not compared, as --kernelperf-untimed asks"
NEW = "no baseline on this device yet: store one with --update-baselines=REASON"
NO_SAMPLES = "not measured: no positive, finite sample was taken; run again and look at the worker's log"
NOT_COMPARED_WITH_PARENT = (
    "not proven: the parent's code is another, but nothing was measured against it; run again, or leave "
    "--kernelperf-parent out"
)
NOT_COMPARED = (
    "not proven: there is a baseline, but nothing was measured against it; run again, or replace it with "
    "--update-baselines=REASON"
)


def mismatch(found: Mismatch) -> str:
    """``1,024 of 10,240 values of x differ, first at 2304: got 0.830200195, want 0.189979553``."""
    return (
        f"{format_count(found.differing)} of {format_counted(found.values, 'value')} of {found.output} "
        f"{'differs' if found.differing == 1 else 'differ'}, "
        f"first at {found.first_index}: got {found.got}, want {found.want}"
    )


def unnoticed(mutation_of: str) -> str:
    """A mutation's outputs are the reference's."""
    return (
        f"the reference does not notice this mutation of {mutation_of}: every value is as expected; "
        "strengthen the inputs or the reference, or break the kernel where it matters"
    )


def starved(fills: Sequence[LaunchFill], device: str) -> str:
    """Each starved launch: its workgroups, its floor if it states one, and the compute units."""
    found = [fill for fill in fills if fill.starved]
    bare = any(fill.floor is None for fill in found)
    advice = "split the work over more workgroups" + (", or state underfill=Floor(workgroups, why)" if bare else "")
    return f"{'; '.join(_fill(fill, device) for fill in found)}: {advice}"


def expected_starvation(fills: Sequence[LaunchFill], device: str, why: str) -> str:
    """What to say of a case whose test expects it to be starved."""
    found = [fill for fill in fills if fill.starved]
    if found:
        return f"starved as expected ({why}): {'; '.join(_fill(fill, device) for fill in found)}"
    counts = "; ".join(_fill(fill, device) for fill in fills)
    return f"expected to be starved ({why}), but is not: {counts}; take the expectation out"


def _fill(fill: LaunchFill, device: str) -> str:
    floor = f", floor {format_count(fill.floor.workgroups)} ({fill.floor.reason})" if fill.floor is not None else ""
    units = format_counted(fill.compute_units, "compute unit")
    where = f" ({device})" if device else ""
    return f"{fill.kernel}: {format_counted(fill.workgroups, 'workgroup')}{floor}, {units}{where}"


def traced(profilers: Sequence[str]) -> str:
    """Times taken under a profiler are not comparable with times taken without."""
    return (
        f"not measured: {', '.join(profilers)} is loaded, and traced times are never compared with untraced ones; "
        "run again without it"
    )


def new_untimed(contended_by: str) -> str:
    """A case without baseline is not timed beside somebody else, and nothing is lost."""
    return f"{NEW}; not timed, since the device is busy ({contended_by})"


def new_too_long(since: str) -> str:
    """A case on main that nothing is held against is not guarded."""
    return f"declared since {since}, and still without a baseline on this device: store one, --update-baselines=REASON"


def busy(contended_by: str, tries: int) -> str:
    """Somebody else used the device."""
    return (
        f"not measured: the device is busy ({contended_by}), {format_counted(tries, 'try', 'tries')}; "
        "stop the other program or wait for it, then run again"
    )


_ADVICE = {
    "timer": "; look at the driver and at the machine's clock source, or measure in loop mode",
    "gate": "; let nothing else use the device, or measure in loop mode",
}


def spoiled(what: str, code: str = "spoiled") -> str:
    """The samples of a process cannot be used, whoever else there was."""
    return f"not measured: {what}{_ADVICE.get(code, '')}"


def slower(comparison: Comparison, against: str) -> str:
    """Enough processes agree on a slowdown beyond the tolerance."""
    return f"{changed(comparison, against)}, {agreed(comparison, comparison.slower)}, {allowed(comparison)}"


def accepted(acceptance: Accepted, found: str) -> str:
    """A maintainer let this commit be slower; what it would have failed for stays said."""
    return f"accepted by {acceptance.by} for commit {acceptance.commit[:12]}: {acceptance.reason} ({found})"


EDIT_ANEW = "measure it on this device with --update-baselines=REASON, or leave it as it was"


def own_unmeasured(problem: str) -> str:
    """The entry that a change brings could not be held against its code."""
    return f"this change edits the case's baseline, which holds other code than this, and {problem}: {EDIT_ANEW}"


def own_differs(comparison: Comparison) -> str:
    """The entry that a change brings holds code that is not proven to be as fast as this one: it says nothing of it."""
    return (
        f"this change edits the case's baseline, which holds other code than this: "
        f"{changed(comparison, 'that baseline')}: {EDIT_ANEW}"
    )


def faster(comparison: Comparison) -> str:
    """Enough processes agree on a gain beyond the tolerance."""
    return (
        f"{changed(comparison, 'the baseline')}, {agreed(comparison, comparison.faster)}, {allowed(comparison)}; "
        "keep the gain with --update-baselines=REASON"
    )


def unchanged(comparison: Comparison) -> str:
    """Enough processes rule a slowdown beyond the tolerance out."""
    processes = format_counted(comparison.processes, "process", "processes")
    more = _allowed_here(comparison)
    if comparison.not_slower >= ruling_out(comparison.processes):
        ruled_out = f"{comparison.not_slower} of {processes} rule out more than {more}"
    else:
        p_value = format_probability(comparison.p_not_slower or 0.0)
        ruled_out = f"the mean over {processes} rules out more than {more} (p = {p_value})"
    return f"{changed(comparison, 'the baseline')}, {ruled_out}{would_catch(comparison)}"


def _allowed_here(comparison: Comparison) -> str:
    """What a case may lose: ``1 %``; ``17.2 % (tolerance 10 %, floor 0.02 us = 17.2 % here)`` where that is more."""
    tolerance = format_tolerance(comparison.tolerance_ratio)
    floor_ratio = 1 + comparison.floor_us / comparison.against_us
    if floor_ratio <= comparison.tolerance_ratio:
        return tolerance
    floor = format_tolerance(floor_ratio)
    return f"{floor} (tolerance {tolerance}, floor {format_floor(comparison.floor_us)} = {floor} here)"


def would_catch(comparison: Comparison) -> str:
    """How large a slowdown would have had to be: ``; would have caught 1.2 % (95 %)``."""
    if comparison.detectable_ratio is None:
        return ""
    return f"; would have caught {format_tolerance(comparison.detectable_ratio)} or more, 95 times of 100"


_OPENINGS = {
    "too_few_processes": "too few processes to agree",
    "depends_on_process": "depends on the process",
    "contention": "somebody else was active",
    "two_speeds": "two speeds in one process",
    "clock_ramp": "the clock had not settled",
    "throttled": "the clock is held down",
    "power_limited": "the power limit holds the clock down",
    "timer": "the timer gave no times",
}


def is_bounded(comparison: Comparison) -> bool:
    """Whether a slowdown of twice what is allowed is ruled out."""
    allowed = max(comparison.tolerance_ratio - 1, comparison.floor_us / comparison.against_us)
    return comparison.high_ratio is not None and comparison.high_ratio < 1 + 2 * allowed


def undecided(
    comparison: Comparison,
    code: str,
    bounded: bool,
    left: Sequence[Noise] = (),
    against: str = "the baseline",
) -> str:
    """The samples prove neither a slowdown beyond the tolerance nor its absence."""
    said = (
        f"{comparison.slower} say slower, {comparison.not_slower} not slower, of "
        f"{format_counted(comparison.processes, 'process', 'processes')} ({comparison.needed} must agree)"
    )
    opening = _OPENINGS.get(code, "not proven")
    ending = (
        "a slowdown of twice the tolerance is ruled out"
        if bounded
        else "a slowdown of twice the tolerance is not ruled out: not proven"
    )
    seen = "".join(f"; {one.sentence}" for one in left)
    what = f"{opening}: {changed(comparison, against)}, {said}, {allowed(comparison)}{seen}; {ending}"
    return f"{what}; {remedy(would_decide(comparison))}"


def remedy(advice: Advice) -> str:
    """What would decide an undecided case: ``12 processes would decide it (kernelperf_processes)``."""
    if advice.remedy is Remedy.TWO_SPEEDS:
        low, high = (describe_change(ratio or 1.0) for ratio in (advice.low_ratio, advice.high_ratio))
        return f"two speeds: some processes show {low}, the others {high}; find out what differs between processes"
    return {
        Remedy.MORE_PROCESSES: f"about {format_count(advice.count)} processes would decide it (kernelperf_processes)",
        Remedy.MORE_BLOCKS: f"about {format_count(advice.count)} blocks a process would decide it (kernelperf_blocks)",
        Remedy.QUIETER: "no number of blocks would decide it, the samples scatter too much: quieten the machine",
        Remedy.DEPENDS: "more processes would be divided too: find out what differs between processes",
        Remedy.AT_TOLERANCE: "the change is as large as the tolerance: nothing decides it but another tolerance",
    }[advice.remedy]


def beside_replaced(comparison: Comparison, variant: str) -> str:
    """How a case compares with the variant it replaces, where it is not proven slower."""
    if comparison.faster >= max(1, comparison.needed):
        return f"{changed(comparison, variant)}, which it replaces; {agreed(comparison, comparison.faster)}"
    shown = max(comparison.faster, comparison.slower)
    shown_by = f"only {shown} of {comparison.processes} processes show a change, {comparison.needed} must agree"
    return f"no change beside {variant}, which it replaces, is proven ({shown_by}): {changed(comparison, variant)}"


def stored(comparison: StoredComparison) -> str:
    """The accepted binary today beside its own stored times: the machine, never the change under test."""
    # The accepted binary's own times never decide a case; only where it does not run does it matter why they cannot.
    gate = f"; {comparison.reason}" if comparison.arm == "head" and not comparison.gated else ""
    change, p_value = describe_change(comparison.change_ratio), format_probability(comparison.p_value)
    return (
        f"the accepted binary today: {change} compared with its stored times (p = {p_value}, "
        f"{format_counted(comparison.processes, 'process', 'processes')} against {comparison.stored_processes} "
        f"stored on {format_counted(comparison.stored_days, 'day')}){gate}"
    )


def creep(found: Creep) -> str:
    """What a case's accepted steps add up to, beyond its budget, with the steps."""
    count = format_counted(len(found.steps), "accepted step")
    steps = ", ".join(_creep_step(step) for step in found.steps)
    return (
        f"{describe_change(found.change_ratio)} than the figure accepted on {found.since}, in {count}, "
        f"beyond the budget of {format_tolerance(found.allowed_ratio)}: {steps}"
    )


def _creep_step(step: CreepStep) -> str:
    change = "not compared" if step.ratio is None else format_change(step.ratio)
    if not step.day:
        return f"{change} by this change"
    return f"{change} on {step.day}" + (f" ({step.reason})" if step.reason else "")


def changed(comparison: Comparison, against: str) -> str:
    """``33.1 % slower than the baseline (interval +32.8 to +33.4 %; 2.21 us -> 2.94 us in graph mode)``."""
    times = f"{format_time(comparison.against_us)} -> {format_time(comparison.time_us)} in {comparison.mode} mode"
    than = "as" if (change := describe_change(comparison.change_ratio)) == "the same" else "than"
    interval = format_interval(comparison.low_ratio, comparison.high_ratio)
    return f"{change} {than} {against} (interval {interval}; {times})"


def agreed(comparison: Comparison, count: int) -> str:
    """``5 of 5 processes agree``."""
    return f"{count} of {format_counted(comparison.processes, 'process', 'processes')} agree"


def allowed(comparison: Comparison) -> str:
    """``tolerance 1 % and 0.02 us``."""
    floor = f" and {format_floor(comparison.floor_us)}" if comparison.floor_us > 0 else ""
    return f"tolerance {format_tolerance(comparison.tolerance_ratio)}{floor}"


RESOURCES = {
    "vgprs": "VGPRs",
    "agprs": "AGPRs",
    "sgprs": "SGPRs",
    "registers": "registers",
    "spills": "spills",
    "scratch_bytes": "scratch",
    "lds_bytes": "LDS",
    "wave_size": "lanes a wave",
    "wgp_mode": "WGP mode",
    "max_threads": "threads a workgroup at most",
}
"""What a kernel uses, in the order in which it is worth reading, with the words for it."""


def resources_changed(
    accepted: Mapping[str, Mapping[str, int]], now: Mapping[str, Mapping[str, int]]
) -> tuple[str, ...]:
    """Return a sentence for each kernel that uses other resources than the accepted one of its name.

    ``scale: VGPRs 32 → 64, spills 0 → 16 (accepted → now)``. What one side alone states is not compared: another
    runtime, or an older version of this package, may have counted less.
    """
    changes = ((kernel, _changes(accepted[kernel], now[kernel])) for kernel in sorted(accepted.keys() & now.keys()))
    return tuple(f"{kernel}: {', '.join(found)} (accepted → now)" for kernel, found in changes if found)


def _changes(before: Mapping[str, int], after: Mapping[str, int]) -> list[str]:
    return [
        f"{words} {_amount(name, before[name])} → {_amount(name, after[name])}{' bytes' if _is_size(name) else ''}"
        for name, words in RESOURCES.items()
        if name in before and name in after and before[name] != after[name]
    ]


def _is_size(name: str) -> bool:
    return name.endswith("_bytes")


def _amount(name: str, amount: int) -> str:
    if name == "wgp_mode":
        return "on" if amount else "off"
    return format_bytes(amount) if _is_size(name) else format_count(amount)
