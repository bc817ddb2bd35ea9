"""What a trace comes to, as frozen records. Times are traced times: they say what happened, not how long it takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Device:
    """A GPU of the trace; ``compute_units`` is None where the trace does not tell them."""

    node: int
    index: int
    name: str
    product: str
    compute_units: int | None


@dataclass(frozen=True)
class LeftOut:
    """How many dispatches count for nothing, by what is wrong with them."""

    hidden: int = 0
    """In ``rocpd_kernel_dispatch``, but not in the view ``kernels``: a row that the view joins is missing."""
    timeless: int = 0
    """Start or end is missing, no whole number, or not positive."""
    empty: int = 0
    """Start equals end."""
    negative: int = 0
    """The end lies before the start."""
    absurd: int = 0
    """Longer than 10 s, or longer than 1 s and than 1,000 medians of its kernel."""
    overlapping: int = 0
    """Overlaps its neighbour in the same queue and stream, where one runs after the other; both are left out."""


@dataclass(frozen=True)
class KernelSummary:
    """One kernel in one process on one device; median and minimum leave the first call out where there are more."""

    name: str
    calls: int
    average_us: float
    total_us: float
    median_us: float
    minimum_us: float
    workgroups: tuple[int, ...]
    """The different numbers of workgroups, rising, at most ten; empty where the trace does not tell."""
    starved: bool | None
    """Some launch has fewer workgroups than the device has compute units; None where either is unknown."""


@dataclass(frozen=True)
class ProcessSummary:
    """The kernels of one process on one device, the longest in total first."""

    pid: int | None
    command: str
    device: Device
    kernels: tuple[KernelSummary, ...]


@dataclass(frozen=True)
class Gap:
    """Times between the end of one kernel and the start of another, without first calls of the latter."""

    before: str
    after: str
    count: int
    median_us: float
    longest_us: float
    total_us: float


@dataclass(frozen=True)
class Timeline:
    """One device from its first kernel's start to its last one's end, over all processes, without ``set_up_us``."""

    device: Device
    dispatches: int
    window_us: float
    busy_us: float
    busy_ratio: float
    gaps: tuple[Gap, ...]
    """By total, the greatest ten."""
    median_kernel_us: float
    median_gap_us: float | None
    starving: bool
    """The median gap is longer than the median kernel, first calls left out."""
    set_up_us: float
    """Gaps that count nowhere, the window neither: after its first launch CUPTI sets itself up."""


@dataclass(frozen=True)
class TraceSummary:
    """All of one trace."""

    path: str
    origin: str
    dispatches: int
    left_out: LeftOut
    processes: tuple[ProcessSummary, ...]
    timelines: tuple[Timeline, ...]


@dataclass(frozen=True)
class KernelChange:
    """One kernel in two traces; a side is None where it has no such kernel. ``change_ratio``: median B by median A."""

    name: str
    calls_a: int | None
    calls_b: int | None
    median_a_us: float | None
    median_b_us: float | None
    workgroups_a: tuple[int, ...]
    workgroups_b: tuple[int, ...]
    change_ratio: float | None


@dataclass(frozen=True)
class TraceComparison:
    """Two traces, kernel by kernel: the greatest difference in total time first, then new and vanished kernels."""

    a: TraceSummary
    b: TraceSummary
    kernels: tuple[KernelChange, ...]
