"""amdgpu's files, card by card, from written-out folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from strix_halo import CARD, PLACE, write_strix_halo

from pytest_kernelperf.machine import GpuState
from pytest_kernelperf.runtime.state import amd_state
from pytest_kernelperf.runtime.sysfs import Card, cards, find_card, place_of, read_text

FULL = GpuState(
    source="card1",
    clock_mhz=613.0,
    most_clock_mhz=2900.0,
    power_w=15.084,
    power_limit_w=120.0,
    temperature_c=38.0,
    performance_level="auto",
    busy_percent=0,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a written-out Strix Halo box."""
    return write_strix_halo(tmp_path)


def state(root: Path) -> GpuState:
    """Return the state of its only card."""
    (card,) = cards(root / "sys/class/drm")
    return card.state


def test_all_of_a_card_is_read(root: Path) -> None:
    """Claim: MHz, W and degrees, converted from Hz, microwatts and thousandths; the card need not be card 0."""
    assert cards(root / "sys/class/drm") == (Card(PLACE, FULL),)


@pytest.mark.parametrize(
    ("path", "text", "field", "value"),
    [
        ("hwmon/hwmon5/freq1_input", None, "clock_mhz", 600.0),  # pp_dpm_sclk's line with the star
        ("pp_dpm_sclk", None, "most_clock_mhz", None),
        ("pp_dpm_sclk", "0: 600Mhz\nnonsense\nS: 19Mhz *\n", "most_clock_mhz", 600.0),
        ("hwmon/hwmon5/power1_average", None, "power_w", None),
        ("hwmon/hwmon5/power1_cap", "0\n", "power_limit_w", None),
        ("hwmon/hwmon5/temp1_input", "-3\n", "temperature_c", None),
        ("hwmon/hwmon5/temp1_input", "9" * 30, "temperature_c", None),
        ("power_dpm_force_performance_level", "profile_peak\n", "performance_level", "profile_peak"),
        ("power_dpm_force_performance_level", "a\x1b[31m\n", "performance_level", "a?[31m"),
        ("gpu_busy_percent", "65535\n", "busy_percent", None),
        ("gpu_busy_percent", "100\n", "busy_percent", 100),
    ],
)
def test_what_a_file_does_not_say_is_not_said(
    root: Path, path: str, text: str | None, field: str, value: object
) -> None:
    """Claim: a missing or senseless value is None, or comes from where it also stands."""
    file = root / CARD / path
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    assert getattr(state(root), field) == value


def test_newer_kernels_call_the_power_input(root: Path) -> None:
    """Claim: power1_input counts where power1_average is missing."""
    sensors = root / CARD / "hwmon/hwmon5"
    (sensors / "power1_average").rename(sensors / "power1_input")
    assert state(root).power_w == 15.084


def test_the_gpus_own_sensors_are_read(root: Path) -> None:
    """Claim: of several hwmon folders the one named amdgpu counts."""
    other = root / CARD / "hwmon/hwmon3"
    other.mkdir()
    (other / "name").write_text("nvme\n")
    (other / "temp1_input").write_text("71000\n")
    assert state(root).temperature_c == 38.0


def test_sensors_may_stand_in_their_class_alone(root: Path) -> None:
    """Claim: a tree without links has /sys/class/hwmon beside the card; the one named amdgpu is it, if it is one."""
    everybodys = root / "sys/class/hwmon"
    (root / CARD / "hwmon").rename(everybodys)
    assert state(root) == FULL
    (everybodys / "hwmon6").mkdir()
    (everybodys / "hwmon6/name").write_text("amdgpu\n")
    assert state(root).power_w is None


def test_a_card_may_be_known_by_its_driver(root: Path) -> None:
    """Claim: where nobody wrote the vendor out, the driver's name tells."""
    (root / CARD / "vendor").unlink()
    assert state(root) == FULL


def test_cards_of_others_are_left_out(root: Path) -> None:
    """Claim: only AMD's vendor number counts; connectors are no cards."""
    (root / CARD / "vendor").write_text("0x10de\n")
    assert cards(root / "sys/class/drm") == ()
    assert cards(root / "nowhere") == ()


def test_the_place_may_be_the_name_of_the_linked_folder(root: Path) -> None:
    """Claim: without uevent, the folder that device links to names the PCI address, as in /sys itself."""
    (root / CARD / "uevent").unlink()
    assert cards(root / "sys/class/drm")[0].place == ""
    target = root / "sys/devices/pci0000:00" / PLACE
    target.parent.mkdir(parents=True)
    (root / CARD).rename(target)
    (root / CARD).symlink_to(target)
    assert cards(root / "sys/class/drm")[0].place == PLACE


def test_a_loop_of_links_is_no_card(root: Path) -> None:
    """Claim: a damaged tree does not raise."""
    loop = root / "sys/class/drm/card2"
    loop.symlink_to(loop)
    assert len(cards(root / "sys/class/drm")) == 1


@pytest.mark.parametrize(
    ("domain", "location", "place"),
    [(0, 0xC500, PLACE), (1, 0x29FB, "0001:29:1f.3"), (0x10000, 8, "10000:00:01.0")],
)
def test_kfds_location_is_a_pci_address(domain: int, location: int, place: str) -> None:
    """Claim: bus, device and function stand in KFD's number."""
    assert place_of(domain, location) == place


def test_a_card_is_found_by_place_or_by_being_the_only_one() -> None:
    """Claim: never another card's figures: a card of another known place is not it."""
    here, there, somewhere = Card(PLACE, FULL), Card("0000:03:00.0", FULL), Card("", FULL)
    assert find_card((there, here), PLACE) is here
    assert find_card((there,), PLACE) is None
    assert find_card((somewhere,), PLACE) is somewhere
    assert find_card((somewhere, there), PLACE) is None
    assert find_card((there,), "") is there
    assert find_card((here, there), "") is None


def test_the_state_of_an_open_card_is_read_anew_each_time(root: Path) -> None:
    """Claim: by PCI address; a card that is not there has none."""
    read = amd_state(PLACE, root / "sys/class/drm")
    assert read() == FULL
    (sensors,) = (root / "sys/class/drm/card1/device/hwmon").iterdir()
    (sensors / "power1_average").write_text("119000000\n")
    assert getattr(read(), "power_w", None) == 119.0
    assert amd_state("0000:01:00.0", root / "sys/class/drm")() is None


def test_a_pipe_in_a_copied_tree_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody writes into it, so that opening it would never return."""
    os.mkfifo(tmp_path / "pp_dpm_mclk")
    assert read_text(tmp_path / "pp_dpm_mclk") == ""
