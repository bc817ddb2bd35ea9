"""Whose code a device runs, by AMD's target IDs: ``gfx1151``, ``gfx90a:sramecc+:xnack-``, ``gfx11-generic``.

A feature that code states must be set so on the device; one that it does not state may be either. Code for a generic
processor runs on each of its family. (LLVM's AMDGPU usage guide, "Target ID" and "Generic processors".)
"""

from __future__ import annotations

from collections.abc import Iterable

_FAMILIES = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": ("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}


def target_of(triple: str) -> str:
    """The target ID behind a triple: ``gfx1151`` of ``amdgcn-amd-amdhsa--gfx1151``.

    Newer compilers write ``unknown`` where others leave the triple's fourth part empty, the oldest leave it out.
    """
    parts = triple.split("-", 4)
    return parts[4] if len(parts) == 5 else parts[-1]


def runs_on(code: str, device: str) -> bool:
    """Whether a device runs code for a target. A feature that ``device`` does not state may be either."""
    made_for, stated = _taken_apart(code)
    processor, features = _taken_apart(device)
    if made_for != processor and processor not in _FAMILIES.get(made_for, ()):
        return False
    return all(features.get(name, sign) == sign for name, sign in stated.items())


def best_target(targets: Iterable[str], device: str) -> str | None:
    """The one of several targets' code that a device takes: its own before its family's, then the most specific."""
    processor, _ = _taken_apart(device)
    fitting = (target for target in targets if runs_on(target, device))
    ranked = sorted(fitting, key=lambda target: (_taken_apart(target)[0] != processor, -target.count(":"), target))
    return ranked[0] if ranked else None


def _taken_apart(target: str) -> tuple[str, dict[str, str]]:
    """Processor, and each feature's sign: ``+`` or ``-``."""
    processor, *features = target.split(":")
    return processor, {feature[:-1]: feature[-1:] for feature in features}
