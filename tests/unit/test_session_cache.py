"""How large the caches are that a cold measurement gets past."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from scripted_workers import FACTS

from pytest_kernelperf.errors import UsageError
from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.session.cache import cold_bytes

L2, LAST = 2 << 20, 32 << 20


def facts(**changes: Any) -> DeviceFacts:
    """Facts of a device with two levels."""
    return msgspec.structs.replace(FACTS, **{"l2_bytes": L2, "last_level_bytes": LAST, **changes})


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({"runtime": "rocm"}, L2 + LAST),
        ({"runtime": "rocm", "l2_bytes": None}, LAST),
        ({"runtime": "cuda", "last_level_bytes": None}, L2),
        ({"runtime": "cpu"}, LAST),
    ],
)
def test_the_caches_are_those_before_memory(changes: dict[str, Any], size: int) -> None:
    """L2 plus Infinity Cache on AMD, L2 on NVIDIA, the last level on a CPU."""
    assert cold_bytes("cold", facts(**changes), None) == size


@pytest.mark.parametrize(
    "changes", [{"runtime": "rocm"}, {"runtime": "cpu"}, {"runtime": "cuda", "l2_bytes": None}], ids=str
)
def test_what_nobody_knows_is_asked_for(changes: dict[str, Any]) -> None:
    """A guess would call cold what is not; the setting wins over what the device says."""
    unknown = facts(last_level_bytes=None, **changes)
    with pytest.raises(UsageError, match=r"^cold caches cannot be promised: .* set kernelperf_last_level_bytes"):
        cold_bytes("cold", unknown, None)
    assert cold_bytes("cold", unknown, 1000) == 1000
    assert cold_bytes("cold", facts(), 1000) == 1000


def test_warm_caches_need_no_figure() -> None:
    """Nothing is asked where nothing is promised."""
    assert cold_bytes("warm", facts(last_level_bytes=None), 1000) == 0
