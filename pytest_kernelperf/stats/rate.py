"""How often something happens, and how often it may happen at most, from counts of independent trials."""

from __future__ import annotations

import math

from pytest_kernelperf.errors import KernelperfError
from pytest_kernelperf.model import Frozen

CONFIDENCE = 0.95


class Rate(Frozen, frozen=True):
    """So many of so many checks, which fall into clusters whose checks are not independent of each other.

    ``clusters_hit`` of ``clusters`` hold at least one event. A check's chance of an event is never above its
    cluster's chance of any, so a bound on the latter bounds the former, however alike the checks of a cluster are.
    """

    events: int
    checks: int
    clusters_hit: int
    clusters: int

    @property
    def share(self) -> float | None:
        """Events among checks; None without checks."""
        return self.events / self.checks if self.checks else None

    @property
    def most_share(self) -> float:
        """The most that the chance of an event in a check can be, with 95 % confidence; 1.0 without clusters."""
        return upper_bound(self.clusters_hit, self.clusters)


def upper_bound(hit: int, trials: int, confidence: float = CONFIDENCE) -> float:
    """The one-sided upper bound of a chance, from ``hit`` of ``trials`` independent trials (Clopper and Pearson, 1934).

    With none hit it is ``1 - (1 - confidence) ** (1 / trials)``, close to 3 / trials at 95 %: the rule of three.

    Raises:
        KernelperfError: counts that no experiment gives.
    """
    if not 0 <= hit <= trials:
        raise KernelperfError(f"{hit} of {trials} trials cannot be: expected 0 or more, and no more than the trials")
    if hit == trials:
        return 1.0
    if hit == 0:
        return 1.0 - math.pow(1.0 - confidence, 1.0 / trials)
    # Imported here: it takes a second, and a calibration without alarms needs none of it.
    from scipy import stats

    return float(stats.beta.ppf(confidence, hit + 1, trials - hit))
