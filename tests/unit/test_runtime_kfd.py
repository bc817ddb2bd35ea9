"""KFD's files: GPUs, compute units, architecture names and users, from written-out node files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_kernelperf.runtime.kfd import (
    Cache,
    accelerators,
    architecture_name,
    compute_units_by_hip,
    compute_units_from_hip,
    match,
    processes,
)

# What KFD says of each part, and what HIP reports by default.
PARTS = {
    "gfx1151": {"version": 110501, "simds": 80, "per_unit": 2, "units": 40, "hip": 20},
    "gfx1100": {"version": 110000, "simds": 192, "per_unit": 2, "units": 96, "hip": 48},
    "gfx1201": {"version": 120001, "simds": 128, "per_unit": 2, "units": 64, "hip": 32},
    "gfx942": {"version": 90402, "simds": 1216, "per_unit": 4, "units": 304, "hip": 304},
    "gfx90a": {"version": 90010, "simds": 416, "per_unit": 4, "units": 104, "hip": 104},
    "gfx1250": {"version": 120500, "simds": 512, "per_unit": 4, "units": 128, "hip": 128},
}


def write_node(root: Path, number: int, **values: int) -> Path:
    """A topology node as KFD writes it; without ``simd_count`` it is a CPU."""
    node = root / "topology" / "nodes" / str(number)
    node.mkdir(parents=True)
    stated = {"cpu_cores_count": 16, "simd_count": 0, "gfx_target_version": 0} | values
    (node / "properties").write_text("".join(f"{name} {value}\n" for name, value in stated.items()))
    (node / "gpu_id").write_text(f"{41000 + number if stated['simd_count'] else 0}\n")
    return node


def write_part(root: Path, name: str, number: int = 1, **values: int) -> Path:
    part = PARTS[name]
    return write_node(
        root,
        number,
        simd_count=part["simds"],
        simd_per_cu=part["per_unit"],
        gfx_target_version=part["version"],
        **({"wave_front_size": 32, "max_waves_per_simd": 16, "lds_size_in_kb": 64, "array_count": 4} | values),
    )


@pytest.mark.parametrize("name", PARTS)
def test_compute_units_are_simds_over_simds_per_unit(tmp_path: Path, name: str) -> None:
    """KFD counts SIMDs whatever the mode: 40 compute units on gfx1151, where HIP says 20."""
    write_node(tmp_path, 0)
    write_part(tmp_path, name)

    (gpu,) = accelerators(tmp_path)

    assert (gpu.architecture, gpu.compute_units, gpu.node) == (name, PARTS[name]["units"], 1)


@pytest.mark.parametrize("name", PARTS)
def test_without_kfd_hips_count_is_put_right(name: str) -> None:
    """gfx10 to gfx12 count pairs unless GPU_ENABLE_WGP_MODE=0; gfx9 and gfx125x never do."""
    part = PARTS[name]

    assert compute_units_from_hip(name, part["hip"], {}) == part["units"]
    assert compute_units_from_hip(f"{name}:sramecc+:xnack-", part["hip"], {"GPU_ENABLE_WGP_MODE": "1"}) == part["units"]
    assert compute_units_from_hip(name, part["units"], {"GPU_ENABLE_WGP_MODE": "0"}) == part["units"]


@pytest.mark.parametrize("name", PARTS)
def test_what_hip_would_count_is_known_from_the_compute_units(name: str) -> None:
    """The same rule backwards: 20 on gfx1151, all of them where compute-unit mode is asked for."""
    part = PARTS[name]

    assert compute_units_by_hip(name, part["units"], {}) == part["hip"]
    assert compute_units_by_hip(name, part["units"], {"GPU_ENABLE_WGP_MODE": "0"}) == part["units"]


def test_an_unknown_architecture_keeps_hips_count() -> None:
    """What is no gfx name is not doubled."""
    assert compute_units_from_hip("sm_90", 132, {}) == 132


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (110501, "gfx1151"),
        (90402, "gfx942"),
        (90010, "gfx90a"),
        (120500, "gfx1250"),
        (100306, "gfx1036"),
        (90012, "gfx90c"),
    ],
)
def test_the_step_of_a_target_version_is_hexadecimal(version: int, name: str) -> None:
    """90010 is gfx90a, not gfx9010."""
    assert architecture_name(version) == name


def test_all_of_a_node_is_read(tmp_path: Path) -> None:
    """Place, waves, LDS, clocks, memory and caches have their units."""
    node = write_part(tmp_path, "gfx1151", location_id=0xC500, domain=0, max_engine_clk_fcompute=2900)
    for index, (level, kib) in enumerate([(1, 32), (2, 2048), (3, 32768), (1, 16)]):
        (node / "caches" / str(index)).mkdir(parents=True)
        (node / "caches" / str(index) / "properties").write_text(f"level {level}\nsize {kib}\ntype 9\n")
    (node / "mem_banks" / "0").mkdir(parents=True)
    (node / "mem_banks" / "0" / "properties").write_text(
        "heap_type 1\nsize_in_bytes 68719476736\nwidth 256\nmem_clk_max 1000\n"
    )

    (gpu,) = accelerators(tmp_path)

    assert (gpu.location, gpu.wave_size, gpu.max_waves_per_simd, gpu.lds_bytes) == (0xC500, 32, 16, 65536)
    assert (gpu.max_clock_mhz, gpu.memory_width_bits, gpu.memory_clock_mhz, gpu.gpu_id) == (2900, 256, 1000, 41001)
    assert gpu.caches[0] == Cache(1, 32768)
    assert [gpu.cache_bytes(level) for level in (1, 2, 3, 4)] == [32768, 2097152, 33554432, None]


def test_nodes_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Node 10 comes after node 2."""
    for number in (10, 2, 1):
        write_part(tmp_path, "gfx942", number)

    assert [gpu.node for gpu in accelerators(tmp_path)] == [1, 2, 10]


