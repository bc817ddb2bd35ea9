"""The host's processor and the device key, from written-out /proc and /sys files."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_kernelperf.model import DeviceFacts
from pytest_kernelperf.runtime.cpu_facts import Processor, compiler_slug, device_key, read_processor
from pytest_kernelperf.runtime.facts import _place, _version, read_facts
from pytest_kernelperf.runtime.hip import Device

LEVEL_2 = "fpu sse sse2 cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"
LEVEL_3 = LEVEL_2 + " avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
LEVEL_4 = LEVEL_3 + " avx512f avx512bw avx512cd avx512dq avx512vl"

X86 = """processor\t: {number}
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 112
model name\t: AMD RYZEN AI MAX+ 395 w/ Radeon 8060S
cpu MHz\t\t: {mhz}
flags\t\t: {flags}

"""
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\n"


def write_machine(
    root: Path, cores: int = 2, threads_per_core: int = 2, flags: str = LEVEL_4, cpuinfo: str = ""
) -> None:
    """A machine whose core k has logical processors k and k + cores."""
    (root / "proc").mkdir(parents=True)
    numbers = range(cores * threads_per_core)
    text = cpuinfo or "".join(X86.format(number=number, mhz=3000 + number, flags=flags) for number in numbers)
    (root / "proc/cpuinfo").write_text(text)
    (root / "proc/meminfo").write_text("MemTotal:       131072 kB\nMemFree: 1 kB\n")
    for number in numbers:
        folder = root / f"sys/devices/system/cpu/cpu{number}"
        (folder / "topology").mkdir(parents=True)
        siblings = ",".join(str(other) for other in numbers if other % cores == number % cores)
        (folder / "topology/core_cpus_list").write_text(siblings + "\n")
        for index, (level, kind, size) in enumerate(
            [(1, "Data", "48K"), (1, "Instruction", "32K"), (2, "Unified", "1024K"), (3, "Unified", "32M")]
        ):
            cache = folder / f"cache/index{index}"
            cache.mkdir(parents=True)
            for name, value in (("level", str(level)), ("type", kind), ("size", size)):
                (cache / name).write_text(value + "\n")


def read(root: Path, allowed: set[int], machine: str = "x86_64") -> Processor:
    return read_processor(root, allowed, machine)


def test_cores_are_physical_ones_that_the_process_may_use(tmp_path: Path) -> None:
    """Two threads of one core count once; cores outside the affinity mask do not count."""
    write_machine(tmp_path, cores=4)

    assert read(tmp_path, {0, 1, 2, 3, 4, 5, 6, 7}).cores == 4
    assert read(tmp_path, {1, 5}).cores == 1
    assert (read(tmp_path, {0, 1, 5}).cores, read(tmp_path, {0, 1, 5}).threads) == (2, 3)


def test_caches_and_memory_have_bytes(tmp_path: Path) -> None:
    """Sizes carry K and M; instruction caches are left out."""
    write_machine(tmp_path)

    found = read(tmp_path, {0})

    assert (found.l2_bytes, found.last_level_bytes, found.memory_bytes) == (2**20, 2**25, 2**27)


@pytest.mark.parametrize(("flags", "level"), [("fpu sse2", 1), (LEVEL_2, 2), (LEVEL_3, 3), (LEVEL_4, 4)])
def test_the_instruction_level_is_that_of_all_its_flags(tmp_path: Path, flags: str, level: int) -> None:
    """A level counts when every flag of it is there."""
    write_machine(tmp_path, flags=flags)

    assert read(tmp_path, {0}).architecture == f"x86-64-v{level}"


def test_the_key_holds_what_decides_kernel_speed(tmp_path: Path) -> None:
    """Model, family and model number, level, cores and compiler; no clock and no host name."""
    write_machine(tmp_path)

    key = device_key(read(tmp_path, {0, 1, 2, 3}), "g++ 12.2.0")

    assert key == "cpu-amd-ryzen-ai-max-395-w-radeon-8060s-f26m112-v4-2c-gcc12.2"


def test_the_key_names_the_machine_where_there_is_no_level(tmp_path: Path) -> None:
    """An Arm host has implementer and part for family and model."""
    write_machine(tmp_path, cpuinfo=ARM)

    key = device_key(read(tmp_path, {0}, "aarch64"), "clang++ 19.1.7")

    assert key == "cpu-unknown-f0x41m0xd40-aarch64-1c-clang19.1"


@pytest.mark.parametrize(
    ("compiler", "slug"),
    [
        ("g++ 12.2.0", "gcc12.2"),
        ("clang++ 19.1.7", "clang19.1"),
        ("clang++-19 19.1.7", "clang19.1"),
        ("Debian clang version 19.1.7", "clang19.1"),
        ("icpx 2025.0", "icpx-2025-0"),
        ("", "unknown"),
    ],
)
def test_the_compiler_is_a_word_with_major_and_minor(compiler: str, slug: str) -> None:
    """The patch level does not decide speed; the compiler's family and minor version do."""
    assert compiler_slug(compiler) == slug


