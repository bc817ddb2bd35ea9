"""The trace of one replayed arm: its kernels, two whole rounds of them, and the gaps in between.

Only what the replay's own process launched counts, and of that not what the HIP runtime launches by itself to copy
and fill (``__amd_rocclr_…``). Rounds are told apart by counting, so only where every dispatch is there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_kernelperf.errors import TraceError
from pytest_kernelperf.model import TracedArm, TracedKernel, TracedSpan
from pytest_kernelperf.trace.comparison import without_arguments
from pytest_kernelperf.trace.dispatch import Dispatches
from pytest_kernelperf.trace.interval import kernel_numbers
from pytest_kernelperf.trace.origin import read_origin
from pytest_kernelperf.trace.summary import read_trace, summarise
from pytest_kernelperf.units import format_counted

RUNTIME_KERNELS = "__amd_rocclr_"
SHOWN_ROUNDS = 2
MOST_NAMES = 3
MOST_KERNELS = 1000
MOST_FILES = 16
"""Of how many processes' files a replay's is looked for; a damaged one may take as long as a stranger's trace."""
MOST_US = 1e11
"""About a day: what takes longer, or lies further apart, was not replayed but read from two clocks."""


@dataclass(frozen=True)
class Replayed:
    """What was replayed: the process, how many rounds, and the kernels of one round as the plan names them."""

    pid: int
    rounds: int
    launches: tuple[str, ...]


@dataclass(frozen=True)
class ArmTrace:
    """An arm's trace, where it comes from, the device's compute units if it tells them, and what is wrong with it."""

    arm: TracedArm
    origin: str
    compute_units: int | None
    notes: tuple[str, ...]


def find_arm_file(files: Sequence[Path], pid: int) -> Path:
    """Return the one of several traces that holds a process's kernels.

    Raises:
        TraceError: none does, or the only one cannot be used.
    """
    others: set[str] = set()
    problems = []
    likely = sorted(files, key=lambda path: str(pid) not in path.name)
    for path in likely[:MOST_FILES]:
        try:
            pids = {group.pid for group in read_trace(path).groups}
        except TraceError as problem:
            problems.append(problem)
            continue
        if pid in pids:
            return path
        others |= {str(one) for one in pids}
    if others:
        raise TraceError(
            f"what was recorded is not the replay (process {pid}), but process {', '.join(sorted(others))}"
        )
    raise problems[0] if problems else TraceError("no kernel was recorded, so there is no trace")


def read_arm(path: Path, arm: str, replayed: Replayed, shown_path: str) -> ArmTrace:
    """Read the trace of an arm; ``shown_path`` is how the record names the file.

    Raises:
        TraceError: it cannot be used, or holds none of the plan's kernels.
    """
    every = read_trace(path)
    left_out = every.left_out
    notes = []
    counted = [f"{count:,} {kind}" for kind, count in asdict(left_out).items() if count]
    if counted:
        notes.append(f"dispatches that cannot be believed are left out: {', '.join(counted)}")
    internal = [group.kernel.startswith(RUNTIME_KERNELS) for group in every.groups]
    own = [group.pid == replayed.pid for group in every.groups]
    if (skipped := int(np.array([a and b for a, b in zip(own, internal, strict=True)], bool)[every.group].sum())) > 0:
        notes.append(f"{format_counted(skipped, 'kernel')} of the runtime's own ({RUNTIME_KERNELS}…) left out")
    dispatches = _only(every, [a and not b for a, b in zip(own, internal, strict=True)])
    _check_kernels(dispatches, replayed)
    length = len(replayed.launches)
    rounds_known = _are_rounds(dispatches, replayed)
    if not rounds_known:
        notes.append(_count_problem(len(dispatches.group), replayed))
    summary = summarise(dispatches, path, "")
    kernels = [kernel for process in summary.processes for kernel in process.kernels]
    later = _rows(dispatches, np.arange(length if rounds_known and replayed.rounds > 1 else 0, len(dispatches.group)))
    names = _short([kernel.name for kernel in kernels])
    place = {kernel.name: number for number, kernel in reversed([*enumerate(kernels)])}
    median_gap_us, busy_ratio, starving = _gaps(later)
    traced = TracedArm(
        arm,
        tuple(
            TracedKernel(name, one.calls, one.average_us, one.median_us, one.minimum_us, one.total_us, one.workgroups,
                         one.starved)
            for name, one in zip(names, kernels, strict=True)
        ),
        _spans(later, place, SHOWN_ROUNDS * length) if rounds_known and replayed.rounds > SHOWN_ROUNDS else (),
        replayed.rounds,
        median_gap_us,
        busy_ratio,
        starving,
        shown_path,
    )  # fmt: skip
    _check_bounds(traced)
    units = {dispatches.groups[number].device.compute_units for number in np.unique(dispatches.group).tolist()}
    return ArmTrace(traced, read_origin(path), units.pop() if len(units) == 1 else None, tuple(notes))