def test_a_device_is_matched_by_its_place(tmp_path: Path) -> None:
    """With several GPUs, PCI domain and location decide; features after the name do not matter."""
    write_part(tmp_path, "gfx90a", 1, location_id=0x2900)
    write_part(tmp_path, "gfx1151", 2, location_id=0xC500)
    gpus = accelerators(tmp_path)

    found = match(gpus, "gfx90a:sramecc+:xnack-", 0, 0x2900)

    assert found is not None
    assert found.node == 1


def test_the_only_gpu_of_an_architecture_is_matched_without_a_place(tmp_path: Path) -> None:
    """Where HIP tells no place that fits, the architecture may be enough; where not, there is no match."""
    write_part(tmp_path, "gfx1151", 1, location_id=0xC500)
    write_node(tmp_path, 2, simd_count=64, simd_per_cu=2, gfx_target_version=110501, location_id=0xC600)
    first = accelerators(tmp_path)[:1]

    assert match(first, "gfx1151", None, None) == first[0]
    assert match(first, "gfx1151", 0, 0x100) == first[0]
    assert match(first, "gfx1100", None, None) is None
    assert match(accelerators(tmp_path), "gfx1151", None, None) is None


def test_processes_are_those_with_a_context(tmp_path: Path) -> None:
    """Folders below proc are process numbers; anything else there is not."""
    for name in ("4711", "42", "notes"):
        (tmp_path / "proc" / name).mkdir(parents=True)

    assert processes(tmp_path) == (42, 4711)


def test_a_machine_without_kfd_has_neither_gpus_nor_processes(tmp_path: Path) -> None:
    """Missing folders are an answer, not an error."""
    assert accelerators(tmp_path / "none") == ()
    assert processes(tmp_path / "none") == ()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=300), cut=st.integers(0, 400))
def test_damaged_node_files_never_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes, cut: int) -> None:
    """Bytes of any kind in or after a properties file leave a node out or its missing values zero."""
    root = tmp_path_factory.mktemp("kfd")
    node = write_part(root, "gfx1151")
    whole = (node / "properties").read_bytes()
    (node / "properties").write_bytes(whole[:cut] + content)
    (node / "gpu_id").write_bytes(content)

    for gpu in accelerators(root):
        assert gpu.compute_units > 0
        assert gpu.architecture.startswith("gfx")