def test_a_machine_that_says_nothing_is_still_described(tmp_path: Path) -> None:
    """Missing files give one core per logical processor and no caches."""
    found = read(tmp_path, {0, 1})

    assert (found.cores, found.level, found.l2_bytes, found.name) == (2, 1, None, "unknown")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=400))
def test_damaged_files_never_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Any bytes in the files give some processor and a key of safe characters."""
    root = tmp_path_factory.mktemp("machine")
    write_machine(root)
    for path in ("proc/cpuinfo", "proc/meminfo", "sys/devices/system/cpu/cpu0/cache/index2/size"):
        (root / path).write_bytes(content)

    key = device_key(read(root, {0}), "g++ 12.2.0")

    assert set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")


@pytest.mark.parametrize(
    ("bus_id", "place"),
    [
        ("0000:c5:00.0", (0, 0xC500)),
        ("0001:29:1f.3", (1, 0x29FB)),
        ("0000:0A:00", (0, 0x0A00)),
        ("", (None, None)),
        ("x", (None, None)),
    ],
)
def test_a_bus_id_is_kfds_location(bus_id: str, place: tuple[int | None, int | None]) -> None:
    """KFD's location is bus << 8 | device << 3 | function."""
    assert _place(bus_id) == place


def test_hips_version_number_is_written_out() -> None:
    """70253211 is 7.2.53211."""
    assert _version(70253211) == "7.2.53211"


class WrittenDevice:
    """A device that answers what is written here, as HIP does for a gfx1151 by default."""

    def __init__(self, runtime: str = "rocm", architecture: str = "gfx1151", **attributes: int) -> None:
        self.chosen = SimpleNamespace(name=runtime, amdhip64="/opt/rocm/lib/libamdhip64.so")
        self.architecture = architecture
        self.index = 0
        self.selected = SimpleNamespace(
            bindings=SimpleNamespace(version="7.2.2", compile_call=lambda name: (0, (9, 0))),
        )
        self.attributes = {
            "MultiprocessorCount": 20, "WarpSize": 32, "MaxThreadsPerBlock": 1024, "MaxSharedMemoryPerBlock": 65536,
            "SharedMemPerBlockOptin": 232448,
            "L2CacheSize": 2097152, "MemoryClockRate": 1000000, "MemoryBusWidth": 256, "Integrated": 1,
        } | attributes  # fmt: skip

    def attribute(self, name: str) -> int:
        return self.attributes[name]

    def text(self, function: str) -> str:
        return {"hipDeviceGetName": "Radeon 8060S Graphics", "hipDeviceGetPCIBusId": "0000:c5:00.0"}[function]

    def call(self, name: str, *arguments: object) -> tuple[int]:
        answers = {"hipDeviceTotalMem": 64 << 30, "hipRuntimeGetVersion": 70253211, "hipDriverGetVersion": 13000}
        return (answers[name],)


def gpu_facts(root: Path, device: WrittenDevice, environment: dict[str, str] | None = None) -> DeviceFacts:
    return read_facts(cast(Device, device), root, environment or {})


def write_gpu(root: Path, **values: int) -> None:
    node = root / "sys/class/kfd/kfd/topology/nodes/1"
    node.mkdir(parents=True)
    stated = {
        "simd_count": 80,
        "simd_per_cu": 2,
        "gfx_target_version": 110501,
        "location_id": 0xC500,
        "domain": 0,
    } | values
    (node / "properties").write_text("".join(f"{name} {value}\n" for name, value in stated.items()))


