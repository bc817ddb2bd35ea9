"""Launches in words: how large one is, and what of a plan is not as it was accepted."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_kernelperf import units
from pytest_kernelperf.model import Dimensions, LaunchStep, Plan

MOST_SENTENCES, MOST_NAMES = 8, 4


def dimensions_text(size: Dimensions) -> str:
    """``10 × 512``: the ones behind are left out."""
    kept = [size[0], *(size[1:] if size[2] != 1 else size[1:2] if size[1] != 1 else ())]
    return " × ".join(map(units.format_count, kept))


def launches_changed(accepted: Plan, now: Plan) -> tuple[str, ...]:
    """Return a sentence for each launch that is not the accepted plan's in its place, one alone where they are others.

    ``add_kernel: workgroups 40 → 10 (grid 40 → 10), threads 64 → 256 (accepted → now)``. Arguments are left out: what
    they point to says nothing of the device's load.
    """
    before, after = accepted.launches, now.launches
    if [one.kernel for one in before] != [one.kernel for one in after]:
        return (f"launches {_names(before)} → {_names(after)} (accepted → now)",)
    pairs = ((one.kernel, _changes(one, other)) for one, other in zip(before, after, strict=True))
    found = dict.fromkeys(f"{kernel}: {', '.join(of)} (accepted → now)" for kernel, of in pairs if of)
    shown = list(found)[:MOST_SENTENCES]
    more = len(found) - len(shown)
    return (*shown, *([f"{units.format_counted(more, 'more launch', 'more launches')} changed"] if more else ()))


def _changes(before: LaunchStep, after: LaunchStep) -> list[str]:
    changes = []
    if before.grid != after.grid:
        count = f"{units.format_count(before.workgroups)} → {units.format_count(after.workgroups)}"
        changes.append(f"workgroups {count} (grid {dimensions_text(before.grid)} → {dimensions_text(after.grid)})")
    if before.block != after.block:
        changes.append(f"threads {dimensions_text(before.block)} → {dimensions_text(after.block)}")
    if before.shared_bytes != after.shared_bytes:
        shared = f"{units.format_bytes(before.shared_bytes)} → {units.format_bytes(after.shared_bytes)}"
        changes.append(f"dynamic LDS {shared} bytes")
    return changes


def _names(launches: Sequence[LaunchStep]) -> str:
    """``add_kernel, inject_kernel``; of many the first, and how many there are."""
    names = [launch.kernel for launch in launches]
    shown = ", ".join(names[:MOST_NAMES]) or "none"
    return shown if len(names) <= MOST_NAMES else f"{shown} … ({units.format_count(len(names))})"