def _only(dispatches: Dispatches, wanted: list[bool]) -> Dispatches:
    return _rows(dispatches, np.flatnonzero(np.array(wanted, bool)[dispatches.group]))


def _rows(dispatches: Dispatches, rows: NDArray[np.intp]) -> Dispatches:
    return replace(
        dispatches,
        start_ns=dispatches.start_ns[rows],
        end_ns=dispatches.end_ns[rows],
        group=dispatches.group[rows],
    )


def _check_kernels(dispatches: Dispatches, replayed: Replayed) -> None:
    """Refuse a trace without kernels, and one of other kernels than the plan's."""
    names = {dispatches.groups[number].kernel for number in np.unique(dispatches.group).tolist()}
    if not names:
        raise TraceError("no kernel of the plan was recorded")
    wanted = {_identifier(name) for name in replayed.launches}
    if not any(one in name or _identifier(name) in other for name in names for one in wanted for other in wanted):
        shown = ", ".join(sorted(names)[:MOST_NAMES])[:200]
        raise TraceError(f"none of the plan's kernels was recorded, but {shown}")


def _check_bounds(arm: TracedArm) -> None:
    """Refuse what no replay is: a run file would refuse it too, and with it the whole run."""
    if len(arm.kernels) > MOST_KERNELS:
        raise TraceError(f"it has {len(arm.kernels):,} kernels, and no plan launches more than {MOST_KERNELS:,}")
    times_us = [kernel.total_us for kernel in arm.kernels] + [span.start_us for span in arm.spans]
    longest_us = max(*times_us, arm.median_gap_us or 0.0)
    if longest_us > MOST_US:
        raise TraceError(f"its times are {longest_us / 86_400e6:,.0f} days long: they cannot be of one clock")


def _identifier(name: str) -> str:
    """The bare name of a kernel: ``scale`` of ``void math::scale<float>(float*)`` and of ``scale.kd``."""
    bare = re.split(r"[<(]", without_arguments(name.removesuffix(".kd")).removeprefix("void "), maxsplit=1)[0]
    return bare.rpartition("::")[2].strip() or name


def _are_rounds(dispatches: Dispatches, replayed: Replayed) -> bool:
    """Whether there are as many dispatches as were launched, with the same kernels in each round."""
    length = len(replayed.launches)
    if len(dispatches.group) != replayed.rounds * length:
        return False
    kernels = np.array(kernel_numbers(dispatches))[dispatches.group].reshape(-1, length)
    return bool((kernels == kernels[0]).all())


def _count_problem(recorded: int, replayed: Replayed) -> str:
    launched = replayed.rounds * len(replayed.launches)
    if recorded == launched:
        return "its dispatches are not in the plan's order, so rounds cannot be told apart"
    if recorded < launched:
        return f"{launched - recorded:,} of {launched:,} dispatches are missing, so rounds cannot be told apart"
    return f"it has {recorded:,} dispatches where {launched:,} were launched, so rounds cannot be told apart"


def _short(names: list[str]) -> list[str]:
    """Names without their argument lists, as long as each still means one kernel."""
    short = [without_arguments(name) for name in names]
    return short if len(set(short)) == len(set(names)) else names


def _gaps(dispatches: Dispatches) -> tuple[float | None, float, bool]:
    """Return the median gap in us (None: there is none), the share of time that was busy, and whether gaps are longer
    than kernels."""
    start_ns, end_ns = dispatches.start_ns, dispatches.end_ns
    until_ns = np.maximum.accumulate(end_ns)
    gap_ns = np.maximum(start_ns[1:] - until_ns[:-1], 0)
    busy_ratio = max(0.0, 1.0 - float(gap_ns.sum()) / float(until_ns[-1] - start_ns[0]))
    if not len(gap_ns):
        return None, busy_ratio, False
    median_ns = float(np.median(gap_ns))
    return median_ns / 1e3, busy_ratio, median_ns > float(np.median(end_ns - start_ns))


def _spans(dispatches: Dispatches, place: dict[str, int], count: int) -> tuple[TracedSpan, ...]:
    begin_ns = int(dispatches.start_ns[0])
    return tuple(
        TracedSpan(place[group.kernel], (start_ns - begin_ns) / 1e3, (end_ns - start_ns) / 1e3, group.workgroups)
        for start_ns, end_ns, group in zip(
            dispatches.start_ns[:count].tolist(),
            dispatches.end_ns[:count].tolist(),
            (dispatches.groups[number] for number in dispatches.group[:count].tolist()),
            strict=True,
        )
    )
