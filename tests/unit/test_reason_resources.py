"""What a kernel uses of a device, beside what the accepted one uses."""

from __future__ import annotations

import pytest

from pytest_kernelperf.code_object.amd import _RESOURCES
from pytest_kernelperf.reason import RESOURCES, resources_changed


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"spills": 0, "vgprs": 32}, {"spills": 16, "vgprs": 64}, "VGPRs 32 → 64, spills 0 → 16"),
        ({"lds_bytes": 1024, "scratch_bytes": 0}, {"lds_bytes": 2048, "scratch_bytes": 0}, "LDS 1,024 → 2,048 bytes"),
        ({"wave_size": 32, "wgp_mode": 1}, {"wave_size": 64, "wgp_mode": 0}, "lanes a wave 32 → 64, WGP mode on → off"),
        ({"registers": 40}, {"registers": 38}, "registers 40 → 38"),
    ],
)
def test_a_change_is_said_in_order_of_weight(before: dict[str, int], after: dict[str, int], said: str) -> None:
    """Registers and spills first, sizes in bytes, modes in words."""
    assert resources_changed({"k": before}, {"k": after}) == (f"k: {said} (accepted → now)",)


def test_what_is_equal_or_known_of_one_side_alone_is_not_said() -> None:
    """Another kernel, another runtime's counts, the same counts."""
    assert resources_changed({"k": {"vgprs": 1}, "gone": {"vgprs": 1}}, {"k": {"vgprs": 1}, "new": {"vgprs": 2}}) == ()
    assert resources_changed({"k": {"vgprs": 1}}, {"k": {"registers": 9}}) == ()
    assert resources_changed({}, {"k": {"vgprs": 1}}) == ()


def test_all_that_is_read_has_words() -> None:
    """A resource that is added to the record is not forgotten here."""
    assert {*_RESOURCES.values(), "spills"} <= set(RESOURCES)
