"""``kernelperf doctor --sysfs-root`` on written-out machines: every figure, or nothing where it is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from machine_trees import MI300X, NODES, USERS, Files, card, halo, host, node, user, write, xtx

from pytest_kernelperf import strict_json
from pytest_kernelperf.doctor.diagnosis import Diagnosis, diagnose
from pytest_kernelperf.doctor.examination import Examination
from pytest_kernelperf.doctor.text import render_diagnosis
from pytest_kernelperf.runtime.survey import read_machine


def diagnosed(root: Path) -> Diagnosis:
    """What the command finds below a folder."""
    return diagnose(Examination("0.1.0", "3.12.3", "", read_machine(root)))


def said(found: Diagnosis) -> dict[str, str]:
    """Each topic's state and words."""
    return {finding.topic: f"{finding.state}: {finding.says}" for finding in found.findings}


def gpus(found: Diagnosis) -> list[dict[str, Any]]:
    """The GPUs as --json has them."""
    whole = json.loads(strict_json.layout(found))
    listed: list[dict[str, Any]] = whole["examination"]["machine"]["gpus"]
    return listed


def test_a_strix_halo_box_has_its_figures(tmp_path: Path) -> None:
    """Forty compute units that HIP counts as twenty, caches, clocks, memory, and a bandwidth that says where from."""
    found = diagnosed(write(tmp_path, host(), halo(), {f"{USERS}/.keep": ""}))
    words = said(found)
    assert found.able
    assert words["device"] == (
        "ok: gfx1151 at 0000:c5:00.0; baselines in gfx1151-40cu/; 512 MB of memory of its own, 118 GB of the host's"
    )
    assert words["compute units"] == (
        "ok: 40 (KFD node 1: simd_count / simd_per_cu); HIP would count 20: it counts work-group processors, two "
        "compute units each"
    )
    assert words["bandwidth"] == "ok: 256.0 GB/s at most, LPDDR5X-8000 on 256 bits, by gfx1151's specification"
    assert words["caches"].startswith("ok: L2 2 MB, last level 32 MB (MALL")
    assert words["clocks"] == (
        "ok: 600 MHz of 2,900, memory 1,000 MHz of 1,000, 9.04 W, 36 °C, performance level auto, 3 % busy (as written "
        "out; card0)"
    )
    assert words["others"] == "ok: nobody has the GPU's compute driver open"
    assert words["versions"].endswith("Linux 6.18.7-200.fc43.x86_64 (as written out)")
    (gpu,) = gpus(found)
    assert gpu["state"] == {
        "source": "card0", "clock_mhz": 600.0, "most_clock_mhz": 2900.0, "power_w": 9.041, "power_limit_w": None,
        "temperature_c": 36.0, "performance_level": "auto", "busy_percent": 3, "throttled_by": "",
        "memory_clock_mhz": 1000.0, "most_memory_clock_mhz": 1000.0, "vram_bytes": 2**29, "gtt_bytes": 126701535232,
    }  # fmt: skip
    assert (gpu["l2_bytes"], gpu["last_level_bytes"], gpu["hip_compute_units"]) == (2**21, 2**25, 20)
    machine = json.loads(strict_json.layout(found))["examination"]["machine"]
    assert (machine["cores"], machine["memory_bytes"], machine["governor"]) == (16, 131072000 * 1024, "powersave")


@pytest.mark.parametrize("integrated_first", [True, False])
def test_two_gpus_are_both_named_and_each_has_its_own_card(tmp_path: Path, integrated_first: bool) -> None:
    """Node and card numbers say nothing about each other; the PCI address does."""
    numbers = (1, 2) if integrated_first else (2, 1)
    cards = ("card1", "card0") if integrated_first else ("card0", "card1")
    found = diagnosed(write(tmp_path, host(), halo(numbers[0], cards[0]), xtx(numbers[1], cards[1])))
    by_name = {gpu["name"]: gpu for gpu in gpus(found)}
    assert by_name["gfx1151"]["state"]["source"] == cards[0]
    assert by_name["gfx1100"]["state"]["busy_percent"] == 97
    assert (by_name["gfx1100"]["compute_units"], by_name["gfx1100"]["hip_compute_units"]) == (96, 48)
    assert by_name["gfx1100"]["peak_gb_per_s"] is None  # of GDDR6 the files say too little
    device = said(found)["device"]
    if integrated_first:
        assert device.endswith("; also here: gfx1100 at 0000:03:00.0 (96 compute units)")
    else:
        assert device.endswith("baselines in gfx1100-96cu/; also here: gfx1151 at 0000:c5:00.0 (40 compute units)")
        assert said(found)["clocks"].startswith("ok: 2,500 MHz of 2,526, 303.0 W, power limit 327.0 W, 70 °C")


