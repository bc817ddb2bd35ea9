"""Two traces, kernel by kernel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pytest_kernelperf.trace.origin import check_comparable
from pytest_kernelperf.trace.record import KernelChange, KernelSummary, TraceComparison, TraceSummary


@dataclass(frozen=True)
class _Side:
    calls: int
    total_us: float
    median_us: float
    workgroups: tuple[int, ...]


def without_arguments(name: str) -> str:
    """Return a kernel's name without its argument list: ``scale<float>(float*)`` is ``scale<float>``.

    ``operator()`` and names without arguments stay as they are.
    """
    if not name.endswith(")"):
        return name
    depth = 0
    for place in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[place], 0)
        if depth == 0:
            head = name[:place]
            short = head if head and not head.endswith("operator") else name
            return short.removeprefix("void ")
    return name


def compare_traces(a: TraceSummary, b: TraceSummary) -> TraceComparison:
    """Compare kernels of the same name over all processes; where one trace has names without arguments, so.

    Raises:
        TraceError: the traces have different origins.
    """
    check_comparable(a.path, a.origin, b.path, b.origin)
    sides_a, sides_b = _sides(a), _sides(b)
    for name, other in _same_kernels(sides_a.keys() - sides_b.keys(), sides_b.keys() - sides_a.keys()):
        sides_b[name] = sides_b.pop(other)
    changes = [_change(name, sides_a.get(name), sides_b.get(name)) for name in sides_a | sides_b]

    def order(change: KernelChange) -> tuple[bool, float, str]:
        one, two = sides_a.get(change.name), sides_b.get(change.name)
        difference_us = abs((two.total_us if two else 0) - (one.total_us if one else 0))
        return one is None or two is None, -difference_us, change.name

    return TraceComparison(a, b, tuple(sorted(changes, key=order)))


def _same_kernels(names_a: Iterable[str], names_b: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of which one alone has its arguments (``rocprofv3 -T``), where no other could be meant."""
    alike: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for side, names in enumerate((names_a, names_b)):
        for name in names:
            alike[without_arguments(name)][side].append(name)
    for a, b in alike.values():
        if len(a) == len(b) == 1 and a[0].endswith(")") != b[0].endswith(")"):
            yield a[0], b[0]


def _change(name: str, a: _Side | None, b: _Side | None) -> KernelChange:
    return KernelChange(
        name,
        a.calls if a else None,
        b.calls if b else None,
        a.median_us if a else None,
        b.median_us if b else None,
        a.workgroups if a else (),
        b.workgroups if b else (),
        b.median_us / a.median_us if a and b else None,
    )


def _sides(summary: TraceSummary) -> dict[str, _Side]:
    """Kernels by name; of several processes the middle one's median (the process is the unit)."""
    found: dict[str, list[KernelSummary]] = defaultdict(list)
    for process in summary.processes:
        for kernel in process.kernels:
            found[kernel.name].append(kernel)
    return {
        name: _Side(
            sum(one.calls for one in kernels),
            sum(one.total_us for one in kernels),
            _median([one.median_us for one in kernels]),
            tuple(sorted({count for one in kernels for count in one.workgroups})),
        )
        for name, kernels in found.items()
    }


def _median(values: list[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
