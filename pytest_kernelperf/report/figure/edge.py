"""How far a picture reaches: one block in which somebody else ran must not press all others flat.

The charts clamp by the same rule, in Vega-Lite's own terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import quantiles

FAR_BLOCK, FAR_SAMPLE = 4, 6
"""What lies farther from a process's middle half than so many times its range is drawn at the edge, as an arrow."""


def edges(groups: Iterable[Sequence[float]], far: float) -> tuple[float, float]:
    """Return the lowest and the highest value that have places of their own, by the widest group; none is empty."""
    ranges = [quantiles(each, n=4, method="inclusive") if len(each) > 1 else list(each) * 3 for each in groups]
    return (
        min(first - far * (last - first) for first, _, last in ranges),
        max(last + far * (last - first) for first, _, last in ranges),
    )
