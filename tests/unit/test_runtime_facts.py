"""The host's processor and the device key, from written-out /proc and /sys files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_kernelperf.runtime.cpu_facts import Processor, compiler_slug, device_key, read_processor
from pytest_kernelperf.runtime.facts import _place, _version

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
