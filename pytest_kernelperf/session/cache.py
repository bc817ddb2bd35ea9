"""How large the caches are that cold measurements must get past."""

from __future__ import annotations

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import Cache, DeviceFacts


def cold_bytes(cache: Cache, facts: DeviceFacts, stated_bytes: int | None) -> int:
    """Bytes of all caches before memory; 0 where they stay warm.

    ``stated_bytes`` (``kernelperf_last_level_bytes``) wins over what the device says. An AMD GPU's Infinity Cache
    lies behind its L2 and holds other lines, so both count; an NVIDIA GPU's last level is its L2; the last level of a
    CPU is what its cores share.

    Raises:
        UsageError: nobody knows, so that cold caches cannot be promised.
    """
    if cache == "warm":
        return 0
    known = stated_bytes or _caches_bytes(facts)
    if known is None:
        raise UsageError(
            f"cold caches cannot be promised: {facts.name} ({facts.architecture}) does not say how large its last "
            "level is: set kernelperf_last_level_bytes to the bytes of all caches before memory (33554432 for 32 MiB), "
            "or kernelperf_cache to warm"
        )
    return known


def _caches_bytes(facts: DeviceFacts) -> int | None:
    if facts.runtime == "cuda":
        return facts.l2_bytes
    if facts.last_level_bytes is None:
        return None
    return facts.last_level_bytes + (facts.l2_bytes or 0 if facts.runtime == "rocm" else 0)