def test_who_works_on_another_gpu_is_told_apart(tmp_path: Path) -> None:
    """KFD says of each queue which GPU it is on; who has none may be anywhere."""
    found = diagnosed(write(tmp_path, host(), halo(), xtx(), user(1234, "python3", 1912, 1912), user(99, "Xwayland")))
    assert said(found)["others"] == (
        "warning: the GPU's compute driver is open in pid 99 (Xwayland); whether they work cannot be told from files; "
        "on other GPUs pid 1234 (python3, 2 queues)"
    )
    both = diagnosed(write(tmp_path, user(1234, "python3", 1912, 45839)))
    assert "open in pid 99 (Xwayland), pid 1234 (python3, 2 queues);" in said(both)["others"]


def test_users_are_unknown_where_their_list_was_not_copied(tmp_path: Path) -> None:
    """Nobody is only said where KFD says so."""
    found = diagnosed(write(tmp_path, host(), halo()))
    assert said(found)["others"].startswith("left out: who has the compute driver open is not in the files")
    assert json.loads(strict_json.layout(found))["examination"]["machine"]["users"] is None


def test_a_slow_policy_and_heat_are_both_said(tmp_path: Path) -> None:
    """Two reasons for slow kernels are two steps."""
    changed = {"power_dpm_force_performance_level": "low\n", "gpu_busy_percent": "100\n"}
    files = halo(name="card1", **changed) | {"sys/class/drm/card1/device/hwmon/hwmon7/temp1_input": "97000\n"}
    (clocks,) = [each for each in diagnosed(write(tmp_path, host(), files)).findings if each.topic == "clocks"]
    assert clocks.state == "warning"
    assert "97 °C, performance level low, 100 % busy" in clocks.says
    assert "/sys/class/drm/card1/device/power_dpm_force_performance_level; let it cool" in clocks.next_step


def test_another_gpus_figures_are_its_own(tmp_path: Path) -> None:
    """Eight MI300X: four SIMDs a unit, HIP counts alike, and no bandwidth is made up."""
    parts: list[Files] = [
        node(at, MI300X | {"location_id": 0x0500 + at * 0x1000}, 1000 + at, ((2, 4096, 8), (3, 262144, 1)))
        for at in range(1, 9)
    ]
    words = said(diagnosed(write(tmp_path, host(), *parts)))
    assert words["device"].startswith("ok: gfx942 at 0000:15:00.0; baselines in gfx942-304cu/; also here: gfx942 at")
    assert words["device"].endswith(" and 4 more")
    assert words["compute units"] == "ok: 304 (KFD node 1: simd_count / simd_per_cu); HIP would count 304"
    assert words["bandwidth"].startswith("left out: the peak is not known")
    assert words["caches"].startswith("ok: L2 4 MB, last level 256 MB")


def without(files: Files, *words: str) -> Files:
    """The files whose names have none of the words."""
    return {name: text for name, text in files.items() if not any(word in name for word in words)}


def test_an_older_kernels_fewer_files_are_enough(tmp_path: Path) -> None:
    """No sensors, caches, memory banks or levels: what is there is said, the rest is not."""
    files = without(host() | halo(name="card1"), "pp_dpm", "hwmon", "caches", "mem_banks", "mem_info", "busy")
    words = said(diagnosed(write(tmp_path, files)))
    assert words["compute units"].startswith("ok: 40")
    assert words["device"] == "ok: gfx1151 at 0000:c5:00.0; baselines in gfx1151-40cu/"
    assert words["caches"].startswith("ok: last level 32 MB")
    assert words["clocks"] == "ok: performance level auto (as written out; card1)"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "problem: no GPU is described below"),
        (without(host() | halo(), "kfd"), "problem: AMD GPU card0 at 0000:c5:00.0 is here, but its compute driver"),
        (host() | halo() | {f"{NODES}/1/properties": "simd_count eighty\nsimd_per_cu 2\n"}, "problem: AMD GPU card0"),
        (host() | {"sys/class/drm/card0/device/vendor": "0x8086\n"}, "problem: no GPU is described below"),
        (card("card0", "0000:03:00.0", {}), "problem: AMD GPU card0 at 0000:03:00.0 is here"),
    ],
)
def test_a_tree_without_a_usable_gpu_is_a_problem(tmp_path: Path, files: Files, words: str) -> None:
    """Nothing, no compute driver, damage, another vendor's GPU: exit code 1, a step to take, and no figure."""
    found = diagnosed(write(tmp_path, files))
    assert not found.able
    (device,) = [each for each in found.findings if each.topic == "device"]
    assert f"{device.state}: {device.says}".startswith(words)
    assert device.next_step
    assert said(found)["compute units"].startswith("left out")
    assert "the files do not describe a GPU" in render_diagnosis(found)


def test_the_root_may_be_sys_itself_and_proc_may_be_missing(tmp_path: Path) -> None:
    """Whoever copies /sys alone gets the GPU's figures."""
    write(tmp_path, without(host() | halo(), "proc/c", "proc/m", "proc/sys"))
    whole, alone = said(diagnosed(tmp_path)), said(diagnosed(tmp_path / "sys"))
    assert whole["compute units"] == alone["compute units"]
    assert whole["clocks"] == alone["clocks"]
    assert "Linux" not in alone["versions"]
