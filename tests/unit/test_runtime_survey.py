"""A machine by its files: a written-out Strix Halo box, whole and with parts missing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from strix_halo import CARD, KFD, PLACE, write_strix_halo

from pytest_kernelperf.machine import Gpu, GpuUser
from pytest_kernelperf.runtime.survey import read_machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a written-out Strix Halo box."""
    return write_strix_halo(tmp_path)


def only_gpu(root: Path) -> Gpu:
    """Return its GPU."""
    (gpu,) = read_machine(root).gpus
    return gpu


def test_the_figures_of_a_strix_halo_box_are_right(root: Path) -> None:
    """Claim: 40 compute units where HIP says 20, 256 GB/s, 32 MB of MALL, clock and power of its own card."""
    gpu = only_gpu(root)

    assert (gpu.architecture, gpu.key, gpu.place) == ("gfx1151", "gfx1151-40cu", PLACE)
    assert (gpu.compute_units, gpu.hip_compute_units) == (40, 20)
    assert (gpu.peak_gb_per_s, gpu.l2_bytes, gpu.last_level_bytes) == (256.0, 2 << 20, 32 << 20)
    assert gpu.state is not None
    assert (gpu.state.clock_mhz, gpu.state.power_w, gpu.state.performance_level) == (613.0, 15.084, "auto")


def test_the_machine_around_it_is_read_too(root: Path) -> None:
    """Claim: kernel, processor, clock policy, and who has the GPU open with how many queues."""
    machine = read_machine(root)

    assert (machine.root, machine.kernel, machine.governor) == (str(root), "6.18.4-strix", "powersave")
    assert (machine.processor, machine.cores) == ("AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", 1)
    assert machine.users == (GpuUser(4242, "llama-server", 2),)


def test_this_machines_settings_and_runtimes_are_not_another_machines(root: Path) -> None:
    """Claim: with files of elsewhere, GPU_ENABLE_WGP_MODE=0 of here halves nothing."""
    machine = read_machine(root, {"GPU_ENABLE_WGP_MODE": "0", "HSA_OVERRIDE_GFX_VERSION": "11.0.0"})

    assert (machine.runtimes, machine.environment) == ((), ())
    assert machine.gpus[0].hip_compute_units == 20


def test_the_folder_may_be_sys_itself(root: Path) -> None:
    """Claim: whoever copied /sys alone gets the GPU's figures too."""
    assert read_machine(root / "sys").gpus == read_machine(root).gpus


def test_the_infinity_cache_is_known_where_kfd_does_not_list_it(root: Path) -> None:
    """Claim: 32 MB on gfx1151 from older kernels too."""
    shutil.rmtree(root / KFD / "topology/nodes/1/caches/2")
    assert only_gpu(root).last_level_bytes == 32 << 20


def test_a_card_at_another_place_lends_no_figures(root: Path) -> None:
    """Claim: clocks are matched by PCI address, never guessed."""
    uevent = root / CARD / "uevent"
    uevent.write_text(uevent.read_text().replace(PLACE, "0000:03:00.0"))
    assert only_gpu(root).state is None


def test_the_only_card_is_it_where_kfd_says_no_place(root: Path) -> None:
    """Claim: a node without location_id takes figures and address of the card, if there is but one."""
    properties = root / KFD / "topology/nodes/1/properties"
    properties.write_text(properties.read_text().replace("location_id 50432\n", ""))
    gpu = only_gpu(root)
    assert gpu.place == PLACE
    assert gpu.state is not None


def test_without_kfd_the_card_is_named_and_has_no_compute_units(root: Path) -> None:
    """Claim: a GPU whose compute driver is missing is not passed over."""
    shutil.rmtree(root / KFD)
    gpu = only_gpu(root)
    assert (gpu.name, gpu.place, gpu.compute_units) == ("AMD GPU card1", PLACE, None)


def test_an_empty_folder_is_a_machine_without_a_gpu(tmp_path: Path) -> None:
    """Claim: nothing is raised, nothing is invented."""
    machine = read_machine(tmp_path)
    assert (machine.gpus, machine.users, machine.kernel) == ((), None, "")


def test_this_machine_says_which_runtimes_it_has() -> None:
    """Claim: for each there is a library or a sentence, and blocking launches are named."""
    machine = read_machine(environment={"HIP_LAUNCH_BLOCKING": "1", "HIP_VISIBLE_DEVICES": "0", "HOME": "/x"})
    assert [each.name for each in machine.runtimes] == ["rocm", "cuda", "cpu"]
    assert all(bool(each.library) != bool(each.problem) for each in machine.runtimes)
    assert all(bool(each.host_code_compiler) != bool(each.host_code_problem) for each in machine.runtimes)
    assert machine.environment == ("HIP_VISIBLE_DEVICES=0", "HIP_LAUNCH_BLOCKING=1")