def test_a_gfx1151_has_the_compute_units_of_kfd(tmp_path: Path) -> None:
    """40 by KFD, 20 by HIP; 256 GB/s for its LPDDR5X; the Infinity Cache where KFD lists none."""
    write_gpu(tmp_path)

    facts = gpu_facts(tmp_path, WrittenDevice())

    assert (facts.key, facts.compute_units, facts.hip_compute_units) == ("gfx1151-40cu", 40, 20)
    assert facts.compute_units_source == "KFD node 1: simd_count / simd_per_cu"
    assert (facts.peak_gb_per_s, facts.l2_bytes, facts.last_level_bytes) == (256.0, 2097152, 32 << 20)
    assert (facts.hip_version, facts.compiler, facts.name) == ("7.2.53211", "hiprtc 9.0", "Radeon 8060S Graphics")


@pytest.mark.parametrize(("reported", "environment"), [(20, {}), (40, {"GPU_ENABLE_WGP_MODE": "0"})])
def test_without_kfd_the_key_is_the_same(tmp_path: Path, reported: int, environment: dict[str, str]) -> None:
    """HIP's count is doubled where it counts work-group processors, and taken as it is where it does not."""
    facts = gpu_facts(tmp_path, WrittenDevice(MultiprocessorCount=reported), environment)

    assert facts.key == "gfx1151-40cu"
    assert "KFD could not be matched" in facts.compute_units_source


@pytest.mark.parametrize(
    ("runtime", "architecture", "clock_khz", "width_bits", "gb_per_s"),
    [
        ("cuda", "sm_90", 2619000, 5120, 3352.32),
        ("rocm", "gfx90a", 1600000, 4096, 1638.4),
        ("rocm", "gfx1100", 1249000, 384, None),
        ("rocm", "gfx942", 1300000, 8192, None),
        ("cuda", "sm_90", 0, 5120, None),
    ],
)
def test_peak_bandwidth_is_said_only_where_the_clock_is_the_memorys(
    tmp_path: Path, runtime: str, architecture: str, clock_khz: int, width_bits: int, gb_per_s: float | None
) -> None:
    """Two words a clock hold for NVIDIA and HBM2; for GDDR6 and HBM3 AMD reports another clock."""
    device = WrittenDevice(runtime, architecture, MemoryClockRate=clock_khz, MemoryBusWidth=width_bits)

    assert gpu_facts(tmp_path, device).peak_gb_per_s == (None if gb_per_s is None else pytest.approx(gb_per_s))


def test_a_cuda_device_counts_multiprocessors(tmp_path: Path) -> None:
    """HIP's count is right on NVIDIA GPUs."""
    facts = gpu_facts(tmp_path, WrittenDevice("cuda", "sm_90", MultiprocessorCount=132))

    assert (facts.key, facts.compute_units) == ("sm90-132sm", 132)


def test_a_cuda_device_says_what_compiles_and_what_drives_it(tmp_path: Path) -> None:
    """NVRTC's version and the driver's, which /sys names more exactly than CUDA; shared memory as it can be had."""
    facts = gpu_facts(tmp_path, WrittenDevice("cuda", "sm_90"))

    assert (facts.compiler, facts.driver, facts.max_shared_bytes) == ("nvrtc 9.0", "CUDA 13.0", 232448)

    version = tmp_path / "sys/module/nvidia/version"
    version.parent.mkdir(parents=True)
    version.write_text("580.159.04\n")

    assert gpu_facts(tmp_path, WrittenDevice("cuda", "sm_90")).driver == "nvidia 580.159.04"


def test_an_amd_device_names_its_own_driver(tmp_path: Path) -> None:
    """A machine with both makers' drivers says the one that is used."""
    for name in ("amdgpu", "nvidia"):
        version = tmp_path / "sys/module" / name / "version"
        version.parent.mkdir(parents=True)
        version.write_text(f"{len(name)}.0\n")

    assert gpu_facts(tmp_path, WrittenDevice()).driver == "amdgpu 6.0"
