"""Firmware, clock policy and power limit, as amdgpu's files, NVML and /proc say it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from strix_halo import CARD, PLACE, write_strix_halo

from pytest_kernelperf.machine import SpeedPolicy
from pytest_kernelperf.runtime.speed_policy import amd_policy, nvidia_policy, processor_policy

CLOCKS = "application clocks graphics 1980 MHz, memory 2619 MHz"

NVML = """
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
    *device = (void*)1;
    return strcmp(place, "0000:1b:00.0") ? 6 : 0;
}
int nvmlDeviceGetVbiosVersion(void* device, char* text, unsigned length) {
    strncpy(text, "96.00.A", length);
    return REFUSED;
}
#ifndef OLD
int nvmlDeviceGetGspFirmwareVersion(void* device, char* text) { strcpy(text, "580.1"); return REFUSED; }
#endif
int nvmlDeviceGetApplicationsClock(void* device, int kind, unsigned* mhz) {
    *mhz = kind == 0 ? 1980 : 2619;
    return REFUSED;
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* mw) { *mw = 700000; return REFUSED; }
"""


def write(root: Path, **files: str) -> Path:
    """Write files below a folder, ``__`` for ``/``."""
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def build(folder: Path, *definitions: str) -> str:
    """Build a management library that knows one GPU."""
    source, library = folder / "nvml.c", folder / "libnvidia-ml.so.1"
    source.write_text(NVML)
    subprocess.run(["cc", "-shared", "-fPIC", *definitions, str(source), "-o", str(library)], check=True)
    return str(library)


def test_an_amd_cards_own_files_are_read(tmp_path: Path) -> None:
    """Claim: firmware that queues, runs and clocks; the performance level, the platform's profile, the cap in W."""
    root = write_strix_halo(tmp_path)
    for name, text in (("vbios_version", "113-STRIX-1\n"), ("fw_version/mec_fw_version", "0x0000001f\n"),
                       ("fw_version/smc_fw_version", "0x0b5d1d00\n")):  # fmt: skip
        path = root / CARD / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    write(root, sys__firmware__acpi__platform_profile="balanced\n")
    assert amd_policy(PLACE, root) == SpeedPolicy(
        "vbios 113-STRIX-1, mec 0x0000001f, smc 0x0b5d1d00", "auto, platform profile balanced", 120.0
    )


def test_without_files_nothing_is_said(tmp_path: Path) -> None:
    """Claim: containers often lack them."""
    assert amd_policy(PLACE, tmp_path) == processor_policy(tmp_path) == SpeedPolicy()
    assert nvidia_policy(PLACE, str(tmp_path / "none.so")) == SpeedPolicy()


def test_an_nvidia_gpu_is_asked_by_its_place(tmp_path: Path) -> None:
    """Claim: VBIOS and GSP firmware, application clocks, the enforced limit in W; another place is not this GPU."""
    library = build(tmp_path, "-DREFUSED=0")
    assert nvidia_policy("0000:1b:00.0", library) == SpeedPolicy("vbios 96.00.A, gsp 580.1", CLOCKS, 700.0)
    assert nvidia_policy("0000:1c:00.0", library) == SpeedPolicy()


@pytest.mark.parametrize(
    ("definitions", "said"),
    [
        (("-DREFUSED=3",), SpeedPolicy()),
        (("-DREFUSED=0", "-DOLD"), SpeedPolicy("vbios 96.00.A", CLOCKS, 700.0)),
    ],
)
def test_what_nvml_refuses_or_lacks_is_left_out(
    tmp_path: Path, definitions: tuple[str, ...], said: SpeedPolicy
) -> None:
    """Claim: one refusal costs one fact."""
    assert nvidia_policy("0000:1b:00.0", build(tmp_path, *definitions)) == said


@pytest.mark.parametrize(
    ("files", "boost"),
    [
        ({"sys__devices__system__cpu__cpufreq__boost": "0\n"}, ", boost off"),
        ({"sys__devices__system__cpu__intel_pstate__no_turbo": "0\n"}, ", boost on"),
        ({}, ""),
    ],
)
def test_a_processor_has_microcode_governor_and_boost(tmp_path: Path, files: dict[str, str], boost: str) -> None:
    """Claim: what the kernel was told of the clocks, and which microcode runs."""
    root = write(
        tmp_path,
        proc__cpuinfo="processor\t: 0\nmicrocode\t: 0xb404023\n",
        sys__devices__system__cpu__cpu0__cpufreq__scaling_governor="powersave\n",
        **files,
    )
    assert processor_policy(root) == SpeedPolicy("microcode 0xb404023", f"governor powersave{boost}")
